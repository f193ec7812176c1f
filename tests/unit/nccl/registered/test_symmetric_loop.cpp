// Goal: what a thread of a symmetric kernel waits for is what NCCL's loops say. Method: loops
// written out by hand, and what more peers add to a kernel's time with round costs.

#include <doctest/doctest.h>

#include "models/nccl/registered/symmetric_loop.hpp"

using namespace fabricast;

namespace {

constexpr std::int64_t kKiB = 1 << 10;

int loads(SymmetricKernel kernel, int ranks, std::int64_t bytes, int blocks) {
  return rounds_of_loads({kernel, ranks, {bytes}, blocks});
}
double reads(SymmetricKernel kernel, int ranks, std::int64_t bytes, int blocks) {
  return rounds_of_reads({kernel, ranks, {bytes}, blocks});
}

}  // namespace

TEST_CASE("symmetric loops: an AllReduce loads from eight, four or two peers at a time") {
  constexpr SymmetricKernel kernel = SymmetricKernel::reduce_ld_st;
  // Elements: eight peers at a time. 7 peers: 8; 63: 8 + ... + 7.
  CHECK(loads(kernel, 2, 256, 1) == 1);
  CHECK(loads(kernel, 8, 256, 1) == 1);
  CHECK(loads(kernel, 16, 256, 1) == 2);
  CHECK(loads(kernel, 64, 256, 1) == 8);
  // 2 KiB for each block of each rank: one peer, then four at a time; 8 KiB: then two.
  CHECK(loads(kernel, 8, 8 * 4 * 2 * kKiB - 1, 4) == 1);
  CHECK(loads(kernel, 8, 8 * 4 * 2 * kKiB, 4) == 1 + 2);
  CHECK(loads(kernel, 8, 8 * 4 * 8 * kKiB, 4) == 1 + 3);
  CHECK(loads(kernel, 64, 64 * 32 * 8 * kKiB, 32) == 1 + 31);
  CHECK(loads(kernel, 2, 1 << 30, 32) == 1);
}

TEST_CASE("symmetric loops: a ReduceScatter loads from one peer after another") {
  constexpr SymmetricKernel kernel = SymmetricKernel::scatter_ld;
  CHECK(loads(kernel, 16, 16 * 2 * kKiB, 32) == 2);
  CHECK(loads(kernel, 16, 16 * 4 * kKiB, 32) == 1 + 4);
  CHECK(loads(kernel, 16, 16 * 16 * kKiB, 32) == 15);
  CHECK(loads(kernel, 2, 1 << 30, 32) == 1);
  // Nobody loads: stores, multicasts, what the switches sum.
  CHECK(loads(SymmetricKernel::gather_st, 64, 1 << 20, 32) == 1);
  CHECK(loads(SymmetricKernel::reduce_mc, 64, 1 << 20, 1) == 1);
}

TEST_CASE("symmetric loops: LL reads eight ranks at a time, or four packs") {
  CHECK(reads(SymmetricKernel::reduce_ll, 8, 256, 1) == 1);
  CHECK(reads(SymmetricKernel::reduce_llmc, 64, 1 << 20, 1) == 8);
  CHECK(reads(SymmetricKernel::scatter_ll, 4, 1 << 20, 24) == 0.5);
  // 64 ranks of 8 packs of 8 B: a pack for each of 512 threads. A full turn: 64 packs a thread.
  CHECK(reads(SymmetricKernel::gather_ll, 64, 64 * 64, 1) == 0.25);
  CHECK(reads(SymmetricKernel::gather_llmc, 64, 1 << 30, 2) == 16);
  CHECK(reads(SymmetricKernel::gather_st, 64, 1 << 20, 1) == 0);
}
