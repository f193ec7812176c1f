#pragma once
// For tests of stores of results: a folder of its own for each, small sweeps, and what a store
// holds as text.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "models/io/store/sqlite.hpp"
#include "models/io/store/store.hpp"
#include "tests/unit/error_text.hpp"

namespace fabricast::testing {

inline const StoreVersion kNow{"0.2.0", "2026-11-30"};
inline const StoreVersion kBefore{"0.1.0", "2026-06-30"};

/// Gone at the end, with all in it.
class StoreFolder {
 public:
  StoreFolder()
      : path_((std::filesystem::temp_directory_path() / ("fabricast-store-" + std::string(6, 'X')))
                  .string()) {
    REQUIRE(mkdtemp(path_.data()) != nullptr);
  }
  ~StoreFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;
  std::string file(const std::string& name = "s.sqlite") const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// 64 digits, as the digest of a question has them; out of the order of the points.
inline std::string job(std::int64_t i) {
  return fmt::format("{:08x}{:056x}", (i * 2654435761) & 0xffffffff, i);
}

inline StorePoint point(std::int64_t place, std::int64_t question) {
  return {place, job(question), question % 2 == 0 ? "bench" : "step",
          fmt::format(R"({{"n":{}}})", question),
          fmt::format(R"({{"site.nodes":{},"site.fabric":"f{}"}})", question, question % 3)};
}

inline std::vector<StorePoint> points(std::int64_t count) {
  std::vector<StorePoint> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(point(i, i));
  return out;
}

/// A pure function of the question, as results are.
inline StoreResult result(const Claimed& claimed, std::size_t size = 100) {
  StoreResult out;
  out.report = R"({"of":")" + claimed.job_sha256 + R"(","pad":")" + std::string(size, 'x') + "\"}";
  out.answer = "answer of " + claimed.study;
  out.cpu_s = 0.25;
  out.max_rss_bytes = 1 << 20;
  out.finished_at = "2026-12-01T00:00:00Z";
  out.headline = {{"step_s", 0.5}, {"nodes", std::int64_t{4}}, {"algorithm", std::string("Ring")}};
  return out;
}

inline StoreResult error(const std::string& message) {
  StoreResult out;
  out.error = message;
  out.error_place = "a.yaml:3";
  return out;
}

inline std::string show(const StoreCell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *whole);
  if (const auto* number = std::get_if<double>(&cell)) return fmt::format("{}", *number);
  if (const auto* text = std::get_if<std::string_view>(&cell)) return std::string(*text);
  return "-";
}

/// "a b|c d": the rows of a SELECT.
inline std::string rows(Store& store, const std::string& sql,
                        const std::vector<StoreValue>& bound = {}) {
  std::string out;
  store.select(sql, bound, [&](std::span<const StoreCell> row) {
    if (!out.empty()) out += '|';
    for (std::size_t i = 0; i < row.size(); ++i) out += (i == 0 ? "" : " ") + show(row[i]);
  });
  return out;
}

inline std::string counts(Store& store, const std::string& sweep = "grid",
                          const StoreVersion& version = kNow) {
  const Store::Counts c = store.counts(sweep, version);
  return fmt::format("{} points: {} done, {} failed, {} claimed, {} open", c.points, c.done,
                     c.failed, c.claimed, c.open);
}

inline std::vector<std::string> jobs(const std::vector<Claimed>& claimed) {
  std::vector<std::string> out;
  for (const Claimed& c : claimed) out.push_back(c.job_sha256);
  return out;
}

inline void finish_all(Store& store, const std::string& worker = "w", std::size_t size = 100) {
  for (const std::string& sweep : store.sweeps())
    for (const Claimed& c : store.claim(sweep, worker, kNow, 1000, 0, 60))
      store.finish(c, kNow, result(c, size));
}

inline std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Without the folder, whose name is drawn.
inline std::string in_folder(const StoreFolder& folder, std::string text) {
  for (std::size_t at; (at = text.find(folder.path() + "/")) != std::string::npos;)
    text.erase(at, folder.path().size() + 1);
  return text;
}

inline void run_sql(const std::string& path, const std::string& sql) {
  SqliteDatabase(path, StoreAccess::write, {}).run(sql);
}

}  // namespace fabricast::testing
