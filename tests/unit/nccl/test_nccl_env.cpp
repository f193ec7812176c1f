// Goal: environment texts are read as a shell and NCCL read them, and what NCCL bends or refuses is
// said. Method: one case per rule, values from NCCL's source as noted beside the code.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/nccl/environment/settings.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

NcclSettings read(const std::vector<std::string>& assignments, NcclVersion version = kNccl2_21_5) {
  Environment environment;
  for (const std::string& a : assignments) environment.set(a);
  return read_settings(environment, version);
}

std::string refused(const std::vector<std::string>& assignments, NcclVersion version) {
  return error_text([&] { read(assignments, version); });
}

using Warnings = std::vector<std::string>;

}  // namespace

TEST_CASE("environment: K=V keeps order and the last value, and names what does not act") {
  Environment e;
  e.set("NCCL_IB_FIFO_TC=106");
  e.set("NCCL_ALGO=Ring");
  e.set("OMP_NUM_THREADS=8");
  e.set("NCCL_INVENTED=1");
  e.set("NCCL_ALGO=Tree");
  CHECK(e.variables().size() == 4);
  CHECK(e.get("NCCL_ALGO") == "Tree");
  CHECK_FALSE(e.get("NCCL_PROTO"));
  CHECK(e.not_acted_on() == std::vector<std::string>{"NCCL_IB_FIFO_TC", "NCCL_INVENTED"});
  e.set("NCCL_IB_HCA==mlx5_0");  // the value begins with =
  CHECK(e.get("NCCL_IB_HCA") == "=mlx5_0");
}

TEST_CASE("environment: malformed assignments say what to write") {
  Environment e;
  CHECK(error_text([&] { e.set("NCCL_ALGO"); }) ==
        "\"NCCL_ALGO\" is not an assignment\nhint: write NAME=value, e.g. NCCL_ALGO=Ring");
  CHECK(error_text([&] { e.set("NCCL_ALGO =Ring"); }) ==
        "\"NCCL_ALGO \" is not a variable's name\nhint: no blanks around =");
  CHECK(error_text([&] { e.set("=Ring"); }) ==
        "\"\" is not a variable's name\nhint: letters, digits and _, not starting with a digit");
}

TEST_CASE("environment file: comments, export, quotes and CRLF") {
  Environment e;
  e.read_text(
      "# a comment\r\n"
      "NCCL_ALGO=Ring\r\n"
      "\n"
      "  export NCCL_PROTO=\"LL,Simple\"   # quoted\n"
      "NCCL_IB_HCA=mlx5_0, mlx5_1 # blanks stay, as in a job's environment\n"
      "NCCL_TOPO_FILE='/etc/a # b.xml'\n"
      "NCCL_DEBUG=\n"
      "export\tNCCL_BUFFSIZE=8388608",
      "job.env");
  CHECK(e.variables() ==
        std::vector<std::pair<std::string, std::string>>{{"NCCL_ALGO", "Ring"},
                                                         {"NCCL_PROTO", "LL,Simple"},
                                                         {"NCCL_IB_HCA", "mlx5_0, mlx5_1"},
                                                         {"NCCL_TOPO_FILE", "/etc/a # b.xml"},
                                                         {"NCCL_DEBUG", ""},
                                                         {"NCCL_BUFFSIZE", "8388608"}});
}

TEST_CASE("environment file: a word that NCCL refuses names the line that sets it") {
  Environment e;
  e.read_text("# a comment\nNCCL_BUFFSIZE=4\nNCCL_ALGO=Foo\n", "job.env");
  const auto refusal = [&] { return error_text([&] { read_settings(e, kNccl2_27_7); }); };
  CHECK_MESSAGE(refusal().starts_with("job.env:3: NCCL_ALGO=Foo: \"Foo\" is unknown"), refusal());
  e.unset("NCCL_ALGO");
  CHECK_MESSAGE(refusal().starts_with("job.env:2: NCCL_BUFFSIZE=4: NCCL reads 4 bytes"), refusal());
  e.set("NCCL_BUFFSIZE=5");  // by an option, which has no line
  CHECK_MESSAGE(refusal().starts_with("NCCL_BUFFSIZE=5: "), refusal());
}

TEST_CASE("environment file: errors name file and line") {
  const auto error = [](const std::string& text) {
    return error_text([&] { Environment{}.read_text(text, "job.env"); });
  };
  CHECK(error("A=1\nmpirun ./all_reduce_perf\n") ==
        "job.env:2: \"mpirun ./all_reduce_perf\" is not an assignment\n"
        "hint: write NAME=value, e.g. NCCL_ALGO=Ring");
  CHECK(error("NCCL_IB_TC = 106") ==
        "job.env:1: \"NCCL_IB_TC \" is not a variable's name\nhint: no blanks around =");
  CHECK(error("A=\"b") == "job.env:1: a quote is not closed: \"b");
  CHECK(error("A=\"b\" c") ==
        "job.env:1: text after the closing quote: c\n"
        "hint: one variable a line, the whole value in quotes");
  CHECK(error("export A=1 B=2") ==
        "job.env:1: several variables in one line: 1 B=2\n"
        "hint: one variable a line, or quotes around a value with blanks");
}

TEST_CASE("settings: an empty environment leaves NCCL's defaults") {
  const NcclSettings s = read({});
  CHECK(s.algorithms.allows(Collective::all_reduce, index_of(Algorithm::tree)));
  CHECK_FALSE(s.protocols.by_user[0]);
  CHECK(s.channels_min == 1);
  CHECK(s.channels_max == 32);
  CHECK(read({}, kNccl2_27_7).channels_max == 64);
  CHECK(s.buffers.ll128.count == 4'915'200);
  CHECK_FALSE(s.threads);
  CHECK(s.warnings.empty());
}

TEST_CASE("NCCL_ALGO up to 2.23: one list, any case, unknown names passed over") {
  const auto allows = [](const NcclSettings& s, Algorithm a) {
    return s.algorithms.allows(Collective::all_gather, index_of(a));
  };
  const NcclSettings listed = read({"NCCL_ALGO=ring,,TREE,Rings"});
  CHECK(allows(listed, Algorithm::ring));
  CHECK(allows(listed, Algorithm::tree));
  CHECK_FALSE(allows(listed, Algorithm::nvls));
  CHECK(listed.warnings == Warnings{"NCCL_ALGO=ring,,TREE,Rings: \"Rings\" is no name this version "
                                    "knows; NCCL passes over it without a message"});
  const NcclSettings nothing = read({"NCCL_ALGO=Foo", "NCCL_PROTO=Bar"});
  CHECK_FALSE(allows(nothing, Algorithm::ring));
  REQUIRE(nothing.warnings.size() == 2);
  CHECK(nothing.warnings[0].find("goes on with Ring and Tree alone") != std::string::npos);
  CHECK(nothing.warnings[1].find("goes on with Ring in every protocol") != std::string::npos);
  const NcclSettings excluded = read({"NCCL_ALGO=^NVLS,NVLSTree"});
  CHECK(allows(excluded, Algorithm::ring));
  CHECK_FALSE(allows(excluded, Algorithm::nvls));
  CHECK_FALSE(allows(excluded, Algorithm::nvls_tree));
}

TEST_CASE("NCCL_ALGO and NCCL_PROTO since 2.24: lists per collective, unknown names refused") {
  const NcclSettings s =
      read({"NCCL_ALGO=ring;allreduce:tree,nvls;Broadcast:^tree", "NCCL_PROTO=allgather:ll128"},
           kNccl2_27_7);
  const auto allows = [&](Collective c, Algorithm a) {
    return s.algorithms.allows(c, index_of(a));
  };
  CHECK(allows(Collective::all_gather, Algorithm::ring));
  CHECK_FALSE(allows(Collective::all_gather, Algorithm::nvls));
  CHECK(allows(Collective::all_reduce, Algorithm::nvls));
  CHECK_FALSE(allows(Collective::all_reduce, Algorithm::ring));
  CHECK(allows(Collective::broadcast, Algorithm::ring));
  CHECK_FALSE(allows(Collective::broadcast, Algorithm::tree));
  CHECK(s.protocols.by_user[index_of(Collective::all_gather)]);
  CHECK_FALSE(s.protocols.allows(Collective::all_gather, index_of(Protocol::simple)));
  CHECK(s.protocols.allows(Collective::all_reduce, index_of(Protocol::simple)));

  CHECK(refused({"NCCL_ALGO=Rings"}, kNccl2_27_7) ==
        "NCCL_ALGO=Rings: \"Rings\" is unknown, and NCCL refuses to start\n"
        "hint: known: Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT");
  CHECK(refused({"NCCL_PROTO=allreduce:ll;simple"}, kNccl2_27_7) ==
        "NCCL_PROTO=allreduce:ll;simple: \"simple\" must come first\n"
        "hint: a list without a function is the default of all and stands at the start");
  CHECK(refused({"NCCL_ALGO=all_reduce:ring"}, kNccl2_30_7) ==
        "NCCL_ALGO=all_reduce:ring: \"all_reduce\" is not a collective\n"
        "hint: known: broadcast, reduce, allgather, reducescatter, allreduce");
}

TEST_CASE("numbers are read as NCCL reads them: base 0, the rest ignored") {
  CHECK(read({"NCCL_MAX_NCHANNELS=0x10"}).channels_max == 16);
  CHECK(read({"NCCL_MAX_NCHANNELS=010"}).channels_max == 8);
  const NcclSettings s = read({"NCCL_NTHREADS=256 threads", "NCCL_NET_OVERHEAD=5000"});
  CHECK(s.threads == 256);
  CHECK(s.net_overhead_us == 5.0F);
  CHECK(s.warnings == Warnings{"NCCL_NTHREADS=256 threads: NCCL reads 256 and ignores the rest"});
  const NcclSettings huge = read({"NCCL_MIN_NCHANNELS=99999999999999999999"});
  CHECK(huge.channels_min == 1);
  CHECK(huge.warnings.size() == 1);
  CHECK(read({"NCCL_NTHREADS="}).warnings.empty());  // empty: the default
}

TEST_CASE("channel limits: clamped, and NCHANNELS combine with CTAS") {
  CHECK(read({"NCCL_MIN_NCHANNELS=40"}).channels_min == 32);
  CHECK(read({"NCCL_MIN_NCHANNELS=40"}, kNccl2_27_7).channels_min == 40);
  CHECK(read({"NCCL_MAX_NCHANNELS=0"}).channels_max == 1);
  CHECK(read({"NCCL_MAX_NCHANNELS=8", "NCCL_MAX_CTAS=4"}).channels_max == 4);
  CHECK(read({"NCCL_MIN_NCHANNELS=2", "NCCL_MIN_CTAS=4"}).channels_min == 4);
  CHECK(read({"NCCL_MIN_CTAS=9", "NCCL_MAX_CTAS=4"}).channels_min == 4);  // both become the maximum
  CHECK(read({"NCCL_MAX_CTAS=0"}).channels_max == 32);
  CHECK(
      read({"NCCL_MIN_NCHANNELS=16", "NCCL_MAX_NCHANNELS=8"}).warnings ==
      Warnings{"NCCL_MIN_NCHANNELS is above NCCL_MAX_NCHANNELS: NCCL keeps 8 channels and repeats "
               "them up to 16"});
}

TEST_CASE("thread limits: what is not a multiple of 32 becomes the maximum") {
  CHECK(read({"NCCL_NTHREADS=100"}).threads == 512);
  CHECK(read({"NCCL_NTHREADS=1024"}).threads == 512);
  CHECK(read({"NCCL_NTHREADS=32"}).threads == 64);
  CHECK_FALSE(read({"NCCL_NTHREADS=0"}).threads);
  CHECK(read({"NCCL_LL128_NTHREADS=96"}).threads_ll128 == 160);
  CHECK(read({"NCCL_NTHREADS=100"}).warnings ==
        Warnings{"NCCL_NTHREADS=100: must be a multiple of 32 between 64 and 512; NCCL takes 512"});
}

TEST_CASE("buffers: bytes in digits, -2 for the default, and never too small to work") {
  CHECK(read({"NCCL_BUFFSIZE=8388608"}).buffers.simple.count == 8 << 20);
  CHECK(read({"NCCL_BUFFSIZE=-2"}).buffers.simple.count == 4 << 20);
  CHECK(read({"NCCL_LL_BUFFSIZE=0x100000"}).buffers.ll.count == 1 << 20);
  CHECK(refused({"NCCL_BUFFSIZE=8M"}, kNccl2_21_5) ==
        "NCCL_BUFFSIZE=8M: NCCL reads 8 bytes, too small for its 8 slots\n"
        "hint: write bytes in digits, e.g. NCCL_BUFFSIZE=4194304");
}

TEST_CASE("chunks of NVLS hold a grain; numbers of channels and peers are bounded") {
  CHECK(refused({"NCCL_NVLS_CHUNKSIZE=128K"}, kNccl2_27_7) ==
        "NCCL_NVLS_CHUNKSIZE=128K: NCCL reads 128 bytes, and cannot work with less than 512\n"
        "hint: write bytes in digits, e.g. NCCL_NVLS_CHUNKSIZE=131072");
  CHECK(refused({"NCCL_NVLSTREE_MAX_CHUNKSIZE=511"}, kNccl2_22) ==
        "NCCL_NVLSTREE_MAX_CHUNKSIZE=511: NCCL reads 511 bytes, and cannot work with less than "
        "512\nhint: write bytes in digits, e.g. NCCL_NVLSTREE_MAX_CHUNKSIZE=131072");
  CHECK(read({"NCCL_NVLS_CHUNKSIZE=512"}, kNccl2_27_7).nvls.chunk == Bytes{512});
  CHECK(read({"NCCL_NVLS_CHUNKSIZE=8"}, kNccl2_21_5).nvls.chunk == Bytes{8});
  CHECK(refused({"NCCL_NVLS_CHUNKSIZE=7"}, kNccl2_21_5) ==
        "NCCL_NVLS_CHUNKSIZE=7: NCCL reads 7 bytes, and cannot work with less than 8\n"
        "hint: write bytes in digits, e.g. NCCL_NVLS_CHUNKSIZE=131072");

  // 2^32 is 0 as an int.
  CHECK(read({"NCCL_P2P_PER_CHANNEL_NET_BW=4294967296"}).p2p.net_bw_per_channel == 1 << 20);
  CHECK(read({"NCCL_P2P_MAX_PEERS=4294967296"}).p2p.peers_max == 1 << 20);
  CHECK(read({"NCCL_P2P_MAX_PEERS=0"}).p2p.peers_max == std::nullopt);
  CHECK(read({"NCCL_MIN_P2P_NCHANNELS=100000"}, kNccl2_27_7).warnings ==
        Warnings{"NCCL_MIN_P2P_NCHANNELS=100000: NCCL takes 64"});
  CHECK(read({"NCCL_MIN_P2P_NCHANNELS=-1"}).p2p.channels_min == 1);
}

TEST_CASE("NCCL_IB_HCA: prefix, exact, exclusion, ports") {
  const auto selected = [](const std::string& value) {
    const IbHcaFilter filter(value);
    std::string out;
    for (const char* name : {"mlx5_0", "mlx5_1", "mlx5_10", "bnxt_0"}) {
      for (const int port : {1, 2}) {
        if (filter.selects(name, port)) {
          if (!out.empty()) out += ' ';
          out += name;
          out += ':';
          out += std::to_string(port);
        }
      }
    }
    return out;
  };
  const std::string all =
      "mlx5_0:1 mlx5_0:2 mlx5_1:1 mlx5_1:2 mlx5_10:1 mlx5_10:2 bnxt_0:1 bnxt_0:2";
  CHECK(selected("") == all);
  CHECK(selected("^") == "");
  CHECK(selected("mlx5_1") == "mlx5_1:1 mlx5_1:2 mlx5_10:1 mlx5_10:2");
  CHECK(selected("=mlx5_1") == "mlx5_1:1 mlx5_1:2");
  CHECK(selected("^mlx5") == "bnxt_0:1 bnxt_0:2");
  CHECK(selected("^=mlx5_1,bnxt_0:2") == "mlx5_0:1 mlx5_0:2 mlx5_10:1 mlx5_10:2 bnxt_0:1");
  CHECK(selected("mlx5_0:1,mlx5_10:2") == "mlx5_0:1 mlx5_10:2");
  CHECK(selected("=^mlx5_1") == "");  // the wrong order is part of a name
  CHECK(selected(",,bnxt,") == "bnxt_0:1 bnxt_0:2");
  CHECK(IbHcaFilter{}.selects("anything", 1));

  CHECK(read({"NCCL_IB_HCA=mlx5_0, mlx5_1"}).warnings ==
        Warnings{"NCCL_IB_HCA: \" mlx5_1\" holds blanks, so it matches nothing"});
  CHECK(read({"NCCL_IB_HCA=mlx5_0:x"}).warnings ==
        Warnings{"NCCL_IB_HCA: \"mlx5_0:x\" names no port, so it matches nothing"});
  CHECK(read({"NCCL_IB_HCA==^mlx5_1"}).warnings ==
        Warnings{
            "NCCL_IB_HCA: \"^mlx5_1\": ^ and = count only at the start of the list, ^ before ="});
}

TEST_CASE("variables a version does not read, and what is not modelled, are said") {
  const auto said = [](const char* assignment, NcclVersion version) {
    Environment e;
    e.set(assignment);
    return environment_warnings(e, version);
  };
  CHECK(said("NCCL_PAT_ENABLE=1", kNccl2_21_5) ==
        Warnings{"NCCL_PAT_ENABLE=1: NCCL 2.21.5 does not read it; 2.23.4 is the first that does"});
  CHECK(said("NCCL_PAT_ENABLE=1", kNccl2_27_7).empty());
  CHECK(said("NCCL_GRAPH_FILE=/a.xml", kNccl2_27_7) ==
        Warnings{"NCCL_GRAPH_FILE=/a.xml: it replaces the graph search; the search is made here"});
  CHECK(said("NCCL_IB_DISABLE=0", kNccl2_27_7).empty());
  CHECK(is_known("NCCL_P2P_LEVEL"));
  CHECK_FALSE(is_known("NCCL_IB_FIFO_TC"));
}

TEST_CASE("settings of NVLS, sends and receives, and thresholds") {
  const NcclSettings s = read({"NCCL_NVLS_ENABLE=0", "NCCL_MAX_P2P_NCHANNELS=8",
                               "NCCL_NCHANNELS_PER_NET_PEER=4", "NCCL_THREAD_THRESHOLDS=1 2 3 4",
                               "NCCL_MIN_NRINGS=4", "NCCL_MAX_NRINGS=8", "NCCL_MAX_NCHANNELS=6"});
  CHECK_FALSE(s.nvls.enabled);
  CHECK(s.nvls.why_off == "NCCL_NVLS_ENABLE=0 turns NVLS off");
  CHECK(s.p2p.channels_max == 8);
  CHECK(s.p2p.channels_per_remote == 4);
  CHECK(s.channels_min == 4);
  CHECK(s.channels_max == 6);  // the new name counts
  CHECK(s.bytes_per_thread[0][2] == 3);
  CHECK(s.bytes_per_thread[1][0] == 4);
  CHECK_FALSE(s.bytes_per_thread[1][1]);
  CHECK(s.warnings == Warnings{"NCCL_THREAD_THRESHOLDS=1 2 3 4: NCCL reads 4 numbers; it wants six "
                               "with blanks between, not commas"});
  CHECK(read({"NCCL_NVLS_ENABLE=2"}).nvls.enabled);
  CHECK_FALSE(read({"NCCL_CUMEM_ENABLE=0"}).nvls.enabled);
}

TEST_CASE("NCCL_ALGO: PAT is a name since 2.23, and nothing is a list up to 2.23") {
  CHECK(read({"NCCL_ALGO=PAT"}).warnings.size() == 1);
  CHECK(read({"NCCL_ALGO=PAT"}, kNccl2_27_7).warnings.empty());
  const Collective ar = Collective::all_reduce;
  CHECK_FALSE(read({"NCCL_ALGO="}).algorithms.allows(ar, index_of(Algorithm::nvls)));
  CHECK(read({"NCCL_ALGO="}, kNccl2_27_7).algorithms.allows(ar, index_of(Algorithm::nvls)));
}
