#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "models/io/formats/text_file.hpp"
#include "models/io/records/record_files.hpp"
#include "models/studies/skew/skew.hpp"
#include "sim/base/error.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kTracesMax = 4096;

/// "rank17.json", "trace_3.json" -> 17, 3: the last number of the name.
int rank_in_name(const std::string& path) {
  const std::string name = std::filesystem::path(path).stem().string();
  const std::string_view digits = last_digits(name);
  return digits.size() > 6 ? -1 : to_number<int>(digits).value_or(-1);
}

}  // namespace

std::vector<std::string> trace_files(const std::string& folder) {
  require_readable(folder);
  std::error_code failed;
  std::vector<std::string> out;
  std::size_t packed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    packed += name.ends_with(".json.gz") ? 1 : 0;
    if (name.ends_with(".json") && entry.is_regular_file(failed))
      out.push_back(entry.path().string());
  }
  const Place place{folder, 0, {}};
  if (failed) throw Error(place, "cannot be read", "a folder with a trace for each rank");
  std::ranges::sort(out);
  if (out.size() < 2)
    throw Error(place, fmt::format("{} in it", counted(std::ssize(out), "trace (*.json)")),
                packed > 0 ? "unpack the traces first: gunzip *.json.gz"
                           : "a folder with a trace of each rank; one trace is named itself");
  if (out.size() > kTracesMax)
    throw Error(place, fmt::format("{} files: at most {} are read", out.size(), kTracesMax));
  return out;
}

std::vector<RankTrace> read_traces(const std::vector<std::string>& files,
                                   std::vector<std::string>& notes, const ForEach& for_each) {
  std::vector<std::optional<RankTrace>> read(files.size());
  std::vector<std::string> why(files.size());
  for_each(files.size(), [&](std::size_t i) {
    try {
      read[i] = read_rank_trace(files[i]);
    } catch (const Error& error) {
      why[i] = error.reason();
    }
  });
  std::map<int, RankTrace> by_rank;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!read[i]) {
      notes.push_back(why[i] + ": left out.");
      continue;
    }
    if (read[i]->rank < 0) read[i]->rank = rank_in_name(files[i]);
    const int rank = read[i]->rank;
    if (rank < 0) {
      notes.push_back(files[i] + ": says no rank (distributedInfo.rank): left out.");
    } else if (read[i]->collectives.empty()) {
      notes.push_back(fmt::format("{}: no kernel of NCCL says its collective{}: left out.",
                                  files[i],
                                  read[i]->bare_kernels > 0 ? " (PyTorch does since 2.3)" : ""));
    } else if (by_rank.contains(rank)) {
      notes.push_back(fmt::format("{}: rank {} once more, after {}: left out.", files[i], rank,
                                  by_rank.at(rank).file));
    } else {
      by_rank.emplace(rank, std::move(*read[i]));
    }
  }
  if (by_rank.size() < 2) {
    std::string all;
    for (const std::string& note : notes) all += "\n  " + note;
    throw Error("traces of two ranks or more are needed:" + all);
  }
  std::vector<RankTrace> out;
  for (auto& [rank, trace] : by_rank) out.push_back(std::move(trace));
  return out;
}

}  // namespace fabricast
