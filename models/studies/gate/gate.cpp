#include "models/studies/gate/gate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/studies/bench/bench.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

namespace {

JudgeConfig asked_of(const GateConfig& config, int nodes, Collective collective) {
  JudgeConfig out;
  static_cast<Job&>(out) = config;
  out.nodes = nodes;
  out.collective = collective;
  out.datatype = config.datatype;
  for (const Bytes size : config.sizes) out.rows.push_back({size, 0});
  out.release_said = true;
  out.suspected = Suspected::faults;
  out.healthy_share = config.healthy_share;
  return out;
}

}  // namespace

std::string_view to_text(Separation separation) {
  return enum_words<Separation>("yes", "often", "no", "unseen")[separation];
}

double GateBlock::floor_us(std::size_t row) const {
  const JudgeRow& there = expected.rows[row];
  return there.expected_us * there.band.upper;
}

bool GateBlock::is_simulated(std::size_t fault) const {
  return expected.causes[fault].refused.empty();
}

Separation GateBlock::separation(std::size_t fault, std::size_t row) const {
  const double time_us = expected.causes[fault].times_us[row], floor = floor_us(row);
  if (is_same_time(time_us, expected.rows[row].expected_us)) return Separation::unseen;
  // The band's lower end is what one in ten runs is faster than.
  if (time_us * expected.rows[row].band.lower > floor) return Separation::yes;
  return time_us > floor ? Separation::often : Separation::no;
}

double GateBlock::busbw_GBps(std::size_t row, double time_us) const {
  return fabricast::busbw_GBps(collective, expected.ranks, expected.rows[row].size,
                               Duration{static_cast<std::int64_t>(time_us * 1e6)});
}

GateResult run_gate(const GateConfig& config, const PartsCatalogue& parts, const BandTable& bands,
                    const ForEach& for_each) {
  if (config.sizes.empty()) throw Error("no sizes: what is to be measured?");
  GateResult out;
  out.config = config;
  std::vector<int> counts = config.nodes;
  if (counts.empty()) counts.push_back(0);
  for (const int nodes : counts) {
    for (const Collective collective : config.collectives) {
      GateBlock& block = out.blocks.emplace_back();
      block.collective = collective;
      block.expected = expect_rows(asked_of(config, nodes, collective), parts, bands, for_each);
      for (const std::string& note : block.expected.notes)
        if (std::ranges::find(out.notes, note) == out.notes.end()) out.notes.push_back(note);
    }
  }
  return out;
}

}  // namespace fabricast
