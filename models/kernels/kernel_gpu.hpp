#pragma once
// What kernels need to know of a GPU: the maker's figures, nothing measured.

#include <algorithm>
#include <array>
#include <string>

namespace fabricast {

/// Width of the operands that tensor cores multiply.
enum class MathBits : unsigned char { bits16, bits8, bits4 };
inline constexpr std::array kAllMathBits = {MathBits::bits16, MathBits::bits8, MathBits::bits4};

struct KernelGpu {
  std::string name;
  int generation = 0;  ///< compute capability, 90 = 9.0; 10.3 counts as 10.0
  int multiprocessors = 0;
  std::array<double, 3> flops{};  ///< FLOP/s by MathBits, dense; 0 = the GPU cannot
  double memory_rate = 0;         ///< bytes/s
  double cache = 0;               ///< bytes of L2
  /// Rate of the tensor cores over that of whole ones on such multiprocessors: below 1 where they
  /// were cut and the rest was left, by export rules (H20) or to tell products apart (GeForce).
  double tensor_share = 1;

  /// GPUs without 8-bit floats multiply 8-bit integers at twice the 16-bit rate; what else a GPU
  /// cannot multiply is widened first and runs at the next wider rate.
  double peak(MathBits bits) const {
    if (bits == MathBits::bits16) return flops[0];
    if (flops[1] == 0) return 2 * flops[0];
    return bits == MathBits::bits4 && flops[2] > 0 ? flops[2] : flops[1];
  }

  /// FLOP/s of a kernel that reaches `share` of the peak of whole tensor cores, the rest of the
  /// multiprocessor setting its pace. Cut ones it keeps busier, to what products reach (assumed).
  double rate(MathBits bits, double share) const {
    constexpr double kProductsReach = 0.95;
    return std::max(share, std::min(kProductsReach, share / tensor_share)) * peak(bits);
  }
};

}  // namespace fabricast
