#include "models/training/step/step_parts.hpp"

namespace fabricast {
namespace {

using Breakdown = const StepBreakdown&;
using enum StepPart::Kind;

constexpr StepPart kParts[] = {
    {"matrix products", "gemm_s", kernels, [](Breakdown b) { return b.busy.gemm; }},
    {"attention", "attention_s", kernels, [](Breakdown b) { return b.busy.attention; }},
    {"elementwise kernels", "elementwise_s", kernels,
     [](Breakdown b) { return b.busy.elementwise; }},
    {"waiting for the host", "host_s", rest, [](Breakdown b) { return b.busy.host; }},
    {"TP, exposed", "tp_exposed_s", communication, [](Breakdown b) { return b.busy.tensor; }},
    {"CP, exposed", "cp_exposed_s", communication, [](Breakdown b) { return b.busy.context; }},
    {"EP, exposed", "ep_exposed_s", communication, [](Breakdown b) { return b.busy.expert; }},
    {"slower beside communication", "contention_s", communication,
     [](Breakdown b) { return b.busy.contention; }},
    {"pipeline: bubble and sends", "pipeline_s", communication,
     [](Breakdown b) { return seconds(b.pipeline); }},
    {"DP, exposed", "dp_exposed_s", communication, [](Breakdown b) { return seconds(b.data); }},
    {"optimizer", "optimizer_s", rest, [](Breakdown b) { return seconds(b.optimizer); }}};

constexpr StepPart kHidden[] = {
    {"TP", "tp_hidden_s", communication, [](Breakdown b) { return b.busy.tensor_hidden; }},
    {"CP", "cp_hidden_s", communication, [](Breakdown b) { return b.busy.context_hidden; }},
    {"EP", "ep_hidden_s", communication, [](Breakdown b) { return b.busy.expert_hidden; }},
    {"DP", "dp_hidden_s", communication, [](Breakdown b) { return seconds(b.data_hidden); }}};

}  // namespace

std::span<const StepPart> step_parts() { return kParts; }
std::span<const StepPart> hidden_step_parts() { return kHidden; }

double communication_of(const StepBreakdown& breakdown) {
  double out = 0;
  for (const StepPart& part : kParts)
    if (part.kind == communication) out += part.seconds(breakdown);
  return out;
}

}  // namespace fabricast
