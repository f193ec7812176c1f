#pragma once
// What kernels of a library cost beside the maker's figures of the GPU: a dozen parameters for each
// family, each of which means something. Values: workloads/kernels.yaml, fitted by
// `fabricast validate kernels --fit`; docs/kernels.md says what each does to the time.

#include <array>
#include <span>
#include <string_view>
#include <variant>

namespace fabricast {

/// A product, tile by tile. Times are seconds, shares are of the maker's figure.
struct GemmCosts {
  double start = 2.5e-6;     ///< from the kernel before to its own first loads, and its end
  double share = 0.75;       ///< of the peak that a full multiprocessor reaches
  double memory = 0.85;      ///< of the memory's rate
  double cache = 2.5;        ///< rate of L2 over the memory's
  double fill = 220;         ///< filling and draining a tile, as elements of K
  double refill = 0.7;       ///< of it, what each tile after a multiprocessor's first costs
  double heat = 0.05;        ///< how much longer products that last take: a clock under its limit
  double edge = 5;           ///< a tile of m x n costs 1 + edge (1/m + 1/n)
  double step = 90e-9;       ///< least time of 64 elements of K, whatever the tile
  double quantum = 0.25;     ///< of a last wave that is not full, the share that is waited for
  double reach = 4;          ///< times its part of the memory's rate that a multiprocessor can draw
  double split = 2.7e-6;     ///< of cutting K: a second pass over the sums
  double overlap = 3;        ///< 1: loads and products add up; large: the longer one counts
  double cast_start = 1e-6;  ///< of quantising the inputs
  double cast_rate = 0.6;    ///< of the memory's rate that it reaches
  double cast_row = 10e-9;   ///< per row and multiprocessor
};

/// Fused attention over whole sequences.
struct ContextCosts {
  double start = 8e-6;
  double share64 = 0.4, share128 = 0.6, share192 = 0.6, share256 = 0.5, share512 = 0.4;
  double memory = 0.5;     ///< share of the memory's rate that inputs, outputs and the cache reach
  double fill = 100;       ///< of a tile of queries, as keys
  double step = 400e-9;    ///< least time of 64 keys
  double quantum = 0.7;    ///< as with a product
  double overlap = 1.5;    ///< as with a product
  double sequence = 5e-9;  ///< per sequence
};

/// One token against the cache.
struct DecodeCosts {
  double start = 6e-6;
  double memory = 0.85;
  double cache = 2;
  double reach = 2;
  double step = 300e-9;  ///< of 64 keys on a multiprocessor
  double group = 16;     ///< heads of a group are padded to a multiple of so many
  double share = 0.4;    ///< of the 16-bit peak
  double shared = 32;    ///< heads that share a read of the keys; more read them from L2 again
  double cuts = 32;      ///< pieces that a sequence is cut in at most
  double piece = 1e-6;   ///< of a piece on a multiprocessor; three times where pieces are joined
  double overlap = 2;
  double sequence = 5e-9;  ///< per sequence
};

/// Gated delta nets over whole sequences: chunks of 64 tokens follow each other.
struct DeltaCosts {
  double start = 10e-6;
  double share = 0.3;    ///< of the 16-bit peak that products reach
  double memory = 0.5;   ///< share of the memory's rate that inputs, outputs and states reach
  double cache = 2;      ///< rate of L2 over the memory's
  double fill = 3e-6;    ///< of a state on a multiprocessor: loading and storing it
  double step = 2e-6;    ///< least time of a chunk
  double resident = 1;   ///< states that a multiprocessor has at a time
  double quantum = 0.5;  ///< as with a product
  double overlap = 2;    ///< as with a product
};

/// A layer of experts.
struct ExpertCosts {
  double start = 15e-6;
  double share = 0.6, memory = 0.8, cache = 2, fill = 200, edge = 10, step = 200e-9;
  double quantum = 0.3, overlap = 2;
  double sort = 0.5;      ///< of the memory's rate that permuting and summing rows reach
  double token = 10e-9;   ///< of routing, per token
  double expert = 20e-9;  ///< per expert of the GPU
};

/// Bytes: scaling, and a token of gated delta nets, which reads and writes their states.
struct MoveCosts {
  double start = 2e-6;
  double memory = 0.85;
  double cache = 2;
};

using KernelCosts =
    std::variant<GemmCosts, ContextCosts, DecodeCosts, DeltaCosts, ExpertCosts, MoveCosts>;

/// Names as in workloads/kernels.yaml, and between what they lie.
template <class Costs>
struct CostField {
  std::string_view name;
  double Costs::*value;
  double least, most;
  bool is_time = false;
};

inline constexpr std::array kGemmFields = {
    CostField<GemmCosts>{"start", &GemmCosts::start, 0.3e-6, 300e-6, true},
    CostField<GemmCosts>{"share", &GemmCosts::share, 0.1, 1.05},
    CostField<GemmCosts>{"memory", &GemmCosts::memory, 0.2, 1},
    CostField<GemmCosts>{"cache", &GemmCosts::cache, 1, 12},
    CostField<GemmCosts>{"fill", &GemmCosts::fill, 1, 3000},
    CostField<GemmCosts>{"refill", &GemmCosts::refill, 0.02, 1},
    CostField<GemmCosts>{"heat", &GemmCosts::heat, 0.001, 0.5},
    CostField<GemmCosts>{"edge", &GemmCosts::edge, 0.1, 200},
    CostField<GemmCosts>{"step", &GemmCosts::step, 1e-9, 1e-6, true},
    CostField<GemmCosts>{"quantum", &GemmCosts::quantum, 0.01, 1},
    CostField<GemmCosts>{"reach", &GemmCosts::reach, 1, 20},
    CostField<GemmCosts>{"split", &GemmCosts::split, 0.1e-6, 30e-6, true},
    CostField<GemmCosts>{"overlap", &GemmCosts::overlap, 1.2, 15},
    CostField<GemmCosts>{"cast_start", &GemmCosts::cast_start, 0.01e-6, 50e-6, true},
    CostField<GemmCosts>{"cast_rate", &GemmCosts::cast_rate, 0.05, 12},
    CostField<GemmCosts>{"cast_row", &GemmCosts::cast_row, 0.01e-9, 20e-6, true}};
inline constexpr std::array kContextFields = {
    CostField<ContextCosts>{"start", &ContextCosts::start, 0.5e-6, 300e-6, true},
    CostField<ContextCosts>{"share64", &ContextCosts::share64, 0.02, 1.2},
    CostField<ContextCosts>{"share128", &ContextCosts::share128, 0.02, 1.2},
    CostField<ContextCosts>{"share192", &ContextCosts::share192, 0.02, 1.2},
    CostField<ContextCosts>{"share256", &ContextCosts::share256, 0.02, 1.2},
    CostField<ContextCosts>{"share512", &ContextCosts::share512, 0.02, 1.2},
    CostField<ContextCosts>{"memory", &ContextCosts::memory, 0.05, 3},
    CostField<ContextCosts>{"fill", &ContextCosts::fill, 1, 3000},
    CostField<ContextCosts>{"step", &ContextCosts::step, 1e-9, 3e-6, true},
    CostField<ContextCosts>{"quantum", &ContextCosts::quantum, 0.01, 1},
    CostField<ContextCosts>{"overlap", &ContextCosts::overlap, 1.1, 15},
    CostField<ContextCosts>{"sequence", &ContextCosts::sequence, 1e-12, 1e-6, true}};
inline constexpr std::array kDecodeFields = {
    CostField<DecodeCosts>{"start", &DecodeCosts::start, 0.5e-6, 300e-6, true},
    CostField<DecodeCosts>{"memory", &DecodeCosts::memory, 0.1, 1.1},
    CostField<DecodeCosts>{"cache", &DecodeCosts::cache, 0.5, 12},
    CostField<DecodeCosts>{"reach", &DecodeCosts::reach, 0.5, 20},
    CostField<DecodeCosts>{"step", &DecodeCosts::step, 1e-9, 10e-6, true},
    CostField<DecodeCosts>{"group", &DecodeCosts::group, 1, 128},
    CostField<DecodeCosts>{"share", &DecodeCosts::share, 0.02, 1},
    CostField<DecodeCosts>{"shared", &DecodeCosts::shared, 1, 256},
    CostField<DecodeCosts>{"cuts", &DecodeCosts::cuts, 1, 1024},
    CostField<DecodeCosts>{"piece", &DecodeCosts::piece, 1e-9, 10e-6, true},
    CostField<DecodeCosts>{"overlap", &DecodeCosts::overlap, 1.1, 15},
    CostField<DecodeCosts>{"sequence", &DecodeCosts::sequence, 1e-12, 1e-6, true}};
inline constexpr std::array kDeltaFields = {
    CostField<DeltaCosts>{"start", &DeltaCosts::start, 0.5e-6, 300e-6, true},
    CostField<DeltaCosts>{"share", &DeltaCosts::share, 0.01, 1},
    CostField<DeltaCosts>{"memory", &DeltaCosts::memory, 0.05, 3},
    CostField<DeltaCosts>{"cache", &DeltaCosts::cache, 0.5, 12},
    CostField<DeltaCosts>{"fill", &DeltaCosts::fill, 1e-9, 100e-6, true},
    CostField<DeltaCosts>{"step", &DeltaCosts::step, 1e-9, 30e-6, true},
    CostField<DeltaCosts>{"resident", &DeltaCosts::resident, 0.1, 32},
    CostField<DeltaCosts>{"quantum", &DeltaCosts::quantum, 0.01, 1},
    CostField<DeltaCosts>{"overlap", &DeltaCosts::overlap, 1.1, 15}};
inline constexpr std::array kExpertFields = {
    CostField<ExpertCosts>{"start", &ExpertCosts::start, 1e-6, 500e-6, true},
    CostField<ExpertCosts>{"share", &ExpertCosts::share, 0.05, 1.2},
    CostField<ExpertCosts>{"memory", &ExpertCosts::memory, 0.05, 1.05},
    CostField<ExpertCosts>{"cache", &ExpertCosts::cache, 0.5, 12},
    CostField<ExpertCosts>{"fill", &ExpertCosts::fill, 1, 5000},
    CostField<ExpertCosts>{"edge", &ExpertCosts::edge, 0.5, 300},
    CostField<ExpertCosts>{"step", &ExpertCosts::step, 1e-9, 5e-6, true},
    CostField<ExpertCosts>{"quantum", &ExpertCosts::quantum, 0.01, 1},
    CostField<ExpertCosts>{"overlap", &ExpertCosts::overlap, 1.2, 15},
    CostField<ExpertCosts>{"sort", &ExpertCosts::sort, 0.02, 10},
    CostField<ExpertCosts>{"token", &ExpertCosts::token, 1e-12, 1e-6, true},
    CostField<ExpertCosts>{"expert", &ExpertCosts::expert, 10e-12, 1e-6, true}};
inline constexpr std::array kMoveFields = {
    CostField<MoveCosts>{"start", &MoveCosts::start, 0.3e-6, 100e-6, true},
    CostField<MoveCosts>{"memory", &MoveCosts::memory, 0.1, 1.1},
    CostField<MoveCosts>{"cache", &MoveCosts::cache, 0.5, 12}};

constexpr std::span<const CostField<GemmCosts>> fields_of(const GemmCosts&) { return kGemmFields; }
constexpr std::span<const CostField<ContextCosts>> fields_of(const ContextCosts&) {
  return kContextFields;
}
constexpr std::span<const CostField<DecodeCosts>> fields_of(const DecodeCosts&) {
  return kDecodeFields;
}
constexpr std::span<const CostField<DeltaCosts>> fields_of(const DeltaCosts&) {
  return kDeltaFields;
}
constexpr std::span<const CostField<ExpertCosts>> fields_of(const ExpertCosts&) {
  return kExpertFields;
}
constexpr std::span<const CostField<MoveCosts>> fields_of(const MoveCosts&) { return kMoveFields; }

}  // namespace fabricast
