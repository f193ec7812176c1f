#pragma once
// A dump of PyTorch's Flight Recorder: the last calls of one rank, of all its process groups. Keys
// as torch/csrc/distributed/c10d/FlightRecorder.hpp and FlightRecorderDetail.hpp write them,
// versions 1.x and 2.x, as pickle and as JSON.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// One call, in the order in which the rank enqueued it.
struct FlightEntry {
  enum class State : std::uint8_t { scheduled, started, completed };
  std::int64_t record = 0;     ///< number in the ring: what came before 0 was overwritten
  std::int64_t sequence = 0;   ///< of collectives of the group: collective_seq_id, once seq_id
  std::int64_t elements = -1;  ///< of what goes in (scatter: what comes out); -1 = not compared
  std::int64_t created_ns = 0, timeout_ms = 0;
  std::uint32_t group = 0;          ///< of FlightDump::groups
  std::uint32_t op = 0, dtype = 0;  ///< of FlightDump::words
  std::uint32_t where = 0;          ///< the user's line that made the call, of words; 0 = none
  int from = -1, to = -1;           ///< of a message: ranks in the group
  State state = State::scheduled;
  bool is_message() const { return from >= 0; }
};

struct FlightGroup {
  std::string name, description;
  std::vector<int> ranks;  ///< of the job, ascending; empty = not said
  bool operator==(const FlightGroup&) const = default;
};

struct FlightDump {
  std::string version;
  std::vector<FlightGroup> groups;
  std::vector<std::string> words;  ///< the first is ""
  std::vector<FlightEntry> entries;
  std::int64_t passed_over =
      0;  ///< entries without a name or a group: nobody can say what they are
};

/// Whether this is JSON of the Flight Recorder, whatever is wrong with it.
bool begins_as_flight_json(std::string_view text);
/// Of either form. Throws Error where it is neither, cut off or broken, or no dump.
FlightDump read_flight_dump(std::string_view bytes, const std::string& file);
/// The rank in a file's name: the last number of "nccl_trace_rank_12", "rank12.json"; -1 = none.
int rank_of_dump(const std::string& file);

/// nccl-tests' word for what PyTorch calls it, "nccl:_all_gather_base" is "all_gather"; others as
/// they are, without the backend in front.
std::string collective_of_torch(std::string_view name);

}  // namespace fabricast
