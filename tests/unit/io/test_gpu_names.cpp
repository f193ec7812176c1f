// Goal: the GPU that nvidia-smi or nccl-tests names is found, whatever stands around its name.
// Method: product names as drivers print them; names that have another one in them.

#include <doctest/doctest.h>

#include "models/io/topologies/matrix_node.hpp"
#include "tests/unit/catalogue.hpp"

using namespace fabricast;

TEST_CASE("GPU names: the products of drivers, each a part of the catalogue") {
  const auto part = [](const char* text) {
    const std::string named = gpu_named_in(text);
    CHECK(parts().gpus.contains(named));
    return named;
  };
  CHECK(part("GPU 0: Tesla V100-SXM2-16GB (UUID: x)") == "V100_SXM2_32");
  CHECK(part("Tesla P100-SXM2-16GB") == "P100_SXM2");
  CHECK(part("NVIDIA A100-PCIE-40GB") == "A100_PCIE_80");
  CHECK(part("NVIDIA A10G") == "A10G");
  CHECK(part("NVIDIA A10") == "A10");
  CHECK(part("NVIDIA H20") == "H20_SXM");
  CHECK(part("NVIDIA L40") == "L40");
  CHECK(part("NVIDIA L40S") == "L40S");
  CHECK(part("NVIDIA L4") == "L4");
  CHECK(part("NVIDIA RTX 6000 Ada Generation") == "RTX_6000_Ada");
  CHECK(part("NVIDIA GeForce RTX 3090") == "RTX_3090");
}

TEST_CASE("GPU names: one inside of another is not it, two say nothing") {
  CHECK(gpu_named_in("NVIDIA H200 NVL") == "H200_NVL");
  CHECK(gpu_named_in("NVIDIA GH200 480GB") == "GH200");
  CHECK(gpu_named_in("NVIDIA A100-SXM4-80GB") == "A100_SXM4_80");
  CHECK(gpu_named_in("NVIDIA H200, NVIDIA H200").starts_with("H200"));
  CHECK(gpu_named_in("NVIDIA H200, NVIDIA L40S").empty());
  CHECK(gpu_named_in("NVIDIA H2000").empty());
}
