#include <fmt/format.h>

#include <iterator>

#include "models/studies/training/step.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

namespace {

std::string name_of(const StepSpan& span, bool chunks) {
  using What = StepIssue::What;
  const What what = span.issue.what;
  const PipelineOp& op = span.issue.op;
  const std::string letter = op.kind == PipelineOp::Kind::forward    ? "F"
                             : op.kind == PipelineOp::Kind::backward ? "B"
                                                                     : "W";
  const std::string which =
      chunks ? fmt::format("{}.{}", op.micro, op.chunk) : fmt::format("{}", op.micro);
  if (what == What::optimizer) return "optimizer";
  if (!span.issue.in_pass) return "gradients and parameters";
  if (what == What::send) return "send " + which;
  if (what == What::compute) return letter + which;
  return (letter == "F" ? "gather for F" : "exchange of B") + which;
}

/// By StepSpan::stream.
constexpr const char* kThreads[] = {"compute, and what it waits for", "between replicas",
                                    "to the next stage", "to the stage before"};

}  // namespace

std::string step_trace(const StepResult& result) {
  const Layout& l = result.config.layout;
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  for (int stage = 0; stage < l.pipeline; ++stage) {
    out += fmt::format(
        "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{0},\"args\":{{\"name\":\"stage {0}: "
        "{1} GPUs that do the same\"}}}},\n",
        stage, l.gpus / l.pipeline);
    for (int thread = 0; thread < static_cast<int>(std::size(kThreads)); ++thread)
      out += fmt::format(
          "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":\"{}"
          "\"}}}},"
          "\n",
          stage, thread, kThreads[thread]);
  }
  const char* comma = "";
  for (const StepSpan& span : result.spans) {
    out += fmt::format(
        "{}{{\"ph\":\"X\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{:.6f},\"dur\":{:.6f}}}",
        comma, name_of(span, l.virtual_stages > 1), span.stage, span.stream,
        microseconds_of(span.start - Instant{}), microseconds_of(span.end - span.start));
    comma = ",\n";
  }
  return out + "\n]}\n";
}

}  // namespace fabricast
