#include "cli/options/expert_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/options/values.hpp"
#include "models/io/experts/read_experts.hpp"
#include "text/unit_text.hpp"

namespace fabricast {
namespace {

constexpr EnumWords<EpPhase, 2> kExpertCollectives{{"ep_dispatch", "ep_combine"}};

std::vector<EpMode> modes_of(const std::string& text) {
  return each_once(text, [](std::string_view word) { return kEpModeWords.parse("mode", word); });
}

}  // namespace

ExpertsConfig ExpertOptions::config(const JobOptions& job, const std::string& topology,
                                    const std::string& fabric, int seed) const {
  ExpertsConfig out;
  out.nodes = job.node_counts();
  static_cast<Job&>(out) = job.job(topology, fabric);
  out.tokens = of_option("--tokens", [&] { return parse_counts(tokens, "tokens", kTokensMax); });
  out.modes = of_option("--ep-mode", [&] { return modes_of(modes); });
  ExpertCall& call = out.call;
  call.hidden = hidden;
  call.choice.experts = experts;
  call.choice.top_k = top_k;
  call.choice.groups = groups;
  call.choice.top_groups = top_groups > 0 ? top_groups : groups;
  call.choice.weights =
      of_option("--experts-load", [&] { return load_expert_weights(load, experts); });
  call.dispatched = kEpDatatypeWords.parse("datatype", dtype);
  call.sms = sms;
  call.seed = static_cast<std::uint64_t>(seed);
  out.load = load;
  out.kernels = kernels;
  if (sms % 2 != 0)
    throw Error(option_place("--sms"), "an even number is needed",
                "half of them send, half receive or forward");
  return out;
}

void add_expert_options(CLI::App& command, ExpertOptions& options, const std::string& group) {
  const auto add = [&](const char* name, auto& value, const char* what) {
    CLI::Option* option = command.add_option(name, value, what);
    if (!group.empty()) option->group(group);
    options.added.push_back(option);
    return option;
  };
  add("--ep-mode", options.modes,
      "whose kernels, a list: normal, low-latency (DeepEP), hybrid (NVIDIA's Hybrid-EP), "
      "deepep-v2, nvlink, nvlink-two-sided (TensorRT-LLM, one NVLink domain), "
      "nccl-alltoall, hierarchical (two of NCCL's)")
      ->capture_default_str();
  add("--tokens", options.tokens, "of each GPU: 1,128,4096 or 1..4096 (doubling)")
      ->capture_default_str();
  add("--hidden", options.hidden, "values of a token")
      ->check(whole_number(1, kHiddenMax))
      ->capture_default_str();
  add("--top-k", options.top_k, "experts of a token")
      ->check(whole_number(1, kExpertsMax))
      ->capture_default_str();
  add("--experts", options.experts, "of the layer, spread over all GPUs")
      ->check(whole_number(1, kExpertsMax))
      ->capture_default_str();
  add("--groups", options.groups, "group-limited routing: equal groups of experts")
      ->check(whole_number(1, kExpertsMax))
      ->capture_default_str();
  add("--top-groups", options.top_groups,
      "and groups from which a token takes its experts; default: all")
      ->check(whole_number(1, kExpertsMax));
  add("--dtype", options.dtype, "of what is dispatched; bf16 is combined")
      ->check(one_of(kEpDatatypeWords.list(), "datatype"))
      ->capture_default_str();
  add("--experts-load", options.load,
      "how likely experts are chosen: uniform, zipf:1.2, or a file with a number for each expert")
      ->capture_default_str();
  add("--sms", options.sms, "normal, hybrid, deepep-v2: SMs that they run on")
      ->check(whole_number(2, kSmsMax))
      ->capture_default_str();
  add("--kernels", options.kernels,
      "YAML file of kernels' costs, in place of workloads/experts.yaml");
}

std::optional<std::string> ExpertOptions::given() const {
  for (const CLI::Option* option : added)
    if (option->count() > 0) return option->get_name();
  return std::nullopt;
}

std::optional<std::vector<EpPhase>> expert_phases(const std::string& collectives) {
  const std::vector<std::string_view> items = comma_items(collectives);
  const auto is_expert = [](std::string_view item) { return item.starts_with("ep_"); };
  const auto found = std::ranges::find_if(items, is_expert);
  if (found == items.end()) return std::nullopt;
  const auto other = std::ranges::find_if_not(items, is_expert);
  if (other != items.end())
    throw Error(fmt::format("{} is asked for by tokens, {} by sizes", *found, *other),
                "ask for them in two calls");
  return each_once(collectives, [](std::string_view word) {
    return kExpertCollectives.parse("collective", word);
  });
}

}  // namespace fabricast
