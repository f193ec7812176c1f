#include "models/studies/hang/hang_report.hpp"

#include "models/io/report/columns.hpp"

namespace fabricast {

Report hang_report(const HangResult& result, double timeout_s) {
  using namespace column;
  ReportTable stuck(
      "rows", {whole("rank"), text("op"), text("group"), whole("line"), whole("call"),
               whole("sequence"), text("waits_for"), text("there"), number("fires_at_s", "s")});
  const auto list = [](const std::vector<int>& ranks) {
    std::string out;
    for (const int rank : ranks) out += (out.empty() ? "" : " ") + std::to_string(rank);
    return out;
  };
  for (const StuckRank& one : result.stuck)
    stuck.add({one.rank, one.call.op, one.call.group, one.call.line, one.number, one.sequence,
               list(one.waits_for), list(one.there),
               one.call.at_s ? Json(*one.call.at_s + timeout_s) : Json()});
  ReportTable ended("ended", {whole("rank"), whole("calls"), text("why")});
  for (const EndedRank& one : result.ended) ended.add({one.rank, one.calls, one.why});
  ReportTable mismatches("mismatches",
                         {whole("line"), whole("rank"), whole("other_line"), whole("other_rank")});
  for (const Mismatch& one : result.mismatches)
    mismatches.add({one.one.line, one.one.rank, one.other.line, one.other.rank});
  Report out;
  out.study = "hang";
  out.job["ask"] = {{"timeout_s", timeout_s}};
  out.tables = {std::move(stuck), std::move(ended), std::move(mismatches)};
  out.facts = {{"hangs", result.hangs()},
               {"ranks", result.ranks},
               {"calls", result.calls},
               {"met", result.met},
               {"cycle", result.cycle}};
  return out;
}

}  // namespace fabricast
