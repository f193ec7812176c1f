#pragma once
// Who waits for whom: calls of collectives rank by rank, walked until nobody can go on. Knows no
// time but that at which a rank makes a call, and no hardware.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// How far a call is, where somebody recorded it.
enum class CallState : std::uint8_t {
  called,     ///< not recorded: it ends when all are there
  scheduled,  ///< enqueued; that it began was not seen
  started,
  completed  ///< it ended, and with it the rank's part
};
std::string_view to_text(CallState state);

/// One call of one rank, in the order in which the rank makes them.
struct RankCall {
  int line = 0;  ///< in the trace; 0 = of a record without lines
  int rank = 0;
  std::string op;                     ///< "all_reduce", "send", "isend" (waits for nobody), ...
  std::string group = "world";        ///< of a collective
  std::vector<int> members;           ///< empty = all ranks that ever name the group
  int peer = -1;                      ///< of send and recv
  std::optional<long long> elements;  ///< if both sides say it, it must be the same
  std::optional<double> at_s;         ///< when the rank makes it
  std::string end;                    ///< no call: why the rank ends here
  std::string dtype;                  ///< as elements; "" = not said
  /// Among the collectives of its group, as whoever recorded it counts; else they are counted.
  std::optional<long long> sequence;
  CallState state = CallState::called;
  std::string where;  ///< the line of the user's program, "train.py:44 in step"
};

/// Where calls of one communicator, or of one way of messages, meet or should.
struct Meeting {
  std::vector<int> there;    ///< members that wait at it
  std::vector<int> missing;  ///< members that are not there
  std::vector<int> past;     ///< members for whom it ended
  bool fits = true;          ///< those that are there make the same call
  /// Nobody is missing and all fits, yet it does not end.
  bool is_unfinished() const { return missing.empty() && fits; }
};

/// A rank that cannot go on.
struct StuckRank {
  int rank = 0;
  RankCall call;
  long long number = 0;     ///< of the call among all of the rank, from 1; 0 = not known
  long long sequence = 0;   ///< among those of its group: PyTorch's SeqNum
  std::size_t meeting = 0;  ///< of HangResult::meetings
};

/// A rank that makes no further call.
struct EndedRank {
  int rank = 0, calls = 0;
  std::string why;               ///< "" = the trace just ends
  std::optional<RankCall> last;  ///< of a record: the last call in it
};

/// Ranks that met, but do not fit: those on one side make the same call.
struct Mismatch {
  RankCall one, other;  ///< the first of each side
  std::vector<int> ranks, other_ranks;
  std::string what;  ///< "operation", "elements", "type", "members", and several of them
};

struct HangResult {
  bool recorded = false;  ///< of what ran: no watchdog is still to fire
  int ranks = 0;
  long long calls = 0, met = 0;  ///< in all; meetings that came about
  std::vector<StuckRank> stuck;  ///< by rank; of a record a rank may be stuck in several groups
  std::vector<Meeting> meetings;
  std::vector<EndedRank> ended;  ///< those somebody waits for
  std::vector<Mismatch> mismatches;
  std::vector<int> cycle;  ///< each waits for the next, the last for the first
  std::vector<std::string> notes;
  bool hangs() const { return !stuck.empty(); }
  const Meeting& of(const StuckRank& one) const { return meetings[one.meeting]; }
};

/// A rank's calls are taken one after another, as on one stream; a call ends when all members are
/// at it.
HangResult find_hang(const std::vector<RankCall>& calls);

/// What is known of a job that ran, beside its calls.
struct RecordedJob {
  std::map<std::string, std::vector<int>> groups;  ///< members, where calls do not say them
  std::map<int, std::string> remarks;              ///< on ranks that make no further call
  int ranks = 0;                                   ///< of which something is known
  long long calls = 0, met = 0;                    ///< of the whole record
  std::vector<Mismatch> mismatches;                ///< of calls that ended
  std::vector<std::string> notes;
};
/// Calls have a state, and those of each group a stream of their own: a rank is where its first
/// call on that group is that did not complete, whatever it does elsewhere.
HangResult find_hang(const std::vector<RankCall>& calls, const RecordedJob& job);

/// What does not fit about two calls that meet, "operation and elements"; "" = they fit.
std::string misfit(const RankCall& one, const RankCall& other);
/// Ends for every rank only once all have come: not a broadcast, a gather, a message, ...
bool needs_everyone(std::string_view op);

/// "0-4 6-15"
std::string ranks_text(const std::vector<int>& ranks);
std::string hang_text(const HangResult& result, double timeout_s);

}  // namespace fabricast
