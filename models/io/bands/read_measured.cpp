#include "models/io/bands/read_measured.hpp"

#include <fmt/format.h>

#include <array>
#include <map>

#include "models/io/formats/csv_table.hpp"
#include "models/io/formats/text_file.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr int kNodesMax = 1 << 20, kRanksMax = 1 << 24, kNodePartsMax = 1024, kGbpsMax = 100'000;

template <class Value>
Value needed(std::optional<Value> value, const CsvRow& row, const char* column) {
  if (!value) throw Error(row.place(column), "is missing");
  return *value;
}

MeasuredRun read_run(const CsvRow& row) {
  MeasuredRun run;
  run.place = row.place();
  run.id = row.text("run_id");
  if (run.id.empty()) throw Error(row.place("run_id"), "is missing");
  const std::string& collective = row.text("collective");
  if (const auto known = collective_from_text(collective)) {
    run.collective = *known;
  } else {
    std::vector<std::string> names;
    for (const Collective c : kAllCollectives) names.emplace_back(to_text(c));
    throw Error(row.place("collective"), fmt::format("unknown collective \"{}\"", collective),
                hint_nearest(collective, names));
  }
  run.gpu_model = row.text("gpu_model");
  run.node_kind = row.text("node_kind");
  run.net_kind = row.text("net_kind");
  run.gpus_per_node = row.whole("gpus_per_node", 1, kNodePartsMax);
  run.nics_per_node = row.whole("nics_per_node", 0, kNodePartsMax);
  run.nic_gbps = row.whole("nic_gbps", 1, kGbpsMax);
  run.nodes = needed(row.whole("nodes", 1, kNodesMax), row, "nodes");
  run.ranks = needed(row.whole("ranks", 1, kRanksMax), row, "ranks");
  if (run.ranks % run.nodes != 0) {
    throw Error(row.place("ranks"),
                fmt::format("{} ranks are not equal shares of {} nodes", run.ranks, run.nodes));
  }
  run.nccl_version = row.text_or_blank("nccl_version");
  run.env_kv = row.text_or_blank("env_kv");
  run.algorithm = row.text_or_blank("algorithm");
  run.flags = row.text_or_blank("flags");
  run.process_mode = row.text_or_blank("process_mode");
  run.source = row.text_or_blank("source_key");
  run.date = row.text_or_blank("date");
  run.address = row.text_or_blank("source");
  run.topology_notes = row.text_or_blank("topology_notes");
  run.notes = row.text_or_blank("notes");
  run.nic_type = row.text_or_blank("nic_type");
  run.sharp = row.text_or_blank("sharp") == "1";
  const std::string& score = row.text_or_blank("score");
  run.scored = score.empty() || score == "1";
  return run;
}

std::map<std::string, std::size_t> runs_by_id(const std::vector<MeasuredRun>& runs) {
  std::map<std::string, std::size_t> out;
  for (std::size_t i = 0; i < runs.size(); ++i) out[runs[i].id] = i;
  return out;
}

/// GB/s and bytes to microseconds; nothing where the rate is blank or 0.
std::optional<double> time_of(std::optional<double> rate_GBps, double bytes) {
  if (!rate_GBps || *rate_GBps <= 0) return std::nullopt;
  return bytes / *rate_GBps / 1e3;
}

std::optional<double> measured_time(const CsvRow& row, const MeasuredRun& run, double bytes) {
  const std::optional<double> time = row.positive("time_us");
  if (time && *time > 0) return time;
  if (const auto from_algbw = time_of(row.positive("algbw_GBps"), bytes)) return from_algbw;
  return time_of(row.positive("busbw_GBps"), bytes * busbw_factor(run.collective, run.ranks));
}

/// A ratio of pairs.csv, and the size it is of.
struct RatioColumn {
  const char* name;
  std::int64_t bytes;
  bool is_busbw;
};
constexpr std::array<RatioColumn, 4> kRatios = {{{"time_1KB_ratio", 1 << 10, false},
                                                 {"time_1MB_ratio", 1 << 20, false},
                                                 {"busbw_64MB_ratio", 1 << 26, true},
                                                 {"busbw_1GB_ratio", 1 << 30, true}}};

}  // namespace

std::vector<MeasuredRun> parse_runs(const std::string& text, const std::string& file) {
  const CsvTable table(text, file);
  std::vector<MeasuredRun> runs;
  std::map<std::string, int> lines;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    runs.push_back(read_run(table.row(i)));
    const auto [first, fresh] = lines.emplace(runs.back().id, runs.back().place.line);
    if (!fresh) {
      throw Error(table.row(i).place("run_id"), fmt::format("\"{}\" twice", runs.back().id),
                  fmt::format("first in line {}", first->second));
    }
  }
  return runs;
}

void parse_points(const std::string& text, const std::string& file, Measurements& out) {
  constexpr double kMessageMax = 1LL << 40;
  const CsvTable table(text, file);
  const auto by_id = runs_by_id(out.runs);
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const CsvRow row = table.row(i);
    const auto found = by_id.find(row.text("run_id"));
    if (found == by_id.end()) {
      throw Error(row.place("run_id"), fmt::format("no run \"{}\" is known", row.text("run_id")),
                  "points and runs must belong together");
    }
    table.column("size_bytes");
    const std::optional<double> size = row.positive("size_bytes");
    if (!size || *size < 1) {
      ++out.points_without_size;
      continue;
    }
    if (*size > kMessageMax) throw Error(row.place("size_bytes"), "above 1 TiB");
    const auto time = measured_time(row, out.runs[found->second], *size);
    if (!time) {
      ++out.points_without_time;
      continue;
    }
    const std::string& datatype = row.text_or_blank("dtype");
    out.points.push_back({found->second, Bytes{static_cast<std::int64_t>(*size)},
                          datatype.empty() ? "float" : datatype, *time});
  }
}

void parse_pairs(const std::string& text, const std::string& file, Measurements& out) {
  const CsvTable table(text, file);
  const auto by_id = runs_by_id(out.runs);
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const CsvRow row = table.row(i);
    const auto run = by_id.find(row.text("run_id"));
    const auto baseline = by_id.find(row.text("baseline_run"));
    if (run == by_id.end() || baseline == by_id.end()) continue;
    for (const RatioColumn& column : kRatios) {
      const std::optional<double> ratio = row.positive(column.name);
      if (!ratio || *ratio <= 0) continue;
      out.pairs.push_back({row.text_or_blank("what_changed"), run->second, baseline->second,
                           Bytes{column.bytes}, column.is_busbw, *ratio});
    }
  }
}

Measurements load_measurements(const std::string& runs_file, const std::string& points_file,
                               const std::string& pairs_file) {
  Measurements out;
  out.runs = parse_runs(
      read_text_file(runs_file, "a CSV file of runs (its columns: docs/validate.md)"), runs_file);
  parse_points(read_text_file(points_file, "a CSV file of points (its columns: docs/validate.md)"),
               points_file, out);
  if (!pairs_file.empty())
    parse_pairs(read_text_file(pairs_file, "a CSV file of pairs (its columns: docs/validate.md)"),
                pairs_file, out);
  return out;
}

Measurements together(Measurements all, Measurements more) {
  const std::size_t runs = all.runs.size();
  for (MeasuredRun& run : more.runs) all.runs.push_back(std::move(run));
  for (MeasuredPoint& point : more.points) {
    point.run += runs;
    all.points.push_back(std::move(point));
  }
  all.points_without_size += more.points_without_size;
  all.points_without_time += more.points_without_time;
  return all;
}

}  // namespace fabricast
