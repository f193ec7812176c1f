#pragma once
// NCCL's vocabulary: collectives, algorithms, protocols, versions, and nccl-tests' bandwidths.

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "models/hardware/parts/parts.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

/// The operations of nccl-tests. Only the first five are collectives to NCCL; the others are groups
/// of sends and receives.
enum class Collective : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  alltoall,
  sendrecv,
  gather,
  scatter
};
inline constexpr int kCollectives = 9;
inline constexpr std::array<Collective, kCollectives> kAllCollectives = {
    Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
    Collective::broadcast,  Collective::reduce,     Collective::alltoall,
    Collective::sendrecv,   Collective::gather,     Collective::scatter};
/// Those that NCCL's tuner chooses an algorithm for: indices 0..4.
inline constexpr int kTunedCollectives = 5;
constexpr bool is_tuned(Collective collective) {
  return static_cast<int>(collective) < kTunedCollectives;
}

/// Whether one rank plays a part of its own.
constexpr bool has_root(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce ||
         collective == Collective::gather || collective == Collective::scatter;
}

/// In NCCL's order (src/include/nccl_common.h): ties in predicted time go to the earlier one.
enum class Algorithm : std::uint8_t {
  tree,
  ring,
  collnet_direct,
  collnet_chain,
  nvls,
  nvls_tree,
  pat  ///< since 2.23
};
inline constexpr int kAlgorithms = 7;
constexpr bool is_nvls(Algorithm a) { return a == Algorithm::nvls || a == Algorithm::nvls_tree; }
inline constexpr std::array<Algorithm, kAlgorithms> kAllAlgorithms = {Algorithm::tree,
                                                                      Algorithm::ring,
                                                                      Algorithm::collnet_direct,
                                                                      Algorithm::collnet_chain,
                                                                      Algorithm::nvls,
                                                                      Algorithm::nvls_tree,
                                                                      Algorithm::pat};

constexpr std::size_t index_of(Collective c) { return static_cast<std::size_t>(c); }
constexpr std::size_t index_of(Algorithm a) { return static_cast<std::size_t>(a); }
constexpr std::size_t index_of(Protocol p) { return static_cast<std::size_t>(p); }

/// nccl-tests' name: "all_reduce", "alltoall", ... The same word in YAML, command line and CSV.
std::string_view to_text(Collective collective);
/// NCCL's spelling: "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT".
std::string_view to_text(Algorithm algorithm);
/// NCCL's spelling: "LL", "LL128", "Simple".
std::string_view to_text(Protocol protocol);
/// NCCL's spelling of a collective: "AllReduce", "AllGather", ... (NCCL_ALGO's per-function lists)
std::string_view nccl_name(Collective collective);

/// The value whose nccl-tests' name is exactly `text`.
std::optional<Collective> collective_from_text(std::string_view text);
/// As NCCL compares them: in any case.
std::optional<Algorithm> algorithm_from_text(std::string_view text);
std::optional<Protocol> protocol_from_text(std::string_view text);

/// A release of NCCL 2: "2.27.7" is {27, 7}. Rules ask `version >= kNccl2_27`, never for equality,
/// so that a version is the data and rules up to it and not a copy of anything.
struct NcclVersion {
  std::int16_t series = 21;
  std::int16_t patch = 5;

  constexpr auto operator<=>(const NcclVersion&) const = default;
};
inline constexpr NcclVersion kNccl2_21_5{21, 5}, kNccl2_27_7{27, 7}, kNccl2_30_7{30, 7};
/// First releases at which a rule changed.
inline constexpr NcclVersion kNccl2_19{19, 0}, kNccl2_20{20, 0}, kNccl2_21{21, 0}, kNccl2_22{22, 0},
    kNccl2_23{23, 0}, kNccl2_24{24, 0}, kNccl2_25{25, 0}, kNccl2_26{26, 0}, kNccl2_27{27, 0},
    kNccl2_28{28, 0}, kNccl2_29{29, 0}, kNccl2_29_7{29, 7}, kNccl2_30{30, 0}, kNccl2_31{31, 0};
/// A pre-release: 2.31 has no release yet, and its patch 0 is never one.
inline constexpr NcclVersion kNccl2_31_0a7 = kNccl2_31;
/// The releases whose decisions are reproduced exactly, oldest first.
inline constexpr std::array<NcclVersion, 14> kModelledVersions = {{{18, 6},
                                                                   {19, 4},
                                                                   {20, 5},
                                                                   kNccl2_21_5,
                                                                   {22, 3},
                                                                   {23, 4},
                                                                   {24, 3},
                                                                   {25, 1},
                                                                   {26, 6},
                                                                   kNccl2_27_7,
                                                                   {28, 9},
                                                                   {29, 7},
                                                                   kNccl2_30_7,
                                                                   kNccl2_31_0a7}};
/// What a question that names no release is answered for: the newest that is no pre-release.
inline constexpr NcclVersion kDefaultNccl = kNccl2_30_7;

std::string to_text(NcclVersion version);

/// Whether the larger buffer of a call holds its count once for every rank.
constexpr bool counts_per_rank(Collective collective) {
  switch (collective) {
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::alltoall:
    case Collective::gather:
    case Collective::scatter:
      return true;
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::sendrecv:
      return false;
  }
  return false;
}

/// Bytes of the larger of send and receive buffer: what nccl-tests prints as size and what NCCL's
/// tuner works with. `count` is NCCL's: per rank or per peer where counts_per_rank(), else the
/// total.
constexpr Bytes message_size(Collective collective, std::int64_t count, int element_bytes,
                             int ranks) {
  return Bytes{count * element_bytes * (counts_per_rank(collective) ? ranks : 1)};
}

/// busbw = algbw x this: the share of the message that must pass the busiest port of a rank
/// (nccl-tests, doc/PERFORMANCE.md and the getBw functions of src/*.cu). REQUIRES: ranks >= 1.
constexpr double busbw_factor(Collective collective, int ranks) {
  const double n = ranks;
  switch (collective) {
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::alltoall:
    case Collective::gather:
    case Collective::scatter:
      return (n - 1) / n;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::sendrecv:
      return 1;
  }
  return 1;
}

/// Message size over time, in GB/s (1e9 B/s); 0 when no time passes.
constexpr double algbw_GBps(Bytes size, Duration time) {
  return time.ps > 0 ? static_cast<double>(size.count) * 1e3 / static_cast<double>(time.ps) : 0;
}
constexpr double busbw_GBps(Collective collective, int ranks, Bytes size, Duration time) {
  return algbw_GBps(size, time) * busbw_factor(collective, ranks);
}
static_assert(algbw_GBps(Bytes{1'000'000'000}, microseconds(1'000'000)) == 1.0);

}  // namespace fabricast
