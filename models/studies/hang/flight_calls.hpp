#pragma once
// From dumps of PyTorch's Flight Recorder to calls that are walked. A dump is a ring of the last
// calls of its rank: those that ended are compared as they come, by the number that each process
// group gives them (collective_seq_id), and not held; what did not end is.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/io/records/flight_dump.hpp"
#include "models/studies/hang/hang.hpp"

namespace fabricast {

/// What a record of a job says.
struct RecordedCalls {
  std::vector<RankCall> calls;
  RecordedJob job;
};

class FlightCalls {
 public:
  /// REQUIRES: ranks in ascending order, each once.
  void add(int rank, const FlightDump& dump);
  /// A rank whose dump could not be read.
  void unread(int rank, std::string why) { unread_[rank] = std::move(why); }
  RecordedCalls finish();

 private:
  /// What must be the same on all ranks, in numbers of words_.
  struct Same {
    int op = 0, dtype = 0;
    std::int64_t elements = -1;
    bool operator==(const Same&) const = default;
  };
  using Number = std::pair<std::int64_t, int>;  ///< sequence, and the part of a coalesced call
  struct Ended {
    Same same;
    int rank = 0;                              ///< the first for whom it ended
    std::vector<std::pair<int, Same>> others;  ///< for whom it was another call
  };
  struct Group {
    std::string name, description;
    std::vector<int> ranks;
    std::set<int> users;  ///< ranks that call on it, where nobody says who belongs to it
    std::map<Number, Ended> ended;
    std::string label;
    bool disputed = false;  ///< a rank is in another one of its name, too
  };
  struct Kept {
    int rank = 0, group = 0, where = 0;
    Same same;
    FlightEntry entry;
  };

  int group_of(const FlightGroup& group);
  int word_of(const std::string& text);
  void end(Group& group, const Number& number, int rank, const Same& same);
  void name_groups();
  RankCall call_of(const Kept& kept) const;
  void compare_ended(RecordedCalls& out) const;

  std::map<std::pair<std::string, std::vector<int>>, int> by_name_;
  std::vector<Group> groups_;
  std::map<std::string, int> word_numbers_;
  std::vector<std::string> words_;
  std::vector<Kept> kept_;
  std::map<int, std::string> unread_;
  std::set<int> ranks_;
  std::set<std::string> versions_;
  std::int64_t first_ns_ = 0;
  long long calls_ = 0, passed_over_ = 0, odd_ = 0;
};

}  // namespace fabricast
