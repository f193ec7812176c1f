#pragma once
// What the options of `bench` ask for, for those who ask about the same machines again and again.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/hardware/parts/parts.hpp"
#include "models/io/bands/bands.hpp"
#include "models/nccl/custom/custom_algorithm.hpp"
#include "models/studies/bench/bench.hpp"

namespace fabricast {

struct AskedBench {
  std::optional<CustomAlgorithm> algorithm;
  std::unique_ptr<const TunerPlugin> tuner;
  BenchConfig config;  ///< may point to the two above
  PartsCatalogue parts;
  BandTable bands;
};

/// The words of a command line, without "bench". Throws Error.
std::unique_ptr<AskedBench> ask_bench(const std::vector<std::string>& words);

}  // namespace fabricast
