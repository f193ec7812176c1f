#include "models/studies/training/step_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "models/io/report/columns.hpp"
#include "text/counted.hpp"

namespace fabricast {
namespace {

/// By StepSpan::stream.
constexpr std::string_view kStreams[] = {"compute", "replicas", "next stage", "stage before"};

std::string_view what_text(const StepSpan& span) {
  using What = StepIssue::What;
  switch (span.issue.what) {
    case What::compute:
      switch (span.issue.op.kind) {
        case PipelineOp::Kind::forward:
          return "forward";
        case PipelineOp::Kind::backward:
          return "backward";
        case PipelineOp::Kind::weight:
          return "weight gradients";
      }
      return "";
    case What::gather:
      return "gather parameters";
    case What::reduce:
      return "reduce gradients";
    case What::send:
    case What::receive:
      return "send";
    case What::norm:
      return "norm of gradients";
    case What::optimizer:
      return "optimizer";
  }
  return "";
}

bool follows(const StepSpan& last, const StepSpan& next) {
  return last.stage == next.stage && last.stream == next.stream && last.end == next.start &&
         last.issue.what == next.issue.what && last.issue.in_pass == next.issue.in_pass &&
         last.issue.op == next.issue.op;
}

/// By stage, stream and start.
std::vector<StepSpan> joined(std::vector<StepSpan> spans) {
  std::ranges::stable_sort(spans, {}, [](const StepSpan& span) {
    return std::tuple(span.stage, span.stream, span.start);
  });
  std::vector<StepSpan> out;
  for (StepSpan& span : spans) {
    if (!out.empty() && follows(out.back(), span)) {
      out.back().end = span.end;
      out.back().inside += span.inside;
    } else {
      out.push_back(std::move(span));
    }
  }
  return out;
}

/// So many of all stages, the first and the last among them.
std::set<int> spread(int stages, int kept) {
  std::set<int> out;
  for (int i = 0; i < kept; ++i) out.insert(kept == 1 ? 0 : i * (stages - 1) / (kept - 1));
  return out;
}

}  // namespace

StepTimeline step_timeline(const StepResult& result) {
  using namespace column;
  const std::vector<StepSpan> spans = joined(result.spans);
  const int stages = result.config.layout.pipeline;
  const std::size_t of_stage = spans.size() / static_cast<std::size_t>(stages) + 1;
  const int kept = std::clamp(static_cast<int>(kTimelineRows / of_stage), 1, stages);
  const std::set<int> shown = spread(stages, kept);
  StepTimeline out{
      ReportTable("timeline", {whole("stage"), text("stream"), text("what"), whole("micro_batch"),
                               whole("chunk"), s("start_s"), s("end_s"), s("exposed_s")})};
  for (const StepSpan& span : spans) {
    if (!shown.contains(span.stage) || out.table.rows().size() == kTimelineRows) continue;
    const bool in_pass = span.issue.in_pass;
    out.table.add({span.stage, kStreams[span.stream], what_text(span),
                   in_pass ? Json(span.issue.op.micro) : Json(),
                   in_pass ? Json(span.issue.op.chunk) : Json(), seconds(span.start - Instant{}),
                   seconds(span.end - Instant{}), span.inside});
  }
  if (kept < stages)
    out.left_out = fmt::format("the timeline shows {} of {}; --trace writes all of them.", kept,
                               counted(stages, "stage"));
  else if (spans.size() > out.table.rows().size())
    out.left_out = fmt::format("the timeline shows {} of {}; --trace writes all of them.",
                               out.table.rows().size(), counted(std::ssize(spans), "span"));
  return out;
}

}  // namespace fabricast
