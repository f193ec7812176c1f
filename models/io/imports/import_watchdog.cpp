// What PyTorch's watchdog of collectives prints when a call does not end (ProcessGroupNCCL.cpp of
// PyTorch 1.8 to 2.9), with what NCCL says beside it.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "models/io/imports/import_readers.hpp"
#include "models/io/imports/nccl_messages.hpp"
#include "text/counted.hpp"
#include "text/words.hpp"

namespace fabricast::import_readers {

namespace {

constexpr std::uint64_t kNoCount = ~std::uint64_t{0};  // -1 as the oldest print it

std::optional<std::uint64_t> count_after(std::string_view text, std::string_view key) {
  const std::string_view rest = after(text, key);
  std::uint64_t value = 0;
  bool any = false;
  for (const char c : rest) {
    if (c < '0' || c > '9') break;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
    any = true;
  }
  return any ? std::optional(value) : std::nullopt;
}

/// One call that a rank waited for.
struct Wait {
  std::uint64_t rank = 0;      ///< of the job where it is said, else of its group
  std::uint64_t in_group = 0;  ///< rank of its group
  std::optional<std::uint64_t> sequence, in, out, timeout_ms;
  std::string op;
  bool operator==(const Wait&) const = default;
};

std::string ranges(const std::set<std::uint64_t>& numbers) {
  std::vector<std::string> words;
  for (auto at = numbers.begin(); at != numbers.end();) {
    auto last = at;
    while (std::next(last) != numbers.end() && *std::next(last) == *last + 1) ++last;
    words.push_back(*last > *at + 1 ? fmt::format("{}-{}", *at, *last)
                    : last == at    ? std::to_string(*at)
                                    : fmt::format("{} {}", *at, *last));
    at = std::next(last);
  }
  return joined(words, " ");
}

class WatchdogReader {
 public:
  explicit WatchdogReader(ImportedFile& out) : out_(out) {}

  bool read(const LogText& log) {
    for (const LogLine& line : log.lines) take(line.text);
    if (waits_.empty() && stuck_.empty() && silent_.empty() && !caught_) return false;
    out_.kind = import_kind::kWatchdog;
    tell();
    add_nccl(log);
    return true;
  }

 private:
  void take(std::string_view text) {
    if (text.find("Watchdog caught collective operation timeout") != std::string_view::npos ||
        (text.find("WorkNCCL(") != std::string_view::npos &&
         text.find("timing out") != std::string_view::npos))
      wait(text);
    if (const auto seconds = count_after(text, "watchdog got stuck for ")) {
      if (const auto rank = rank_of(text)) stuck_[*rank] = *seconds;
    }
    if (text.find("Heartbeat monitor timed out") != std::string_view::npos ||
        text.find("detected no heartbeat") != std::string_view::npos) {
      if (const auto rank = rank_of(text)) silent_.insert(*rank);
    }
    caught_ = caught_ || text.find("Watchdog caught exception") != std::string_view::npos ||
              text.find("due to collective timeout or exception") != std::string_view::npos;
    const auto enqueued = count_after(text, "ast enqueued NCCL work: ");
    const auto enqueued_now = count_after(text, "last enqueued work: ");
    const auto completed = count_after(text, "ast completed NCCL work: ");
    const auto completed_now = count_after(text, "last completed work: ");
    if (enqueued || enqueued_now) enqueued_.insert(enqueued ? *enqueued : *enqueued_now);
    if (completed || completed_now) completed_.insert(completed ? *completed : *completed_now);
    if (const std::string_view group = group_in(text); !group.empty() && in_group(text))
      groups_.insert(std::string(group));
    events(text);
  }

  /// "0(default_pg)" of "[PG ID 0 PG GUID 0(default_pg) Rank 8]", "13" of "[PG 13 Rank 0]".
  static std::string_view group_in(std::string_view text) {
    std::string_view group = after(text, "[PG ");
    group = group.substr(0, group.find(']'));
    const std::size_t end = group.find(" Rank ");
    if (end == std::string_view::npos) return {};
    group = group.substr(0, end);
    const std::string_view unique = after(group, "PG GUID ");
    return unique.empty() ? group : unique;
  }

  /// Words of ranks that only pass the signal on do not count.
  static bool in_group(std::string_view text) {
    return text.find("failure detected") != std::string_view::npos ||
           text.find("detected by watchdog") != std::string_view::npos;
  }

  /// "[rank5]" is global; "[Rank 5]" the rank in its group.
  static std::optional<std::uint64_t> rank_of(std::string_view text) {
    if (const auto rank = count_after(text, "[rank")) return rank;
    return count_after(text, "Rank ");
  }

  void wait(std::string_view text) {
    const auto rank = rank_of(text);
    if (!rank) return;
    Wait wait;
    wait.rank = *rank;
    wait.in_group = count_after(text, "Rank ").value_or(*rank);
    wait.sequence = count_after(text, "SeqNum=");
    wait.in = count_after(text, "NumelIn=");
    wait.out = count_after(text, "NumelOut=");
    wait.timeout_ms = count_after(text, "Timeout(ms)=");
    const std::string_view op = after(text, "OpType=");
    wait.op = std::string(op.substr(0, op.find_first_of(",)")));
    if (std::ranges::find(waits_, wait) == waits_.end()) waits_.push_back(std::move(wait));
  }

  void events(std::string_view text) {
    const auto event = [&](const char* words, const char* what) {
      if (text.find(words) == std::string_view::npos) return;
      std::string line = what;
      if (const auto rank = rank_of(text)) line += fmt::format(" (rank {})", *rank);
      if (causes_.size() < 16) causes_.insert(std::move(line));
    };
    event("out of memory", "GPU out of memory");
    if (text.find("port error") != std::string_view::npos) {
      const std::string port = port_named(text), host = host_of(text);
      causes_.insert(fmt::format("port error on {}{}{}", port.empty() ? "an HCA" : port,
                                 host.empty() ? "" : " of ", host));
    }
    if (const std::string status = completion_status(text); !status.empty()) {
      const std::string_view hca = after(text, " hca ");
      causes_.insert(fmt::format("{} on {}", status.substr(0, status.find_first_of(" :")),
                                 hca.empty() ? "an HCA" : hca.substr(0, hca.find(' '))));
    }
    event("Watchdog caught exception", "an exception of NCCL");
  }

  /// Of a gather the share of each rank tells how many there are.
  std::uint64_t group_size() const {
    for (const Wait& wait : waits_) {
      if (!wait.in || !wait.out || *wait.in == kNoCount || *wait.in == 0 || *wait.out == 0)
        continue;
      const std::uint64_t more = std::max(*wait.in, *wait.out),
                          less = std::min(*wait.in, *wait.out);
      if (more > less && more % less == 0) return more / less;
    }
    return 0;
  }

  void tell() {
    std::set<std::uint64_t> ranks, timeouts;
    std::set<std::string> ops;
    std::map<std::uint64_t, std::set<std::uint64_t>> sequences;  // by rank
    for (const Wait& wait : waits_) {
      ranks.insert(wait.rank);
      if (wait.timeout_ms) timeouts.insert(*wait.timeout_ms);
      if (wait.sequence) sequences[wait.rank].insert(*wait.sequence);
      ops.insert(call_text(wait));
    }
    out_.add("ranks that timed out", ranges(ranks));
    out_.add("calls", joined({ops.begin(), ops.end()}));
    std::vector<std::string> words;
    for (const auto& [rank, numbers] : sequences)
      words.push_back(fmt::format("rank {}: {}", rank, ranges(numbers)));
    out_.add("sequence numbers", joined(words, "; "));
    out_.add("time-out ms", ranges(timeouts));
    out_.add("last enqueued", ranges(enqueued_));
    out_.add("last completed", ranges(completed_));
    out_.add("process groups", joined({groups_.begin(), groups_.end()}));
    for (const auto& [rank, seconds] : stuck_)
      out_.add("watchdog stuck", fmt::format("rank {}: {} s", rank, seconds));
    const std::uint64_t size = group_size();
    if (size > 1) out_.add("ranks in the group", std::to_string(size));
    if (!silent_.empty()) {
      out_.add("no heartbeat", fmt::format("rank {}", ranges(silent_)));
      out_.remark(
          "the watchdog's thread itself hung: in a call of CUDA or NCCL, or waiting for Python "
          "(TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC says how long it may)");
    }
    verdict(ranks, sequences, size);
  }

  /// All are of one group, as far as the log says.
  bool one_group() const {
    std::map<std::uint64_t, std::uint64_t> ranks;  // of the job, by the one of the group
    for (const Wait& wait : waits_)
      if (ranks.try_emplace(wait.in_group, wait.rank).first->second != wait.rank) return false;
    return groups_.size() < 2;
  }

  /// Ranks of the group are those of the job.
  bool is_whole_job() const {
    return std::ranges::all_of(waits_, [](const Wait& w) { return w.rank == w.in_group; });
  }

  /// Calls of which all ranks give as many elements; of a coalesced one where it gathers alike.
  static bool has_one_size(const Wait& a, const Wait& b) {
    constexpr std::string_view even[] = {"ALLREDUCE", "BROADCAST", "REDUCE", "_ALLGATHER_BASE",
                                         "_REDUCE_SCATTER_BASE"};
    if (std::ranges::find(even, a.op) != std::end(even)) return true;
    const auto gathers = [](const Wait& w) {
      return w.in && w.out && *w.in > 0 && *w.out > *w.in && *w.out % *w.in == 0;
    };
    return a.op == "COALESCED" && gathers(a) && gathers(b) && *a.out / *a.in == *b.out / *b.in;
  }

  static bool fit(const Wait& a, const Wait& b) {
    if (a.op != b.op) return false;
    return !has_one_size(a, b) || (a.in == b.in && a.out == b.out);
  }

  static std::string call_text(const Wait& wait) {
    return wait.in && wait.out && *wait.in != kNoCount
               ? fmt::format("{} {} -> {}", wait.op, *wait.in, *wait.out)
               : wait.op;
  }

  /// Of one sequence number calls that do not fit; true where there are some.
  bool tell_mismatch() {
    if (!one_group()) return false;
    for (const Wait& a : waits_) {
      for (const Wait& b : waits_) {
        if (!a.sequence || a.sequence != b.sequence || a.rank == b.rank || fit(a, b)) continue;
        out_.remark(fmt::format(
            "rank {} calls {} and rank {} calls {} as number {}: {}they meet and do not fit",
            a.rank, call_text(a), b.rank, call_text(b), *a.sequence,
            is_whole_job() || groups_.size() == 1 ? "" : "if they are of one group, "));
        return true;
      }
    }
    return false;
  }

  /// What NCCL says in the same file.
  void add_nccl(const LogText& log) {
    ImportedFile nccl;
    if (!read_nccl_log(log, nccl)) return;
    out_.found.insert(out_.found.end(), nccl.found.begin(), nccl.found.end());
    out_.remarks.insert(out_.remarks.end(), nccl.remarks.begin(), nccl.remarks.end());
    out_.settings = std::move(nccl.settings);
    out_.choices = std::move(nccl.choices);
  }

  void verdict(const std::set<std::uint64_t>& ranks,
               const std::map<std::uint64_t, std::set<std::uint64_t>>& sequences,
               std::uint64_t size) {
    out_.add("events before", joined({causes_.begin(), causes_.end()}));
    if (!causes_.empty() && !waits_.empty())
      out_.remark(
          "an error comes with the time-outs: these are its consequences, look there first");
    if (sequences.empty() && !waits_.empty())
      out_.remark("no sequence numbers (PyTorch before 1.13): nobody can tell who is behind");
    std::set<std::uint64_t> firsts;
    for (const auto& [rank, numbers] : sequences) firsts.insert(*numbers.begin());
    if (tell_mismatch()) return;
    if (firsts.size() > 1 && groups_.size() < 2 && causes_.empty()) {
      std::vector<std::string> behind;
      for (const auto& [rank, numbers] : sequences) {
        if (*numbers.begin() == *firsts.begin()) behind.push_back(std::to_string(rank));
      }
      out_.remark(
          fmt::format("ranks wait at different calls: rank {} the furthest behind (or in "
                      "another order, or another group)",
                      joined(behind, " ")));
    } else if (firsts.size() == 1 && ranks.size() > 1) {
      out_.remark("all that report wait at the same call: nobody of them ran ahead");
    }
    if (causes_.empty() && firsts.size() < 2 && one_group()) tell_missing(size);
  }

  /// `size`: of the group.
  void tell_missing(std::uint64_t size) {
    std::set<std::uint64_t> missing;
    constexpr std::uint64_t most = 64;
    for (std::uint64_t rank = 0; rank < size && size <= most; ++rank) missing.insert(rank);
    for (const Wait& wait : waits_) missing.erase(wait.in_group);
    if (missing.empty()) return;
    const bool one = missing.size() == 1;
    out_.remark(
        fmt::format("rank{} {}{} report{} nothing: suspect{}, {} may not have come to the "
                    "call",
                    one ? "" : "s", ranges(missing), is_whole_job() ? "" : " of the group",
                    one ? "s" : "", one ? "" : "s", one ? "it" : "they"));
  }

  ImportedFile& out_;
  std::vector<Wait> waits_;
  std::map<std::uint64_t, std::uint64_t> stuck_;
  std::set<std::uint64_t> enqueued_, completed_;
  std::set<std::string> groups_, causes_;
  std::set<std::uint64_t> silent_;  ///< ranks without a heartbeat
  bool caught_ = false;             ///< an exception, or a dump because of one
};

}  // namespace

bool read_watchdog(const LogText& log, ImportedFile& out) { return WatchdogReader(out).read(log); }

}  // namespace fabricast::import_readers
