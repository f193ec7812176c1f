#include "models/studies/hang/recorded_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "models/io/formats/text_file.hpp"
#include "models/io/records/pickle.hpp"
#include "models/io/records/record_files.hpp"
#include "models/studies/hang/ras_calls.hpp"
#include "sim/base/error.hpp"
#include "text/counted.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kAtOnce = 64;  // dumps in memory

enum class Kind : std::uint8_t { unknown, flight, ras };

Kind kind_of(const std::string& path) {
  const std::string head = head_of_file(path);
  if (begins_as_pickle(head) || begins_as_flight_json(head)) return Kind::flight;
  return begins_as_ras(head) ? Kind::ras : Kind::unknown;
}

/// A dump by its rank, or what is wrong with it.
struct ReadDump {
  int rank = 0;
  std::string file;
  std::optional<FlightDump> dump;
  std::string trouble;

  void read() {
    try {
      dump = read_flight_dump(read_text_file(file, {}, kRecordSizeMax), file);
    } catch (const Error& error) {
      trouble = error.message();
    }
  }
};

class DumpFiles {
 public:
  explicit DumpFiles(const ForEach& for_each) : for_each_(for_each) {}

  RecordedCalls read(const std::vector<std::string>& files,
                     const std::vector<std::string>& others) {
    name_ranks(files, others);
    std::size_t read = 0;
    for (std::size_t first = 0; first < dumps_.size(); first += kAtOnce) {
      const std::size_t count = std::min(kAtOnce, dumps_.size() - first);
      for_each_(count, [&](std::size_t i) { dumps_[first + i].read(); });
      for (std::size_t i = first; i < first + count; ++i) read += fold(dumps_[i]) ? 1 : 0;
    }
    if (read == 0)
      throw Error(Place{dumps_.empty() ? files.front() : dumps_.front().file, 0, {}},
                  dumps_.empty() ? "its name has no rank" : dumps_.front().trouble,
                  "none of the dumps can be read; PyTorch names them by rank, "
                  "nccl_trace_rank_0");
    RecordedCalls out = calls_.finish();
    out.job.notes.insert(out.job.notes.begin(), notes_.begin(), notes_.end());
    return out;
  }

 private:
  /// Others with a rank in their name, and a beginning as those of dumps, are broken ones.
  void name_ranks(const std::vector<std::string>& files, const std::vector<std::string>& others) {
    const auto stem = [](const std::string& file) {
      const std::string name = std::filesystem::path(file).filename().string();
      return name.substr(0, name.find_first_of("0123456789"));
    };
    std::set<std::string> stems;
    for (const std::string& file : files) {
      stems.insert(stem(file));
      take(file);
    }
    for (const std::string& file : others) {
      if (stems.contains(stem(file)) && rank_of_dump(file) >= 0) {
        take(file);
      } else {
        notes_.push_back(fmt::format("{}: no dump, passed over", file));
      }
    }
    std::ranges::stable_sort(dumps_, {}, &ReadDump::rank);
    for (std::size_t i = 1; i < dumps_.size(); ++i) {
      if (dumps_[i].rank == dumps_[i - 1].rank)
        notes_.push_back(fmt::format("{}: a second dump of rank {}, after {}: passed over",
                                     dumps_[i].file, dumps_[i].rank, dumps_[i - 1].file));
    }
    const auto same = [](const ReadDump& a, const ReadDump& b) { return a.rank == b.rank; };
    dumps_.erase(std::unique(dumps_.begin(), dumps_.end(), same), dumps_.end());
  }

  void take(const std::string& file) {
    const int rank = rank_of_dump(file);
    if (rank >= 0) {
      dumps_.push_back({rank, file, {}, {}});
    } else {
      notes_.push_back(fmt::format("{}: its name has no rank, passed over", file));
    }
  }

  bool fold(ReadDump& one) {
    const bool good = one.dump.has_value();
    if (good) {
      calls_.add(one.rank, *one.dump);
      one.dump.reset();
    } else {
      calls_.unread(one.rank, fmt::format("has a dump that cannot be read ({})", one.trouble));
      notes_.push_back(fmt::format("{}: {}", one.file, one.trouble));
    }
    return good;
  }

  const ForEach& for_each_;
  std::vector<ReadDump> dumps_;
  std::vector<std::string> notes_;
  FlightCalls calls_;
};

RecordedCalls read_ras(const std::vector<std::string>& files) {
  std::vector<RasReport> reports;
  std::vector<std::string> notes;
  for (const std::string& file : files) {
    try {
      reports.push_back(read_ras_report(read_text_file(file, {}, kRecordSizeMax), file));
    } catch (const Error& error) {
      if (files.size() == 1) throw;
      notes.push_back(error.reason());
    }
  }
  if (reports.empty()) throw Error(Place{files.front(), 0, {}}, "no answer of RAS can be read");
  std::ranges::stable_sort(reports, {}, &RasReport::timestamp);
  RecordedCalls out = calls_of_ras(reports);
  out.job.notes.insert(out.job.notes.begin(), notes.begin(), notes.end());
  return out;
}

}  // namespace

bool are_records(const std::vector<std::string>& paths) {
  std::error_code ignored;
  return paths.size() > 1 || std::ranges::any_of(paths, [&](const std::string& path) {
           return std::filesystem::is_directory(path, ignored) || kind_of(path) != Kind::unknown;
         });
}

RecordedCalls read_records(const std::vector<std::string>& paths, const ForEach& for_each) {
  std::vector<std::string> flight, ras, others;
  for (const std::string& file : record_files(paths)) {
    const Kind kind = kind_of(file);
    (kind == Kind::flight ? flight : kind == Kind::ras ? ras : others).push_back(file);
  }
  if (flight.empty() && ras.empty())
    throw Error(Place{paths.front(), 0, {}}, "no dump of the Flight Recorder and no answer of RAS",
                "docs/hang.md says what hang reads");
  if (flight.empty()) return read_ras(ras);
  others.insert(others.end(), ras.begin(), ras.end());
  return DumpFiles(for_each).read(flight, others);
}

}  // namespace fabricast
