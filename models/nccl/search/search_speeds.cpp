#include "models/nccl/search/search_speeds.hpp"

#include <array>

namespace fabricast {
namespace {

constexpr std::array<float, 13> kInside = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr std::array<float, 19> kOverNet = {48.F, 30.F, 28.F, 24.F, 20.F, 18.F, 15.F,
                                            12.F, 10.F, 9.F,  7.F,  6.F,  5.F,  4.F,
                                            3.F,  2.4F, 1.2F, .24F, .12F};
constexpr std::array<float, 9> kHopperInside2_18 = {60, 40, 30, 24, 20, 15, 12, 6, 3};
constexpr std::array<float, 10> kHopperInside2_19 = {60, 50, 40, 30, 24, 20, 15, 12, 6, 3};
constexpr std::array<float, 11> kHopperInside = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr std::array<float, 16> kHopperOverNet2_18 = {
    48.F, 45.F, 42.F, 40.F, 30.F, 24.F, 20.F, 17.5F, 15.F, 12.F, 6.F, 3.F, 2.4F, 1.2F, .24F, .12F};
constexpr std::array<float, 17> kHopperOverNet = {48.F, 45.F, 42.F,  40.F, 30.F, 24.F,
                                                  22.F, 20.F, 17.5F, 15.F, 12.F, 6.F,
                                                  3.F,  2.4F, 1.2F,  .24F, .12F};
constexpr std::array<float, 10> kBlackwellInside2_25 = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19};
constexpr std::array<float, 11> kBlackwellInside = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18};
constexpr std::array<float, 18> kBlackwellOverNet = {96.F, 48.F, 45.1F, 42.F,  40.F, 30.F,
                                                     24.F, 22.F, 20.F,  17.5F, 15.F, 12.F,
                                                     6.F,  3.F,  2.4F,  1.2F,  .24F, .12F};
constexpr std::array<float, 12> kBlackwellInside2_29 = {90, 80, 70, 60, 50, 45,
                                                        40, 30, 24, 20, 19, 18};
constexpr std::array<float, 19> kBlackwellOverNet2_29 = {96.F, 80.F, 48.F, 45.1F, 42.F, 40.F, 30.F,
                                                         24.F, 22.F, 20.F, 17.5F, 15.F, 12.F, 6.F,
                                                         3.F,  2.4F, 1.2F, .24F,  .12F};
constexpr std::array<float, 20> kBlackwellOverNet2_30 = {96.F, 86.F, 80.F, 48.F, 45.1F, 42.F, 40.F,
                                                         30.F, 24.F, 22.F, 20.F, 17.5F, 15.F, 12.F,
                                                         6.F,  3.F,  2.4F, 1.2F, .24F,  .12F};

}  // namespace

std::span<const float> search_speeds(int min_sm, bool over_net, NcclVersion version) {
  if (min_sm < 90) return over_net ? std::span<const float>(kOverNet) : kInside;
  if (version < kNccl2_19)
    return over_net ? std::span<const float>(kHopperOverNet2_18) : kHopperInside2_18;
  if (version < kNccl2_21)
    return over_net ? std::span<const float>(kHopperOverNet) : kHopperInside2_19;
  if (min_sm < 100 || version < kNccl2_25)
    return over_net ? std::span<const float>(kHopperOverNet) : kHopperInside;
  if (version < kNccl2_27)
    return over_net ? std::span<const float>(kHopperOverNet) : kBlackwellInside2_25;
  if (version < kNccl2_29)
    return over_net ? std::span<const float>(kBlackwellOverNet) : kBlackwellInside;
  if (!over_net) return kBlackwellInside2_29;
  return version < kNccl2_30 ? std::span<const float>(kBlackwellOverNet2_29)
                             : kBlackwellOverNet2_30;
}

}  // namespace fabricast
