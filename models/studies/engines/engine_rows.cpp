#include "models/studies/engines/engine_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "models/io/formats/csv_table.hpp"
#include "models/io/formats/required_cell.hpp"

namespace fabricast {
namespace {

constexpr int kGpusMax = 1 << 20, kBytesMax = 2'000'000'000;

// ai-dynamo/aiconfigurator, src/aiconfigurator/systems.
constexpr std::pair<std::string_view, std::string_view> kSystems[] = {
    {"a100_sxm", "dgx-a100"}, {"h100_sxm", "dgx-h100"}, {"h200_sxm", "hgx-h200"},
    {"b200_sxm", "hgx-b200"}, {"b300_sxm", "hgx-b300"}, {"gb200", "gb200-nvl72"},
    {"gb300", "gb300-nvl72"}, {"l40s", "l40s-8"},       {"rtx_pro_6000_server", "rtx-pro-6000-8"}};

std::string topology_of_system(const std::string& system) {
  for (const auto& [name, topology] : kSystems)
    if (name == system) return std::string(topology);
  return system;
}

EngineRow row_of(const CsvRow& in) {
  EngineRow out;
  out.place = in.place();
  out.system = in.text("system");
  out.version = in.text("version");
  const std::string& topology = in.text_or_blank("topology");
  out.topology = topology.empty() ? topology_of_system(out.system) : topology;
  try {
    out.release = parse_engine(fmt::format("{}:{}", in.text("backend"), out.version));
  } catch (const Error& error) {
    throw error.with(in.place("backend"));
  }
  out.gpus = required(in.whole("gpus", 1, kGpusMax), in, "gpus");
  out.size = {required(in.whole("bytes", 1, kBytesMax), in, "bytes")};
  out.time_us = required(in.positive("time_us"), in, "time_us");
  const std::string& launch = in.text("launch");
  if (launch != "cuda-graph" && launch != "stream")
    throw Error(in.place("launch"), fmt::format("unknown launch \"{}\"", launch),
                "write cuda-graph or stream");
  out.cuda_graph = launch == "cuda-graph";
  return out;
}

}  // namespace

EngineRows read_engine_rows(const std::string& text, const std::string& file) {
  const CsvTable table(text, file);
  for (const std::string_view column :
       {"system", "backend", "version", "gpus", "bytes", "time_us", "launch"})
    static_cast<void>(table.column(column));
  EngineRows out;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const CsvRow row = table.row(i);
    const std::string& collective = row.text_or_blank("collective");
    if (!collective.empty() && collective != "all_reduce") {
      ++out.other;
    } else {
      out.rows.push_back(row_of(row));
    }
  }
  return out;
}

}  // namespace fabricast
