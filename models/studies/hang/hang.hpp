#pragma once
// Who waits for whom: calls of collectives rank by rank, walked until nobody can go on. Knows no
// time but that at which a rank makes a call, and no hardware.

#include <optional>
#include <string>
#include <vector>

namespace fabricast {

/// One call of one rank, in the order in which the rank makes them.
struct RankCall {
  int line = 0;  ///< in the trace
  int rank = 0;
  std::string op;                     ///< "all_reduce", "send", "isend" (waits for nobody), ...
  std::string group = "world";        ///< of a collective
  std::vector<int> members;           ///< empty = all ranks that ever name the group
  int peer = -1;                      ///< of send and recv
  std::optional<long long> elements;  ///< if both sides say it, it must be the same
  std::optional<double> at_s;         ///< when the rank makes it
  std::string end;                    ///< no call: why the rank ends here
};

/// A rank that cannot go on.
struct StuckRank {
  int rank = 0;
  RankCall call;
  int number = 0;              ///< of the call among all of the rank, from 1
  int sequence = 0;            ///< among those of its group, from 1: PyTorch's SeqNum
  std::vector<int> waits_for;  ///< members that are not there
  std::vector<int> there;      ///< members that wait at the same call
};

/// A rank that makes no further call.
struct EndedRank {
  int rank = 0, calls = 0;
  std::string why;  ///< "" = the trace just ends
};

struct Mismatch {
  RankCall one, other;  ///< met, but do not fit
};

struct HangResult {
  int ranks = 0;
  long long calls = 0, met = 0;  ///< in all; meetings that came about
  std::vector<StuckRank> stuck;  ///< by rank
  std::vector<EndedRank> ended;  ///< those somebody waits for
  std::vector<Mismatch> mismatches;
  std::vector<int> cycle;  ///< each waits for the next, the last for the first
  bool hangs() const { return !stuck.empty(); }
};

/// A rank's calls are taken one after another, as on one stream; a call ends when all members are
/// at it.
HangResult find_hang(const std::vector<RankCall>& calls);

std::string hang_text(const HangResult& result, double timeout_s);

}  // namespace fabricast
