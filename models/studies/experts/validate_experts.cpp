#include "models/studies/experts/validate_experts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/io/formats/csv_table.hpp"
#include "models/studies/errors/leave_out.hpp"
#include "models/studies/experts/experts.hpp"
#include "models/studies/experts/experts_fit.hpp"
#include "sim/base/add_once.hpp"

namespace fabricast {
namespace {

struct System {
  std::string_view name, topology;
  int gpus_per_node;
};
/// The names of ai-dynamo/aiconfigurator.
constexpr System kSystems[] = {
    {"a100_sxm", "dgx-a100", 8}, {"h100_sxm", "dgx-h100", 8}, {"h200_sxm", "hgx-h200", 8},
    {"h800_sxm", "hgx-h800", 8}, {"h20_sxm", "hgx-h20", 8},   {"b200_sxm", "hgx-b200", 8},
    {"b300_sxm", "hgx-b300", 8}, {"gb200", "gb200-nvl72", 4}, {"gb300", "gb300-nvl72", 4},
};

const System* find_system(std::string_view name) {
  const auto at = std::ranges::find(kSystems, name, &System::name);
  return at == std::end(kSystems) ? nullptr : at;
}

class PointsReader {
 public:
  PointsReader(const CsvTable& table, ExpertsValidation& out) : table_(table), out_(out) {}

  void read() {
    const bool deepep = table_.has("mode");
    if (!deepep && !table_.has("op"))
      throw Error(Place{table_.file(), 1, {}}, "neither a column \"mode\" nor one \"op\"",
                  "rows of DeepEP have mode, rows of TensorRT-LLM have op (docs/validate.md)");
    for (std::size_t i = 0; i < table_.rows(); ++i) {
      const CsvRow row = table_.row(i);
      const System* const system = find_system(row.text("system"));
      if (system == nullptr) {
        leave_out(fmt::format("system \"{}\" is not known", row.text("system")));
      } else if (deepep) {
        read_deepep(row, *system);
      } else {
        read_trtllm(row, *system);
      }
    }
  }

 private:
  void leave_out(std::string why) {
    ++out_.rows_left_out;
    add_once(out_.left_out, std::move(why));
  }

  ExpertsPoint point_of(const CsvRow& row, const System& system) const {
    ExpertsPoint out;
    out.system = system.name;
    out.topology = system.topology;
    out.gpus_per_node = system.gpus_per_node;
    out.call.hidden = needed(row, "hidden", kHiddenMax);
    out.call.tokens = needed(row, "tokens", kTokensMax);
    out.call.choice.top_k = needed(row, "topk", kExpertsMax);
    out.call.choice.experts = needed(row, "experts", kExpertsMax);
    return out;
  }
  static int needed(const CsvRow& row, std::string_view column, int most) {
    const std::optional<int> value = row.whole(column, 1, most);
    if (!value) throw Error(row.place(column), "is missing");
    return *value;
  }
  static double microseconds(const CsvRow& row, std::string_view column) {
    const std::optional<double> value = row.positive(column);
    if (!value) throw Error(row.place(column), "is missing");
    return *value;
  }

  void read_deepep(const CsvRow& row, const System& system) {
    ExpertsPoint point = point_of(row, system);
    const std::optional<EpMode> mode = kEpModeWords.find(row.text("mode"));
    if (!mode || !has_own_kernels(*mode) || stays_in_domain(*mode))
      return leave_out(fmt::format("mode \"{}\" is not DeepEP's", row.text("mode")));
    point.mode = *mode;
    point.nodes = needed(row, "nodes", kEpRanksMax);
    if (point.call.choice.experts < point.nodes * point.gpus_per_node)
      return leave_out("fewer experts than GPUs");
    for (const EpPhase phase : {EpPhase::dispatch, EpPhase::combine}) {
      const std::string name(kEpPhaseWords[phase]);
      point.phase = phase;
      point.call.sms = row.whole(name + "_sms", 1, kSmsMax).value_or(24);
      point.measured_us = microseconds(row, name + "_us");
      // Of several nodes the kernel before it stands apart; "0" and "" where there is none.
      const std::string& notify = row.text_or_blank(name + "_notify_us");
      if (point.nodes > 1 && !notify.empty())
        point.measured_us += microseconds(row, name + "_notify_us");
      out_.points.push_back(point);
    }
  }

  void read_trtllm(const CsvRow& row, const System& system) {
    ExpertsPoint point = point_of(row, system);
    const std::string& op = row.text("op");
    const std::string& kernel = row.text("kernel");
    const std::string& dtype = row.text("dtype");
    point.mode = kernel == "NVLinkOneSided" ? EpMode::nvlink : EpMode::nvlink_two_sided;
    if (kernel != "NVLinkOneSided" && kernel != "NVLinkTwoSided")
      return leave_out(fmt::format("kernel \"{}\" is not modelled", kernel));
    if (op == "alltoall_combine") {
      point.phase = EpPhase::combine;
    } else if (op == "alltoall_prepare") {
      point.notifies_alone = true;
    } else if (op == "alltoall_dispatch") {
      point.without_notify = true;
    } else {
      return leave_out(fmt::format("op \"{}\" is not modelled", op));
    }
    const std::optional<EpDatatype> known =
        dtype == "bfloat16" ? EpDatatype::bf16 : kEpDatatypeWords.find(dtype);
    if (!known) return leave_out(fmt::format("datatype \"{}\" is not modelled", dtype));
    point.call.dispatched = *known;
    const int ranks = needed(row, "ep", kEpRanksMax);
    point.gpus_per_node = std::min(ranks, system.gpus_per_node);
    point.nodes = ranks / point.gpus_per_node;
    if (point.nodes * point.gpus_per_node != ranks || point.call.choice.experts < ranks)
      return leave_out("GPUs that do not fill their servers, or fewer experts than GPUs");
    point.measured_us = microseconds(row, "time_us");
    out_.points.push_back(std::move(point));
  }

  const CsvTable& table_;
  ExpertsValidation& out_;
};

}  // namespace

ExpertsValidation read_experts_points(std::string_view text, const std::string& file) {
  ExpertsValidation out;
  const CsvTable table(text, file);
  PointsReader(table, out).read();
  if (out.points.empty())
    throw Error(Place{file, 0, {}}, "no row that can be predicted",
                out.left_out.empty() ? "" : out.left_out.front());
  return out;
}

void predict_experts(ExpertsValidation& validation, const PartsCatalogue& parts,
                     const ExpertKernels& kernels, const ForEach& for_each, bool cross_validates) {
  const ExpertsPredictor predictor(validation.points, parts);
  std::vector<std::size_t> all(validation.points.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::vector<double> times = predictor.predict(all, kernels, for_each);
  for (const std::size_t i : all) validation.points[i].predicted_us = times[i];
  validation.cross_validated = cross_validates;
  if (!cross_validates) return;
  const auto system_of = [&](std::size_t i) { return validation.points[i].system; };
  for (const auto& [system, seen, unseen] : leave_each_out(all.size(), system_of)) {
    const ExpertKernels fitted = fit_experts(predictor, seen, kernels, for_each);
    const std::vector<double> left_out = predictor.predict(unseen, fitted, for_each);
    for (std::size_t i = 0; i < unseen.size(); ++i) {
      ExpertsPoint& point = validation.points[unseen[i]];
      // Others say nothing of kernels that no other system ran, or not on several nodes.
      const auto ran = [&](std::size_t other) {
        const ExpertsPoint& one = validation.points[other];
        return one.mode == point.mode && (one.nodes > 1) == (point.nodes > 1);
      };
      if (std::ranges::any_of(seen, ran)) point.unseen_us = left_out[i];
    }
  }
}

}  // namespace fabricast
