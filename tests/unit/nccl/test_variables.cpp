// The catalogue of environment variables: what each release reads and takes as default, the errors
// of its data file, and the name that was meant.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "models/io/workloads/load_variables.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/nccl/environment/env.hpp"
#include "models/nccl/environment/faults.hpp"
#include "models/nccl/environment/search_settings.hpp"
#include "models/nccl/environment/settings.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

const Variable& get(const VariableCatalogue& catalogue, std::string_view name) {
  const Variable* found = catalogue.find(name);
  REQUIRE_MESSAGE(found != nullptr, name);
  return *found;
}

std::string parsed(const std::string& entry) {
  return error_text([&] { parse_variables("variables:\n  X: {" + entry + "}\n", "v.yaml"); });
}

}  // namespace

TEST_CASE("a release reads what lies between its first and last release") {
  const VariableCatalogue catalogue = load_variables();
  const Variable& tree = get(catalogue, "NCCL_TREE_THRESHOLD");  // 2.4.2 .. 2.4.8
  CHECK_FALSE(tree.read_in({3, 7}));
  CHECK(tree.read_in({4, 2}));
  CHECK(tree.read_in({4, 8}));
  CHECK_FALSE(tree.read_in({5, 6}));
  const Variable& mnnvl = get(catalogue, "NCCL_MNNVL_ENABLE");  // since 2.21.5
  CHECK_FALSE(mnnvl.read_in({20, 5}));
  CHECK(mnnvl.read_in(kNccl2_30_7));
  CHECK_FALSE(get(catalogue, "NCCL_TIMEOUT").read_in(kNccl2_21_5));               // nobody
  CHECK_FALSE(get(catalogue, "NCCL_ASYNC_ERROR_HANDLING").read_in(kNccl2_21_5));  // PyTorch
}

TEST_CASE("defaults follow the release") {
  // src/transport/net_ib.cc: 14 up to 2.13, 18 from 2.14, 20 from 2.23.
  const VariableCatalogue catalogue = load_variables();
  const Variable& timeout = get(catalogue, "NCCL_IB_TIMEOUT");
  CHECK(timeout.default_in({13, 4}) == "14");
  CHECK(timeout.default_in({14, 3}) == "18");
  CHECK(timeout.default_in(kNccl2_21_5) == "18");
  CHECK(timeout.default_in({23, 4}) == "20");
  CHECK(get(catalogue, "NCCL_BUFFSIZE").default_in(kNccl2_27_7) == "4194304");
  CHECK(get(catalogue, "NCCL_IB_GID_INDEX").default_in({20, 5}) == "0");
  CHECK(get(catalogue, "NCCL_IB_GID_INDEX").default_in(kNccl2_21_5) == "-1");
  CHECK(get(catalogue, "NCCL_NTHREADS").default_in(kNccl2_21_5) == "512");
  CHECK_FALSE(get(catalogue, "NCCL_NET_GDR_READ").default_in(kNccl2_21_5).has_value());
}

TEST_CASE("every variable that acts here is in the catalogue") {
  const VariableCatalogue catalogue = load_variables();
  for (const std::string_view name : acting_variables()) {
    CAPTURE(name);
    CHECK(get(catalogue, name).reader == VariableReader::libnccl);
  }
}

TEST_CASE("what an entry points to exists, and effects and evidence are there") {
  const VariableCatalogue catalogue = load_variables();
  std::set<std::string> names;
  for (const Variable& v : catalogue.all()) {
    CAPTURE(v.name);
    CHECK(names.insert(v.name).second);
    CHECK_FALSE(v.effect.empty());
    if (!v.instead.empty()) CHECK(catalogue.find(v.instead) != nullptr);
    if (v.since && v.until) CHECK(*v.since <= *v.until);
    if (v.min && v.max) CHECK(*v.min <= *v.max);
    for (std::size_t i = 1; i < v.defaults.size(); ++i)
      CHECK(v.defaults[i - 1].since < v.defaults[i].since);
  }
  CHECK(names.size() > 424);  // the names found in NCCL's tags, and the families beside them
}

TEST_CASE("a reading holds from its release up to the next one") {
  const VariableCatalogue catalogue = load_variables();
  const Variable& level = get(catalogue, "NCCL_NET_GDR_LEVEL");
  const auto knows = [&](std::string_view word, NcclVersion version) {
    return std::ranges::count(level.words_in(version), word) == 1;
  };
  CHECK_FALSE(knows("C2C", {25, 1}));
  CHECK(knows("C2C", {26, 2}));
  CHECK_FALSE(knows("P2C", {26, 6}));
  CHECK(knows("P2C", {27, 3}));
  const Variable& channels = get(catalogue, "NCCL_MAX_NCHANNELS");
  CHECK(channels.max_in({24, 3}) == 32);
  CHECK(channels.max_in({25, 1}) == 64);
  CHECK(channels.min_in({24, 3}) == 1);
  CHECK(get(catalogue, "NCCL_NET_MERGE_LEVEL").reading_in(kNccl2_21_5) == nullptr);  // not read
  CHECK(get(catalogue, "NCCL_IB_TIMEOUT").reading_in(kNccl2_21_5) == nullptr);       // always alike
  for (const Variable& v : catalogue.all()) {
    CAPTURE(v.name);
    for (const VariableReading& r : v.readings) {
      CHECK_FALSE(r.source.empty());
      if (r.since) CHECK(v.read_in(*r.since));
      if (r.min && r.max) CHECK(*r.min <= *r.max);
    }
  }
}

// The catalogue says what the simulator does, at every release from 2.18 on.
TEST_CASE("the catalogue and the code that reads settings agree") {
  const VariableCatalogue catalogue = load_variables();
  constexpr NcclVersion releases[] = {{18, 6}, {19, 4}, {20, 5}, {21, 5}, {22, 3},
                                      {23, 4}, {24, 3}, {25, 1}, {26, 6}, {27, 7},
                                      {28, 9}, {29, 7}, {30, 7}, {31, 0}};
  const auto knows = [&](std::string_view name, NcclVersion version, std::string_view word) {
    return std::ranges::count(get(catalogue, name).words_in(version), word) == 1;
  };
  for (const NcclVersion version : releases) {
    CAPTURE(version.series);
    std::vector<std::string> warnings;
    for (const char* word :
         {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"}) {
      CAPTURE(word);
      Environment environment;
      environment.set("NCCL_NET_GDR_LEVEL", word);
      const bool read =
          read_search_settings(environment, version, warnings).net_gdr_level.has_value();
      CHECK(read == knows("NCCL_NET_GDR_LEVEL", version, word));
    }
    for (const char* word :
         {"Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"}) {
      CAPTURE(word);
      warnings.clear();
      const std::string failure =
          error_text([&] { read_algorithm_choices(word, version, warnings); });
      CHECK((failure == "no error" && warnings.empty()) == knows("NCCL_ALGO", version, word));
    }
    CHECK(max_channels(version) == get(catalogue, "NCCL_MAX_CTAS").max_in(version));
    Environment collnet;
    collnet.set("NCCL_COLLNET_ENABLE", "0x1");
    CHECK(read_settings(collnet, version).collnet ==
          get(catalogue, "NCCL_COLLNET_ENABLE").words_in(version).empty());
    Retry expected;
    expected.timeout =
        nanoseconds(4'096) *
        (std::int64_t{1} << std::stoi(*get(catalogue, "NCCL_IB_TIMEOUT").default_in(version)));
    CHECK(ib_retry({}, version, warnings).timeout == expected.timeout);
  }
}

namespace {

/// "NAME kind text" of each change.
std::vector<std::string> changes(const VariableCatalogue& catalogue, NcclVersion from,
                                 NcclVersion to) {
  static constexpr const char* kinds[] = {"appears", "goes", "default", "reading"};
  std::vector<std::string> out;
  for (const VariableChange& c : variable_changes(catalogue, from, to))
    out.push_back(c.variable->name + " " + kinds[static_cast<std::size_t>(c.kind)] + " " + c.text);
  return out;
}

bool has(const std::vector<std::string>& lines, std::string_view line) {
  return std::ranges::count(lines, line) == 1;
}

}  // namespace

TEST_CASE("what changes from one release to a newer one") {
  const VariableCatalogue catalogue = load_variables();
  const auto up = changes(catalogue, kNccl2_21_5, kNccl2_30_7);
  CHECK(has(up, "NCCL_PAT_ENABLE appears read since NCCL 2.23.4: " +
                    get(catalogue, "NCCL_PAT_ENABLE").effect));
  CHECK(has(up, "NCCL_IB_TIMEOUT default since NCCL 2.23.4: 20; before it: 18"));
  CHECK(has(up,
            "NCCL_COLLNET_ENABLE reading since NCCL 2.27.3: an integer, by way of the "
            "communicator's config: 1 is on, anything else off"));
  CHECK(has(up, "NCCL_ALGO reading since NCCL 2.24.3: " +
                    get(catalogue, "NCCL_ALGO").reading_in(kNccl2_30_7)->text));
  CHECK(has(changes(catalogue, {20, 5}, kNccl2_30_7),
            "NCCL_MNNVL goes NCCL 2.20.5 is the last that reads it; use NCCL_MNNVL_ENABLE"));
  // Names ascend, and each change lies between the two releases.
  const auto all = variable_changes(catalogue, kNccl2_21_5, kNccl2_30_7);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(all[i].variable->name);
    if (i > 0) CHECK(all[i - 1].variable->name <= all[i].variable->name);
    CHECK(all[i].since >= kNccl2_21_5);
    CHECK(all[i].since <= kNccl2_30_7);
  }
  CHECK(variable_changes(catalogue, kNccl2_27_7, kNccl2_27_7).empty());
}

TEST_CASE("what changes on the way back to an older release") {
  const VariableCatalogue catalogue = load_variables();
  const auto down = changes(catalogue, kNccl2_30_7, {20, 5});
  CHECK(has(down, "NCCL_PAT_ENABLE goes NCCL 2.23.4 is the first that reads it"));
  CHECK(has(down,
            "NCCL_MNNVL appears read up to NCCL 2.20.5: " + get(catalogue, "NCCL_MNNVL").effect));
  CHECK(has(down, "NCCL_IB_TIMEOUT default before NCCL 2.23.4: 18; since then: 20"));
  CHECK(has(down,
            "NCCL_COLLNET_ENABLE reading before NCCL 2.27.3: the text 1 switches CollNet on, "
            "anything else leaves it off"));
  CHECK(down.size() == changes(catalogue, {20, 5}, kNccl2_30_7).size());
}

TEST_CASE("families stand for their names, the longest first") {
  const VariableCatalogue catalogue = load_variables();
  CHECK(get(catalogue, "NCCL_FASTRAK_NUM_FLOWS").name == "NCCL_FASTRAK_*");
  CHECK(get(catalogue, "GLOO_SOCKET_IFNAME").name == "GLOO_SOCKET_IFNAME");
  CHECK(get(catalogue, "GLOO_TIMEOUT").name == "GLOO_*");
  CHECK(catalogue.find("FI_") == nullptr);  // a prefix is no name
  CHECK(catalogue.find("NCCL_NEVER_HEARD_OF") == nullptr);
}

TEST_CASE("the name that was meant") {
  const VariableCatalogue catalogue = load_variables();
  CHECK(catalogue.nearest_read("NCCL_IB_TIMOUT") == "NCCL_IB_TIMEOUT");
  CHECK(catalogue.nearest_read("nccl_debug") == "NCCL_DEBUG");
  CHECK(catalogue.nearest_read("HF_TOKEN").empty());
}

TEST_CASE("a name that a release does not read: by whom it is, and what to use instead") {
  const VariableCatalogue catalogue = load_variables();
  const auto said = [&](std::string_view name, NcclVersion version) {
    const std::optional<UnreadName> unread = unread_name(catalogue, name, version);
    return unread ? unread->why + "; " + unread->instead : "";
  };
  CHECK(said("NCCL_TREE_THRESHOLD", kNccl2_21_5) ==
        "not read by NCCL 2.21.5: NCCL 2.4.8 was the last; use NCCL_ALGO");
  CHECK(said("NCCL_TREE_THRESHOLD", {4, 8}).empty());
  CHECK(said("NCCL_PAT_ENABLE", kNccl2_21_5) ==
        "not read by NCCL 2.21.5: NCCL 2.23.4 is the first; ");
  CHECK(said("NCCL_PAT_ENABLE", nccl_release_from_text("2.9")) ==
        "not read by NCCL 2.9: NCCL 2.23.4 is the first; ");
  CHECK(said("NCCL_BLOCKING_WAIT", kNccl2_21_5) ==
        "read by PyTorch, not by NCCL; use TORCH_NCCL_BLOCKING_WAIT");
  CHECK(said("NCCL_IB_TIMOUT", kNccl2_21_5) == "read by nobody; did you mean NCCL_IB_TIMEOUT?");
  CHECK(said("NCCL_GDR_LEVEL", kNccl2_21_5) == "read by nobody; use NCCL_NET_GDR_LEVEL");
  CHECK(said("NCCL_DEBUG", kNccl2_21_5).empty());
}

TEST_CASE("what a list of interfaces without a match does is told") {
  const VariableCatalogue catalogue = load_variables();
  CHECK(get(catalogue, "NCCL_SOCKET_IFNAME").note.find("matches no interface fails the init") !=
        std::string::npos);
}

TEST_CASE("releases are read from text") {
  CHECK(nccl_release_from_text("2.18.3") == NcclVersion{18, 3});
  CHECK(nccl_release_from_text("2.18") >= NcclVersion{18, 6});  // the last of its series
  for (const char* wrong : {"", "2", "3.1.4", "2.x", "2.18.", "2.18.3.1", "2.-1", "2.99999"}) {
    CAPTURE(wrong);
    CHECK(error_text([&] { nccl_release_from_text(wrong); }).find("is not a release of NCCL 2") !=
          std::string::npos);
  }
}

TEST_CASE("mistakes in the data file are named") {
  CHECK(parsed("reader: libncl, type: int, acts: none, effect: x, evidence: y") ==
        "v.yaml:2: variables.X.reader: unknown word \"libncl\"\nhint: did you mean \"libnccl\"?");
  CHECK(parsed("reader: libnccl, type: int, acts: none, effect: x") ==
        "v.yaml:2: variables.X: evidence is missing\nhint: the file and release that read it");
  CHECK(parsed("reader: libnccl, since: \"3.1\", type: int, acts: none, effect: x, evidence: y")
            .starts_with("v.yaml:2: variables.X.since: \"3.1\" is not a release of NCCL 2"));
  CHECK(parsed("reader: cuda, type: int, acts: none, needs: [nik], effect: x, evidence: y") ==
        "v.yaml:2: variables.X.needs: unknown word \"nik\"\nhint: did you mean \"nic\"?");
  CHECK(parsed("reader: cuda, type: int, acts: none, effect: x, evidence: y, sinse: 2")
            .find("did you mean \"since\"?") != std::string::npos);
  const std::string start =
      "reader: libnccl, type: int, acts: none, effect: x, evidence: y, reads: ";
  CHECK(parsed(start +
               "[{since: 2.24.3, text: a, source: b}, {since: 2.23.4, text: a, source: b}]") ==
        "v.yaml:2: variables.X.reads: readings are not in the order of their releases\n"
        "hint: oldest first; only the first may be without since");
  CHECK(parsed(start + "[{text: a}]").find("source") != std::string::npos);
}
