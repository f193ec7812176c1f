// Goal: the tuner plugin does what its file says in every interface that NCCL 2.21 to 2.30 calls,
// and nothing else. Method: the plugin is loaded as NCCL loads it and called as NCCL calls it, with
// tables of costs and files of which the answers are worked out by hand; random files and calls
// against the reader of the same file that bench uses.

#include <dlfcn.h>
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "models/io/tuners/load_tuner.hpp"
#include "sim/base/random.hpp"

extern "C" {
#include "plugins/tuner/nccl_tuner_interfaces.h"
}

using namespace fabricast;

namespace {

void* g_library = nullptr;
thread_local std::string g_log;

void log_line(int level, unsigned long subsystems, const char*, int, const char* format, ...) {
  CHECK(subsystems == NCCL_SUBSYSTEM_TUNING);
  std::array<char, 1024> text{};
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  g_log += (level == NCCL_LOG_WARN ? "WARN " : "INFO ") + std::string(text.data()) + "\n";
}

template <class Interface>
const Interface& symbol(const char* name) {
  const auto* found = static_cast<const Interface*>(dlsym(g_library, name));
  REQUIRE(found != nullptr);
  return *found;
}

class TunerFile {
 public:
  explicit TunerFile(const std::string& text) {
    path_ = std::filesystem::temp_directory_path() /
            ("fabricast-tuner-" + std::to_string(getpid()) + ".conf");
    std::ofstream(path_) << text;
    setenv("NCCL_TUNER_CONFIG_FILE", path_.c_str(), 1);
  }
  ~TunerFile() {
    std::filesystem::remove(path_);
    unsetenv("NCCL_TUNER_CONFIG_FILE");
  }
  TunerFile(const TunerFile&) = delete;
  TunerFile& operator=(const TunerFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

using Costs = std::array<std::array<float, NCCL_PROTOCOLS>, NCCL_ALGORITHMS>;

/// Trees and rings alone are to be had.
Costs costs() {
  Costs out;
  for (auto& row : out) row.fill(-1);
  for (const int a : {NCCL_TREE, NCCL_RING}) out[static_cast<std::size_t>(a)] = {10, 20, 30};
  return out;
}

struct Answer {
  int algorithm = -1, protocol = -1, channels = 0;
  bool operator==(const Answer&) const = default;
};
constexpr Answer kUntouched{};

/// What the table says after the call: the entry that became 0, and that no other changed.
Answer answer_of(const Costs& before, const Costs& after, int channels) {
  Answer out;
  out.channels = channels;
  for (int a = 0; a < NCCL_ALGORITHMS; ++a) {
    for (int p = 0; p < NCCL_PROTOCOLS; ++p) {
      const float was = before[static_cast<std::size_t>(a)][static_cast<std::size_t>(p)];
      const float is = after[static_cast<std::size_t>(a)][static_cast<std::size_t>(p)];
      if (was == is) continue;
      CHECK(is == 0);
      CHECK(out.algorithm == -1);
      out.algorithm = a;
      out.protocol = p;
    }
  }
  return out;
}

struct Call {
  std::size_t ranks = 16, nodes = 2;
  int function = NCCL_ALL_REDUCE;
  std::size_t bytes = 1 << 20;
  int operations = 1, registered = 0;
};

/// Calls interface `version` as the NCCL that calls it first does.
Answer ask(int version, const Call& call, const Costs& table) {
  void* context = nullptr;
  Costs after = table;
  auto* rows = reinterpret_cast<float**>(after.data());
  Answer out;
  if (version == 2) {
    const auto& v2 = symbol<nccl_tuner_v2>("ncclTunerPlugin_v2");
    CHECK(v2.init(call.ranks, call.nodes, log_line, &context) == NCCL_OK);
    CHECK(v2.get_coll_info(context, call.function, call.bytes, 0, 0, call.operations,
                           &out.algorithm, &out.protocol, &out.channels) == NCCL_OK);
    CHECK(v2.destroy(context) == NCCL_OK);
    return out;
  }
  int channels = 0;
  const auto with_costs = [&](const auto& plugin) {
    CHECK(plugin.get_coll_info(context, call.function, call.bytes, call.operations, rows,
                               NCCL_ALGORITHMS, NCCL_PROTOCOLS, call.registered,
                               &channels) == NCCL_OK);
  };
  if (version == 3) {
    const auto& v3 = symbol<nccl_tuner_v3>("ncclTunerPlugin_v3");
    CHECK(v3.init(call.ranks, call.nodes, log_line, &context) == NCCL_OK);
    CHECK(v3.get_coll_info(context, call.function, call.bytes, call.operations, rows,
                           NCCL_ALGORITHMS, NCCL_PROTOCOLS, &channels) == NCCL_OK);
    CHECK(v3.destroy(context) == NCCL_OK);
  } else if (version == 4) {
    const auto& v4 = symbol<nccl_tuner_v4>("ncclTunerPlugin_v4");
    CHECK(v4.init(call.ranks, call.nodes, log_line, &context) == NCCL_OK);
    with_costs(v4);
    CHECK(v4.destroy(context) == NCCL_OK);
  } else if (version == 5) {
    const auto& v5 = symbol<nccl_tuner_v5>("ncclTunerPlugin_v5");
    CHECK(v5.init(&context, 7, call.ranks, call.nodes, log_line, nullptr, nullptr) == NCCL_OK);
    with_costs(v5);
    CHECK(v5.finalize(context) == NCCL_OK);
  } else {
    const auto& v6 = symbol<nccl_tuner_v6>("ncclTunerPlugin_v6");
    CHECK(v6.init(&context, 7, call.ranks, call.nodes, log_line, nullptr, nullptr) == NCCL_OK);
    with_costs(v6);
    const bool keeps_chunks = v6.get_chunk_size == nullptr;  // NCCL's own
    CHECK(keeps_chunks);
    CHECK(v6.finalize(context) == NCCL_OK);
  }
  return answer_of(table, after, channels);
}

constexpr std::array kVersions = {2, 3, 4, 5, 6};

}  // namespace

TEST_CASE("plugin: a line is taken from its first to its last byte, others are left alone") {
  const TunerFile file("# comment\n\nallreduce, 1024 ,1048576,ring,ll128,4,2,16,-1,-1\n");
  for (const int version : kVersions) {
    CAPTURE(version);
    const auto at = [&](std::size_t bytes) {
      Call call;
      call.bytes = bytes;
      return ask(version, call, costs());
    };
    CHECK(at(1023) == kUntouched);
    CHECK(at(1024) == Answer{NCCL_RING, NCCL_LL128, 4});
    CHECK(at(1048576) == Answer{NCCL_RING, NCCL_LL128, 4});
    CHECK(at(1048577) == kUntouched);
    Call other;
    other.function = NCCL_BROADCAST;
    CHECK(ask(version, other, costs()) == kUntouched);
    other = {};
    other.nodes = 4;
    CHECK(ask(version, other, costs()) == kUntouched);
    other = {};
    other.ranks = 32;
    CHECK(ask(version, other, costs()) == kUntouched);
  }
}

TEST_CASE("plugin: -1 and 0 channels keep NCCL's number, -1 nodes and ranks are any") {
  const TunerFile file(
      "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n"
      "allreduce,0,18446744073709551615,tree,simple,-1,-1,-1\n"
      "broadcast,0,99999999,ring,ll,0,-1,-1\n");
  for (const int version : kVersions) {
    CAPTURE(version);
    CHECK(ask(version, {}, costs()) == Answer{NCCL_TREE, NCCL_SIMPLE, 0});
    Call broadcast;
    broadcast.function = NCCL_BROADCAST;
    broadcast.nodes = 512;
    CHECK(ask(version, broadcast, costs()) == Answer{NCCL_RING, NCCL_LL, 0});
  }
}

TEST_CASE("plugin: what is not to be had is passed over") {
  const TunerFile file(
      "allreduce,0,99999999,nvls_tree,simple,8,-1,-1\n"
      "allreduce,0,99999999,pat,simple,8,-1,-1\n"
      "allreduce,0,99999999,collnet_chain,simple,8,-1,-1\n"
      "allreduce,0,99999999,ring,simple,2,-1,-1\n");
  for (const int version : kVersions)
    CHECK(ask(version, {}, costs()) == Answer{NCCL_RING, NCCL_SIMPLE, 2});
}

TEST_CASE("plugin: numbers of operations and registered buffers") {
  const TunerFile file(
      "allreduce,0,99999999,ring,ll,3,-1,-1,2\n"
      "allreduce,0,99999999,tree,ll,5,-1,-1,-1,1\n");
  for (const int version : kVersions) {
    CAPTURE(version);
    Call call;
    call.operations = 2;
    CHECK(ask(version, call, costs()) == Answer{NCCL_RING, NCCL_LL, 3});
    call.operations = 1;
    CHECK(ask(version, call, costs()) == kUntouched);
    call.registered = 1;  // v2 and v3 are not told
    CHECK(ask(version, call, costs()) ==
          (version < 4 ? kUntouched : Answer{NCCL_TREE, NCCL_LL, 5}));
  }
}

TEST_CASE("plugin: a file that cannot be read leaves everything to NCCL, and says why") {
  struct Case {
    std::string text, said;
  };
  const std::string good = "allreduce,0,99999999,ring,ll,3,-1,-1\n";
  for (const Case& one :
       {Case{good + "allreduce,0,5,ringo,ll,3,-1,-1\n", ":2: no algorithm is named \"ringo\""},
        Case{"allreduce,0,5,ring,ll3,3,-1,-1\n", ":1: no protocol is named \"ll3\""},
        Case{"alltoall,0,5,ring,ll,3,-1,-1\n", ":1: no collective is named \"alltoall\""},
        Case{"allreduce,0,5 KiB,ring,ll,3,-1,-1\n", ":1: no number of bytes: \"5 KiB\""},
        Case{"allreduce,0,5,ring,ll,many,-1,-1\n", ":1: no number from -1 on: \"many\""},
        Case{"allreduce,0,5,ring,ll,-2,-1,-1\n", ":1: no number from -1 on: \"-2\""},
        Case{"allreduce,0,5\n",
             ":1: fewer than eight fields, in the line that begins with \"allreduce\""}}) {
    const TunerFile file(one.text);
    g_log.clear();
    CHECK(ask(6, {}, costs()) == kUntouched);
    CHECK(g_log == "WARN fabricast tuner: " + file.path() + one.said + "\nWARN fabricast tuner: " +
                       file.path() + ": not used: NCCL decides everything\n");
  }
  setenv("NCCL_TUNER_CONFIG_FILE", "/nowhere/at/all.conf", 1);
  g_log.clear();
  for (const int version : kVersions) CHECK(ask(version, {}, costs()) == kUntouched);
  CHECK(g_log.starts_with("WARN fabricast tuner: /nowhere/at/all.conf: cannot be read"));
  unsetenv("NCCL_TUNER_CONFIG_FILE");
}

TEST_CASE("plugin: lines of any length, endings of any kind") {
  const TunerFile file("#" + std::string(5000, 'x') + "\r\nallreduce,0,99999999," +
                       std::string(300, ' ') + "ring,ll,3,-1,-1\r\n");
  CHECK(ask(4, {}, costs()) == Answer{NCCL_RING, NCCL_LL, 3});
}

TEST_CASE("plugin: communicators beside each other") {
  const TunerFile file(
      "allreduce,0,99999999,ring,ll,3,2,16\nallreduce,0,99999999,tree,ll,4,4,32\n");
  std::array<std::vector<Answer>, 2> answers;
  const auto work = [&](std::size_t which) {
    Call call;
    call.nodes = which == 0 ? 2 : 4;
    call.ranks = which == 0 ? 16 : 32;
    for (int i = 0; i < 200; ++i) answers[which].push_back(ask(6, call, costs()));
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  for (const Answer& one : answers[0]) CHECK(one == Answer{NCCL_RING, NCCL_LL, 3});
  for (const Answer& one : answers[1]) CHECK(one == Answer{NCCL_TREE, NCCL_LL, 4});
}

TEST_CASE("plugin: random files are read as bench reads them") {
  Random random(5);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return low +
           static_cast<std::int64_t>(random.below(static_cast<std::uint32_t>(high - low + 1)));
  };
  const std::array<const char*, 5> functions = {"broadcast", "reduce", "allgather", "reducescatter",
                                                "allreduce"};
  const std::array collectives = {Collective::broadcast, Collective::reduce, Collective::all_gather,
                                  Collective::reduce_scatter, Collective::all_reduce};
  const std::array<const char*, 3> algorithms = {"tree", "ring", "nvls"};
  const std::array<const char*, 3> protocols = {"ll", "ll128", "simple"};
  for (int round = 0; round < 40; ++round) {
    std::string text;
    const std::int64_t lines = pick(1, 8);
    for (std::int64_t i = 0; i < lines; ++i) {
      const std::int64_t low = pick(0, 4000), wide = pick(0, 3000);
      const std::int64_t function = pick(0, 4), algorithm = pick(0, 2);
      const std::int64_t protocol = pick(0, 2), channels = pick(-1, 8);
      const std::int64_t nodes = pick(-1, 3), operations = pick(-1, 2);
      text += std::string(functions[static_cast<std::size_t>(function)]) + "," +
              std::to_string(low) + "," + std::to_string(low + wide) + "," +
              algorithms[static_cast<std::size_t>(algorithm)] + "," +
              protocols[static_cast<std::size_t>(protocol)] + "," + std::to_string(channels) + "," +
              std::to_string(nodes == 0 ? -1 : nodes) + ",-1," +
              std::to_string(operations == 0 ? -1 : operations) + "\n";
    }
    const TunerFile file(text);
    const auto reader = parse_tuner(text, "own.conf", {}, TunerReading::fabricast);
    for (int n = 0; n < 40; ++n) {
      Call call;
      const std::int64_t function = pick(0, 4), nodes = pick(1, 3);
      const std::int64_t bytes = pick(1, 7000), operations = pick(1, 2);
      call.function = static_cast<int>(function);
      call.nodes = static_cast<std::size_t>(nodes);
      call.ranks = call.nodes * 8;
      call.bytes = static_cast<std::size_t>(bytes);
      call.operations = static_cast<int>(operations);
      const Answer got = ask(6, call, costs());
      const TunerAnswer want = reader->ask(
          {collectives[static_cast<std::size_t>(function)], bytes, static_cast<int>(nodes),
           static_cast<int>(nodes) * 8, static_cast<int>(operations), false},
          [](Algorithm a, Protocol) { return a == Algorithm::tree || a == Algorithm::ring; });
      CAPTURE(text);
      CHECK((got.algorithm >= 0) == want.pair.has_value());
      if (want.pair) {
        CHECK(got.algorithm == static_cast<int>(want.pair->algorithm));
        CHECK(got.protocol == static_cast<int>(want.pair->protocol));
      }
      CHECK(got.channels == want.channels.value_or(0));
    }
  }
}

int main(int argc, char** argv) {
  const char* library = std::getenv("FABRICAST_TUNER_PLUGIN");
  if (library == nullptr) {
    std::fprintf(stderr, "FABRICAST_TUNER_PLUGIN names the plugin\n");
    return 2;
  }
  g_library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (g_library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  doctest::Context context(argc, argv);
  return context.run();
}
