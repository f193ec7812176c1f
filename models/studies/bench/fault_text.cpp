#include "models/studies/bench/fault_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/unit_text.hpp"

namespace fabricast {

namespace {

std::string title(const BenchRow& row) {
  return fmt::format("{} {} on {} node{}", to_text(row.size), to_text(row.collective), row.nodes,
                     row.nodes == 1 ? "" : "s");
}

std::string seconds(Duration time) {
  return fmt::format("{:.2f} s", static_cast<double>(time.ps) / 1e12);
}

std::string slowdown(const BenchRow& row) {
  const auto healthy = static_cast<double>(row.healthy->ps);
  if (row.bounds)
    return fmt::format(
        "{}: at most {:.3f} times as long as without faults ({:.2f} us, not {:.2f} us).",
        title(row), std::max(static_cast<double>(row.bounds->upper.ps) / healthy, 1.0),
        microseconds_of(row.bounds->upper), microseconds_of(*row.healthy));
  const double times = static_cast<double>(row.group_time().ps) / healthy;
  return fmt::format("{}: {:.3f} times as long as without faults ({:.2f} us, not {:.2f} us).",
                     title(row), times, microseconds_of(row.group_time()),
                     microseconds_of(*row.healthy));
}

std::string retried(const BenchRow& row, const Retry& retry) {
  const Losses& losses = row.result.losses;
  return fmt::format(
      "{}: messages were lost {} times and sent again after {}; the unluckiest needed {} of {} "
      "retries, {} of the {} after which NCCL gives up.",
      title(row), losses.lost, seconds(retry.timeout), losses.retries_most, retry.count,
      seconds(retry.timeout * losses.retries_most), seconds(retry.patience()));
}

/// The report is NCCL's (src/transport/net_ib.cc), abridged; newer releases name the status.
std::string given_up(const Cluster& cluster, const Retry& retry, const BenchRow& row) {
  const Losses& losses = row.result.losses;
  const double done = losses.handled == 0 ? 0
                                          : 100.0 * static_cast<double>(losses.done) /
                                                static_cast<double>(losses.handled);
  const std::string start = fmt::format(
      "{}: does not complete. A message sent {:.2f} us into the run is lost on {}", title(row),
      microseconds_of(losses.sent - Instant{}), cluster.link_name(LinkId{losses.link}));
  const std::string progress =
      fmt::format("by then {:.1f} % of all slices are done and every other one waits", done);
  if (losses.given_up == kNever)
    return fmt::format("{} and never sent again: {}; NCCL reports nothing, the job hangs.", start,
                       progress);
  return fmt::format(
      "{} and so are its {} retries, {} apart: after {} NCCL reports \"NET/IB : Got completion "
      "from "
      "peer ... with error 12\" (transport retry counter exceeded) and the communicator is lost; "
      "{}.",
      start, retry.count, seconds(retry.timeout), seconds(retry.patience()), progress);
}

}  // namespace

std::string old_word_note(const FaultSpec& fault) {
  if (fault.effect != FaultSpec::Effect::slow || fault.text.find(" slow ") == std::string::npos)
    return {};
  return fmt::format(
      "fault \"{}\": {:.4g} % of the speed is left; write \"speed\", the word \"slow\" goes with "
      "the next version.",
      fault.text, 100 * fault.share);
}

std::vector<std::string> fault_notes(const Cluster& cluster, const Retry& retry,
                                     const BenchRow& row) {
  if (!row.completes()) return {given_up(cluster, retry, row)};
  std::vector<std::string> out = {slowdown(row)};
  if (row.result.losses.lost > 0) out.push_back(retried(row, retry));
  return out;
}

}  // namespace fabricast
