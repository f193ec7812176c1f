// Goal: the GPU that nvidia-smi, nccl-tests or somebody names is found, whatever stands around it.
// Method: product names as drivers print them; names that have another one in them; own parts.

#include "models/hardware/parts/gpu_names.hpp"

#include <doctest/doctest.h>

#include "models/io/topologies/load.hpp"
#include "tests/unit/catalogue.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

std::string named_in(const char* text) { return gpu_named_in(text, parts()); }

}  // namespace

TEST_CASE("GPU names: the products of drivers, each a part of the catalogue") {
  CHECK(named_in("GPU 0: Tesla V100-SXM2-16GB (UUID: x)") == "V100_SXM2_32");
  CHECK(named_in("Tesla P100-SXM2-16GB") == "P100_SXM2");
  CHECK(named_in("NVIDIA A100-PCIE-40GB") == "A100_PCIE_80");
  CHECK(named_in("NVIDIA A10G") == "A10G");
  CHECK(named_in("NVIDIA A10") == "A10");
  CHECK(named_in("NVIDIA H20") == "H20_SXM");
  CHECK(named_in("NVIDIA L40") == "L40");
  CHECK(named_in("NVIDIA L40S") == "L40S");
  CHECK(named_in("NVIDIA L4") == "L4");
  CHECK(named_in("NVIDIA L20") == "L20");
  CHECK(named_in("Tesla V100S-PCIE-32GB") == "V100_PCIe");
  CHECK(named_in("NVIDIA A800 80GB PCIe") == "A100_PCIE_80");
  CHECK(named_in("NVIDIA H800 PCIe") == "H100_PCIE");
  CHECK(named_in("NVIDIA H800") == "H800_SXM");
  CHECK(named_in("NVIDIA H20-3e") == "H20_SXM");
  CHECK(named_in("NVIDIA A100-SXM-64GB") == "A100_SXM4_80");
  CHECK(named_in("NVIDIA RTX 6000 Ada Generation") == "RTX_6000_Ada");
  CHECK(named_in("NVIDIA GeForce RTX 3090") == "RTX_3090");
}

TEST_CASE("GPU names: one inside of another is not it, two say nothing") {
  CHECK(named_in("NVIDIA H200 NVL") == "H200_NVL");
  CHECK(named_in("NVIDIA GH200 480GB") == "GH200");
  CHECK(named_in("NVIDIA A100-SXM4-80GB") == "A100_SXM4_80");
  CHECK(named_in("NVIDIA H200, NVIDIA H200").starts_with("H200"));
  CHECK(named_in("NVIDIA H200, NVIDIA L40S").empty());
  CHECK(named_in("NVIDIA H2000").empty());
  CHECK(named_in("8 x A100").empty());  // a model, which is no product
}

TEST_CASE("GPU names: what people say, a part's own name, a product") {
  CHECK(gpu_called("v100", false, parts()) == "V100_SXM2_32");
  CHECK(gpu_called("V100", true, parts()) == "V100_PCIe");
  CHECK(gpu_called("a100-pcie", false, parts()) == "A100_PCIE_80");
  CHECK(gpu_called("RTX 2080-Ti", true, parts()) == "RTX_2080_Ti");
  CHECK(gpu_called("H100-SXM", false, parts()) == "H100_SXM5");
  CHECK(gpu_called("h20-3e", false, parts()) == "H20_SXM");
  CHECK(gpu_called("RTX 4090 D", true, parts()) == "RTX_4090");
  CHECK(gpu_called("NVIDIA H100 80GB HBM3", false, parts()) == "H100_SXM5");
  CHECK(error_text([] {
          gpu_called("MI300X", false, parts());
        }).starts_with("GPU \"MI300X\" is not in the parts catalogue"));
}

TEST_CASE("GPU names: own ones come first, and name a part") {
  const auto with = [](const std::string& entry) {
    return parse_parts("kind: parts\ngpu_names:\n  - {" + entry +
                           ", status: assumed, source: me}\n" + "sources: {me: {what: we}}\n",
                       "p.yaml", &parts());
  };
  CHECK(gpu_called("a100", false, with("model: A100, gpu: A100_SXM4_40")) == "A100_SXM4_40");
  CHECK(gpu_named_in("GPU 0: GRID A100X-8C", with("product: GRID A100X, gpu: A100_PCIE_80")) ==
        "A100_PCIE_80");
  const auto error = [&](const std::string& entry) { return error_text([&] { with(entry); }); };
  CHECK(error("model: A, product: B, gpu: L4") ==
        "p.yaml:3: gpu_names[0].product: one of product and model is wanted");
  CHECK(error("gpu: L4") == "p.yaml:3: gpu_names[0]: one of product and model is wanted");
  CHECK(error("model: A, gpu: L5") ==
        "p.yaml:3: gpu_names[0].gpu: no GPU is named \"L5\"\nhint: did you mean \"L4\"?");
}
