#pragma once
// What ibnetdiscover saw of an InfiniBand subnet, and the regular fabric that it may be.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/hardware/parts/parts.hpp"
#include "models/io/formats/log_lines.hpp"

namespace fabricast {

/// One end of a cable, at a switch.
struct IbCable {
  std::string peer;   ///< switch or adapter
  std::string port;   ///< of this switch, as printed
  std::string speed;  ///< "4xNDR"; "" = not said
  bool to_adapter = false;
};

struct IbSwitch {
  int ports = 0;  ///< 0 = not said
  std::string name;
  std::vector<IbCable> cables;  ///< aggregation nodes (SHARP) left out
};

struct IbNetwork {
  std::map<std::string, IbSwitch> switches;     ///< by id
  std::map<std::string, std::string> adapters;  ///< by id: "node0007 mlx5_3"
  std::set<std::string> aggregators;            ///< SHARP's, part of switches
  std::vector<std::string> unlinked;            ///< "ibsw005 port 37"
  int report_lines = 0;                         ///< of ibnetdiscover -p

  bool empty() const { return switches.empty() && adapters.empty() && report_lines == 0; }
};
IbNetwork parse_ib_network(const LogText& log);

/// A fabric file (docs/topologies.md), and what of the network does not fit into it.
struct IbFabric {
  std::string yaml;
  std::string summary;             ///< "fat_tree of QM9700: 2 leaves, ..."
  std::vector<std::string> notes;  ///< a sentence each
};
/// `file` is named in it. Throws Error with `file` where the switches are no folded tree of two or
/// three tiers, or the catalogue has no switch like them.
IbFabric fabric_of(const IbNetwork& network, const PartsCatalogue& parts, const std::string& file);

}  // namespace fabricast
