#include "models/studies/serving/measured_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "text/words.hpp"

namespace fabricast {
namespace {

struct KnownModel {
  std::string_view part, preset;  ///< of the name in lower case
};
// The first that the name holds. Later releases of a shape are named by its first: DeepSeek-R1 and
// V3.1, Kimi K2.5, MiniMax-M2.5, GLM-4.6, Llama 3.1 and 3.3.
constexpr KnownModel kModels[] = {{"deepseek-r1", "deepseek-v3"},
                                  {"deepseek-v3", "deepseek-v3"},
                                  {"kimi-k2", "kimi-k2"},
                                  {"minimax-m2", "minimax-m2"},
                                  {"glm-4.5-air", "glm-4.5-air"},
                                  {"glm-4.5", "glm-4.5"},
                                  {"glm-4.6", "glm-4.5"},
                                  {"qwen3.5-397b", "qwen3.5-397b-a17b"},
                                  {"qwen3-coder-480b", "qwen3-coder-480b-a35b"},
                                  {"qwen3-235b", "qwen3-235b-a22b"},
                                  {"qwen3-30b", "qwen3-30b-a3b"},
                                  {"qwen3-32b", "qwen3-32b"},
                                  {"qwen3-14b", "qwen3-14b"},
                                  {"qwen3-8b", "qwen3-8b"},
                                  {"qwen2.5-72b", "qwen2.5-72b"},
                                  {"qwen2.5-32b", "qwen2.5-32b"},
                                  {"qwen2.5-7b", "qwen2.5-7b"},
                                  {"llama-4-maverick", "llama-4-maverick"},
                                  {"llama4-maverick", "llama-4-maverick"},
                                  {"llama-4-scout", "llama-4-scout"},
                                  {"llama4-scout", "llama-4-scout"},
                                  {"llama-3.1-405b", "llama-3-405b"},
                                  {"llama3.1-405b", "llama-3-405b"},
                                  {"llama-3.1-70b", "llama-3-70b"},
                                  {"llama3.1-70b", "llama-3-70b"},
                                  {"llama-3.3-70b", "llama-3-70b"},
                                  {"llama3.3-70b", "llama-3-70b"},
                                  {"llama-3-70b", "llama-3-70b"},
                                  {"llama-3.1-8b", "llama-3-8b"},
                                  {"llama3.1-8b", "llama-3-8b"},
                                  {"llama-3-8b", "llama-3-8b"},
                                  {"gpt-oss-120b", "gpt-oss-120b"},
                                  {"gpt-oss-20b", "gpt-oss-20b"},
                                  {"mistral-7b", "mistral-7b"},
                                  {"mixtral-8x7b", "mixtral-8x7b"}};

constexpr MeasuredSystem kSystems[] = {{"a100_sxm", "dgx-a100", 8},
                                       {"h100_sxm", "dgx-h100", 8},
                                       {"h200_sxm", "hgx-h200", 8},
                                       {"b200_sxm", "hgx-b200", 8},
                                       {"b300_sxm", "hgx-b300", 8},
                                       {"gb200", "gb200-nvl72", 4},
                                       {"gb300", "gb300-nvl72", 4},
                                       {"h100", "dgx-h100", 8},
                                       {"h200", "hgx-h200", 8},
                                       {"b200", "hgx-b200", 8},
                                       {"b300", "hgx-b300", 8},
                                       {"l40s", "pcie-8", 8},
                                       {"rtx_pro_6000_server", "rtx-pro-6000-8", 8}};

}  // namespace

std::string measured_model(const std::string& name) {
  const std::string lower = lower_case(name);
  for (const KnownModel& one : kModels)
    if (lower.find(one.part) != std::string::npos) return std::string(one.preset);
  throw PassedRow{fmt::format("no shape of {}", name)};
}

const MeasuredSystem& measured_system(const std::string& name) {
  const std::string lower = lower_case(name);
  if (lower.empty()) throw PassedRow{"GPU not named"};
  const auto* const found = std::ranges::find(kSystems, lower, &MeasuredSystem::name);
  if (found == std::end(kSystems)) throw PassedRow{fmt::format("no topology of {}", lower)};
  return *found;
}

void set_nodes(const MeasuredSystem& system, int gpus, StepConfig& site) {
  site.topology = system.topology;
  site.nodes = (gpus + system.gpus_per_node - 1) / system.gpus_per_node;
  if (system.gpus_per_node == 4 && site.nodes > 1) site.nodes = site.nodes > 18 ? 36 : 18;
  if (site.nodes > 36) throw PassedRow{"more than two NVLink domains"};
}

}  // namespace fabricast
