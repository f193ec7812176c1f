#include "models/studies/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <tuple>

#include "models/io/unit_text.hpp"
#include "models/studies/band_key.hpp"
#include "models/studies/bench.hpp"
#include "models/studies/nccl_request.hpp"

namespace fabricast {

namespace {

FoundBand assumed_band() { return {0.8, 1.25, false, 0, "assumed"}; }

/// A cluster as somebody has it, and NCCL on it.
struct Job {
  Cluster cluster;
  Communicator communicator;
};

class Expecter {
 public:
  Expecter(const JudgeConfig& config, const PartsCatalogue& parts, const BandTable& bands,
           const ForEach& for_each)
      : config_(config),
        parts_(parts),
        bands_(bands),
        for_each_(for_each),
        element_bytes_(datatype_bytes(config.datatype)) {}

  ExpectedRows run() {
    const Job healthy = job({}, config_.nodes);
    out_.nodes = healthy.cluster.hosts();
    out_.ranks = healthy.communicator.ranks;
    if (config_.root >= out_.ranks)
      throw Error(fmt::format("root {} is not a rank: there are {}", config_.root, out_.ranks));
    if (out_.ranks / healthy.communicator.hosts % config_.gpus_per_process != 0)
      throw Error(
          fmt::format("{} GPUs per process (-t times -g) do not divide the {} GPUs used of "
                      "each node",
                      config_.gpus_per_process, out_.ranks / healthy.communicator.hosts));
    out_.notes = healthy.communicator.warnings;
    for (Suspect& cause :
         possible_causes(healthy.cluster, {config_.collective, config_.environment, config_.version,
                                           config_.release_said, config_.sharp}))
      out_.causes.push_back({std::move(cause), {}});
    choose(healthy);
    const bool fewer = healthy.cluster.nodes() > kCauseNodesMax;
    simulate_all(fewer);
    if (fewer) scale(healthy);
    return std::move(out_);
  }

 private:
  Job job(const Suspect& cause, int nodes) const {
    Environment environment = config_.environment;
    for (const auto& [name, value] : cause.environment) environment.set(name, value);
    const NcclVersion version = cause.release.value_or(config_.version);
    const TopologyRequest asked = nccl_request(config_.topology, nodes, config_.fabric, environment,
                                               version, config_.gpus_per_node);
    PartsCatalogue other;
    if (cause.network) other = with_network(cause, load_cluster(asked, parts_).node(), parts_);
    const PartsCatalogue& parts = cause.network ? other : parts_;
    Cluster cluster = load_cluster(asked, parts);
    Communicator communicator =
        make_communicator(cluster, {version, environment, config_.gpus_per_node, config_.sharp,
                                    describe_nodes(asked, parts).node});
    apply_hardware(cause, cluster);
    return {std::move(cluster), std::move(communicator)};
  }

  DecidedCall decide(const Job& job, Bytes size) const {
    const std::int64_t count =
        element_count(config_.collective, size, element_bytes_, job.communicator.ranks);
    if (count == 0)
      throw Error(
          fmt::format("{} B over {} ranks is no whole element: is this the right --topology "
                      "and --nodes?",
                      size.count, job.communicator.ranks));
    DecidedCall call =
        decide_call(job.communicator, {config_.collective, count, element_bytes_, config_.root});
    call.run.gpus_per_process = config_.gpus_per_process;
    return call;
  }

  void choose(const Job& healthy) {
    for (const JudgedRow& row : config_.rows) {
      const DecidedCall call = decide(healthy, row.size);
      JudgeRow& out = out_.rows.emplace_back();
      out.size = row.size;
      out.band = band_of(healthy, row.size);
      out.algorithm = is_tuned(config_.collective) ? to_text(call.run.algorithm) : "none";
      out.protocol = to_text(call.run.protocol);
      out.channels = working_channels(call.run);
    }
  }

  /// Of the network that NCCL takes there.
  FoundBand band_of(const Job& job, Bytes size) const {
    BandKey key = band_key(job.cluster.node(), job.cluster.nodes(), config_.collective, size);
    if (key.network != "none") key.network = to_text(job.communicator.network.kind);
    return find_band(bands_, key).value_or(assumed_band());
  }

  /// A cause's times are no better known than where no run was measured.
  RowLimits limits_of(const Job& job, Bytes size) const {
    const FoundBand band = band_of(job, size), assumed = assumed_band();
    return {std::min(band.lower, assumed.lower), std::max(band.upper, assumed.upper)};
  }

  double time_us(const Job& job, const Suspect& cause, Bytes size) const {
    DecidedCall call = decide(job, size);
    apply_wiring(cause, job.cluster, call.run);
    SimulationOptions options;
    options.fold = options.fast_forward = true;
    return microseconds_of(simulate(job.cluster, parts_.software, call.run, options).time);
  }

  /// Every cause on every row; with fewer nodes if there are too many.
  void simulate_all(bool fewer) {
    std::vector<std::optional<Job>> jobs;
    for (SimulatedSuspect& simulated : out_.causes) {
      jobs.emplace_back();
      try {
        jobs.back().emplace(job(simulated.cause, fewer ? kCauseNodesMax : config_.nodes));
        simulated.times_us.resize(out_.rows.size());
        for (const JudgeRow& row : out_.rows)
          simulated.limits.push_back(limits_of(*jobs.back(), row.size));
      } catch (const Error& error) {
        simulated.refused = error.what();
      }
    }
    if (!out_.causes.front().refused.empty()) throw Error(out_.causes.front().refused);
    const std::size_t rows = out_.rows.size();
    std::vector<std::string> refused(jobs.size() * rows);
    for_each_(jobs.size() * rows, [&](std::size_t i) {
      const std::size_t cause = i / rows;
      if (!jobs[cause]) return;
      try {
        SimulatedSuspect& simulated = out_.causes[cause];
        simulated.times_us[i % rows] =
            time_us(*jobs[cause], simulated.cause, out_.rows[i % rows].size);
      } catch (const Error& error) {
        refused[i] = error.what();
      }
    });
    for (std::size_t i = 0; i < refused.size(); ++i) {
      SimulatedSuspect& simulated = out_.causes[i / rows];
      if (simulated.refused.empty()) simulated.refused = refused[i];
    }
    const SimulatedSuspect& healthy = out_.causes.front();
    if (!healthy.refused.empty()) throw Error(healthy.refused);
    for (std::size_t row = 0; row < rows; ++row) out_.rows[row].expected_us = healthy.times_us[row];
  }

  /// Of a cause the ratio to what is expected on so many nodes holds for more.
  void scale(const Job& job) {
    std::vector<double> whole(out_.rows.size());
    for_each_(whole.size(),
              [&](std::size_t row) { whole[row] = time_us(job, {}, out_.rows[row].size); });
    for (SimulatedSuspect& simulated : out_.causes) {
      for (std::size_t row = 0; row < simulated.times_us.size(); ++row)
        simulated.times_us[row] *= whole[row] / out_.rows[row].expected_us;
    }
    for (std::size_t row = 0; row < whole.size(); ++row) out_.rows[row].expected_us = whole[row];
    out_.notes.push_back(
        fmt::format("causes are simulated on {} of {} nodes: their ratio to what is "
                    "expected there is taken",
                    kCauseNodesMax, job.cluster.nodes()));
  }

  const JudgeConfig& config_;
  const PartsCatalogue& parts_;
  const BandTable& bands_;
  const ForEach& for_each_;
  int element_bytes_;
  ExpectedRows out_;
};

RowVerdict verdict_of(const JudgeRow& row) {
  const double ratio = row.measured_us / row.expected_us;
  if (ratio > row.band.upper) return RowVerdict::below;
  return ratio < row.band.lower ? RowVerdict::above : RowVerdict::within;
}

/// One row in ten may be slow by itself.
bool is_few(std::ptrdiff_t rows, std::size_t of) {
  return 10 * rows <= static_cast<std::ptrdiff_t>(of);
}

/// The band holds 8 of 10 rows of a good prediction.
bool holds(std::ptrdiff_t inside, std::size_t of) {
  return 10 * inside >= 8 * static_cast<std::ptrdiff_t>(of);
}

JudgeVerdict verdict_of(const JudgeResult& result) {
  const auto count = [&](RowVerdict verdict) {
    return std::ranges::count(result.rows, verdict, &JudgeRow::verdict);
  };
  const std::size_t rows = result.rows.size();
  if (is_few(count(RowVerdict::below), rows))
    return holds(count(RowVerdict::within), rows) ? JudgeVerdict::as_expected
                                                  : JudgeVerdict::faster;
  const std::vector<FitOfPrediction>& best = result.ranking.front().fits;
  const bool nothing =
      std::ranges::any_of(best, [](const FitOfPrediction& fit) { return fit.which == 0; });
  const auto explained = static_cast<std::ptrdiff_t>(rows - best.front().outside);
  return nothing || !holds(explained, rows) ? JudgeVerdict::unexplained : JudgeVerdict::explained;
}

}  // namespace

std::string_view to_text(RowVerdict verdict) {
  constexpr std::array<std::string_view, 3> names = {"within", "below", "above"};
  return names[static_cast<std::size_t>(verdict)];
}

std::string_view to_text(JudgeVerdict verdict) {
  constexpr std::array<std::string_view, 4> names = {"as expected", "faster than expected",
                                                     "slower, explained", "slower, unexplained"};
  return names[static_cast<std::size_t>(verdict)];
}

ExpectedRows expect_rows(const JudgeConfig& config, const PartsCatalogue& parts,
                         const BandTable& bands, const ForEach& for_each) {
  return Expecter(config, parts, bands, for_each).run();
}

JudgeResult judge_rows(const JudgeConfig& config, ExpectedRows expectation) {
  JudgeResult out;
  out.config = config;
  out.nodes = expectation.nodes;
  out.ranks = expectation.ranks;
  out.rows = std::move(expectation.rows);
  out.causes = std::move(expectation.causes);
  out.notes = std::move(expectation.notes);
  std::vector<double> measured;
  std::vector<std::vector<RowLimits>> limits;
  for (std::size_t i = 0; i < out.rows.size(); ++i) {
    JudgeRow& row = out.rows[i];
    row.measured_us = config.rows[i].measured_us;
    row.verdict = verdict_of(row);
    measured.push_back(row.measured_us);
  }
  std::vector<std::vector<double>> predicted;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < out.causes.size(); ++i) {
    if (!out.causes[i].refused.empty()) continue;
    predicted.push_back(out.causes[i].times_us);
    limits.push_back(out.causes[i].limits);
    numbers.push_back(i);
  }
  out.ranking = rank_predictions(measured, predicted, limits);
  for (FitGroup& group : out.ranking) {
    for (FitOfPrediction& fit : group.fits) fit.which = numbers[fit.which];
    std::stable_partition(group.fits.begin(), group.fits.end(),
                          [](const auto& fit) { return fit.which == 0; });
  }
  const std::vector<double>& healthy = out.causes.front().times_us;
  for (const std::size_t i : numbers) {
    if (i != 0 && same_everywhere(healthy, out.causes[i].times_us)) out.unseen.push_back(i);
  }
  out.verdict = verdict_of(out);
  return out;
}

}  // namespace fabricast
