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
  CHECK(nccl_version_from_text("2.27.5") == NcclVersion{27, 5});
  CHECK(nccl_version_from_text("2.31.0a7") == kNccl2_31_0a7);
  CHECK(to_text(kNccl2_31_0a7) == "2.31.0a7");
  CHECK(to_text(kNccl2_30_7) == "2.30.7");
  CHECK(modelled_version({19, 1}) == NcclVersion{19, 4});
  CHECK(modelled_version({27, 5}) == kNccl2_27_7);
  CHECK(modelled_version({29, 2}) == NcclVersion{29, 7});
  CHECK(modelled_version({31, 1}) == kNccl2_31_0a7);
  CHECK(modelled_version({17, 1}) == NcclVersion{18, 6});
  CHECK(answered_version({17, 1}) == NcclVersion{18, 6});
  CHECK(answered_version({27, 5}) == NcclVersion{27, 5});
  CHECK(error_text([] { nccl_version_from_text("2.17.1"); }) ==
        "the rules of NCCL 2.17.1 are not known\nhint: they are from 2.18.6 to 2.31.0a7; fabricast "
        "decide --releases lists them");
  CHECK(error_text([] { nccl_version_from_text("2.x"); }) ==
        "\"2.x\" is not a release of NCCL 2\nhint: write it like 2.30.7; fabricast decide "
        "--releases lists them");
}

TEST_CASE("nccl versions: exact ones say nothing, others whose rules answer") {
  for (const NcclVersion version : known_releases()) {
    CAPTURE(to_text(version));
    CHECK(nccl_version_from_text(to_text(version)) == version);
    CHECK(rules_note(version).empty() == (is_exact(version) && version != kNccl2_31_0a7));
  }
  for (const NcclVersion version : kModelledVersions) CHECK(is_exact(version));
  CHECK(is_exact(kDefaultNccl));
  CHECK(rules_note({27, 5}) ==
        "NCCL 2.27.5 answers by the rules of 2.27.7, the release of its series whose decisions are "
        "known (fabricast decide --releases).");
  CHECK(rules_note(kNccl2_31_0a7) == "NCCL 2.31.0a7 is a pre-release: its rules may still change.");
  CHECK(rules_note({31, 2}) ==
        "NCCL 2.31.2 answers by the rules of the pre-release 2.31.0a7, which may still change.");
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
