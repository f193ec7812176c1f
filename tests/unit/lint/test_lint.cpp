// The linter's rules: for each, the smallest text that breaks it and one that does not. Expected
// findings follow from NCCL's own reading of the values (see
// models/nccl/environment/variables.yaml).

#include <doctest/doctest.h>

#include "models/lint/lint_text.hpp"
#include "tests/unit/lint/lint_cases.hpp"

using namespace fabricast;
using namespace fabricast::test;

TEST_CASE("names: nobody's, others', removed, not yet, old") {
  CHECK(set("NCCL_IB_TIMOUT=22") == "1 FL001 warning");
  CHECK(linted("export NCCL_IB_TIMOUT=22\n").findings[0].suggestion ==
        "did you mean NCCL_IB_TIMEOUT?");
  CHECK(linted("export NCCL_BUFFER_SIZE=1\n").findings[0].suggestion == "use NCCL_BUFFSIZE");
  CHECK(set("nccl_debug=WARN") == "1 FL001 warning");
  CHECK(set("NCCL_VERSION=2.21.5") == "1 FL001 note");  // a marker of images
  CHECK(set("NCCL_ASYNC_ERROR_HANDLING=1") == "1 FL002 note");
  CHECK(set("NCCL_TREE_THRESHOLD=0") == "1 FL003 warning");
  CHECK(set("NCCL_TREE_THRESHOLD=0", {4, 8}).empty());
  CHECK(set("NCCL_PAT_ENABLE=1") == "1 FL004 warning");
  CHECK(set("NCCL_PAT_ENABLE=1", kNccl2_27_7).empty());
  CHECK(set("NCCL_MAX_NRINGS=4") == "1 FL005 note");
  CHECK(set("TORCH_NCCL_ASYNC_ERROR_HANDLING=1").empty());
}

TEST_CASE("a family of another program is told of once") {
  const LintResult result = linted("export NCCL_FASTRAK_A=1\nexport NCCL_FASTRAK_B=2\n");
  CHECK(found(result) == "1 FL002 note");
  CHECK(result.findings[0].message.find("(2 settings)") != std::string::npos);
}

TEST_CASE("what is not NCCL's never appears") {
  const LintResult result =
      linted("export HF_TOKEN=hf_secret\nexport PASSWORD=x\nfoo_NCCL_X=1\nexport UCX_TLS=tcp\n");
  CHECK(result.settings == 0);
  CHECK(lint_text(result, kNccl2_21_5).find("secret") == std::string::npos);
  CHECK(report_json(lint_report(result, kNccl2_21_5)).find("secret") == std::string::npos);
}

TEST_CASE("numbers and switches") {
  CHECK(set("NCCL_BUFFSIZE=4M") == "1 FL010 error");
  CHECK(linted("export NCCL_BUFFSIZE=4M\n").findings[0].suggestion == "NCCL_BUFFSIZE=4194304");
  CHECK(set("NCCL_IB_TIMEOUT=22ms") == "1 FL010 error");
  CHECK(set("NCCL_CROSS_NIC=yes") == "1 FL010 error");
  CHECK(set("NCCL_SHM_DISABLE=true") == "1 FL011 error");    // reads 0: stays on
  CHECK(set("NCCL_IB_DISABLE=False") == "1 FL011 warning");  // right by accident
  CHECK(set("TORCH_NCCL_BLOCKING_WAIT=yes").empty());
  CHECK(set("NCCL_IB_TIMEOUT=40") == "1 FL012 warning");
  CHECK(set("NCCL_BUFFSIZE=512") == "1 FL012 error");
  CHECK(set("NCCL_MAX_NCHANNELS=64") == "1 FL012 warning");  // 32 up to 2.24
  CHECK(set("NCCL_MAX_NCHANNELS=64", kNccl2_27_7).empty());
  CHECK(set("NCCL_IB_TC=99999999999999999999") == "1 FL012 warning");
  CHECK(set("NCCL_IB_TC=0x60").empty());
  CHECK(set("NCCL_IB_TC=010") == "1 FL017 warning");  // 8
  CHECK(set("NCCL_NTHREADS=100") == "1 FL018 warning");
  CHECK(set("NCCL_BUFFSIZE=5000000") == "1 FL018 note");
  CHECK(set("NCCL_NTHREADS=") == "1 FL019 warning");
  CHECK(set("NCCL_NTHREADS=$N").empty());  // only a run can tell
  CHECK(set("NCCL_SET_THREAD_NAME=TRUE", kNccl2_30_7).empty());
  CHECK(set("NCCL_SET_THREAD_NAME=TRUE") == "1 FL011 error");
  CHECK(set("NCCL_COLLNET_ENABLE=2") == "1 FL013 warning");  // a text up to 2.26
  CHECK(set("NCCL_COLLNET_ENABLE=2", kNccl2_27_7) == "1 FL012 warning");
}

TEST_CASE("a suggestion is what the variable counts, and within its bounds") {
  const auto suggested = [](const char* assignment) {
    return linted("export " + std::string(assignment) + "\n").findings.at(0).suggestion;
  };
  CHECK(suggested("NCCL_BUFFSIZE=4M") == "NCCL_BUFFSIZE=4194304");
  CHECK(suggested("NCCL_IB_TIMEOUT=22M") == "NCCL_IB_TIMEOUT=22");  // no bytes
  CHECK(suggested("NCCL_NTHREADS=4K").empty());                     // 64 is the least
}

TEST_CASE("PyTorch's own variables are read by PyTorch's rules") {
  // c10d/Utils.hpp: getCvarBool() takes ten words in any case, getCvarInt() is std::stoi; both
  // throw at what they do not take, an empty value included.
  CHECK(set("TORCH_NCCL_BLOCKING_WAIT=T").empty());
  CHECK(set("TORCH_NCCL_BLOCKING_WAIT=No").empty());
  CHECK(set("TORCH_NCCL_BLOCKING_WAIT=maybe") == "1 FL011 error");
  CHECK(set("TORCH_NCCL_BLOCKING_WAIT=on") == "1 FL011 error");
  CHECK(set("TORCH_NCCL_BLOCKING_WAIT=") == "1 FL011 error");
  CHECK(set("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=600").empty());
  CHECK(set("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=010").empty());  // decimal: 10
  CHECK(set("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=ten") == "1 FL010 error");
  CHECK(set("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=4294967296") == "1 FL010 error");
  const LintResult tail = linted("export TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=10min\n");
  CHECK(found(tail) == "1 FL010 error");
  CHECK(tail.findings[0].message == "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=10min: PyTorch reads 10");
  // check_env() of c10 passes over what it does not take.
  CHECK(set("TORCH_NCCL_USE_COMM_NONBLOCKING=yes") == "1 FL011 warning");
  // Not in the catalogue, which may lack new ones.
  const LintResult unknown = linted("export TORCH_NCCL_ASYNC_EROR_HANDLING=1\n");
  CHECK(found(unknown) == "1 FL001 note");
  CHECK(unknown.findings[0].suggestion == "did you mean TORCH_NCCL_ASYNC_ERROR_HANDLING?");
}

TEST_CASE("words, lists and levels") {
  CHECK(set("NCCL_DEBUG=debug") == "1 FL013 warning");
  CHECK(set("NCCL_DEBUG=info").empty());  // any case
  CHECK(set("NCCL_DEBUG_SUBSYS=^INIT,GRAPHS") == "1 FL013 warning");
  CHECK(set("NCCL_SOCKET_IFNAME=e") == "1 FL013 warning");
  CHECK(set("NCCL_NET_GDR_LEVEL=5") == "1 FL014 note");
  CHECK(set("NCCL_NET_GDR_LEVEL=pxb") == "1 FL014 error");
  CHECK(set("NCCL_NET_GDR_LEVEL=PXB").find("FL014") == std::string::npos);
  CHECK(set("NCCL_P2P_LEVEL=C2C") == "1 FL014 error");  // since 2.26.2
  CHECK(set("NCCL_P2P_LEVEL=C2C", kNccl2_27_7).empty());
  CHECK(set("NCCL_IB_HCA='=mlx5_0, mlx5_2'") == "1 FL015 error");
  CHECK(set("NCCL_ALGO='Ring, Tree'") == "1 FL015 error");
}

TEST_CASE("lists of algorithms and protocols follow the release") {
  CHECK(set("NCCL_ALGO=ring,tree").empty());
  CHECK(set("NCCL_ALGO=Rings") == "1 FL016 error");         // nothing is left of the list
  CHECK(set("NCCL_ALGO=Ring,Trees") == "1 FL016 warning");  // ignored
  CHECK(set("NCCL_ALGO=Ring,Trees", kNccl2_27_7) == "1 FL016 error");  // refused
  CHECK(set("NCCL_ALGO=CollNet") == "1 FL016 error, 1 FL044 warning");
  CHECK(set("NCCL_ALGO=Ring,CollNet", {10, 3}) == "1 FL044 warning");
  CHECK(set("NCCL_ALGO=Ring,PAT") == "1 FL016 warning");
  CHECK(set("NCCL_ALGO=Tree") == "1 FL016 note");                  // the others run on rings
  CHECK(set("NCCL_ALGO=Tree", kNccl2_27_7) == "1 FL016 warning");  // the others fail
  CHECK(set("NCCL_ALGO='allreduce:tree'", kNccl2_27_7).empty());
  CHECK(set("NCCL_ALGO='allreduce:tree'") == "1 FL016 error");                    // since 2.24
  CHECK(set("NCCL_ALGO='allreduce:tree;ring'", kNccl2_27_7) == "1 FL016 error");  // order
  CHECK(set("NCCL_PROTO=^LL128").empty());
  CHECK(set("NCCL_PROTO=LL256") == "1 FL016 error");
}

TEST_CASE("what another release reads otherwise is said with its number") {
  // Message, reason and suggestion of the first finding.
  const auto said = [](const std::string& assignment, NcclVersion version) {
    const LintResult result = linted("export " + assignment + "\n", "a.sh", version);
    REQUIRE_FALSE(result.findings.empty());
    const Finding& f = result.findings[0];
    return f.message + " / " + f.reason + " / " + f.suggestion;
  };
  CHECK(
      said("NCCL_ALGO=allreduce:tree", {23, 4}) ==
      "NCCL_ALGO=allreduce:tree: NCCL 2.23.4 takes \"allreduce:tree\" for one name, which it does "
      "not know, and is left with an empty list, for which it takes Ring and Tree alone / lists "
      "for single collectives exist since NCCL 2.24.3 / ");
  CHECK(
      said("NCCL_ALGO=Ring,PAT", {22, 3}) ==
      "NCCL_ALGO=Ring,PAT: NCCL 2.22.3 does not know \"PAT\" and passes over it without a message "
      "/ NCCL 2.23.4 is the first that takes it / known: Tree, Ring, CollNetDirect, CollNetChain, "
      "NVLS, NVLSTree");
  CHECK(said("NCCL_PROTO=Simple,LL256", {23, 4}) ==
        "NCCL_PROTO=Simple,LL256: NCCL 2.23.4 does not know \"LL256\" and passes over it without a "
        "message / NCCL 2.24.3 and later refuse it / known: LL, LL128, Simple");
  CHECK(
      said("NCCL_NET_GDR_LEVEL=P2C", kNccl2_21_5) ==
      "NCCL_NET_GDR_LEVEL=P2C: no path level of NCCL 2.21.5, NCCL keeps its default / NCCL 2.27.3 "
      "is the first that takes it / known: LOC, NVL, NVB, PIX, PXB, PXN, PHB, SYS");
  CHECK(said("NCCL_NET_MERGE_LEVEL=pix", kNccl2_27_7) ==
        "NCCL_NET_MERGE_LEVEL=pix: no path level, NCCL takes LOC and fuses nothing / levels are "
        "compared in upper case, and another text counts as LOC / NCCL_NET_MERGE_LEVEL=PIX");
  CHECK(said("NCCL_COLLNET_ENABLE=0x1", {26, 6}) ==
        "NCCL_COLLNET_ENABLE=0x1: in NCCL 2.26.6 only the text 1 switches CollNet on / since NCCL "
        "2.27.3 it is read as an integer / NCCL_COLLNET_ENABLE=1");
  CHECK(
      said("NCCL_MAX_CTAS=64", {24, 3}) ==
      "NCCL_MAX_CTAS=64: 1 to 32 is expected by NCCL 2.24.3 / NCCL 2.25.1 is the first that takes "
      "it / ");
  CHECK(said("NCCL_IB_TC=-1", {25, 1}) ==
        "NCCL_IB_TC=-1: 0 to 255 is expected by NCCL 2.25.1 / NCCL 2.26.2 is the first that takes "
        "it / ");
  CHECK(said("NCCL_SET_THREAD_NAME=TRUE", {29, 7}) ==
        "NCCL_SET_THREAD_NAME=TRUE: NCCL reads 0, the opposite / words are no numbers: true, yes "
        "and on are all 0, without a message; NCCL 2.30.3 is the first that takes it / "
        "NCCL_SET_THREAD_NAME=1");
  CHECK(said("NCCL_SET_THREAD_NAME=yes", kNccl2_30_7) ==
        "NCCL_SET_THREAD_NAME=yes: NCCL 2.30.7 knows no such word and keeps its default / 1, T or "
        "TRUE, or 0, F or FALSE, in any case; other texts leave the default / "
        "NCCL_SET_THREAD_NAME=1");
  CHECK(said("NCCL_CTA_POLICY=EFFICIENCY", kNccl2_27_7) ==
        "NCCL_CTA_POLICY=EFFICIENCY: \"EFFICIENCY\" is unknown to NCCL 2.27.7 / NCCL 2.29.2 is the "
        "first that takes it / known: 0, 1");
  CHECK(
      said("NCCL_IB_HCA==mlx5_0:1:2", {29, 7}) ==
      "NCCL_IB_HCA==mlx5_0:1:2: NCCL 2.29.7 passes over what follows the port in \"=mlx5_0:1:2\" / "
      "NCCL 2.30.3 is the first that reads a rail and a plane there / ");
  CHECK(said("NCCL_MNNVL=1", kNccl2_21_5)
            .starts_with("NCCL_MNNVL is not read by NCCL 2.21.5: NCCL 2.20.5 was the last"));
}

TEST_CASE("what a release takes is not found fault with") {
  CHECK(set("NCCL_IB_TC=-1", {26, 2}).empty());
  CHECK(set("NCCL_NET_GDR_LEVEL=C2C", {26, 2}).empty());
  CHECK(set("NCCL_NET_GDR_LEVEL=P2C", {27, 3}).empty());
  CHECK(set("NCCL_COLLNET_ENABLE=0x1", kNccl2_27_7).empty());
  CHECK(set("'NCCL_CTA_POLICY=EFFICIENCY|ZERO'", kNccl2_30_7).empty());
  CHECK(set("NCCL_IB_HCA==mlx5_0:1:2:3", kNccl2_30_7).empty());
  // Up to 2.18 the list was for all_reduce, and the others kept Ring.
  CHECK(set("NCCL_ALGO=Tree", {18, 6}).empty());
  // The pre-release checks LL128 that is named, too.
  CHECK(set("NCCL_PROTO=LL128", kNccl2_30_7) == "1 FL041 note");
  CHECK(set("NCCL_PROTO=LL128", {31, 0}).empty());
  CHECK(linted("export NCCL_DEBUG=WARN\n", "a.sh", {31, 0}).notes[0] ==
        "names and defaults are those of NCCL 2.30.7: what NCCL 2.31.0a7 adds or drops is not "
        "known");
}

TEST_CASE("a variable is explained as its releases read it") {
  const std::string text = explain_variable(*catalogue().find("NCCL_IB_HCA"), kNccl2_27_7);
  CHECK(text.find("  read as     before 2.30.3: `[^][=]name[:port],...`; what follows the port is "
                  "passed over (NCCL 2.21.5 src/transport/net_ib.cc:412)\n"
                  "              since 2.30.3: `[^][=]name[:port[:rail[:plane]]],...` (NCCL 2.30.7 "
                  "src/transport/net_ib/init.cc:317)\n"
                  "  here        NCCL 2.27.7 reads it as before 2.30.3\n") != std::string::npos);
  const std::string markdown = variables_markdown(catalogue());
  CHECK(markdown.find("| `NCCL_IB_TIMEOUT` | 2.23.4 | default 20; before: 18 |\n") !=
        std::string::npos);
  CHECK(markdown.find("| `NCCL_COLLNET_ENABLE` | 2.27.3 | an integer,") != std::string::npos);
}

TEST_CASE("defaults are of the release") {
  CHECK(set("NCCL_IB_TIMEOUT=18") == "1 FL020 note");
  CHECK(set("NCCL_IB_TIMEOUT=18", kNccl2_27_7).empty());
  CHECK(set("NCCL_BUFFSIZE=0x400000") == "1 FL020 note");
  CHECK(set("NCCL_NTHREADS=512") == "1 FL020 note");
  CHECK(linted("export NCCL_NTHREADS=512\n").findings[0].reason ==
        "unset, it is 512 (256 for Ring Simple on slow PCIe graphs)");
}

TEST_CASE("settings beside others") {
  CHECK(set("NCCL_NSOCKS_PERTHREAD=4") == "1 FL031 warning");
  CHECK(set("NCCL_NSOCKS_PERTHREAD=4 NCCL_SOCKET_NTHREADS=2").empty());
  CHECK(set("NCCL_NSOCKS_PERTHREAD=16 NCCL_SOCKET_NTHREADS=8") == "1 FL012 warning");
  CHECK(set("NCCL_SOCKET_NTHREADS=4 FI_PROVIDER=efa") == "1 FL031 warning");
  CHECK(set("NCCL_IB_SPLIT_DATA_ON_QPS=1") == "1 FL031 warning");
  CHECK(set("NCCL_IB_SPLIT_DATA_ON_QPS=1 NCCL_IB_QPS_PER_CONNECTION=4").empty());
  CHECK(set("NCCL_IB_QPS_PER_CONNECTION=4") == "1 FL031 note");
  CHECK(set("NCCL_P2P_NET_CHUNKSIZE=1048576") == "1 FL031 warning");
  CHECK(set("NCCL_P2P_NET_CHUNKSIZE=1048576 NCCL_BUFFSIZE=8388608").empty());
  CHECK(set("NCCL_IB_TC=96 NCCL_IB_DISABLE=1") == "1 FL031 warning");
  CHECK(set("NCCL_P2P_LEVEL=SYS NCCL_P2P_DISABLE=1") == "1 FL031 warning");
  CHECK(set("NCCL_DEBUG_SUBSYS=ALL NCCL_DEBUG=WARN") == "1 FL031 note");
  CHECK(set("NCCL_IB_GID_INDEX=3") == "1 FL031 note");
  CHECK(set("NCCL_IB_GID_INDEX=3", {20, 5}).empty());
  CHECK(set("NCCL_COLLNET_ENABLE=1") == "1 FL031 note");
  CHECK(set("NCCL_MIN_NCHANNELS=16 NCCL_MAX_NCHANNELS=8") == "1 FL042 warning");
  CHECK(set("NCCL_MIN_CTAS=8 NCCL_MAX_CTAS=4") == "1 FL042 warning");
  CHECK(set("NCCL_NET=IB NCCL_IB_DISABLE=1") == "1 FL044 error");
  CHECK(set("NCCL_NVLS_ENABLE=1 NCCL_CUMEM_ENABLE=0") == "1 FL044 warning");
  CHECK(set("NCCL_PROTO=LL,LL128") == "1 FL041 note");
}

TEST_CASE("PyTorch's blocking wait leaves its error handling inactive, under old and new names") {
  CHECK(set("TORCH_NCCL_BLOCKING_WAIT=1 TORCH_NCCL_ASYNC_ERROR_HANDLING=1") == "1 FL044 warning");
  CHECK(set("NCCL_BLOCKING_WAIT=true TORCH_NCCL_ASYNC_ERROR_HANDLING=3") ==
        "1 FL002 note, 1 FL044 warning");
  CHECK(set("TORCH_NCCL_BLOCKING_WAIT=1 NCCL_ASYNC_ERROR_HANDLING=1") ==
        "1 FL002 note, 1 FL044 warning");
  CHECK(set("TORCH_NCCL_BLOCKING_WAIT=0 TORCH_NCCL_ASYNC_ERROR_HANDLING=1").empty());
  CHECK(set("TORCH_NCCL_BLOCKING_WAIT=1 TORCH_NCCL_ASYNC_ERROR_HANDLING=0").empty());
  // The new name wins over the old one.
  CHECK(set("NCCL_BLOCKING_WAIT=1 TORCH_NCCL_BLOCKING_WAIT=0 TORCH_NCCL_ASYNC_ERROR_HANDLING=1") ==
        "1 FL002 note");
}

TEST_CASE("another branch or container is not beside") {
  CHECK(found("if a; then\nexport NCCL_IB_DISABLE=1\nelse\nexport NCCL_IB_TC=96\nfi\n").empty());
  CHECK(found("export NCCL_IB_DISABLE=1\nif a; then\nexport NCCL_IB_TC=96\nfi\n") ==
        "3 FL031 warning");
  CHECK(found("a:\n  NCCL_IB_DISABLE: \"1\"\nb:\n  NCCL_IB_TC: \"96\"\n", "a.yaml").empty());
}

TEST_CASE("who sees a setting") {
  CHECK(found("export NCCL_DEBUG=INFO\nexport NCCL_DEBUG=WARN\n") == "1 FL060 warning");
  CHECK(found("export NCCL_DEBUG=INFO\nexport NCCL_DEBUG=INFO\n") == "1 FL060 note");
  CHECK(found("export NCCL_DEBUG=INFO\nmpirun -x NCCL_DEBUG x\nexport NCCL_DEBUG=WARN\n").empty());
  CHECK(found("NCCL_IB_TC=3\nNCCL_IB_TC=4\n", "nccl.conf") == "2 FL060 warning");  // first counts
  CHECK(found("a:\n  NCCL_ALGO: Ring\nb:\n  NCCL_ALGO: Ring,Tree\n", "a.yaml") ==
        "2 FL061 warning");
  CHECK(found("export NCCL_ALGO=Ring\nsrun --export=ALL,NCCL_ALGO=Ring,x ./x\n").empty());
  CHECK(found("os.environ['NCCL_DEBUG'] = 'INFO'\ndist.init_process_group()\n"
              "os.environ['TORCH_NCCL_BLOCKING_WAIT'] = '1'\n",
              "a.py") == "3 FL070 error");
  CHECK(found("NCCL_DEBUG=INFO\n./x\n") == "1 FL071 warning");
  CHECK(found("NCCL_DEBUG=INFO\nmpirun -x NCCL_DEBUG ./x\n") == "1 FL071 error");
  CHECK(found("export NCCL_DEBUG=INFO\nmpirun ./x\n") == "2 FL072 warning");
  CHECK(found("export NCCL_DEBUG=INFO\nsrun ./x\n").empty());
  CHECK(found("export NCCL_DEBUG=INFO\nsrun --export=NCCL_IB_TC=1 ./x\n") == "2 FL072 warning");
  CHECK(found("#SBATCH --export=NONE\nexport NCCL_DEBUG=INFO\nsrun ./x\n") == "1 FL073 error");
  CHECK(found("#SBATCH --export=NONE\nexport NCCL_DEBUG=INFO\nsrun --export=ALL ./x\n") ==
        "1 FL073 note");
  CHECK(found("source /etc/nccl.sh\nsource venv/bin/activate\n") == "1 FL074 note");
  CHECK(found("FROM x\nRUN export NCCL_IB_TC=1\nARG NCCL_IB_SL=1\nENV NCCL_ALGO=$A\n",
              "Dockerfile") == "2 FL075 warning, 3 FL075 warning, 4 FL075 warning");
}

TEST_CASE("after the process group: too late for PyTorch's own, perhaps for NCCL's") {
  const auto after = [](const std::string& name) {
    return linted("dist.init_process_group()\nos.environ['" + name + "'] = '2'\n", "a.py");
  };
  for (const char* name : {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_TRACE_BUFFER_SIZE"})
    CHECK(found(after(name)) == "2 FL070 error");
  for (const char* name : {"NCCL_IB_TC", "TORCH_NCCL_NONBLOCKING_TIMEOUT"})
    CHECK(found(after(name)) == "2 FL070 warning");
  const auto reason = [&](const char* name) { return find(after(name), "FL070")->reason; };
  CHECK(reason("NCCL_PROTO").starts_with("it is read for each communicator"));
  CHECK(reason("NCCL_IB_TC").starts_with("it is read once in a process"));
  CHECK(reason("TORCH_NCCL_ASYNC_ERROR_HANDLING").starts_with("PyTorch reads it once"));
}

TEST_CASE("what is set too late is judged by FL070 alone") {
  const Cluster two = cluster("dgx-h100", 2);
  const std::string init = "dist.init_process_group()\n";
  for (const std::string set :
       {"os.environ['NCCL_ALGO'] = 'Ring'\n", "os.environ['NCCL_SOCKET_NTHREADS'] = '4'\n"}) {
    CHECK(found(linted(set + init, "a.py", kNccl2_21_5, &two)) !=
          found(linted(set, "a.sh", kNccl2_21_5, &two)));
    const std::string before = found(linted(set + init, "a.py", kNccl2_21_5, &two));
    CHECK((before == "1 FL040 warning" || before == "1 FL030 warning"));
    CHECK(found(linted(init + set, "a.py", kNccl2_21_5, &two)) == "2 FL070 warning");
  }
}

TEST_CASE("how a setting is written") {
  CHECK(found("NCCL_DEBUG=WARN # x\n", "nccl.conf") == "1 FL080 error");
  CHECK(found("NCCL_DEBUG=WARN # x\n", "a.env") == "1 FL080 warning");
  CHECK(found("NCCL_DEBUG=\"WARN\"\n", "nccl.conf") == "1 FL081 error");
  CHECK(found("NCCL_DEBUG=WARN \n", "a.env") == "1 FL081 warning");
  CHECK(found("export NCCL_DEBUG=WARN\n; NCCL_IB_TC=1\n", "nccl.conf") ==
        "1 FL082 error, 2 FL082 note");
  CHECK(found("export NCCL_DEBUG=WARN\r\n") == "1 FL083 error");
  CHECK(found("NCCL_DEBUG=WARN\r\nNCCL_IB_TC=1\r\n", "nccl.conf") ==
        "1 FL083 error, 2 FL010 error");
  CHECK(found("env:\n- name: NCCL_IB_TC\n  value: 96\n- name: NCCL_IB_DISABLE\n  value: no\n",
              "a.yaml") == "2 FL084 error, 4 FL084 error");
  CHECK(found("export NCCL_DEBUG='WARN\n") == "1 FL085 note, 1 FL013 warning");
}

TEST_CASE("rules: ids ascend, and each is documented by a sentence") {
  for (std::size_t i = 0; i < lint_rules().size(); ++i) {
    const LintRule& rule = lint_rules()[i];
    CHECK(rule.what.ends_with('.'));
    if (i > 0) CHECK(lint_rules()[i - 1].id < rule.id);
    CHECK(&lint_rule(rule.id) == &rule);
  }
}
