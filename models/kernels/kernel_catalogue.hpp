#pragma once
// Which costs a kernel has: measured ones by generation of GPU, library, kernel and datatype, and
// what stands in for those that nobody measured.

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "models/kernels/kernel_costs.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

enum class KernelFamily : unsigned char {
  gemm,     ///< of more than kSkinnyRows rows
  skinny,   ///< of fewer
  batched,  ///< products side by side, those of absorbed latent attention
  context,
  encoder,
  decode,
  latent_context,
  latent_decode,
  delta_context,  ///< gated delta nets: whole sequences, chunk by chunk
  delta_decode,   ///< one token of them
  experts,
  scale  ///< bf16 to fp8 with a scale that is known
};
inline constexpr EnumWords<KernelFamily, 12> kKernelFamilyWords = {
    {"gemm", "skinny", "batched", "context", "encoder", "decode", "latent_context", "latent_decode",
     "delta_context", "delta_decode", "experts", "scale"}};

/// Up to so many rows of inputs a product is one of decoding: libraries have other kernels for it.
inline constexpr double kSkinnyRows = 16;
constexpr KernelFamily family_of_product(double rows) {
  return rows <= kSkinnyRows ? KernelFamily::skinny : KernelFamily::gemm;
}

struct KernelName {
  KernelFamily family = KernelFamily::gemm;
  int generation = 0;   ///< of the GPU, as KernelGpu has it
  std::string library;  ///< "trtllm", "vllm", "sglang"
  std::string kernel;   ///< as the library calls it
  std::string dtype;    ///< of a cache: "bfloat16, fp8 cache"
  auto operator<=>(const KernelName&) const = default;
};
/// "sm90 trtllm torch_flow, bfloat16"
std::string to_text(const KernelName& name);

struct KernelSet {
  KernelName name;
  KernelCosts costs;
  int rows = 0;  ///< that it was fitted to
};

struct KernelCatalogue {
  std::vector<KernelSet> sets;
};

/// The costs of a family before anything is fitted.
KernelCosts start_costs(KernelFamily family);

struct KernelChoice {
  KernelCosts costs;
  bool measured = false;  ///< this kernel on this generation; else its nearest relatives
};
/// The set of that name; else of the sets of the family with that dtype those that are nearest: of
/// the same generation, then of the same library, then of the same kernel. Several that are equally
/// near: the geometric mean of each figure. Nothing where the family has no such dtype.
std::optional<KernelChoice> choose_costs(const KernelCatalogue& catalogue, const KernelName& name);

}  // namespace fabricast
