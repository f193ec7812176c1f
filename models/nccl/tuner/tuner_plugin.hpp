#pragma once
// Tuner plugins: what tells NCCL to take another algorithm, protocol or number of channels than it
// would (docs/tuners.md). NCCL asks for every call of a tuned collective, on every rank.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/nccl/base/types.hpp"

namespace fabricast {

/// A call as a plugin is asked. REQUIRES: a tuned collective, ranks in equal shares on the nodes.
struct TunerCall {
  Collective collective = Collective::all_reduce;
  std::int64_t bytes = 0;  ///< as message_size() counts them
  int nodes = 1, ranks = 1;
  int operations = 1;  ///< of the group that share the decision
  bool registered = false;
};

struct TunerPair {
  Algorithm algorithm{};
  Protocol protocol{};

  bool operator==(const TunerPair&) const = default;
};

/// What a plugin tells NCCL. Since 2.22 `pair` is the one entry of the cost table that is made 0:
/// it wins against whatever NCCL predicts. Up to 2.21 it replaces the choice.
struct TunerAnswer {
  std::optional<TunerPair> pair;  ///< nothing: NCCL's own choice
  /// At most so many, > 0: since 2.22 a call of few bytes may still use fewer. Nothing: NCCL's own
  /// number.
  std::optional<int> channels;
  std::string because;  ///< "line 12 of rules.csv"; also where nothing is told
};

/// Whether NCCL has an entry for it: not those that it excludes.
using TunerOffers = std::function<bool(Algorithm, Protocol)>;

/// A file that is wrong throughout says so often enough.
inline constexpr std::size_t kTunerNotesMost = 20;

class TunerPlugin {
 public:
  virtual ~TunerPlugin() = default;
  /// A pure function. A pair that is not there is passed over (NCCL up to 2.21 takes it unseen).
  virtual TunerAnswer ask(const TunerCall& call, const TunerOffers& is_there) const = 0;
  virtual std::string_view name() const = 0;  ///< "aws-ofi-nccl for p5.48xlarge"
  /// What its user should know once: lines that it misreads, why it is silent.
  virtual std::vector<std::string> notes() const { return {}; }
};

/// What plugins see of where they run.
struct TunerSite {
  std::string gpu = {};  ///< of the node, as in topologies/parts.yaml: "H100_SXM5"
  std::string nic = {};  ///< "EFA_v2"
  NcclVersion release = kDefaultNccl;
  bool choice_is_set = false;  ///< NCCL_ALGO or NCCL_PROTO is in the environment
};

}  // namespace fabricast
