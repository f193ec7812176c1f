// The linter's rules: for each, the smallest text that breaks it and one that does not. Expected
// findings follow from NCCL's own reading of the values (see
// models/nccl/environment/variables.yaml).

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_variables.hpp"
#include "models/lint/lint_text.hpp"
#include "models/nccl/communicator/communicator.hpp"

#include <nlohmann/json.hpp>

using namespace fabricast;

namespace {

const VariableCatalogue& catalogue() {
  static const VariableCatalogue loaded = load_variables();
  return loaded;
}

LintResult linted(const std::string& text, const std::string& path = "a.sh",
                  NcclVersion version = kNccl2_21_5, const Cluster* cluster = nullptr) {
  LintInput input;
  input.files.push_back(parse_env_file(text, path));
  input.version = version;
  input.cluster = cluster;
  return lint(input, catalogue());
}

/// "line rule severity" of each finding, in order.
std::string found(const LintResult& result) {
  std::string out;
  for (const Finding& f : result.findings)
    out += fmt::format("{}{} {} {}", out.empty() ? "" : ", ", f.line, f.rule, to_text(f.severity));
  return out;
}
std::string found(const std::string& text, const std::string& path = "a.sh",
                  NcclVersion version = kNccl2_21_5) {
  return found(linted(text, path, version));
}
std::string set(const std::string& assignment, NcclVersion version = kNccl2_21_5) {
  return found("export " + assignment + "\n", "a.sh", version);
}

Cluster cluster(const char* topology, int nodes) {
  return load_cluster({topology, nodes, ""}, load_catalogue());
}
/// Of the settings of one script on a cluster.
LintResult on(const Cluster& hardware, const std::string& text, NcclVersion version = kNccl2_21_5) {
  return linted(text, "a.sh", version, &hardware);
}
const Finding* find(const LintResult& result, std::string_view rule) {
  const auto at = std::ranges::find(result.findings, rule, &Finding::rule);
  return at == result.findings.end() ? nullptr : &*at;
}

}  // namespace

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

TEST_CASE("hostile input is cut short, and that is said") {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "export NCCL_IB_TC=96\n";
  const LintResult result = linted(text);
  CHECK(result.settings == 2000);
  CHECK(std::ranges::find(result.notes, "only the first 2000 settings were checked") !=
        result.notes.end());
}

TEST_CASE("files are seen together") {
  LintInput input;
  input.files.push_back(parse_env_file("export NCCL_IB_TC=96\n", "a.sh"));
  input.files.push_back(env_option("NCCL_IB_DISABLE=1"));
  const LintResult result = lint(input, catalogue());
  CHECK(found(result) == "1 FL031 warning");
}

TEST_CASE("several settings of the command line are told apart by their numbers") {
  CHECK(env_option("NCCL_IB_TC=96").path == "--env");
  LintInput input;
  input.files.push_back(env_option("NCCL_IB_TC=x", 1));
  input.files.push_back(env_option("NCCL_NTHREADS=100", 3));
  const LintResult result = lint(input, catalogue());
  REQUIRE(result.findings.size() == 2);
  CHECK(result.findings[0].file == "--env #1");
  CHECK(result.findings[1].file == "--env #3");
  CHECK(lint_text(result, kNccl2_21_5).starts_with("--env #1: error: NCCL_IB_TC=x"));
}

TEST_CASE("SARIF names every rule once and points at lines") {
  const LintResult result = linted("export NCCL_BUFFSIZE=4M\nexport NCCL_NTHREADS=100\n", "a b.sh");
  const auto sarif = nlohmann::json::parse(lint_sarif(result));
  CHECK(sarif["version"] == "2.1.0");
  const auto& run = sarif["runs"][0];
  const auto& rules = run["tool"]["driver"]["rules"];
  std::set<std::string> ids;
  for (const auto& rule : rules) CHECK(ids.insert(rule["id"]).second);
  CHECK(ids.size() == lint_rules().size());
  REQUIRE(run["results"].size() == 2);
  const auto& first = run["results"][0];
  CHECK(first["level"] == "error");
  CHECK(rules[first["ruleIndex"].get<std::size_t>()]["id"] == first["ruleId"]);
  const auto& place = first["locations"][0]["physicalLocation"];
  CHECK(place["artifactLocation"]["uri"] == "a%20b.sh");
  CHECK(place["region"]["startLine"] == 1);
  CHECK(place["region"]["startColumn"] == 8);
}

TEST_CASE("output survives bytes that are no UTF-8") {
  const LintResult result = linted("export NCCL_DEBUG=\xff\xfe\n");
  CHECK(nlohmann::json::accept(report_json(lint_report(result, kNccl2_21_5))));
  CHECK(nlohmann::json::accept(lint_sarif(result)));
}

TEST_CASE("rules: ids ascend, and each is documented by a sentence") {
  for (std::size_t i = 0; i < lint_rules().size(); ++i) {
    const LintRule& rule = lint_rules()[i];
    CHECK(rule.what.ends_with('.'));
    if (i > 0) CHECK(lint_rules()[i - 1].id < rule.id);
    CHECK(&lint_rule(rule.id) == &rule);
  }
}

TEST_CASE(
    "hardware: GPUs that the driver lets not reach each other go through host memory anyway") {
  const Cluster geforce = cluster("rtx-4090-8", 1), others = cluster("dgx-h100", 1);
  CHECK(found(on(geforce, "export NCCL_P2P_DISABLE=1\n", kNccl2_27_7)).empty());
  CHECK(find(on(others, "export NCCL_P2P_DISABLE=1\n", kNccl2_27_7), "FL040") != nullptr);
}
