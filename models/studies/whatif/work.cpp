#include "models/studies/whatif/work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "models/studies/bench/bench_bands.hpp"
#include "models/studies/bench/bench_bounds_text.hpp"
#include "models/studies/whatif/mechanism.hpp"
#include "models/training/step/step_parts.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

std::string choice_of(const BenchRow& row) {
  const CollectiveRun& run = row.decided.run;
  const std::string channels = counted(row.working_channels(), "channel");
  if (!is_tuned(row.collective)) return channels;
  return fmt::format("{} {}, {}", row.algorithm(), to_text(run.protocol), channels);
}

WorkRow row_of(const BenchRow& row) {
  WorkRow out;
  out.what = fmt::format("{} {} on {} ranks, {} nodes", to_text(row.requested),
                         to_text(row.collective), row.ranks, row.nodes);
  out.collective = row.collective;
  out.nodes = row.nodes;
  out.ranks = row.ranks;
  out.size = row.requested;
  out.time_us = microseconds_of(row.call_time());
  out.busbw_GBps = row.busbw();
  out.choice = choice_of(row);
  return out;
}

WorkRow row_of(const StepResult& result) {
  WorkRow out;
  const StepConfig& config = result.config;
  out.what = fmt::format("a step of {}", config.title.empty() ? config.model.name : config.title);
  out.nodes = config.nodes;
  out.ranks = config.layout.gpus;
  out.time_us = microseconds_of(result.step.time);
  out.tokens_per_s = result.tokens_per_s;
  for (const StepPart& part : step_parts()) {
    const double time = part.seconds(result.step.breakdown);
    if (part.kind == StepPart::Kind::communication && time >= 0.01 * seconds(result.step.time))
      out.choice +=
          fmt::format("{}{} {}", out.choice.empty() ? "" : "; ", part.name, time_text(time));
  }
  return out;
}

/// The parts of the step that make up 0.1 of the difference or more.
std::string step_mechanism(const StepResult& before, const StepResult& after) {
  const double whole = std::fabs(seconds(after.step.time) - seconds(before.step.time));
  if (whole == 0) return {};
  std::string out;
  for (const StepPart& part : step_parts()) {
    const double change = part.seconds(after.step.breakdown) - part.seconds(before.step.breakdown);
    if (std::fabs(change) < 0.1 * whole) continue;
    out += fmt::format("{}{}: {}{}", out.empty() ? "" : "; ", part.name, change < 0 ? "-" : "+",
                       time_text(std::fabs(change)));
  }
  return out.empty() ? "many parts of the step, each a little" : out;
}

/// The block and row of a numbered row.
std::pair<const BenchBlock*, const BenchRow*> at(const BenchResult& result, std::size_t row) {
  for (const BenchBlock& block : result.blocks) {
    if (row < block.rows.size()) return {&block, &block.rows[row]};
    row -= block.rows.size();
  }
  return {nullptr, nullptr};
}

}  // namespace

Job job_of(const Work& work) {
  return std::visit([](const Job& config) { return config; }, work);
}

std::vector<int> nodes_of(const Work& work) {
  if (const auto* step = std::get_if<StepConfig>(&work)) return {step->nodes};
  return std::get<BenchConfig>(work).nodes;
}

Work with_job(Work work, const Job& setup) {
  std::visit([&](Job& config) { config = setup; }, work);
  return work;
}

namespace {

WorkRun step_run(const StepConfig& step, const PartsCatalogue& parts) {
  WorkRun out;
  out.step = run_step(step, parts);
  out.rows.push_back(row_of(*out.step));
  out.notes = out.step->notes;
  return out;
}

WorkRun bench_run(BenchResult bench) {
  WorkRun out;
  out.bench = std::move(bench);
  for (const BenchBlock& block : out.bench->blocks) {
    for (const BenchRow& row : block.rows) out.rows.push_back(row_of(row));
  }
  out.notes = out.bench->notes;
  for (const BenchBlock& block : out.bench->blocks)
    for (const BenchRow& row : block.rows)
      if (row.bounds)
        out.notes.push_back(fmt::format("{} ({}).", bounds_line(row), bounds_basis(*row.bounds)));
  return out;
}

}  // namespace

WorkRun run_work(const Work& work, const PartsCatalogue& parts, bool explain) {
  if (const auto* step = std::get_if<StepConfig>(&work)) return step_run(*step, parts);
  BenchConfig config = std::get<BenchConfig>(work);
  config.explain = explain;
  return bench_run(run_bench(config, parts));
}

WorkRun run_work(const Work& work, const PartsCatalogue& parts, bool explain, KnownCalls& known) {
  if (const auto* step = std::get_if<StepConfig>(&work)) return step_run(*step, parts);
  BenchConfig config = std::get<BenchConfig>(work);
  config.explain = explain;
  return bench_run(run_bench(config, parts, known));
}

std::string mechanism(const WorkRun& before, const WorkRun& after, std::size_t row) {
  if (before.step) return step_mechanism(*before.step, *after.step);
  const auto [block_before, row_before] = at(*before.bench, row);
  const auto [block_after, row_after] = at(*after.bench, row);
  return mechanism(*block_before, *row_before, *block_after, *row_after);
}

std::optional<FoundBand> band_of(const WorkRun& run, std::size_t row, const BandTable& bands) {
  if (!run.bench) return std::nullopt;
  const auto [block, bench_row] = at(*run.bench, row);
  return band_of(*run.bench, *block, *bench_row, bands);
}

void check_same_rows(const WorkRun& before, const WorkRun& after) {
  const auto same = [](const WorkRow& a, const WorkRow& b) {
    return std::tie(a.collective, a.ranks, a.size.count) ==
           std::tie(b.collective, b.ranks, b.size.count);
  };
  if (!std::ranges::equal(before.rows, after.rows, same))
    throw Error("before and after are not the same work: other numbers of ranks or sizes",
                "give --gpus-per-node and --nodes such that both have as many ranks");
}

}  // namespace fabricast
