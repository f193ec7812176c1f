// Goal: NCCL_NET=gIB is Google's plugin on NICs that speak verbs, and on Hopper it takes no LL.
// Method: nodes of the catalogue, as a table of the name asked for, the user's word and what is
// set; the choice of a small AllReduce on both generations.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/io/topologies/load.hpp"
#include "models/nccl/base/net_name.hpp"
#include "models/nccl/node/gib.hpp"
#include "models/nccl/node/network.hpp"
#include "tests/unit/nccl/environment_of.hpp"

using namespace fabricast;

namespace {

std::string protocols(const std::string& node, const std::vector<const char*>& assignments) {
  std::vector<std::string> warnings;
  const Environment out =
      with_gib(environment_of(assignments), load_description(node, load_catalogue()), warnings);
  CHECK(warnings.size() == (out.get("NCCL_PROTO") == "^LL" ? 1 : 0));
  return std::string(out.get("NCCL_PROTO").value_or("unset"));
}

}  // namespace

TEST_CASE("gIB: on Hopper its tuner takes no LL, whatever the case of its name") {
  CHECK(protocols("dgx-h200", {"NCCL_NET=gIB"}) == "^LL");
  CHECK(protocols("dgx-h200", {"NCCL_NET=GIB"}) == "^LL");
  CHECK(protocols("dgx-h200", {"NCCL_NET=IB"}) == "unset");
  CHECK(protocols("dgx-h200", {}) == "unset");
  CHECK(protocols("hgx-b200", {"NCCL_NET=gIB"}) == "unset");
  CHECK(protocols("dgx-a100", {"NCCL_NET=gIB"}) == "unset");
}

TEST_CASE("gIB: the user's NCCL_PROTO stands") {
  CHECK(protocols("dgx-h200", {"NCCL_NET=gIB", "NCCL_PROTO=Simple"}) == "Simple");
}

TEST_CASE("gIB: is a name of the verbs that NICs speak, of no other network") {
  CHECK(is_net_name(NetKind::roce, "gIB"));
  CHECK(is_net_name(NetKind::ib, "gib"));
  CHECK(is_net_name(NetKind::roce, "IB"));
  CHECK_FALSE(is_net_name(NetKind::efa, "gIB"));
  CHECK_FALSE(is_net_name(NetKind::sockets, "gIB"));
  CHECK_FALSE(is_net_name(NetKind::roce, "gIBs"));
}
