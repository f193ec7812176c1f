#pragma once
// What NCCL settled before any choice, as tables: one CSV each, columns in docs/decisions.md.

#include <cstdint>
#include <string>
#include <string_view>

#include "models/studies/decide/decide.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

enum class DecideTable : std::uint8_t {
  graphs,          ///< what each search found, and what is left after the exchange between ranks
  graph_channels,  ///< the GPUs and NICs of each searched channel
  rings,           ///< the ring of each channel over all nodes
  trees,           ///< each rank's neighbours on each channel
  paths,           ///< between the GPUs and NICs of a node
  comms,           ///< channel counts and buffers
  model,           ///< latency and bandwidth of every pair of algorithm and protocol in the race
  predictions,     ///< the time of every pair at every size
  systems          ///< size of NCCL's graph of the node, and the limits of its search
};

inline constexpr auto kDecideTableWords =
    enum_words<DecideTable>("graphs", "graph_channels", "rings", "trees", "paths", "comms", "model",
                            "predictions", "systems");

/// A stable contract. Times us, bandwidths GB/s, sizes bytes; nine significant digits, so that a
/// float is read back as it was.
std::string decide_table(const DecideResult& result, DecideTable table);

}  // namespace fabricast
