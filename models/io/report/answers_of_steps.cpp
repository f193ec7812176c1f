#include <fmt/format.h>

#include "models/io/report/answer_words.hpp"

namespace fabricast::answers {
namespace {

std::string layout_words(const AnswerRows& rows, std::size_t row) {
  std::string out;
  for (const auto& [column, word] :
       {std::pair{"tp", "TP"}, {"cp", "CP"}, {"pp", "PP"}, {"ep", "EP"}, {"dp", "DP"}}) {
    if (rows.number(row, column) > 1 || std::string_view(column) == "tp")
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", word, whole(rows, row, column));
  }
  return out;
}

std::string step_words(const AnswerRows& rows, std::size_t row) {
  return fmt::format("{} with {} takes {} a step (80 % of measured steps lie in {} to {}), {} MFU",
                     rows.text(row, "model"), layout_words(rows, row),
                     seconds(rows.number(row, "step_s")), seconds(rows.number(row, "lower_s")),
                     seconds(rows.number(row, "upper_s")), percent(rows.number(row, "mfu")));
}

/// The part of a step that takes most of it and is no arithmetic.
std::string largest_wait(const AnswerRows& rows, std::size_t row) {
  std::string_view best;
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kParts = {
      {{"tp_exposed_s", "tensor parallel communication"},
       {"cp_exposed_s", "context parallel communication"},
       {"ep_exposed_s", "expert parallel communication"},
       {"contention_s", "communication that slows kernels down"},
       {"pipeline_s", "the pipeline's bubble"},
       {"dp_exposed_s", "data parallel communication"},
       {"optimizer_s", "the optimizer"}}};
  std::string_view name;
  double most = 0;
  for (const auto& [column, words] : kParts) {
    if (rows.number(row, column) <= most) continue;
    most = rows.number(row, column);
    best = words;
    name = column;
  }
  return best.empty() ? ""
                      : fmt::format(" Beside arithmetic, {} takes most: {}.", best,
                                    seconds(rows.number(row, name)));
}

std::string step(const Report& report) {
  const AnswerRows rows(report, "rows");
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows.has(i, "step_s") && (!best || rows.number(i, "step_s") < rows.number(*best, "step_s")))
      best = i;
  if (!best) return rows.size() == 0 ? "" : "Each variation is refused: " + rows.text(0, "refused");
  const std::string variation = rows.size() > 1 ? rows.text(*best, "variation") + ": " : "";
  return variation + step_words(rows, *best) + "." + largest_wait(rows, *best) +
         (rows.flag(*best, "fits") ? "" : " It does not fit into the GPU's memory.");
}

std::string plan(const Report& report) {
  const AnswerRows rows(report, "rows");
  if (rows.size() == 0 || !rows.has(0, "step_s")) return "No layout fits.";
  int equal = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) equal += rows.flag(i, "equal_to_best");
  return step_words(rows, 0) + ": the fastest layout found." + largest_wait(rows, 0) +
         (equal > 1 ? " Others in the table may be as fast: their bands overlap with it." : "");
}

/// Of what a queue makes of many requests; "" = there is none.
std::string queue_words(const Report& report, const std::string& model) {
  const AnswerRows queue(report, "queue"), latency(report, "latency");
  if (queue.size() == 0 || latency.size() < 2) return {};
  const std::string load =
      queue.has(0, "asked_requests_per_s")
          ? fmt::format("{:.4g} requests/s", queue.number(0, "asked_requests_per_s"))
          : fmt::format("{} at a time", counted(queue.number(0, "concurrency"), "request"));
  return fmt::format(
      "{} on {} at {}: nine in ten requests have their first token within {}, and then a token "
      "each "
      "{} or less; {:.4g} output tokens/s.",
      model, counted(queue.number(0, "gpus"), "GPU"), load, seconds(latency.number(0, "p90_s")),
      seconds(latency.number(1, "p90_s")), queue.number(0, "output_tokens_per_s"));
}

std::string serve(const Report& report) {
  const AnswerRows rows(report, "rows");
  if (rows.size() < 2) return {};
  if (const std::string loaded = queue_words(report, rows.text(0, "model")); !loaded.empty())
    return fmt::format("{} One request alone: {} to the first token, then {} a token.", loaded,
                       seconds(rows.number(0, "time_s")), seconds(rows.number(1, "time_s")));
  return fmt::format("{}: {} to the first token, then {} a token: {:.4g} tokens/s.",
                     rows.text(0, "model"), seconds(rows.number(0, "time_s")),
                     seconds(rows.number(1, "time_s")), rows.number(1, "tokens_per_s"));
}

std::string memory(const Report& report) {
  const auto mib = [&](const char* fact) { return report.facts.value(fact, 0.0) / (1 << 20); };
  const AnswerRows savings(report, "savings");
  std::string out = fmt::format("NCCL takes {:.4g} MiB of a GPU and {:.4g} MiB of host memory.",
                                mib("gpu_bytes"), mib("host_bytes"));
  if (savings.size() > 0 && savings.number(0, "gpu_saved_bytes") > 0)
    out += fmt::format(" {}={} takes {:.4g} MiB less of a GPU.", savings.text(0, "variable"),
                       savings.text(0, "value"), savings.number(0, "gpu_saved_bytes") / (1 << 20));
  return out;
}

}  // namespace

std::span<const StudyAnswer> of_steps() {
  static constexpr StudyAnswer kStudies[] = {
      {"step", step}, {"plan", plan}, {"serve", serve}, {"memory", memory}};
  return kStudies;
}

}  // namespace fabricast::answers
