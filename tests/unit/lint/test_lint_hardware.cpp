// The linter's rules that look at a cluster: for each, settings that fit it and settings that do
// not.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "models/lint/lint_text.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "tests/unit/lint/lint_cases.hpp"

using namespace fabricast;
using namespace fabricast::test;

TEST_CASE("without a topology nothing is said of hardware, and that is said") {
  const LintResult result = linted("export NCCL_IB_HCA==nix_0\n");
  CHECK(result.findings.empty());
  REQUIRE(result.notes.size() == 1);
  CHECK(result.notes[0].starts_with("no --topology"));
}

TEST_CASE("hardware: what has no effect") {
  const Cluster one = cluster("dgx-h100", 1), two = cluster("dgx-h100", 2);
  const Cluster ampere = cluster("dgx-a100", 2), pcie = cluster("pcie-2gpu", 1);
  CHECK(found(on(one, "export NCCL_IB_TC=96\n")) == "1 FL030 note");
  CHECK(found(on(two, "export NCCL_IB_TC=96\n")).empty());
  CHECK(found(on(two, "export NCCL_SOCKET_NTHREADS=4\n")) == "1 FL030 warning");
  CHECK(found(on(ampere, "export NCCL_NVLS_ENABLE=1\n")) == "1 FL030 warning");
  CHECK(found(on(two, "export NCCL_NVLS_ENABLE=1\n")).empty());
  CHECK(found(on(pcie, "export NCCL_P2P_NVL_CHUNKSIZE=65536\n")) == "1 FL030 warning");
  CHECK(found(on(two, "export NCCL_COLLNET_ENABLE=1\n")) == "1 FL030 warning");
}

TEST_CASE("hardware: NICs that a plugin serves know nothing of NCCL's InfiniBand network") {
  // gh200-4 is on Slingshot: libfabric serves it, and NCCL_IB_* are read by net_ib.cc alone.
  const Cluster slingshot = cluster("gh200-4", 2);
  CHECK(found(on(slingshot, "export NCCL_IB_HCA=mlx5_0\n")) == "1 FL030 warning");
  CHECK(found(on(slingshot, "export NCCL_IB_DISABLE=1\n")) == "1 FL030 warning");
  CHECK(found(on(slingshot, "export NCCL_IB_GID_INDEX=3\n")) == "1 FL030 warning");
  CHECK(find(on(slingshot, "export NCCL_NET=Socket\n"), "FL043") != nullptr);
  CHECK(found(on(slingshot, "export NCCL_NET=IB\n")) == "1 FL030 error");
  CHECK(found(on(slingshot, "export NCCL_NET=ib\n")) == "1 FL030 error");  // in any case
  CHECK(found(on(slingshot, "export NCCL_NET='AWS Libfabric'\n")).empty());
  CHECK(found(on(slingshot, "export NCCL_NET=another\n")).empty());  // perhaps a plugin's
  CHECK(found(on(cluster("dgx-h100", 2), "export NCCL_NET=IB\n")).empty());
}

TEST_CASE("hardware: fast paths that are switched off") {
  const Cluster two = cluster("dgx-h100", 2), pcie = cluster("pcie-2gpu", 1);
  CHECK(find(on(two, "export NCCL_P2P_DISABLE=1\n"), "FL043") != nullptr);
  CHECK(find(on(pcie, "export NCCL_P2P_DISABLE=1\n"), "FL043") == nullptr);
  CHECK(found(on(two, "export NCCL_IB_DISABLE=1\n")) == "1 FL040 warning, 1 FL043 warning");
  CHECK(find(on(two, "export NCCL_NET_GDR_LEVEL=LOC\n"), "FL043") != nullptr);
  CHECK(found(on(two, "export NCCL_NET_GDR_LEVEL=SYS\n")).empty());
}

TEST_CASE("hardware: NVLink between nodes that is switched off costs what the network does") {
  const Cluster joined = load_cluster({"gb200-nvl72", 4, "", true}, load_catalogue());
  const Cluster apart = load_cluster({"gb200-nvl72", 4, ""}, load_catalogue());
  const auto on_both = [&](const char* assignment) {
    LintInput input;
    input.files.push_back(parse_env_file("export " + std::string(assignment) + "\n", "a.sh"));
    input.version = kNccl2_27_7;
    input.cluster = &joined;
    input.apart = &apart;
    return found(lint(input, catalogue()));
  };
  CHECK(on_both("NCCL_MNNVL_ENABLE=0") == "1 FL040 warning, 1 FL043 warning");
  CHECK(on_both("NCCL_MNNVL_ENABLE=1").find("FL04") == std::string::npos);
}

TEST_CASE("hardware: far fewer channels than the links take") {
  // Two nodes of eight NICs: 16 channels.
  const Cluster two = cluster("dgx-h100", 2);
  const LintResult one = on(two, "export NCCL_MAX_NCHANNELS=1\n");
  REQUIRE(find(one, "FL043") != nullptr);
  CHECK(find(one, "FL043")->message.find("1 of 16 for all_gather") != std::string::npos);
  CHECK(find(on(two, "export NCCL_MAX_NCHANNELS=8\n"), "FL043") != nullptr);
  CHECK(find(on(two, "export NCCL_MAX_NCHANNELS=9\n"), "FL043") == nullptr);
  CHECK(find(on(two, "export NCCL_MIN_NCHANNELS=1\n"), "FL043") == nullptr);
}

TEST_CASE("hardware: lists of HCAs") {
  // hgx-h200-2nic-split: mlx5_0 on socket 0, mlx5_1 on socket 1, four GPUs each.
  const Cluster split = cluster("hgx-h200-2nic-split", 2);
  const LintResult one = on(split, "export NCCL_IB_HCA==mlx5_0\n");
  REQUIRE(find(one, "FL053") != nullptr);
  CHECK(find(one, "FL053")->message.find("gpu4, gpu5, gpu6 and gpu7 reach mlx5_0") !=
        std::string::npos);
  CHECK(find(one, "FL054") != nullptr);
  CHECK(found(on(split, "export NCCL_IB_HCA==mlx5_0,mlx5_1\n")).empty());
  CHECK(found(on(split, "export NCCL_IB_HCA=mlx5\n")).empty());
  CHECK(find(on(split, "export NCCL_IB_HCA==mlx5\n"), "FL050")->severity == Severity::error);
  CHECK(find(on(split, "export NCCL_IB_HCA==mlx5_0,mlx5_7\n"), "FL051") != nullptr);
  CHECK(find(on(split, "export NCCL_IB_HCA==mlx5_0:2,mlx5_1\n"), "FL051") != nullptr);
  const char* const unknown = "export NCCL_NET_FORCE_MERGE=mlx5_0,mlx5_9\n";
  CHECK(find(on(split, unknown), "FL051") == nullptr);  // 2.21 does not read it
  const LintResult refused = on(split, unknown, kNccl2_27_7);
  REQUIRE(find(refused, "FL051") != nullptr);
  CHECK(find(refused, "FL051")->severity == Severity::error);
  CHECK(find(refused, "FL051")->message ==
        "NCCL_NET_FORCE_MERGE=mlx5_0,mlx5_9: \"mlx5_0,mlx5_9\" names 2 NICs, 1 of which is there");
  // dgx-h100 has mlx5_0, 3, 4, 5, 6, 9, 10 and 11: "mlx5_1" is a prefix of two and names none.
  const Cluster dgx = cluster("dgx-h100", 2);
  CHECK(find(on(dgx, "export NCCL_IB_HCA=mlx5_1\n"), "FL052") == nullptr);
  CHECK(found("export NCCL_IB_HCA=mlx5_1\n") == "1 FL052 note");
  CHECK(found("export NCCL_IB_HCA==mlx5_1\n").empty());
}

TEST_CASE("a forced choice is compared with NCCL's own at every size") {
  const Cluster two = cluster("dgx-h100", 2);
  const LintResult result = on(two, "export NCCL_PROTO=Simple\n");
  const Finding* loss = find(result, "FL040");
  REQUIRE(loss != nullptr);
  // The same comparison by hand, at the size the finding names.
  const auto time = [&](const char* proto, Bytes size) {
    CommunicatorConfig config;
    config.version = kNccl2_21_5;
    if (proto != nullptr) config.environment.set("NCCL_PROTO", proto);
    return decide(make_communicator(two, config).model, Collective::all_reduce, size).time_us;
  };
  double worst = 0;
  for (std::int64_t size = 8; size <= std::int64_t{8} << 30; size *= 4) {
    const double ratio = static_cast<double>(time("Simple", Bytes{size})) /
                         static_cast<double>(time(nullptr, Bytes{size}));
    worst = std::max(worst, ratio);
  }
  CHECK(loss->message.find(fmt::format("(+{:.0f} %)", 100 * (worst - 1))) != std::string::npos);
  CHECK(loss->message.find("all_reduce") != std::string::npos);
  // A list of everything forbids nothing.
  CHECK(find(on(two, "export NCCL_ALGO=^PAT\n"), "FL040") == nullptr);
}

TEST_CASE("a collective that a choice leaves nothing to run with on this hardware") {
  // Since 2.24 such a call fails. NVLS of several nodes needs CollNet, NVLSTree several nodes.
  const Cluster one = cluster("dgx-h100", 1), two = cluster("dgx-h100", 2);
  const auto refused = [&](const Cluster& hardware, const char* list) {
    const LintResult result =
        on(hardware, fmt::format("export NCCL_ALGO='{}'\n", list), kNccl2_27_7);
    for (const Finding& f : result.findings)
      if (f.rule == "FL016" && f.severity == Severity::error) return f.message + " | " + f.reason;
    return std::string();
  };
  CHECK(refused(two, "allreduce:NVLS") ==
        "NCCL_ALGO=allreduce:NVLS: NCCL refuses all_reduce here, nothing is left to choose from | "
        "NVLS over several nodes needs CollNet; NVLSTree does without");
  CHECK(refused(one, "allreduce:NVLS").empty());
  CHECK(refused(two, "ring;allreduce:NVLS").find("refuses all_reduce here") != std::string::npos);
  CHECK(refused(one, "allreduce:nvlstree").find("several nodes") != std::string::npos);
  CHECK(refused(two, "allreduce:nvlstree").empty());
  // broadcast and reduce have no NVLS on any hardware: said without a topology, too.
  CHECK(refused(two, "NVLS").find("refuses all_reduce, all_gather and reduce_scatter here") !=
        std::string::npos);
  // 2.23 goes back to Ring.
  CHECK(found(on(two, "export NCCL_ALGO=NVLS\n", kNccl2_21_5)).find("error") == std::string::npos);
}

TEST_CASE("sizes at which a forced choice loses are listed by stretches") {
  const Cluster two = cluster("hgx-h200-2nic", 2);
  CommunicatorConfig forced, free;
  forced.version = free.version = kNccl2_21_5;
  forced.environment.set("NCCL_ALGO", "Ring");
  const TuningModel a = make_communicator(two, forced).model;
  const TuningModel b = make_communicator(two, free).model;
  const auto time = [](const TuningModel& model, std::int64_t size) {
    return static_cast<double>(decide(model, Collective::all_reduce, Bytes{size}).time_us);
  };
  // Each size in turn, by hand: 'x' where the ring alone takes more than 5 % longer.
  std::string losing;
  for (std::int64_t size = 8; size <= std::int64_t{8} << 30; size *= 4)
    losing += time(a, size) >= 1.05 * time(b, size) ? 'x' : '.';
  CHECK(losing == "xxxxxxx.xxxxxxxx");  // the eighth is 128 KiB
  const LintResult result = on(two, "export NCCL_ALGO=Ring\n");
  REQUIRE(find(result, "FL040") != nullptr);
  CHECK(find(result, "FL040")
            ->reason.starts_with(
                "all_reduce loses at 8 B .. 32 KiB and 512 KiB .. 8 GiB, most at 8 B (+"));
}

TEST_CASE("a mistake in NCCL_ALGO is not blamed on the settings beside it") {
  const Cluster many = cluster("dgx-h100", 16);
  const auto with = [&](const std::string& algorithms) {
    LintInput input;
    input.files.push_back(parse_env_file(
        "export NCCL_ALGO=" + algorithms + "\nexport NCCL_COLLNET_ENABLE=1\n", "a.sh"));
    input.cluster = &many;
    input.sharp = true;
    return lint(input, catalogue());
  };
  const auto blamed = [](const LintResult& result) {
    return std::ranges::count_if(result.findings, [](const Finding& f) {
      return f.rule == "FL040" && f.variable == "NCCL_COLLNET_ENABLE";
    });
  };
  const LintResult wrong = with("CollNet");
  CHECK(find(wrong, "FL016")->severity == Severity::error);
  CHECK(blamed(wrong) == 0);
  CHECK(std::ranges::find(wrong.notes,
                          "no prediction of what a choice costs (FL040): NCCL_ALGO=CollNet is not "
                          "what it should be (FL016)") != wrong.notes.end());
  CHECK(blamed(with("Ring,Tree")) == 0);
  CHECK(with("Ring,Tree").notes.empty());
}

TEST_CASE("LL128 where NCCL would not use it") {
  // pcie-2gpu has no NVLink: 2.21.5 keeps LL128 out of the race.
  const Cluster pcie = cluster("pcie-2gpu", 1), dgx = cluster("dgx-h100", 2);
  const LintResult result = on(pcie, "export NCCL_PROTO=LL128\n");
  REQUIRE(find(result, "FL041") != nullptr);
  CHECK(find(result, "FL041")->severity == Severity::error);
  CHECK(find(on(dgx, "export NCCL_PROTO=LL128\n"), "FL041") == nullptr);
}

TEST_CASE(
    "hardware: GPUs that the driver lets not reach each other go through host memory anyway") {
  const Cluster geforce = cluster("rtx-4090-8", 1), others = cluster("dgx-h100", 1);
  CHECK(found(on(geforce, "export NCCL_P2P_DISABLE=1\n", kNccl2_27_7)).empty());
  CHECK(find(on(others, "export NCCL_P2P_DISABLE=1\n", kNccl2_27_7), "FL040") != nullptr);
}
