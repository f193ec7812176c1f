// The catalogue of environment variables: what each release reads and takes as default, the errors
// of its data file, and the name that was meant.

#include <doctest/doctest.h>

#include <set>

#include "models/io/workloads/load_variables.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/nccl/environment/env.hpp"
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
  CHECK(timeout.default_in(kNccl2_23) == "20");
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
}
