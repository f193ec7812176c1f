#include <memory>

#include "cli/answers.hpp"
#include "cli/commands.hpp"
#include "cli/job_options.hpp"
#include "cli/topology_option.hpp"
#include "cli/values.hpp"
#include "models/io/experts/read_experts.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/experts/experts_text.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

/// What was typed, before it means anything.
struct ExpertsOptions {
  JobOptions job;
  std::string topology, fabric, kernels, tokens = "128,4096", modes = "normal,low-latency",
                                         dtype = "fp8", load = "uniform", format = "text";
  int hidden = 7168, top_k = 8, experts = 256, groups = 1, top_groups = 0, sms = 24, seed = 1;
  bool explain = false;
};

std::vector<EpMode> modes_of(const std::string& text) {
  return each_once(text, [](std::string_view word) { return kEpModeWords.parse("mode", word); });
}

ExpertsConfig config(const ExpertsOptions& options) {
  ExpertsConfig out;
  out.nodes = options.job.node_counts();
  static_cast<Job&>(out) = options.job.job(options.topology, options.fabric);
  out.tokens =
      of_option("--tokens", [&] { return parse_counts(options.tokens, "tokens", kTokensMax); });
  out.modes = of_option("--ep-mode", [&] { return modes_of(options.modes); });
  ExpertCall& call = out.call;
  call.hidden = options.hidden;
  call.choice.experts = options.experts;
  call.choice.top_k = options.top_k;
  call.choice.groups = options.groups;
  call.choice.top_groups = options.top_groups > 0 ? options.top_groups : options.groups;
  call.choice.weights = of_option(
      "--experts-load", [&] { return load_expert_weights(options.load, options.experts); });
  call.dispatched = kEpDatatypeWords.parse("datatype", options.dtype);
  call.sms = options.sms;
  call.seed = static_cast<std::uint64_t>(options.seed);
  out.load = options.load;
  out.kernels = options.kernels;
  if (options.sms % 2 != 0)
    throw Error("--sms: an even number is needed", "half of them send, half receive or forward");
  return out;
}

int run(const ExpertsOptions& options, const Answers& answers) {
  const ExpertsResult result = run_experts(config(options), load_parts(options.job.parts));
  answers.give(
      options.format, [&] { return experts_text(result, options.explain); },
      [&] { return experts_report(result); });
  return kDone;
}

void add_shape_options(CLI::App& command, ExpertsOptions& options) {
  command.add_option("--tokens", options.tokens, "of each GPU: 1,128,4096 or 1..4096 (doubling)")
      ->capture_default_str();
  command.add_option("--hidden", options.hidden, "values of a token")
      ->check(whole_number(1, kHiddenMax))
      ->capture_default_str();
  command.add_option("--top-k", options.top_k, "experts of a token")
      ->check(whole_number(1, kExpertsMax))
      ->capture_default_str();
  command.add_option("--experts", options.experts, "of the layer, spread over all GPUs")
      ->check(whole_number(1, kExpertsMax))
      ->capture_default_str();
  command.add_option("--groups", options.groups, "group-limited routing: equal groups of experts")
      ->check(whole_number(1, kExpertsMax))
      ->capture_default_str();
  command
      .add_option("--top-groups", options.top_groups,
                  "and groups from which a token takes its experts; default: all")
      ->check(whole_number(1, kExpertsMax));
  command.add_option("--dtype", options.dtype, "of what is dispatched; bf16 is combined")
      ->check(one_of(kEpDatatypeWords.list(), "datatype"))
      ->capture_default_str();
  command
      .add_option("--experts-load", options.load,
                  "how likely experts are chosen: uniform, zipf:1.2, or a file with a number for "
                  "each expert")
      ->capture_default_str();
}

}  // namespace

void add_experts(CLI::App& app, Action& action) {
  auto options = std::make_shared<ExpertsOptions>();
  CLI::App* command = app.add_subcommand(
      "experts", "dispatch and combine of expert parallelism (MoE), by whose kernels");
  add_topology_option(*command, options->topology)->required();
  command->add_option("--fabric", options->fabric, "preset name or YAML file");
  add_job_options(*command, options->job);
  command
      ->add_option(
          "--ep-mode", options->modes,
          "whose kernels, a list: normal, low-latency (DeepEP), hybrid (NVIDIA's Hybrid-EP), "
          "deepep-v2, nvlink, nvlink-two-sided (TensorRT-LLM, one NVLink domain), "
          "nccl-alltoall, hierarchical (two of NCCL's)")
      ->capture_default_str();
  add_shape_options(*command, *options);
  command->add_option("--sms", options->sms, "normal, hybrid, deepep-v2: SMs that they run on")
      ->check(whole_number(2, kSmsMax))
      ->capture_default_str();
  command->add_option("--kernels", options->kernels,
                      "YAML file of kernels' costs, in place of workloads/experts.yaml");
  command->add_option("--seed", options->seed, "of the draw of experts")
      ->check(whole_number(0, 1 << 30))
      ->capture_default_str();
  command->add_flag("--explain", options->explain, "what each phase needs of SMs and links");
  add_answer_options(*command, options->format);
  command->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
