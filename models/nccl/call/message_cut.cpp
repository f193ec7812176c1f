#include "models/nccl/call/message_cut.hpp"

namespace fabricast {

P2pCut message_cut(const CollectiveRun& run, bool remote) {
  const P2pRules& rules = run.p2p.rules;
  const Bytes message{run.count * run.element_bytes};
  const P2pSplit split = p2p_split(rules, message, remote);
  return {split, p2p_part(rules, message, split, 0, remote)};
}

}  // namespace fabricast
