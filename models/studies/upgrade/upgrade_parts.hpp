#pragma once
// Pieces of the study that only it uses.

#include <map>
#include <optional>

#include "models/nccl/communicator/communicator.hpp"
#include "models/studies/shared/site.hpp"
#include "models/studies/upgrade/upgrade.hpp"

namespace fabricast {

/// A target on one number of nodes with one release, ready to be simulated.
class UpgradeSite {
 public:
  /// Throws Error.
  UpgradeSite(const Job& job, int nodes, const PartsCatalogue& parts);

  /// Simulated time of a call as NCCL decides it; 0 where it refuses it.
  double time_us(Collective collective, Bytes size) const;
  /// The same as if another pair had won; 0 where that pair is not to be had.
  double time_us(Collective collective, Bytes size, Algorithm algorithm, Protocol protocol) const;
  CallKey key(Collective collective, Bytes size) const;
  std::string ways(Algorithm algorithm) const {
    return ways_of(communicator_.model.input, algorithm);
  }
  int ranks() const { return communicator_.ranks; }
  int channels() const {
    return communicator_.model.input.channels.of_ring_and_tree(communicator_.version);
  }

 private:
  double time_us(const DecidedCall& call) const;

  const PartsCatalogue& parts_;
  Site site_;
  Communicator communicator_;
};

/// For the largest losses: tries what may give the time back, and keeps what gives most.
void find_remedies(const UpgradeConfig& config, const PartsCatalogue& parts,
                   const ForEach& for_each, std::vector<UpgradeChange>& changes);

}  // namespace fabricast
