#include "models/studies/hang/hang_report.hpp"

#include <set>

#include "models/io/report/columns.hpp"

namespace fabricast {

Report hang_report(const HangResult& result, double timeout_s) {
  using namespace column;
  ReportTable stuck("rows",
                    {whole("rank"), text("op"), text("group"), whole("line"), whole("call"),
                     whole("sequence"), text("waits_for"), text("there"), number("fires_at_s", "s"),
                     text("dtype"), whole("elements"), text("state"), text("where")});
  for (const StuckRank& one : result.stuck) {
    const bool fires = one.call.at_s && !result.recorded;
    stuck.add({one.rank, one.call.op, one.call.group, one.call.line, one.number, one.sequence,
               ranks_text(result.of(one).missing), ranks_text(result.of(one).there),
               fires ? Json(*one.call.at_s + timeout_s) : Json(), one.call.dtype,
               or_null(one.call.elements), to_text(one.call.state), one.call.where});
  }
  ReportTable ended("ended", {whole("rank"), whole("calls"), text("why"), text("last_op"),
                              text("last_group"), whole("last_sequence"), text("last_where")});
  for (const EndedRank& one : result.ended) {
    RankCall none;
    none.group.clear();
    const RankCall& last = one.last ? *one.last : none;
    ended.add(
        {one.rank, one.calls, one.why, last.op, last.group, or_null(last.sequence), last.where});
  }
  ReportTable mismatches("mismatches",
                         {whole("line"), whole("rank"), whole("other_line"), whole("other_rank"),
                          text("what"), text("group"), whole("sequence"), text("ranks"),
                          text("other_ranks"), text("op"), text("other_op")});
  for (const Mismatch& one : result.mismatches)
    mismatches.add({one.one.line, one.one.rank, one.other.line, one.other.rank, one.what,
                    one.one.group, or_null(one.one.sequence), ranks_text(one.ranks),
                    ranks_text(one.other_ranks), one.one.op, one.other.op});
  ReportTable unfinished("unfinished", {text("op"), text("group"), whole("sequence"), text("state"),
                                        text("there"), text("past")});
  std::set<std::size_t> told;
  for (const StuckRank& one : result.stuck) {
    const Meeting& meeting = result.of(one);
    if (result.recorded && meeting.is_unfinished() && told.insert(one.meeting).second)
      unfinished.add({one.call.op, one.call.group, one.sequence, to_text(one.call.state),
                      ranks_text(meeting.there), ranks_text(meeting.past)});
  }
  Report out;
  out.study = "hang";
  out.job["ask"] = {{"timeout_s", timeout_s}};
  out.notes = result.notes;
  out.tables = {std::move(stuck), std::move(ended), std::move(mismatches), std::move(unfinished)};
  out.facts = {{"hangs", result.hangs()},
               {"ranks", result.ranks},
               {"calls", result.calls},
               {"met", result.met},
               {"cycle", result.cycle}};
  return out;
}

}  // namespace fabricast
