#pragma once
// workloads/serving.yaml -> what engines cost.

#include <array>
#include <string>
#include <string_view>

#include "models/engines/engine.hpp"
#include "models/io/formats/yaml_tree.hpp"
#include "models/serving/pass_times.hpp"

namespace fabricast {

/// A figure of an engine in workloads/serving.yaml: seconds, or a factor.
struct EngineFigure {
  std::string_view name;
  double EngineHost::*member;
  bool is_time;
};
inline constexpr std::array<EngineFigure, 9> kEngineFigures = {
    {{"pass", &EngineHost::pass, true},
     {"request", &EngineHost::request, true},
     {"front", &EngineHost::front, true},
     {"token", &EngineHost::token, true},
     {"kernel", &EngineHost::kernel, true},
     {"gemm", &EngineHost::gemm, false},
     {"attention", &EngineHost::attention, false},
     {"elementwise", &EngineHost::elementwise, false},
     {"communication", &EngineHost::communication, false}}};

/// What is assumed of any engine before its runs are seen, and the factor by which each figure may
/// be off: one standard deviation of its logarithm.
struct EnginePrior {
  EngineHost value, within;
};

struct ServingCosts {
  /// By Engine: of FlashInfer, which is a library of kernels, those of vLLM.
  std::array<EngineHost, 4> engines;
  EnginePrior prior;
  double transfer_block = 0, transfer_start = 0;  ///< seconds

  const EngineHost& of(Engine engine) const { return engines[static_cast<std::size_t>(engine)]; }
};

/// The file that travels in the program.
ServingCosts load_serving();
/// The same from text; `file` is used in messages only. Throws Error.
ServingCosts parse_serving(const YamlText& text, const std::string& file);

}  // namespace fabricast
