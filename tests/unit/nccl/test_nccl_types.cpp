// Goal: names, versions and bandwidth definitions are NCCL's and nccl-tests'. Method: fixed values.

#include <doctest/doctest.h>

#include <string>

#include "models/nccl/base/releases.hpp"
#include "models/nccl/base/types.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

TEST_CASE("nccl names: every value survives the way to text and back") {
  for (const Collective c : kAllCollectives) CHECK(collective_from_text(to_text(c)) == c);
  for (const Algorithm a : kAllAlgorithms) CHECK(algorithm_from_text(to_text(a)) == a);
  for (const Protocol p : kAllProtocols) CHECK(protocol_from_text(to_text(p)) == p);
  CHECK(to_text(Algorithm::collnet_direct) == "CollNetDirect");
  CHECK(algorithm_from_text("nvlsTREE") == Algorithm::nvls_tree);  // NCCL compares in any case
  CHECK(protocol_from_text("ll128") == Protocol::ll128);
  CHECK_FALSE(algorithm_from_text("Rin"));
  CHECK_FALSE(collective_from_text("AllReduce"));  // nccl-tests' names only
}

TEST_CASE("nccl versions: known texts, and which rules stand for others") {
  CHECK(nccl_version_from_text("2.21.5") == kNccl2_21_5);
  CHECK(nccl_version_from_text("2.27") == kNccl2_27_7);
  CHECK(to_text(kNccl2_30_7) == "2.30.7");
  CHECK(modelled_version({19, 1}) == kNccl2_21_5);
  CHECK(modelled_version({22, 3}) == kNccl2_27_7);
  CHECK(modelled_version({29, 7}) == kNccl2_27_7);
  CHECK(modelled_version({31, 1}) == kNccl2_30_7);
  CHECK(error_text([] { nccl_version_from_text("2.18.3"); }) ==
        "NCCL version \"2.18.3\" is not modelled\nhint: modelled versions: 2.21.5, 2.27.7, 2.30.7");
}

TEST_CASE("bandwidths are those of nccl-tests") {
  CHECK(busbw_factor(Collective::all_reduce, 8) == doctest::Approx(1.75));  // 2 * 7 / 8
  CHECK(busbw_factor(Collective::all_gather, 4) == doctest::Approx(0.75));
  CHECK(busbw_factor(Collective::sendrecv, 4) == 1);
  CHECK(busbw_factor(Collective::all_reduce, 1) == 0);
  // 1 MiB in 10 us = 104.8576 GB/s
  CHECK(algbw_GBps(Bytes{1 << 20}, microseconds(10)) == doctest::Approx(104.8576));
  CHECK(busbw_GBps(Collective::reduce_scatter, 2, Bytes{1 << 20}, microseconds(10)) ==
        doctest::Approx(52.4288));
  CHECK(algbw_GBps(Bytes{8}, Duration{0}) == 0);
  // Size is the larger buffer: the total for all_gather, counted per rank by NCCL.
  CHECK(message_size(Collective::all_gather, 256, 4, 8).count == 8192);
  CHECK(message_size(Collective::all_reduce, 256, 4, 8).count == 1024);
}
