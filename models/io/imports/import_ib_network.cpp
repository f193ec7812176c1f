// ibnetdiscover: switches, adapters and cables of an InfiniBand subnet; also its -p, one line a
// port.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/io/imports/ib_network.hpp"
#include "models/io/imports/import_readers.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace import_readers {

namespace {

/// Between the n-th pair of quotes, "" if there is none.
std::string quoted(std::string_view text, char quote, int n = 0) {
  std::size_t at = 0;
  for (int i = 0;; ++i) {
    const std::size_t open = text.find(quote, at);
    if (open == std::string_view::npos) return "";
    const std::size_t close = text.find(quote, open + 1);
    if (close == std::string_view::npos) return "";
    if (i == n) return std::string(text.substr(open + 1, close - open - 1));
    at = close + 1;
  }
}

/// "4xNDR" after the comment
std::string speed_of(std::string_view text) {
  for (const std::string_view word : split_words(text)) {
    if (word.size() > 3 && word[0] >= '1' && word[0] <= '9' &&
        word.find('x') != std::string_view::npos && word.find('x') < 3)
      return std::string(word);
  }
  return "";
}

class Parser {
 public:
  IbNetwork parse(const LogText& log) {
    for (const LogLine& line : log.lines) take(line.text);
    return std::move(out_);
  }

 private:
  void take(std::string_view text) {
    const auto words = split_words(text);
    if (words.size() >= 3 && words[0] == "Switch") {
      current_ = quoted(text, '"');
      IbSwitch& node = out_.switches[current_];
      if (const auto ports = to_number<std::int64_t>(words[1]))
        node.ports = static_cast<int>(std::clamp<std::int64_t>(*ports, 0, 4096));
      node.name = quoted(text, '"', 1);
    } else if (words.size() >= 3 && words[0] == "Ca") {
      current_.clear();
      adapter(quoted(text, '"'), quoted(text, '"', 1));
    } else if (text.starts_with('[') && !current_.empty()) {
      link(text);
    } else if (words.size() >= 5 && (words[0] == "SW" || words[0] == "CA") &&
               words[3].starts_with("0x")) {
      report(text, words);
    }
  }

  void adapter(const std::string& id, const std::string& name) {
    if (name.find("Aggregation Node") != std::string::npos) {
      out_.aggregators.insert(id);
    } else if (!id.empty()) {
      out_.adapters[id] = name;
    }
  }

  void link(std::string_view text) {
    const std::string peer = quoted(text, '"'), name = quoted(text, '"', 1);
    const std::size_t comment = text.find('#');
    const std::string speed =
        comment == std::string_view::npos ? "" : speed_of(text.substr(comment));
    if (peer.empty()) return;
    const bool to_adapter = peer.starts_with("H-");
    if (to_adapter) adapter(peer, name);
    if (out_.aggregators.contains(peer)) return;
    const std::string port(text.substr(1, text.find(']') - 1));
    out_.switches[current_].cables.push_back({peer, port, speed, to_adapter});
  }

  /// CA   134  1 0x... 4x EDR - SW  1719 10 0x... ( 'node0001 HCA-1' - 'ibsw002' )
  void report(std::string_view text, const std::vector<std::string_view>& words) {
    ++out_.report_lines;
    const std::string guid(words[3]);
    const bool linked = words.size() > 10 && words[6] == "-";
    const std::string first = quoted(text, '\'');
    if (words[0] == "CA") {
      out_.adapters[guid] = first;
      return;
    }
    IbSwitch& node = out_.switches[guid];
    node.name = first;
    if (node.name.empty() && words.size() > 6)
      node.name = std::string(
          trimmed(text.substr(static_cast<std::size_t>(words[6].data() - text.data()))));
    if (!linked) return out_.unlinked.push_back(fmt::format("{} port {}", node.name, words[2]));
    const std::string peer(words[10]);
    const bool to_adapter = words[7] == "CA";
    if (to_adapter) out_.adapters[peer] = quoted(text, '\'', 1);
    node.cables.push_back(
        {peer, std::string(words[2]), fmt::format("{}{}", words[4], words[5]), to_adapter});
  }

  IbNetwork out_;
  std::string current_;
};

class Teller {
 public:
  Teller(const IbNetwork& network, ImportedFile& out) : network_(network), out_(out) {}

  static std::string counts(const std::map<std::string, int>& of) {
    std::vector<std::string> words;
    for (const auto& [name, count] : of)
      words.push_back(fmt::format("{} x{}", name.empty() ? "?" : name, count));
    return joined(words);
  }

  /// "leaf-001:MQM9701/U1" -> "MQM9701"
  static std::string model_of(const std::string& name) {
    const std::size_t colon = name.find(':');
    if (colon == std::string::npos) return "";
    return name.substr(colon + 1, name.find('/', colon) - colon - 1);
  }

  void tell() {
    out_.kind = network_.report_lines > 0 ? "ibnetdiscover -p" : "ibnetdiscover";
    std::set<std::string> hosts, missing;
    std::map<std::string, int> models, ports, host_speeds, switch_speeds;
    int leaves = 0, parallel = 0, down = 0, up = 0;
    for (const auto& [id, name] : network_.adapters) hosts.insert(name.substr(0, name.find(' ')));
    for (const auto& [id, node] : network_.switches) {
      if (const std::string model = model_of(node.name); !model.empty()) ++models[model];
      if (node.ports > 0) ++ports[std::to_string(node.ports)];
      std::map<std::string, int> peers;
      int to_hosts = 0, to_switches = 0;
      for (const IbCable& cable : node.cables) {
        ++(cable.to_adapter ? host_speeds : switch_speeds)[cable.speed];
        ++(cable.to_adapter ? to_hosts : to_switches);
        if (!cable.to_adapter) ++peers[cable.peer];
      }
      if (to_hosts > 0) {
        ++leaves;
        down += to_hosts;
        up += to_switches;
      }
      for (const auto& [peer, links] : peers) {
        parallel = std::max(parallel, links);
        if (!network_.switches.contains(peer)) missing.insert(peer);
      }
    }
    out_.add("switches", network_.switches.size());
    out_.add("switch models", counts(models));
    out_.add("ports per switch", counts(ports));
    out_.add("leaves", static_cast<std::size_t>(leaves));
    out_.add("hosts", hosts.size());
    out_.add("adapters", network_.adapters.size());
    out_.add("aggregation nodes", network_.aggregators.size());
    out_.add("links to adapters", counts(host_speeds));
    out_.add("links between switches (counted at each end)", counts(switch_speeds));
    if (parallel > 0) out_.add("most parallel links", static_cast<std::size_t>(parallel));
    if (leaves > 0 && up > 0)
      out_.add("fabric", fmt::format("{} with {} down and {} up: {:.2f} : 1",
                                     leaves == 1 ? std::string("1 leaf switch")
                                                 : fmt::format("{} leaf switches", leaves),
                                     down, up, static_cast<double>(down) / up));
    out_.add("ports without a link", joined(network_.unlinked));
    if (!missing.empty())
      out_.remark(
          fmt::format("links lead to {} without a block of their own: the file is partial, "
                      "they are kept as dangling",
                      missing.size() == 1 ? std::string("1 switch")
                                          : fmt::format("{} switches", missing.size())));
    if (network_.switches.empty())
      out_.remark("an adapter and no switch: it has no link, so that the fabric is not seen");
    if (!network_.aggregators.empty())
      out_.remark("aggregation nodes (SHARP) are part of switches, no hosts");
  }

  const IbNetwork& network_;
  ImportedFile& out_;
};

}  // namespace

bool read_ib_network(const LogText& log, ImportedFile& out) {
  const IbNetwork network = parse_ib_network(log);
  if (network.empty()) return false;
  Teller(network, out).tell();
  return true;
}

}  // namespace import_readers

IbNetwork parse_ib_network(const LogText& log) { return import_readers::Parser().parse(log); }

}  // namespace fabricast
