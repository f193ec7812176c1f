// Goal: who dispatches tokens where no kernel of experts can run.
// Method: a server of PCIe cards beside one with NVSwitch.

#include <doctest/doctest.h>

#include <string>

#include "models/io/topologies/load.hpp"
#include "models/studies/serving/engine_kernels.hpp"
#include "tests/unit/catalogue.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

ServeKernels kernels_on(const std::string& topology, const std::string& more = {}) {
  const std::string file =
      "kind: serve\nmodel: qwen3-30b-a3b\ntopology: " + topology +
      "\nnodes: 1\nprecision: nvfp4\nparallel: {tp: 1, ep: 8}\nengine: trtllm\nbatch: 8\n"
      "prompt: 128\noutput: 128\n" +
      more;
  const ServeConfig config = parse_serve(file, "s.yaml");
  const PartsCatalogue& parts = shipped_parts();
  const Cluster cluster = load_cluster({topology, 1, ""}, parts);
  return engine_kernels(config, config, cluster, load_engine_data(parts.software));
}

}  // namespace

TEST_CASE("engine kernels: without NVLink tokens are gathered and sums scattered") {
  const ServeKernels cards = kernels_on("rtx-pro-6000-8");
  CHECK(cards.gathers);
  CHECK(!cards.dispatch);
  const ServeKernels switched = kernels_on("hgx-b200");
  CHECK(!switched.gathers);
  CHECK(switched.dispatch);
  CHECK(!kernels_on("rtx-pro-6000-8", "ep_kernels: nccl-alltoall\n").gathers);
  // Who asks for kernels that write over NVLink is told.
  CHECK(error_text([] {
          kernels_on("rtx-pro-6000-8", "ep_kernels: nvlink\n");
        }).find("have no NVLink to each other") != std::string::npos);
}
