#include "models/studies/hang/ras_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include "models/nccl/base/nccl_names.hpp"
#include "text/counted.hpp"

namespace fabricast {

namespace {

/// nccl-tests' word for NCCL's: "AllReduce" is "all_reduce".
std::string op_of(const std::string& name) {
  const std::optional<Collective> known = collective_from_nccl_name(name);
  return known && is_tuned(*known) ? std::string(to_text(*known)) : name;
}

using Process = std::tuple<std::string, std::int64_t, std::int64_t>;  ///< host, pid, device
Process process_of(const RasRank& rank) { return {rank.host, rank.pid, rank.device}; }

/// Ranks of the job: those of the communicator that holds all processes, else processes in their
/// order.
class JobRanks {
 public:
  explicit JobRanks(const RasReport& report) {
    std::set<Process> all;
    const RasCommunicator* largest = nullptr;
    for (const RasCommunicator& one : report.communicators) {
      for (const RasRank& rank : one.ranks) all.insert(process_of(rank));
      if (largest == nullptr || one.ranks.size() > largest->ranks.size()) largest = &one;
    }
    if (largest != nullptr) {
      for (const RasRank& rank : largest->ranks) ranks_.try_emplace(process_of(rank), rank.rank);
    }
    holds_all = ranks_.size() == all.size() &&
                (largest == nullptr || ranks_.size() == largest->ranks.size());
    if (holds_all) return;
    ranks_.clear();
    for (const Process& process : all) ranks_.emplace(process, static_cast<int>(ranks_.size()));
  }
  int of(const RasRank& rank) const { return ranks_.at(process_of(rank)); }
  std::size_t size() const { return ranks_.size(); }

  bool holds_all = false;  ///< one communicator does

 private:
  std::map<Process, int> ranks_;
};

using Counts = std::map<std::string, std::int64_t>;

std::int64_t count_of(const Counts& counts, const std::string& op) {
  const auto at = counts.find(op);
  return at == counts.end() ? 0 : at->second;
}

/// The least of each op over ranks that answer.
Counts least_counts(const RasCommunicator& communicator) {
  Counts out;
  for (const RasRank& rank : communicator.ranks)
    for (const auto& [op, count] : rank.counts)
      out.try_emplace(op, std::numeric_limits<std::int64_t>::max());
  for (auto& [op, least] : out) {
    for (const RasRank& rank : communicator.ranks) {
      if (rank.answers) least = std::min(least, count_of(rank.counts, op));
    }
  }
  return out;
}

Counts most_counts(const RasCommunicator& communicator) {
  Counts out;
  for (const RasRank& rank : communicator.ranks)
    for (const auto& [op, count] : rank.counts) out[op] = std::max(out[op], count);
  return out;
}

/// "made 3 calls of all_reduce, others 10"
std::string counts_text(const RasRank& rank, const Counts& most) {
  for (const auto& [op, count] : most) {
    if (const std::int64_t own = count_of(rank.counts, op); own < count)
      return fmt::format("made {} of {}, others {}", counted(own, "call"), op_of(op), count);
  }
  return "made as many calls as others";
}

class RasCalls {
 public:
  explicit RasCalls(const std::vector<RasReport>& reports)
      : first_(reports.front()),
        last_(reports.back()),
        ranks_(last_),
        several_(reports.size() > 1) {}

  RecordedCalls read() {
    out_.job.ranks = static_cast<int>(ranks_.size());
    for (const RasCommunicator& one : last_.communicators) {
      for (const RasRank& rank : one.ranks)
        for (const auto& [op, count] : rank.counts) out_.job.calls += count;
      for (const auto& [op, least] : least_counts(one)) {
        if (least != std::numeric_limits<std::int64_t>::max()) out_.job.met += least;
      }
      if (went_on(one)) {
        out_.job.notes.push_back(fmt::format(
            "{}: ranks differ, and went on between the answers: behind, not stuck", label(one)));
      } else {
        communicator(one);
      }
    }
    notes();
    return std::move(out_);
  }

 private:
  std::string label(const RasCommunicator& one) const {
    return fmt::format("{} of {}", one.hash.substr(0, one.hash.find('/')), one.size);
  }

  /// A communicator whose ranks differ, while the one behind made calls since the first answer.
  bool went_on(const RasCommunicator& one) const {
    if (!several_) return false;
    const auto before = std::ranges::find(first_.communicators, one.hash, &RasCommunicator::hash);
    return before != first_.communicators.end() && least_counts(*before) != least_counts(one) &&
           std::ranges::all_of(one.ranks, &RasRank::answers);
  }

  /// What a rank waits in: the op of which it made calls that others did not. Without one its
  /// last, where somebody does not answer.
  std::optional<RankCall> call_of(const RasRank& rank, const Counts& least,
                                  bool someone_is_gone) const {
    const auto first = [&](std::int64_t more) {
      for (const auto& [op, behind] : least) {
        if (const std::int64_t own = count_of(rank.counts, op); own > behind - more && own > 0)
          return std::optional(std::pair(op, behind + 1 - more));
      }
      return std::optional<std::pair<std::string, std::int64_t>>();
    };
    auto found = first(0);
    if (!found && someone_is_gone) found = first(1);
    if (!found) return std::nullopt;
    RankCall out;
    out.op = op_of(found->first);
    out.where = fmt::format("number {}", found->second);
    out.state = CallState::scheduled;
    return out;
  }

  void communicator(const RasCommunicator& one) {
    const auto alike = [&](const RasCommunicator& other) { return label(other) == label(one); };
    const std::string name = std::ranges::count_if(last_.communicators, alike) > 1
                                 ? fmt::format("{} ({})", label(one), one.hash)
                                 : label(one);
    const Counts least = least_counts(one), most = most_counts(one);
    const bool someone_is_gone = !std::ranges::all_of(one.ranks, &RasRank::answers);
    std::vector<int>& members = out_.job.groups[name];
    for (const RasRank& rank : one.ranks) {
      const int number = ranks_.of(rank);
      members.push_back(number);
      const std::string process =
          fmt::format("({} pid {}, GPU {})", rank.host, rank.pid, rank.device);
      if (!rank.trouble.empty())
        out_.job.remarks.try_emplace(number, fmt::format("{} {}", rank.trouble, process));
      if (!rank.answers) continue;
      auto call = call_of(rank, least, someone_is_gone);
      if (!call) {
        out_.job.remarks.try_emplace(number, counts_text(rank, most) + " " + process);
        continue;
      }
      call->rank = number;
      call->group = name;
      out_.calls.push_back(std::move(*call));
    }
    std::ranges::sort(members);
    if (one.size > std::ssize(one.ranks))
      out_.job.notes.push_back(
          fmt::format("{}: {} of {} ranks are in the answer", name, one.ranks.size(), one.size));
  }

  void notes() {
    if (last_.commas_added > 0)
      out_.job.notes.push_back(
          fmt::format("{} {} missing in this JSON and added: NCCL 2.28.9 leaves one out for each "
                      "rank that does "
                      "not answer",
                      last_.commas_added, last_.commas_added == 1 ? "comma is" : "commas are"));
    if (!ranks_.holds_all)
      out_.job.notes.push_back(
          "no communicator holds all processes: they are numbered by host, process and GPU");
    if (!out_.calls.empty() && !several_)
      out_.job.notes.push_back(
          "RAS counts calls at one moment: ask twice and give both answers; who did not move "
          "is stuck");
  }

  const RasReport &first_, &last_;
  JobRanks ranks_;
  bool several_;
  RecordedCalls out_;
};

}  // namespace

RecordedCalls calls_of_ras(const std::vector<RasReport>& reports) {
  return RasCalls(reports).read();
}

}  // namespace fabricast
