#include "models/studies/gate/gate_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "models/io/bands/band_key.hpp"
#include "models/studies/gate/gate_files.hpp"
#include "models/studies/judge/judge.hpp"

namespace fabricast {

namespace {

class Rater {
 public:
  Rater(const ValidateResult& result, std::size_t first_sick, const Calibrated& calibrated,
        const PartsCatalogue& parts)
      : result_(result), first_sick_(first_sick), calibrated_(calibrated), parts_(parts) {
    out_.measured = result.measured;
  }

  GateRates run() {
    for (std::size_t i = 0; i < runs().size(); ++i) map(i);
    for (std::size_t i = 0; i < result_.measured.points.size(); ++i) {
      if (result_.predictions[i].method != Method::none) points_[point(i).run].push_back(i);
    }
    make_samples();
    for (const auto& [run, rows] : points_) rate(run, rows);
    return std::move(out_);
  }

 private:
  const std::vector<MeasuredRun>& runs() const { return result_.measured.runs; }
  const MeasuredPoint& point(std::size_t i) const { return result_.measured.points[i]; }
  bool is_sick(std::size_t run) const { return run >= first_sick_; }

  void map(std::size_t run) {
    mapped_.emplace_back();
    const auto refused = result_.left_out.find(run);
    if (refused != result_.left_out.end()) {
      out_.left_out.push_back(fmt::format("{}: {}", runs()[run].id, refused->second.what()));
      return;
    }
    try {
      mapped_.back() = map_run(runs()[run], parts_);
    } catch (const Error& error) {
      out_.left_out.push_back(fmt::format("{}: {}", runs()[run].id, error.reason()));
    }
  }

  BandKey key_of(std::size_t i) const {
    const MeasuredPoint& there = point(i);
    BandKey out =
        band_key(mapped_[there.run]->shape, parts_, runs()[there.run].collective, there.size);
    out.by_launches = result_.predictions[i].by_launches;
    return out;
  }

  /// As `calibrate --cross-validate` makes them, of the healthy runs.
  void make_samples() {
    std::map<std::string, std::vector<BandKey>> keys;  // by source
    for (const auto& [run, rows] : points_)
      if (!is_sick(run)) keys[runs()[run].source].push_back(key_of(rows.front()));
    for (const auto& [run, rows] : points_) {
      if (is_sick(run)) continue;
      Known known = Known::nothing;
      for (const auto& [source, others] : keys) {
        if (source == runs()[run].source) continue;
        for (const BandKey& other : others)
          known = std::min(known, nearness(key_of(rows.front()), other));
      }
      for (const std::size_t i : rows)
        samples_.push_back({key_of(i), runs()[run].id, runs()[run].source,
                            std::log(point(i).time_us / predicted_us(i)), known, runs()[run].id,
                            point(i).size});
    }
  }

  /// By a fit that has not seen the run's source.
  double predicted_us(std::size_t i) const {
    const Prediction& there = result_.predictions[i];
    return there.left_out_us > 0 ? there.left_out_us : there.time_us;
  }

  /// Bands that have not seen the source: those of a source that the fit never had are the shipped
  /// ones, others are made anew of what the other sources measured.
  const BandTable& bands_for(const std::string& source) {
    if (!calibrated_.left_out.factors.contains(source)) return calibrated_.bands;
    const auto [found, fresh] = tables_.try_emplace(source);
    if (fresh) found->second = bands_without(samples_, source);
    return found->second;
  }

  void rate(std::size_t run, const std::vector<std::size_t>& rows) {
    RatedRun& out = out_.runs.emplace_back();
    out.run = run;
    out.is_sick = is_sick(run);
    const BandTable& bands = bands_for(runs()[run].source);
    std::size_t largest = rows.front();
    std::map<std::size_t, std::array<bool, kSlowShares.size()>> slow;
    for (const std::size_t i : rows) {
      const std::optional<FoundBand> band = find_band(bands, key_of(i));
      if (!band) continue;
      ++out.rows;
      for (std::size_t k = 0; k < kSlowShares.size(); ++k) {
        slow[i][k] = point(i).time_us > predicted_us(i) * slow_limit(*band, kSlowShares[k]);
        out.slow[k] += slow[i][k] ? 1 : 0;
      }
      if (point(i).size >= point(largest).size) largest = i;
    }
    if (out.rows == 0) return;
    out.all_rows.applies = true;
    for (std::size_t k = 0; k < kSlowShares.size(); ++k)
      out.all_rows.passes[k] = is_few(out.slow[k], out.rows);
    if (point(largest).size >= kLargeRow && slow.contains(largest))
      rate_largest(out, largest, slow[largest]);
  }

  void rate_largest(RatedRun& out, std::size_t i,
                    const std::array<bool, kSlowShares.size()>& slow) const {
    const MeasuredRun& run = runs()[out.run];
    out.largest_busbw_GBps = static_cast<double>(point(i).size.count) *
                             busbw_factor(run.collective, run.ranks) / point(i).time_us / 1e3;
    out.largest_row.applies = true;
    for (std::size_t k = 0; k < kSlowShares.size(); ++k) out.largest_row.passes[k] = !slow[k];
    const auto fixed = [&](std::optional<double> floor) {
      GateOutcome outcome;
      outcome.applies = floor.has_value();
      outcome.passes.fill(floor && out.largest_busbw_GBps >= *floor);
      return outcome;
    };
    std::optional<double> line = line_rate_GBps(*mapped_[out.run], run.collective, parts_);
    if (line) *line *= kRuleOfThumb;
    out.line_rate = fixed(line);
    out.aicr = fixed(aicr_floor_GBps(run));
  }

  const ValidateResult& result_;
  std::size_t first_sick_;
  const Calibrated& calibrated_;
  const PartsCatalogue& parts_;
  GateRates out_;
  std::vector<std::optional<MappedRun>> mapped_;            ///< by run
  std::map<std::size_t, std::vector<std::size_t>> points_;  ///< predicted ones, by run
  std::vector<BandSample> samples_;
  std::map<std::string, BandTable> tables_;  ///< by the source that they have not seen
};

}  // namespace

const GateOutcome& RatedRun::of(GateRule rule) const {
  switch (rule) {
    case GateRule::all_rows:
      return all_rows;
    case GateRule::largest_row:
      return largest_row;
    case GateRule::line_rate:
      return line_rate;
    case GateRule::aicr:
      break;
  }
  return aicr;
}

std::optional<double> line_rate_GBps(const MappedRun& run, Collective collective,
                                     const PartsCatalogue& parts) {
  if (!is_tuned(collective)) return std::nullopt;
  const NodeShape& shape = run.shape;
  const GpuPart& gpu = parts.gpus.at(shape.gpu);
  const auto in_GBps = [](Bandwidth rate) { return static_cast<double>(rate.bytes_per_s) / 1e9; };
  if (run.nodes > 1 && shape.nics > 0 && shape.kind != NodeKind::nvl72) {
    const Bandwidth port =
        shape.nic_rate.bytes_per_s > 0 ? shape.nic_rate : parts.nics.at(shape.nic).port_rate;
    // GPUs that take no part leave the NICs beside them idle.
    return in_GBps(port) * shape.nics * run.gpus_used / shape.gpus;
  }
  if (gpu.nvlink_links == 0 || shape.kind == NodeKind::pcie || shape.kind == NodeKind::single)
    return std::nullopt;
  return in_GBps(gpu.nvlink_per_link) * gpu.nvlink_links;
}

std::optional<double> aicr_floor_GBps(const MeasuredRun& run) {
  if (run.collective != Collective::all_reduce || run.nodes < 2) return std::nullopt;
  const bool rack = run.node_kind == to_text(NodeKind::nvl72) && run.net_kind == "none";
  double value = 0;
  // The clouds that AICR names by the network that they have: AKS InfiniBand, EKS EFA, GKE TCPXO.
  if (run.gpu_model == "H100") value = run.net_kind == "ib" ? 150 : 300;
  if (run.gpu_model == "H200") value = 300;
  if (run.gpu_model == "GB200" && rack) value = 500;
  if (run.gpu_model == "GB300" && rack) value = 700;
  return value == 0 ? std::nullopt : std::optional(value * kAicrTolerance);
}

GateRates rate_gates(const ValidateResult& result, std::size_t first_sick,
                     const Calibrated& calibrated, const PartsCatalogue& parts) {
  return Rater(result, first_sick, calibrated, parts).run();
}

}  // namespace fabricast
