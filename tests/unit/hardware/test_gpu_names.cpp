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
  CHECK(error_text([] { gpu_called("MI300X", false, parts()); }) ==
        "GPU \"MI300X\" is not in the parts catalogue\n"
        "hint: NCCL runs on NVIDIA's GPUs; other makers' libraries are not simulated");
  CHECK(error_text([] { gpu_called("H900", false, parts()); }) ==
        "GPU \"H900\" is not in the parts catalogue\nhint: near: H100");
}

TEST_CASE("GPU names: maker, family, memory and edition may stand beside a name") {
  const auto board = [](const char* name) { return gpu_called(name, false, parts()); };
  CHECK(board("NVIDIA A100 40GB SXM4") == "A100_SXM4_80");
  CHECK(board("A100 PCIe 40GB") == "A100_PCIE_80");
  CHECK(board("V100 16GB PCIe") == "V100_PCIe");
  CHECK(board("8xH100") == "H100_SXM5");
  CHECK(board("H100 SXM 64GB") == "H100_SXM5");
  CHECK(board("GH200 144GB") == "GH200");
  CHECK(board("RTX 5880 Ada Generation") == "RTX_5880_Ada");
  CHECK(board("RTX6000Ada") == "RTX_6000_Ada");
  CHECK(board("RTX PRO 6000 Blackwell Max-Q Workstation Edition") == "RTX_PRO_6000");
  CHECK(board("RTX PRO 4500 Blackwell") == "RTX_PRO_4500");
  CHECK(board("RTX 4070 Ti Super") == "RTX_4070_Ti");
  CHECK(board("GeForce RTX 3090 Ti") == "RTX_3090_Ti");
  CHECK(board("Quadro RTX 8000") == "Quadro_RTX_6000");
  CHECK(board("Titan V") == "TITAN_V");
  CHECK(board("DGX Spark") == "GB10");
  // A card, where the same name has one.
  CHECK(gpu_called("H200", true, parts()) == "H200_NVL");
  CHECK(gpu_called("A800", true, parts()) == "A100_PCIE_80");
}

TEST_CASE("GPU names: every part of the catalogue has a server, every part and name says which") {
  for (const auto& entry : parts().gpus) {
    const std::string& part = entry.first;
    CHECK_MESSAGE(parts().platforms.contains(part), part);
    CHECK(gpu_called(part, false, parts()) == part);
  }
  for (const GpuName& one : parts().gpu_names)
    if (one.is_product) CHECK_MESSAGE(named_in(one.name.c_str()) == one.gpu, one.name);
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
  CHECK(error("model: A, gpu: T5") ==
        "p.yaml:3: gpu_names[0].gpu: no GPU is named \"T5\"\nhint: did you mean \"T4\"?");
}
