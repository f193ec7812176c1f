#include "models/studies/gate/gate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/studies/bench/bench.hpp"
#include "sim/base/add_once.hpp"
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

/// Was let go before it had a time on each row, for its size.
bool lacks_times(const SimulatedSuspect& fault, std::size_t rows) {
  return !fault.refused.empty() && fault.times_us.size() == rows;
}

bool same_choice(const JudgeRow& a, const JudgeRow& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol && a.channels == b.channels;
}

/// Faults that are too large take the ratio to what is expected on fewer nodes, where NCCL chooses
/// the same for every row there. Were there such?
bool borrow(ExpectedRows& rows, const ExpectedRows& fewer) {
  if (!std::ranges::equal(rows.rows, fewer.rows, same_choice)) return false;
  bool out = false;
  for (SimulatedSuspect& fault : rows.causes) {
    if (!lacks_times(fault, rows.rows.size())) continue;
    const auto there = std::ranges::find(
        fewer.causes, fault.cause.name, [](const SimulatedSuspect& one) { return one.cause.name; });
    if (there == fewer.causes.end() || !there->refused.empty()) continue;
    for (std::size_t row = 0; row < rows.rows.size(); ++row)
      fault.times_us[row] =
          there->times_us[row] / fewer.rows[row].expected_us * rows.rows[row].expected_us;
    fault.refused.clear();
    out = true;
  }
  return out;
}

class Gate {
 public:
  Gate(const GateConfig& config, const PartsCatalogue& parts, const BandTable& bands,
       const ForEach& for_each)
      : config_(config), parts_(parts), bands_(bands), for_each_(for_each) {
    out_.config = config;
  }

  GateResult run() {
    std::vector<int> counts = config_.nodes;
    if (counts.empty()) counts.push_back(0);
    for (const int nodes : counts)
      for (const Collective collective : config_.collectives)
        out_.blocks.push_back({collective, rows_of(nodes, collective)});
    return std::move(out_);
  }

 private:
  ExpectedRows rows_of(int nodes, Collective collective) {
    ExpectedRows rows =
        expect_rows(asked_of(config_, nodes, collective), parts_, bands_, for_each_);
    for (const std::string& text : rows.notes) add_once(out_.notes, text);
    if (rows.ranks == 1)
      throw Error("one rank has nobody to talk to: there is nothing to accept",
                  "name more nodes: --nodes 2");
    const auto lack = [&](const SimulatedSuspect& one) {
      return lacks_times(one, rows.rows.size());
    };
    for (int fewer = rows.nodes / 2; fewer >= 2 && std::ranges::any_of(rows.causes, lack);
         fewer /= 2) {
      try {
        if (borrow(rows, on_fewer(fewer, collective)))
          add_once(out_.notes,
                   fmt::format("of {} nodes some faults are simulated on {}: their ratio to what "
                               "is expected there is taken",
                               rows.nodes, fewer));
      } catch (const Error&) {  // half of an NVLink domain is no machine
        break;
      }
    }
    return rows;
  }

  ExpectedRows on_fewer(int nodes, Collective collective) const {
    for (const GateBlock& block : out_.blocks)
      if (block.collective == collective && block.expected.nodes == nodes) return block.expected;
    return expect_rows(asked_of(config_, nodes, collective), parts_, bands_, for_each_);
  }

  const GateConfig& config_;
  const PartsCatalogue& parts_;
  const BandTable& bands_;
  const ForEach& for_each_;
  GateResult out_;
};

}  // namespace

std::string_view to_text(Separation separation) {
  return enum_words<Separation>("yes", "often", "no", "unseen")[separation];
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

std::vector<std::string> GateBlock::faults(std::size_t row, Separation told) const {
  std::vector<std::string> out;
  for (std::size_t i = 1; i < expected.causes.size(); ++i)
    if (is_simulated(i) && separation(i, row) == told) out.push_back(expected.causes[i].cause.name);
  return out;
}

std::vector<int> GateResult::nodes() const {
  std::vector<int> out;
  for (const GateBlock& block : blocks)
    if (out.empty() || out.back() != block.expected.nodes) out.push_back(block.expected.nodes);
  return out;
}

double GateBlock::busbw_GBps(std::size_t row, double time_us) const {
  return fabricast::busbw_GBps(collective, expected.ranks, expected.rows[row].size,
                               Duration{static_cast<std::int64_t>(time_us * 1e6)});
}

GateResult run_gate(const GateConfig& config, const PartsCatalogue& parts, const BandTable& bands,
                    const ForEach& for_each) {
  if (config.sizes.empty()) throw Error("no sizes: what is to be measured?");
  return Gate(config, parts, bands, for_each).run();
}

}  // namespace fabricast
