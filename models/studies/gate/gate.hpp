#pragma once
// The study behind `fabricast gate`: the bus bandwidth that a healthy cluster reaches with a chosen
// probability, per collective and size, and which faults would show below it. A floor is the
// simulated time at the quantile of measured / simulated times of runs whose source no fit had seen
// (models/io/bands); a fault's time is simulated as `judge` does. Config, code and result.

#include <string>
#include <vector>

#include "models/studies/judge/judge.hpp"

namespace fabricast {

struct GateConfig : Job {
  std::vector<int> nodes;  ///< empty = what the topology says, else 1
  std::vector<Collective> collectives = {Collective::all_reduce};
  std::vector<Bytes> sizes;        ///< as nccl-tests counts them
  std::string datatype = "float";  ///< nccl-tests' name
  double healthy_share = 0.95;     ///< of healthy runs that pass, 0.8..0.99
};

/// Does the floor tell a machine with the fault from a healthy one?
enum class Separation : std::uint8_t {
  yes,    ///< 9 of 10 runs with the fault stay below the floor
  often,  ///< the expected run with the fault does, fewer than 9 of 10
  no,     ///< the expected run with the fault passes
  unseen  ///< the fault changes the time by less than kSameTime: no floor would
};
std::string_view to_text(Separation separation);

/// One number of nodes and one collective. The first of `expected.causes` is the healthy machine;
/// the upper end of a row's band is the floor.
struct GateBlock {
  Collective collective{};
  ExpectedRows expected;

  double floor_us(std::size_t row) const { return expected.rows[row].limit_us(); }
  /// REQUIRES: the fault was simulated.
  Separation separation(std::size_t fault, std::size_t row) const;
  bool is_simulated(std::size_t fault) const;
  /// Names of the faults that the floor of this row tells so from a healthy machine.
  std::vector<std::string> faults(std::size_t row, Separation told) const;
  double busbw_GBps(std::size_t row, double time_us) const;
};

struct GateResult {
  GateConfig config;
  std::vector<GateBlock> blocks;   ///< by nodes, then collective
  std::vector<std::string> notes;  ///< each once

  std::vector<int> nodes() const;  ///< as asked, once for all collectives
};

/// Throws Error.
GateResult run_gate(const GateConfig& config, const PartsCatalogue& parts, const BandTable& bands,
                    const ForEach& for_each);

}  // namespace fabricast
