#include "models/studies/accuracy/validate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "models/hardware/cluster/cluster.hpp"
#include "models/hardware/cluster/gpus_used.hpp"
#include "models/hardware/cluster/nvlink_domain.hpp"
#include "models/hardware/cluster/nvls_rates.hpp"
#include "models/io/bands/band_key.hpp"
#include "models/io/bands/size_range.hpp"
#include "models/io/tuners/load_tuner.hpp"
#include "models/nccl/call/launch.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/environment/settings.hpp"
#include "models/nccl/registered/registered_question.hpp"
#include "models/nccl/registered/registered_run.hpp"
#include "models/nccl/run/simulation.hpp"
#include "models/studies/accuracy/alpha_beta.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/shared/call_times.hpp"

namespace fabricast {

namespace {

/// A communicator on a cluster: what equal runs share.
struct Setup {
  MappedRun mapped;
  std::unique_ptr<const TunerPlugin> tuner;
  const Cluster* cluster = nullptr;  ///< shared with other setups on the same machine
  std::optional<Communicator> communicator;
  std::optional<Error> refused;  ///< why there is none
};

/// Where nodes are joined by EFA, aws-ofi-nccl is NCCL's net plugin, and brings its tuner along for
/// the instances that it knows.
std::unique_ptr<const TunerPlugin> tuner_of_network(const MappedRun& mapped,
                                                    const PartsCatalogue& parts) {
  const NodeShape& shape = mapped.shape;
  if (shape.nics == 0 || parts.nics.at(shape.nic).network != NetKind::efa) return nullptr;
  const Environment& environment = mapped.environment;
  const bool is_set = environment.get("NCCL_ALGO") || environment.get("NCCL_PROTO");
  try {
    return load_tuner("aws-ofi", {shape.gpu, shape.nic, mapped.version, is_set});
  } catch (const Error&) {
    return nullptr;  // an instance that it does not know
  }
}

class Validation {
 public:
  Validation(ValidateConfig config, const PartsCatalogue& parts, const ForEach& for_each)
      : parts_(parts),
        times_(parts.software, static_cast<std::uint64_t>(config.slices_max), for_each) {
    if (config.weighs_messages) times_.weigh_messages();
    result_.predictor = config.predictor;
    result_.slices_max = config.slices_max;
    result_.measured = std::move(config.measured);
    bands_ = std::move(config.bands);
    left_out_bands_ = std::move(config.left_out_bands);
    kernels_ = std::move(config.kernels);
    result_.predictions.resize(result_.measured.points.size());
    recipes_.resize(result_.measured.points.size());
    host_us_.resize(result_.measured.points.size());
  }

  ValidateResult run() {
    map_runs();
    for (std::size_t i = 0; i < result_.predictions.size(); ++i) decide_point(i);
    if (result_.predictor == Predictor::simulation) {
      simulate_all();
      find_bands();
    }
    if (result_.predictor == Predictor::alpha_beta) fit_all();
    return std::move(result_);
  }

 private:
  void map_runs() {
    for (std::size_t i = 0; i < result_.measured.runs.size(); ++i) {
      try {
        MappedRun mapped = map_run(result_.measured.runs[i], parts_);
        setups_.push_back(&setup_on_its_network(mapped));
        if (setups_.back()->refused) {
          result_.left_out.emplace(i, *setups_.back()->refused);
          continue;
        }
        for (const std::string& note : mapped.notes) ++result_.notes[note];
        for (const std::string& warning : setups_.back()->communicator->warnings)
          ++result_.notes[warning];
      } catch (const Error& error) {
        setups_.resize(i + 1);
        result_.left_out.emplace(i, error);
      }
    }
  }

  /// NCCL_NET may name a plugin that is not simulated (IBext of HPC-X); the run's network is known.
  const Setup& setup_on_its_network(MappedRun& mapped) {
    const Setup& asked = setup_of(mapped);
    const auto name = mapped.environment.get("NCCL_NET");
    if (!asked.refused || !name) return asked;
    const std::string said(*name);
    mapped.environment.unset("NCCL_NET");
    const Setup& free = setup_of(mapped);
    if (free.refused) return asked;
    mapped.notes.push_back(
        fmt::format("NCCL_NET={} is not simulated: by the run's net_kind", said));
    return free;
  }

  static std::string key_of(const MappedRun& mapped) {
    std::string key = fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", to_text(mapped.shape), mapped.nodes,
                                  mapped.gpus_used, mapped.launches_in_a_row, mapped.sharp,
                                  to_text(mapped.version), kRegistrationWords[mapped.registered],
                                  fmt::join(mapped.without_gdr, ","));
    for (const auto& [name, value] : mapped.environment.variables())
      key += fmt::format("|{}={}", name, value);
    for (const std::string& variable : mapped.forced) key += "|forced " + variable;
    return key;
  }

  const Setup& setup_of(const MappedRun& mapped) {
    auto& setup = setups_by_key_[key_of(mapped)];
    if (setup) return *setup;
    setup = std::make_unique<Setup>();
    setup->mapped = mapped;
    try {
      NodeType type = compose_node(mapped.shape, parts_);
      const bool joins = joins_nvlink_domain(mapped.environment, mapped.version);
      const int trays = joins ? trays_per_domain(type, mapped.nodes) : 1;
      setup->cluster = &cluster_of(mapped, std::move(type), trays);
      CommunicatorConfig config;
      config.version = mapped.version;
      config.environment = mapped.environment;
      config.gpus_per_node = gpus_asked_of_node(trays, mapped.gpus_used);
      config.sharp = mapped.sharp;
      setup->tuner = tuner_of_network(mapped, parts_);
      config.tuner = setup->tuner.get();
      if (setup->tuner) ++result_.notes["EFA: the tuner of aws-ofi-nccl chooses"];
      setup->communicator = make_communicator(*setup->cluster, config);
    } catch (const Error& error) {
      setup->refused = error;
    }
    return *setup;
  }

  /// The same for all releases and environments, so that calls that are the same work on it are
  /// simulated once.
  const Cluster& cluster_of(const MappedRun& mapped, NodeType type, int trays) {
    const std::string key =
        fmt::format("{}|{}|{}|{}|{}", to_text(mapped.shape), mapped.nodes, trays,
                    trays > 1 ? mapped.gpus_used : 0, fmt::join(mapped.without_gdr, ","));
    const auto known = clusters_.find(key);
    if (known != clusters_.end()) return known->second;
    if (trays > 1) type = join_trays(type, trays, mapped.gpus_used);
    NodeGraph node = NodeGraph::build(type, parts_);
    FabricConfig fabric = default_fabric(node, parts_);
    Cluster cluster(std::move(node), mapped.nodes / trays, std::move(fabric));
    for (const int place : mapped.without_gdr) cluster.withhold_gdr(place);
    return clusters_.emplace(key, std::move(cluster)).first->second;
  }

  /// A run whose column `algorithm` names what NCCL refuses was measured all the same: nothing was
  /// forced on NCCL but what `env_kv` says. Nothing where that makes no difference.
  std::optional<DecidedCall> decide_unforced(const MeasuredPoint& point) {
    MappedRun mapped = setups_[point.run]->mapped;
    std::string named;
    for (const std::string& variable : mapped.forced) {
      named += fmt::format("{}{}", named.empty() ? "" : " ", *mapped.environment.get(variable));
      mapped.environment.unset(variable);
    }
    if (named.empty()) return std::nullopt;
    mapped.forced.clear();
    const Setup& free = setup_of(mapped);
    if (free.refused) return std::nullopt;
    std::optional<DecidedCall> call = decide(free, point);
    setups_[point.run] = &free;
    ++result_.notes[fmt::format("NCCL refuses {} alone here: by its own choice", named)];
    return call;
  }

  std::optional<DecidedCall> decide_run(const MeasuredPoint& point) {
    try {
      return decide(*setups_[point.run], point);
    } catch (const Error&) {
      if (std::optional<DecidedCall> call = decide_unforced(point)) return call;
      throw;
    }
  }

  void decide_point(std::size_t index) {
    const MeasuredPoint& point = result_.measured.points[index];
    if (result_.left_out.contains(point.run)) return;
    Prediction& prediction = result_.predictions[index];
    try {
      const std::optional<DecidedCall> call = decide_run(point);
      if (!call) return;
      const bool tuned = is_tuned(call->run.collective);
      prediction.algorithm = tuned ? to_text(call->run.algorithm) : "none";
      prediction.protocol = to_text(call->run.protocol);
      prediction.channels = working_channels(call->run);
      if (result_.predictor == Predictor::nccl_model && tuned) {
        prediction.method = Method::nccl_model;
        prediction.time_us = static_cast<double>(call->decision.time_us);
      }
      if (result_.predictor != Predictor::simulation) return;
      host_us_[index] =
          microseconds_of(host_time(call->run, *setups_[point.run]->cluster, parts_.software));
      if (!predict_registered(*setups_[point.run], point, *call, prediction))
        number_of(*setups_[point.run], call->run);
    } catch (const Error& error) {
      result_.left_out.emplace(point.run, error);
    }
  }

  /// Of a run with registered buffers, where they change what runs.
  bool predict_registered(const Setup& setup, const MeasuredPoint& point, const DecidedCall& call,
                          Prediction& prediction) const {
    const Registration asked = setup.mapped.registered;
    if (asked == Registration::none) return false;
    check_registration(asked, setup.mapped.version);
    if (kernels_.gpus.empty()) throw Error("what kernels of registered buffers cost is not known");
    const Members members = members_of(call.run, setup.cluster->nodes());
    const Collective collective = call.run.collective;
    RegisteredQuestion question =
        question_of(*setup.communicator, asked, collective, point.size, &*setup.cluster,
                    is_tuned(collective) ? &call.decision : nullptr);
    question.datatype = point.datatype;
    question.element_bytes = datatype_bytes(point.datatype);
    const RegisteredChoice choice = choose_registered(question, setup.mapped.environment);
    if (!choice.untimed.empty()) throw Error(fmt::format("{}, and {}", choice.why, choice.untimed));
    if (!choice.replaces()) return false;
    const RegisteredCall kernel{choice, collective, point.size, 0, call.run.launches_in_a_row};
    prediction.method = Method::simulated;
    if (members.node_count() > 1) {
      prediction.time_us = microseconds_of(
          simulate(*setup.cluster, in_place(parts_.software), in_place_run(call.run, choice), {})
              .time);
      return true;
    }
    prediction.time_us = microseconds_of(
        simulate_registered(*setup.cluster, members, kernels_, parts_.software, kernel).time);
    if (choice.path != RegisteredPath::symmetric) return true;
    prediction.algorithm = kSymmetricKernelWords[choice.kernel];
    prediction.protocol = "none";
    prediction.channels = choice.blocks;
    return true;
  }

  /// Nothing where the size rounds down to no element.
  std::optional<DecidedCall> decide(const Setup& setup, const MeasuredPoint& point) const {
    const Collective collective = result_.measured.runs[point.run].collective;
    const int element = datatype_bytes(point.datatype);
    const Communicator& communicator = *setup.communicator;
    const std::int64_t count = printed_count(collective, point.size, element, communicator.ranks);
    if (count == 0) return std::nullopt;
    DecidedCall call = decide_call(communicator, {collective, count, element, 0});
    call.run.launches_in_a_row = setup.mapped.launches_in_a_row;
    if (const auto channels = setup.mapped.channels; channels && is_tuned(collective))
      call.run.channels = call.run.communicator_channels = *channels;
    return call;
  }

  const Setup& setup_on(const Setup& setup, int nodes) {
    if (nodes == setup.mapped.nodes) return setup;
    MappedRun smaller = setup.mapped;
    smaller.nodes = nodes;
    return setup_of(smaller);
  }

  std::size_t number_of(const Setup& setup, const CollectiveRun& run) {
    const auto key = std::tuple(&setup, run.collective, run.count, run.element_bytes);
    const auto found = numbers_.find(key);
    if (found != numbers_.end()) return found->second;
    return numbers_[key] = times_.add(*setup.cluster, run);
  }

  /// One rack tells nothing of several, nor do racks of fewer trays.
  static bool has_racks_as(const Communicator& whole, const Communicator& fewer) {
    if (whole.nodes == 1 || whole.hosts == whole.nodes) return true;
    return fewer.nodes > 1 && fewer.hosts / fewer.nodes == whole.hosts / whole.nodes;
  }

  /// Of a call like the point's; nothing where there is none.
  std::optional<std::size_t> number_at(const MeasuredPoint& point, const CallAt& at) {
    const MappedRun& mapped = setups_[point.run]->mapped;
    if (!mapped.without_gdr.empty() && at.nodes != mapped.nodes) return std::nullopt;
    const Setup& there = setup_on(*setups_[point.run], at.nodes);
    if (there.refused || !has_racks_as(*setups_[point.run]->communicator, *there.communicator))
      return std::nullopt;
    MeasuredPoint other = point;
    other.size = at.size;
    const std::optional<DecidedCall> call = decide(there, other);
    if (!call) return std::nullopt;
    return number_of(there, call->run);
  }

  void find_recipe(std::size_t index) {
    const MeasuredPoint& point = result_.measured.points[index];
    if (result_.left_out.contains(point.run)) return;
    if (result_.predictions[index].method != Method::none) return;
    try {
      recipes_[index] = times_.recipe({setups_[point.run]->mapped.nodes, point.size},
                                      [&](const CallAt& at) { return number_at(point, at); });
    } catch (const Error& error) {
      result_.left_out.emplace(point.run, error);
    }
  }

  void simulate_all() {
    times_.look_at_all();
    std::vector<const TimeRecipe*> wanted;
    for (std::size_t i = 0; i < recipes_.size(); ++i) {
      find_recipe(i);
      wanted.push_back(&recipes_[i]);
    }
    times_.simulate(wanted);
    result_.calls = times_.simulated();
    for (std::size_t i = 0; i < recipes_.size(); ++i) {
      const double time_us = times_.time_us(recipes_[i]);
      if (time_us <= 0) continue;
      result_.predictions[i].time_us = time_us;
      result_.predictions[i].method =
          recipes_[i].is_simulated() ? Method::simulated : Method::extrapolated;
      result_.predictions[i].by_launches = decided_by_launches(host_us_[i], time_us);
    }
  }

  void find_bands() {
    for (std::size_t i = 0; i < result_.predictions.size(); ++i) {
      Prediction& prediction = result_.predictions[i];
      const MeasuredPoint& point = result_.measured.points[i];
      // Bands are of plain buffers' kernels, which all have a recipe.
      if (prediction.method == Method::none || !recipes_[i].exists()) continue;
      BandKey key = band_key(setups_[point.run]->mapped.shape, parts_,
                             result_.measured.runs[point.run].collective, point.size);
      key.by_launches = prediction.by_launches;
      const auto left_out = left_out_bands_.find(result_.measured.runs[point.run].source);
      if (left_out == left_out_bands_.end()) {
        if (const auto band = find_band(bands_, key)) set_band(prediction, *band);
        continue;
      }
      const auto band = std::ranges::find(left_out->second, key, &LeftOutBand::key);
      if (band != left_out->second.end()) set_band(prediction, *band);
    }
  }

  static void set_band(Prediction& prediction, const auto& band) {
    prediction.lower_us = band.lower * prediction.time_us;
    prediction.upper_us = band.upper * prediction.time_us;
    prediction.band_basis = to_text(band.known);
  }

  void fit_all() {
    std::vector<AlphaBetaPoint> points;
    for (const MeasuredPoint& point : result_.measured.points) {
      const MeasuredRun& run = result_.measured.runs[point.run];
      points.push_back(
          {class_of(run), std::string(to_text(run.collective)), run.source, run.nodes, run.ranks,
           busbw_factor(run.collective, run.ranks) * static_cast<double>(point.size.count),
           point.time_us, run.scored});
    }
    const std::vector<double> times = alpha_beta_left_out(points);
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (result_.left_out.contains(result_.measured.points[i].run) || times[i] <= 0) continue;
      result_.predictions[i].method = Method::alpha_beta;
      result_.predictions[i].time_us = times[i];
    }
  }

  const PartsCatalogue& parts_;
  CallTimes times_;
  BandTable bands_;
  std::map<std::string, std::vector<LeftOutBand>> left_out_bands_;
  PeerCosts kernels_;
  ValidateResult result_;
  std::map<std::string, Cluster> clusters_;
  std::map<std::string, std::unique_ptr<Setup>> setups_by_key_;
  std::vector<const Setup*> setups_;  ///< by run; null where none could be made
  std::map<std::tuple<const Setup*, Collective, std::int64_t, int>, std::size_t> numbers_;
  std::vector<TimeRecipe> recipes_;  ///< by point
  std::vector<double> host_us_;      ///< by point: what a thread of the host launches for
};

void set_left_out(Prediction& prediction, const Prediction& unseen) {
  prediction.left_out_us = unseen.time_us;
  prediction.left_out_lower_us = unseen.lower_us;
  prediction.left_out_upper_us = unseen.upper_us;
  prediction.left_out_basis = unseen.band_basis;
}

}  // namespace

Measurements subset(const Measurements& all, const std::vector<std::size_t>& points) {
  Measurements out;
  std::map<std::size_t, std::size_t> runs;
  for (const std::size_t i : points) {
    MeasuredPoint point = all.points[i];
    const auto [entry, fresh] = runs.try_emplace(point.run, out.runs.size());
    if (fresh) out.runs.push_back(all.runs[point.run]);
    point.run = entry->second;
    out.points.push_back(std::move(point));
  }
  return out;
}

ValidateResult run_validate(ValidateConfig config, const PartsCatalogue& parts,
                            const ForEach& for_each) {
  const std::map<std::string, PartsCatalogue> left_out = std::move(config.left_out);
  const auto left_out_bands = std::exchange(config.left_out_bands, {});
  const std::int64_t slices_max = config.slices_max;
  const bool weighs_messages = config.weighs_messages;
  ValidateResult out = Validation(std::move(config), parts, for_each).run();
  if (out.predictor != Predictor::simulation || left_out.empty()) return out;
  std::map<std::string, std::vector<std::size_t>> points_of;  // by source that the fit has seen
  for (std::size_t i = 0; i < out.predictions.size(); ++i) {
    const std::string& source = out.measured.runs[out.measured.points[i].run].source;
    if (left_out.contains(source)) points_of[source].push_back(i);
    set_left_out(out.predictions[i], out.predictions[i]);
  }
  for (const auto& [source, points] : points_of) {
    ValidateConfig unseen;
    unseen.measured = subset(out.measured, points);
    unseen.slices_max = slices_max;
    unseen.weighs_messages = weighs_messages;
    if (const auto own = left_out_bands.find(source); own != left_out_bands.end())
      unseen.left_out_bands.insert(*own);
    const ValidateResult part = Validation(std::move(unseen), left_out.at(source), for_each).run();
    for (std::size_t k = 0; k < points.size(); ++k)
      set_left_out(out.predictions[points[k]], part.predictions[k]);
  }
  return out;
}

}  // namespace fabricast
