#include "models/studies/training/traced_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/io/formats/log_lines.hpp"
#include "models/nccl/base/members.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/shared/site.hpp"
#include "models/studies/training/predict_call.hpp"
#include "models/training/calls/collective_times.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"
#include "text/text_table.hpp"
#include "text/unit_text.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

/// PyTorch's names of types, "Float", "c10::BFloat16", "unsigned char"; 0 = not known.
int bytes_of(std::string_view type_name) {
  std::string type = lower_case(type_name);
  if (type.starts_with("c10::")) type.erase(0, 5);
  static constexpr std::array<std::pair<std::string_view, int>, 15> kSizes = {{{"float", 4},
                                                                               {"int", 4},
                                                                               {"float32", 4},
                                                                               {"double", 8},
                                                                               {"long", 8},
                                                                               {"half", 2},
                                                                               {"short", 2},
                                                                               {"bfloat16", 2},
                                                                               {"float16", 2},
                                                                               {"byte", 1},
                                                                               {"unsigned char", 1},
                                                                               {"signed char", 1},
                                                                               {"char", 1},
                                                                               {"bool", 1},
                                                                               {"int64", 8}}};
  for (const auto& [name, size] : kSizes)
    if (type == name) return size;
  return type.starts_with("float8") ? 1 : 0;
}

bool is_same(const TracedCall& a, const TracedCall& b) {
  return a.collective == b.collective && a.in_elements == b.in_elements &&
         a.out_elements == b.out_elements && a.dtype == b.dtype && a.group == b.group &&
         a.group_size == b.group_size;
}

int world_size(const ImportedFile& trace) {
  std::int64_t said = leading_number<std::int64_t>(trace.value("world size")).value_or(0);
  for (const TracedCall& call : trace.calls) said = std::max<std::int64_t>(said, call.group_size);
  return static_cast<int>(std::clamp<std::int64_t>(said, 0, kRanksMax));
}

/// An all_gather's larger buffer is what comes out. A trace without it says what goes in.
std::int64_t elements_of(const TracedCall& call, Collective collective, int ranks) {
  const std::int64_t known = std::max(call.in_elements, call.out_elements);
  return collective == Collective::all_gather && call.out_elements == 0 ? known * ranks : known;
}

}  // namespace

TracedLine predict_call(const TracedCall& call, RankGroup group, int world,
                        CollectiveTimes& times) {
  TracedLine line;
  line.call = call;
  const auto collective = collective_from_text(line.call.collective);
  const int element = bytes_of(line.call.dtype);
  line.ranks = line.call.group_size > 0 ? line.call.group_size : world;
  group.size = line.ranks;
  if (!collective) {
    line.why_not = "no collective that is simulated";
  } else if (line.ranks < 2) {
    line.why_not =
        line.ranks == 1 ? "a group of one rank" : "the trace does not say among how many";
  } else if (std::max(line.call.in_elements, line.call.out_elements) == 0) {
    line.why_not = "the trace does not say how much";
  } else if (element == 0) {
    line.why_not = fmt::format("type \"{}\" is not known", line.call.dtype);
  } else {
    line.bytes = elements_of(line.call, *collective, line.ranks) * element;
    line.time = times.cost(*collective, group, static_cast<double>(line.bytes)).time;
  }
  return line;
}

TracedResult predict_calls(const ImportedFile& trace, const std::string& file, const Job& config,
                           const PartsCatalogue& parts) {
  if (trace.calls.empty())
    throw Error(Place{file, 0, {}},
                trace.kind.empty() ? "is no trace that is known"
                                   : fmt::format("this {} names no collective call", trace.kind),
                "traces of Kineto, PyTorch's execution traces and Chakra's JSON do");
  TracedResult out{config, file, world_size(trace), {}, {}, trace.value("time in kernels")};
  const Cluster cluster = load_cluster(config, 1, parts);
  CollectiveTimes times(cluster, parts.software,
                        {config.version, config.environment, config.gpus_per_node, false, {}});
  for (const TracedCall& call : trace.calls) {
    const auto known = std::ranges::find_if(
        out.lines, [&](const TracedLine& line) { return is_same(line.call, call); });
    if (known != out.lines.end()) {
      ++known->times;
      continue;
    }
    out.lines.push_back(predict_call(call, {}, out.world_size, times));
  }
  for (const TracedLine& line : out.lines)
    if (line.time) out.time += *line.time * line.times;
  return out;
}

std::string traced_text(const TracedResult& result) {
  std::string out = fmt::format("# {}: {} of calls on {}, NCCL {}\n", result.file,
                                counted(std::ssize(result.lines), "kind"), result.config.topology,
                                to_text(result.config.version));
  TextTable table("  ");
  for (std::size_t column = 1; column <= 6; ++column) table.align_right(column);
  table.add({"call", "ranks", "bytes", "times", "us each", "us in all", "busbw GB/s", "group"});
  for (const TracedLine& line : result.lines) {
    const auto cell = [&](const std::string& text) { return line.time ? text : "-"; };
    const Duration each = line.time.value_or(Duration{});
    const auto collective = collective_from_text(line.call.collective);
    table.add({line.call.collective, std::to_string(line.ranks), cell(to_text(Bytes{line.bytes})),
               std::to_string(line.times), cell(fmt::format("{:.1f}", microseconds_of(each))),
               cell(fmt::format("{:.1f}", microseconds_of(each * line.times))),
               line.time ? fmt::format("{:.1f}",
                                       busbw_GBps(*collective, line.ranks, Bytes{line.bytes}, each))
                         : "-",
               line.time ? line.call.group : line.why_not});
  }
  out += table.text();
  out += fmt::format("# one after another: {:.1f} us\n", microseconds_of(result.time));
  if (!result.kernel_time.empty())
    out += fmt::format(
        "# the trace's kernels of NCCL: {}, waits for other ranks and for compute included\n",
        result.kernel_time);
  return out +
         "# assumed: a group lies on neighbouring ranks, node after node; groups side by side do "
         "the "
         "same\n";
}

}  // namespace fabricast
