#include "models/studies/kernels/validate_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "models/io/workloads/load_kernels.hpp"
#include "models/studies/kernels/kernel_fit.hpp"

namespace fabricast {
namespace {

constexpr std::uint64_t kShapesOf = 5;  // one of so many is left out
using Rows = std::vector<const KernelRow*>;

bool kept_aside(const KernelRow& row) { return row.shape % kShapesOf == 0; }

class Validation {
 public:
  Validation(ValidateKernelsConfig config, const ForEach& for_each) : for_each_(for_each) {
    out_.config = std::move(config);
    out_.left_out = out_.config.measured.left_out;
  }

  ValidateKernelsResult run() {
    const Rows all = rows([](const KernelRow&) { return true; });
    KernelCatalogue fitted;
    if (out_.config.fit || out_.config.leave_out) fitted = fit_kernels(all, for_each_);
    if (out_.config.fit) out_.fitted = kernels_yaml(fitted);
    const std::vector<KernelRow>& measured = out_.config.measured.rows;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const std::optional<KernelChoice> choice =
          choose_costs(out_.config.kernels, measured[i].name);
      if (!choice) {
        ++out_.left_out[fmt::format("no {} kernel of {} is known",
                                    kKernelFamilyWords[measured[i].name.family],
                                    measured[i].name.dtype)];
        continue;
      }
      out_.predictions.push_back(
          {i, predicted_us(measured[i], choice->costs), choice->measured, {}, {}});
    }
    if (out_.config.leave_out) {
      leave_out_shapes();
      leave_out_gpus(all, fitted);
    }
    return std::move(out_);
  }

 private:
  template <class Want>
  Rows rows(const Want& want) const {
    Rows out;
    for (const KernelRow& row : out_.config.measured.rows)
      if (want(row)) out.push_back(&row);
    return out;
  }

  void leave_out_shapes() {
    const KernelCatalogue seen =
        fit_kernels(rows([](const KernelRow& row) { return !kept_aside(row); }), for_each_);
    for (KernelPrediction& one : out_.predictions) {
      const KernelRow& row = out_.config.measured.rows[one.row];
      if (!kept_aside(row)) continue;
      if (const auto choice = choose_costs(seen, row.name))
        one.shape_us = predicted_us(row, choice->costs);
    }
  }

  /// Other generations keep their fit: the GPU is not in it.
  void leave_out_gpus(const Rows& all, const KernelCatalogue& fitted) {
    std::map<std::string, int> generations;
    for (const KernelRow* row : all) generations[row->gpu.name] = row->gpu.generation;
    for (const auto& [gpu, generation] : generations) {
      KernelCatalogue seen =
          fit_kernels(rows([&, gpu = gpu, generation = generation](const KernelRow& row) {
                        return row.gpu.name != gpu && row.gpu.generation == generation;
                      }),
                      for_each_);
      for (const KernelSet& set : fitted.sets)
        if (set.name.generation != generation) seen.sets.push_back(set);
      for (KernelPrediction& one : out_.predictions) {
        const KernelRow& row = out_.config.measured.rows[one.row];
        if (row.gpu.name != gpu) continue;
        if (const auto choice = choose_costs(seen, row.name))
          one.gpu_us = predicted_us(row, choice->costs);
      }
    }
  }

  const ForEach& for_each_;
  ValidateKernelsResult out_;
};

}  // namespace

ValidateKernelsResult run_validate_kernels(ValidateKernelsConfig config, const ForEach& for_each) {
  return Validation(std::move(config), for_each).run();
}

}  // namespace fabricast
