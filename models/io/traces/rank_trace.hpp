#pragma once
// One rank's Kineto trace, as far as it says when collectives ran on the GPU and when it computed.
// Names and units of its JSON: pytorch/kineto, libkineto/src/output_json.cpp and
// torch/csrc/profiler/util.h (the constants of record_param_comms).

#include <cstdint>
#include <string>
#include <vector>

namespace fabricast {

/// Nanoseconds of the rank's own clock.
struct TraceSpan {
  std::int64_t start_ns = 0, end_ns = 0;
};

/// A kernel of NCCL with what Kineto says of the collective that launched it.
struct RankCollective : TraceSpan {
  std::string collective;  ///< PyTorch's word: "allreduce", "_allgather_base"
  std::string dtype;       ///< "Float"; "" = not said
  std::string group;       ///< the process group's name
  std::string description;
  std::string ranks;  ///< of the group as written, maybe shortened: "[0, 8, 16]"; "" = not said
  std::int64_t in_elements = 0, out_elements = 0;
  int group_size = 0;            ///< 0 = not said
  std::int64_t seq = -1;         ///< its number in the group; -1 = not said
  std::int64_t launched_ns = 0;  ///< by the CPU; the kernel's start where that is not in the trace
};

/// "ProfilerStep#12", on the CPU.
struct RankStep : TraceSpan {
  int number = 0;
};

struct RankTrace {
  std::string file;
  int rank = -1;       ///< -1 = not said
  int world_size = 0;  ///< 0 = not said
  std::string nccl_version;
  std::vector<RankCollective> collectives;  ///< by start
  std::vector<RankStep> steps;              ///< by start
  std::vector<TraceSpan> compute;           ///< the GPU computes or copies: joined, by start
  std::size_t bare_kernels = 0;             ///< of NCCL, without what they are of
};

/// Above it a file is refused: collectives of one rank.
inline constexpr std::size_t kRankCollectivesMax = 4'000'000;

/// Reads piece by piece and keeps no more than the above. Throws Error with the file: no JSON, cut
/// off, no trace of Kineto.
RankTrace read_rank_trace(const std::string& path);
RankTrace parse_rank_trace(const std::string& text, const std::string& file);

/// By start, those that touch as one.
void join_spans(std::vector<TraceSpan>& spans);
/// How much of a span lies in these, which are joined.
std::int64_t overlap_ns(const TraceSpan& span, const std::vector<TraceSpan>& with);

}  // namespace fabricast
