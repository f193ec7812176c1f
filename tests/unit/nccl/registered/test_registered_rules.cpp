// Goal: NCCL does with registered buffers what its releases do, and where registration has no
// effect it is said which condition fails. Method: one question, changed a little at a time; the
// cost model with values derived by hand.

#include <doctest/doctest.h>

#include <string>

#include "models/nccl/registered/registered_rules.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

/// Eight H100 on NVSwitches, where plain buffers would go by NVLS.
RegisteredQuestion eight_h100(Registration asked) {
  RegisteredQuestion out;
  out.asked = asked;
  out.size = {64 << 20};
  out.ranks = 8;
  out.nvls = true;
  out.nvls_heads = 8;
  out.algorithm = Algorithm::nvls;
  out.protocol = Protocol::simple;
  return out;
}

Environment with(std::string_view assignment) {
  Environment out;
  out.set(assignment);
  return out;
}

RegisteredChoice chosen(const RegisteredQuestion& question, const Environment& environment = {}) {
  return choose_registered(question, environment);
}

RegisteredChoice along(Algorithm algorithm, Protocol protocol, Collective collective,
                       NcclVersion version = kNccl2_30_7) {
  RegisteredQuestion question = eight_h100(Registration::local);
  question.algorithm = algorithm;
  question.protocol = protocol;
  question.collective = collective;
  question.version = version;
  return chosen(question);
}

}  // namespace

TEST_CASE("registered: what nccl-tests could not be built with is refused") {
  const auto refuses = [](Registration asked, NcclVersion version) {
    return error_text([&] { check_registration(asked, version); });
  };
  CHECK(refuses(Registration::windows, kNccl2_21_5).find("-R 2: NCCL 2.21.5 has no windows") !=
        std::string::npos);
  CHECK(refuses(Registration::windows, kNccl2_21_5).find("take -R 1") != std::string::npos);
  CHECK(refuses(Registration::local, {18, 6}).find("has no ncclCommRegister") != std::string::npos);
  CHECK_NOTHROW(check_registration(Registration::windows, kNccl2_27_7));
  CHECK_NOTHROW(check_registration(Registration::none, {18, 6}));
}

TEST_CASE("registered: NVLS works in place, on fewer channels") {
  RegisteredQuestion question = eight_h100(Registration::local);
  question.version = kNccl2_21_5;
  CHECK(chosen(question).path == RegisteredPath::nvls);
  CHECK(chosen(question).blocks == 4);
  question.collective = Collective::reduce_scatter;
  CHECK(chosen(question).blocks == 5);
  // 2.27 counts for all heads together, and more on Blackwell.
  question.version = kNccl2_27_7;
  question.nvls_heads = 4;
  CHECK(chosen(question).blocks == 10);
  question.sm = 100;
  CHECK(chosen(question).blocks == 12);
  question.collective = Collective::all_reduce;
  CHECK(chosen(question).blocks == 16);
  question.ctas_max = 3;
  CHECK(chosen(question).blocks == 3);
  question.nodes = 2;
  question.ctas_max = 32;
  CHECK(chosen(question).blocks == 6);
  CHECK(chosen(question).untimed.empty());
  const RegisteredChoice off =
      chosen(eight_h100(Registration::local), with("NCCL_LOCAL_REGISTER=0"));
  CHECK(off.path == RegisteredPath::copied);
  CHECK(off.why == "NCCL_LOCAL_REGISTER=0");
}

TEST_CASE("registered: rings and trees hand on directly since 2.23, in Simple") {
  const Collective reduce = Collective::all_reduce;
  CHECK(along(Algorithm::ring, Protocol::simple, reduce).path == RegisteredPath::direct);
  CHECK(along(Algorithm::tree, Protocol::simple, reduce).why.find("out of place only") !=
        std::string::npos);
  CHECK(along(Algorithm::ring, Protocol::simple, reduce, kNccl2_21_5).why ==
        "Ring uses registered buffers from 2.23 on");
  CHECK(along(Algorithm::ring, Protocol::ll128, reduce).why ==
        "LL128 goes through NCCL's buffers whatever is registered");
  CHECK(along(Algorithm::ring, Protocol::simple, Collective::reduce_scatter).why ==
        "Ring of reduce_scatter has no registered buffers");
  RegisteredQuestion question = eight_h100(Registration::local);
  question.algorithm = Algorithm::ring;
  question.collective = Collective::all_gather;
  question.nodes = 8;  // one rank each
  CHECK(chosen(question).path == RegisteredPath::network);
  question.algorithm.reset();
  question.collective = Collective::alltoall;
  CHECK(chosen(question).path == RegisteredPath::network);
  CHECK(chosen(question).untimed.empty());
  question.nodes = 1;
  CHECK(chosen(question).path == RegisteredPath::direct);
  question.version = kNccl2_21_5;
  CHECK(chosen(question).why == "sends and receives use registered buffers from 2.23 on");
}

TEST_CASE("registered: SHARP takes users' buffers where it adds up nothing else") {
  RegisteredQuestion question = eight_h100(Registration::local);
  question.algorithm = Algorithm::collnet_direct;
  question.protocol = Protocol::simple;
  question.nodes = 4;
  question.ranks = 32;
  CHECK(chosen(question).path == RegisteredPath::copied);
  CHECK(chosen(question).why == "SHARP adds up users' buffers of one rank a node only");
  question.collective = Collective::all_gather;
  CHECK(chosen(question).path == RegisteredPath::network);
  question.collective = Collective::all_reduce;
  question.ranks = 4;
  CHECK(chosen(question).path == RegisteredPath::network);
  question.version = {19, 3};
  CHECK(chosen(question).why == "SHARP uses registered buffers from 2.21 on");
}

TEST_CASE("registered: windows take symmetric kernels, or say why not") {
  RegisteredQuestion question = eight_h100(Registration::windows);
  const auto why = [&](const Environment& environment = {}) {
    return chosen(question, environment).why;
  };
  CHECK(chosen(question).path == RegisteredPath::symmetric);
  CHECK(chosen(question).kernel == SymmetricKernel::reduce_mc);
  CHECK(chosen(question).blocks == 2);  // 16 for all GPUs together
  question.size = {1 << 10};
  CHECK(chosen(question).kernel == SymmetricKernel::reduce_llmc);  // 1.1 times as fast to the model
  question.nvls = false;
  CHECK(chosen(question).kernel == SymmetricKernel::reduce_ll);
  question.size = {64 << 20};
  CHECK(chosen(question).kernel == SymmetricKernel::reduce_ld_st);
  question.all_nvlink = false;
  CHECK(why().find("not every GPU reaches every other one over NVLink; as -R 1: ") == 0);

  question = eight_h100(Registration::windows);
  question.collective = Collective::broadcast;
  CHECK(why().find("broadcast has no symmetric kernel") == 0);
  question = eight_h100(Registration::windows);
  question.op = "max";
  CHECK(why().find("symmetric kernels sum, they have no max") == 0);
  question.op = "avg";
  CHECK(chosen(question).path == RegisteredPath::symmetric);
  question.version = kNccl2_27_7;
  CHECK(why().find("they have no avg") != std::string::npos);
  question = eight_h100(Registration::windows);
  question.datatype = "int32";
  CHECK(why().find("floats of 1, 2 and 4 bytes, not int32") != std::string::npos);
  question.collective = Collective::all_gather;  // it only moves
  CHECK(chosen(question).path == RegisteredPath::symmetric);
  question = eight_h100(Registration::windows);
  CHECK(why(with("NCCL_WIN_ENABLE=0")).find("NCCL_WIN_ENABLE=0: no windows") == 0);
  question.size = {std::int64_t{64} << 30};
  CHECK(why().find("the message is too large for symmetric kernels") == 0);
}

TEST_CASE("registered: symmetric kernels stay within an NVLink domain") {
  RegisteredQuestion question = eight_h100(Registration::windows);
  question.nodes = 2;
  question.ranks = 16;
  question.version = kNccl2_27_7;
  CHECK(chosen(question).why.find("ranks are on 2 nodes, and symmetric kernels of NCCL 2.27.7 stay "
                                  "within one NVLink domain") == 0);
  question.version = kNccl2_30_7;
  CHECK(chosen(question).why.find("all_reduce has no symmetric kernel that crosses a network") !=
        std::string::npos);
  question.collective = Collective::all_gather;
  CHECK(chosen(question).kernel == SymmetricKernel::gather_rail);
  CHECK_FALSE(chosen(question).untimed.empty());
  CHECK(chosen(question, with("NCCL_SYM_GIN_KERNELS_ENABLE=0")).why.find("leaves none") !=
        std::string::npos);
}

TEST_CASE("registered: one kernel may be forced, two GPUs have no multicast from 2.28 on") {
  RegisteredQuestion question = eight_h100(Registration::windows);
  const Environment forced = with("NCCL_SYM_KERNEL=AllReduce_AGxLLMC_R");
  CHECK(chosen(question, forced).kernel == SymmetricKernel::reduce_llmc);
  question.ranks = 2;
  CHECK(chosen(question, forced)
            .why.find("NCCL_SYM_KERNEL=AllReduce_AGxLLMC_R leaves no kernel for "
                      "all_reduce") == 0);
  question.version = kNccl2_27_7;
  CHECK(chosen(question, forced).kernel == SymmetricKernel::reduce_llmc);
  CHECK(chosen(question, with("NCCL_SYM_CTAS=7")).blocks == 7);
}

TEST_CASE("registered: copy engines are asked for, or take large gathers of Blackwell") {
  RegisteredQuestion question = eight_h100(Registration::windows);
  question.collective = Collective::all_gather;
  CHECK(chosen(question, with("NCCL_CTA_POLICY=2")).path == RegisteredPath::copy_engine);
  CHECK(chosen(question, with("NCCL_CTA_POLICY=ZERO")).path == RegisteredPath::copy_engine);
  question.version = kNccl2_27_7;
  CHECK(chosen(question, with("NCCL_CTA_POLICY=2")).path == RegisteredPath::symmetric);
  question.version = kNccl2_30_7;
  question.sm = 100;
  question.size = {8LL * 4 * (8 << 20)};  // 8 Mi elements of each of 8 ranks: not more
  CHECK(chosen(question).path == RegisteredPath::symmetric);
  question.size.count += 32;
  CHECK(chosen(question).path == RegisteredPath::copy_engine);
  question.sm = 90;
  CHECK(chosen(question).path == RegisteredPath::symmetric);
  question.collective = Collective::all_reduce;
  CHECK(chosen(question, with("NCCL_CTA_POLICY=2")).path == RegisteredPath::symmetric);
}

TEST_CASE("registered: NCCL's cost model") {
  // 73,728 B over two blocks of 69.8 GB/s: 136.4 GB/s with the soft ceiling, log(1 + exp(-0.459)).
  const SymmetricEstimate ll =
      estimate(SymmetricKernel::reduce_ll, 90, 8, {1 << 10}, SymmetricBlocks{});
  CHECK(ll.us == doctest::Approx(4.98955).epsilon(1e-4));
  CHECK(ll.blocks == 2);
  // 72 MiB at 480 GiB/s.
  const SymmetricEstimate mc =
      estimate(SymmetricKernel::reduce_mc, 90, 8, {64 << 20}, SymmetricBlocks{});
  CHECK(mc.us == doctest::Approx(7.8 + 72 * 1.048576 / 0.48 / 1.073741824 - 1).epsilon(0.01));
  CHECK(mc.blocks <= 2);
}
