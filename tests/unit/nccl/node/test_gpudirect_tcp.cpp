// Goal: jobs on A3 High and A3 Mega have the settings that Google's plugins come with.
// Method: nodes of the catalogue; what is set, by release and by what the user set.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/io/topologies/load.hpp"
#include "models/nccl/node/gpudirect_tcp.hpp"
#include "tests/unit/nccl/environment_of.hpp"

using namespace fabricast;

namespace {

struct Set {
  Environment environment;
  std::vector<std::string> warnings;

  std::string operator[](const char* name) const {
    return std::string(environment.get(name).value_or("unset"));
  }
};

Set set_on(const std::string& node, NcclVersion version,
           const std::vector<const char*>& assignments = {}) {
  Set out;
  out.environment = with_gpudirect_tcp(
      environment_of(assignments), load_description(node, load_catalogue()), version, out.warnings);
  return out;
}

}  // namespace

TEST_CASE("GPUDirect-TCPXO: its profile goes with NCCL's release") {
  const Set old = set_on("a3-mega", kNccl2_21_5), two = set_on("a3-mega", kNccl2_23),
            now = set_on("a3-mega", kNccl2_30_7);
  CHECK(old["NCCL_PROTO"] == "Simple");
  CHECK(two["NCCL_PROTO"] == "Simple,LL128");
  CHECK(now["NCCL_PROTO"] == "Simple,LL128");
  CHECK(old["NCCL_ALGO"] == "Ring,Tree");
  CHECK(two["NCCL_NVLS_ENABLE"] == "0");
  CHECK(now["NCCL_ALGO"] == "unset");
  CHECK(now["NCCL_NVLS_ENABLE"] == "unset");
  CHECK(now["NCCL_NVLSTREE_MAX_CHUNKSIZE"] == "131072");
  CHECK(old["NCCL_BUFFSIZE"] == "8388608");
}

TEST_CASE("GPUDirect-TCPX: a ring with Simple") {
  const Set set = set_on("a3-high", kNccl2_21_5);
  CHECK(set["NCCL_ALGO"] == "Ring");
  CHECK(set["NCCL_PROTO"] == "Simple");
  CHECK(set["NCCL_BUFFSIZE"] == "4194304");
  REQUIRE(set.warnings.size() == 1);
  CHECK(set.warnings.front() ==
        "Jobs with GPUDirect-TCPX set NCCL_CROSS_NIC=0 NCCL_NET_GDR_LEVEL=PIX "
        "NCCL_P2P_NET_CHUNKSIZE=524288 NCCL_P2P_PCI_CHUNKSIZE=524288 "
        "NCCL_P2P_NVL_CHUNKSIZE=1048576 NCCL_ALGO=Ring NCCL_PROTO=Simple NCCL_BUFFSIZE=4194304 "
        "NCCL_P2P_PXN_LEVEL=0.");
}

TEST_CASE("GPUDirect-TCPX(O): what the user sets stands, and other networks have none of it") {
  const Set own = set_on("a3-mega", kNccl2_23, {"NCCL_PROTO=LL", "NCCL_CROSS_NIC=1"});
  CHECK(own["NCCL_PROTO"] == "LL");
  CHECK(own["NCCL_CROSS_NIC"] == "1");
  CHECK(own["NCCL_ALGO"] == "Ring,Tree");
  for (const char* other : {"NCCL_NET=Socket", "NCCL_NET_PLUGIN=none"}) {
    const Set none = set_on("a3-mega", kNccl2_23, {other});
    CHECK(none["NCCL_PROTO"] == "unset");
    CHECK(none.warnings.empty());
  }
  CHECK(set_on("a3-mega", kNccl2_23, {"NCCL_NET=FasTrak"})["NCCL_PROTO"] == "Simple,LL128");
  CHECK(set_on("dgx-h100", kNccl2_23)["NCCL_PROTO"] == "unset");
  CHECK(set_on("p5", kNccl2_23).warnings.empty());
}
