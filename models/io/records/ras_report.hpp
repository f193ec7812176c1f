#pragma once
// What NCCL's RAS answers: `ncclras -f json`, NCCL 2.28.7 on (src/ras/client_support.cc).

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

struct RasRank {
  int rank = 0;  ///< in the communicator
  std::string host;
  std::int64_t pid = -1, device = -1;
  std::map<std::string, std::int64_t> counts;  ///< calls so far, by NCCL's name
  std::string trouble;                         ///< "does not answer", "aborted", ...; "" = none
  bool answers = true;
};

struct RasCommunicator {
  std::string hash;  ///< both, as they tell communicators apart: "0x1/0x2:0x3"
  int size = 0;
  std::vector<RasRank> ranks;
};

struct RasReport {
  std::string nccl, timestamp;
  std::vector<RasCommunicator> communicators;
  int commas_added = 0;  ///< that NCCL 2.28.9 leaves out in front of "status" of missing ranks
};

/// Whether this is JSON of RAS, whatever is wrong with it.
bool begins_as_ras(std::string_view text);
/// Throws Error where it is no JSON even with the commas added, or no report.
RasReport read_ras_report(std::string_view text, const std::string& file);

}  // namespace fabricast
