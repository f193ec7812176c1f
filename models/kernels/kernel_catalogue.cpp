#include "models/kernels/kernel_catalogue.hpp"

#include <fmt/format.h>

#include <cmath>
#include <type_traits>

namespace fabricast {

namespace {

/// How far a set is from what is asked: the generation weighs most.
int distance(const KernelName& a, const KernelName& b) {
  return (a.generation == b.generation ? 0 : 4) + (a.library == b.library ? 0 : 2) +
         (a.kernel == b.kernel ? 0 : 1);
}

/// REQUIRES: at least one, all of one family.
KernelCosts geometric_mean(const std::vector<const KernelSet*>& sets) {
  KernelCosts out = sets.front()->costs;
  std::visit(
      [&](auto& mean) {
        using Costs = std::remove_reference_t<decltype(mean)>;
        for (const auto& field : fields_of(mean)) {
          double sum = 0;
          for (const KernelSet* set : sets)
            sum += std::log(std::get<Costs>(set->costs).*field.value);
          mean.*field.value = std::exp(sum / static_cast<double>(sets.size()));
        }
      },
      out);
  return out;
}

}  // namespace

std::string to_text(const KernelName& name) {
  return fmt::format("sm{} {} {}, {}", name.generation, name.library, name.kernel, name.dtype);
}

KernelCosts start_costs(KernelFamily family) {
  switch (family) {
    case KernelFamily::gemm:
    case KernelFamily::skinny:
    case KernelFamily::batched:
      return GemmCosts{};
    case KernelFamily::context:
    case KernelFamily::encoder:
    case KernelFamily::latent_context:
      return ContextCosts{};
    case KernelFamily::decode:
    case KernelFamily::latent_decode:
      return DecodeCosts{};
    case KernelFamily::delta_context:
      return DeltaCosts{};
    case KernelFamily::experts:
      return ExpertCosts{};
    case KernelFamily::delta_decode:
    case KernelFamily::scale:
      return MoveCosts{};
  }
  return GemmCosts{};
}

std::optional<KernelChoice> choose_costs(const KernelCatalogue& catalogue, const KernelName& name) {
  int nearest = 8;
  std::vector<const KernelSet*> best;
  for (const KernelSet& set : catalogue.sets) {
    if (set.name.family != name.family || set.name.dtype != name.dtype) continue;
    const int away = distance(set.name, name);
    if (away == 0) return KernelChoice{set.costs, true};
    if (away > nearest) continue;
    if (away < nearest) best.clear();
    nearest = away;
    best.push_back(&set);
  }
  if (best.empty()) return {};
  return KernelChoice{geometric_mean(best), false};
}

}  // namespace fabricast
