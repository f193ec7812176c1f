// ibnetdiscover: switches, adapters and cables of an InfiniBand subnet; also its -p, one line a
// port.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/io/counted.hpp"
#include "models/io/import_readers.hpp"
#include "models/io/words.hpp"

namespace fabricast::import_readers {

namespace {

struct Switch {
  int ports = 0;
  std::string name;
  int hosts = 0, up = 0;             ///< links to adapters, to other switches
  std::map<std::string, int> peers;  ///< switch -> parallel links
};

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

class NetworkReader {
 public:
  explicit NetworkReader(ImportedFile& out) : out_(out) {}

  bool read(const LogText& log) {
    for (const LogLine& line : log.lines) take(line.text);
    if (switches_.empty() && adapters_.empty() && report_lines_ == 0) return false;
    out_.kind = report_lines_ > 0 ? "ibnetdiscover -p" : "ibnetdiscover";
    tell();
    return true;
  }

 private:
  void take(std::string_view text) {
    const auto words = split_words(text);
    if (words.size() >= 3 && words[0] == "Switch") {
      current_ = quoted(text, '"');
      Switch& node = switches_[current_];
      std::int64_t ports = 0;
      if (parse_whole(words[1], ports))
        node.ports = static_cast<int>(std::clamp<std::int64_t>(ports, 0, 4096));
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
      aggregators_.insert(id);
    } else if (!id.empty()) {
      adapters_[id] = name;
    }
  }

  void link(std::string_view text) {
    const std::string peer = quoted(text, '"'), name = quoted(text, '"', 1);
    const std::size_t comment = text.find('#');
    const std::string speed =
        comment == std::string_view::npos ? "" : speed_of(text.substr(comment));
    if (peer.empty()) return;
    Switch& here = switches_[current_];
    if (peer.starts_with("H-")) {
      adapter(peer, name);
      if (aggregators_.contains(peer)) return;
      ++here.hosts;
      ++host_speeds_[speed];
    } else {
      ++here.up;
      ++here.peers[peer];
      ++switch_speeds_[speed];
    }
  }

  /// CA   134  1 0x... 4x EDR - SW  1719 10 0x... ( 'node0001 HCA-1' - 'ibsw002' )
  void report(std::string_view text, const std::vector<std::string_view>& words) {
    ++report_lines_;
    const std::string guid(words[3]);
    const bool linked = words.size() > 10 && words[6] == "-";
    const std::string first = quoted(text, '\'');
    if (words[0] == "SW") {
      Switch& node = switches_[guid];
      node.name = first;
      if (node.name.empty() && words.size() > 6)
        node.name = std::string(
            trimmed(text.substr(static_cast<std::size_t>(words[6].data() - text.data()))));
      if (!linked) return unlinked_.push_back(fmt::format("{} port {}", node.name, words[2]));
      const std::string peer(words[10]);
      if (words[7] == "CA") {
        adapters_[peer] = quoted(text, '\'', 1);
        ++node.hosts;
        ++host_speeds_[fmt::format("{}{}", words[4], words[5])];
      } else {
        ++node.up;
        ++node.peers[peer];
        ++switch_speeds_[fmt::format("{}{}", words[4], words[5])];
      }
    } else {
      adapters_[guid] = first;
    }
  }

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
    std::set<std::string> hosts, missing;
    std::map<std::string, int> models, ports, uplinks;
    int leaves = 0, parallel = 0, down = 0, up = 0;
    for (const auto& [id, name] : adapters_) hosts.insert(name.substr(0, name.find(' ')));
    for (const auto& [id, node] : switches_) {
      if (const std::string model = model_of(node.name); !model.empty()) ++models[model];
      if (node.ports > 0) ++ports[std::to_string(node.ports)];
      if (node.hosts > 0) {
        ++leaves;
        down += node.hosts;
        up += node.up;
      }
      for (const auto& [peer, links] : node.peers) {
        parallel = std::max(parallel, links);
        if (!switches_.contains(peer)) missing.insert(peer);
      }
    }
    out_.add("switches", switches_.size());
    out_.add("switch models", counts(models));
    out_.add("ports per switch", counts(ports));
    out_.add("leaves", static_cast<std::size_t>(leaves));
    out_.add("hosts", hosts.size());
    out_.add("adapters", adapters_.size());
    out_.add("aggregation nodes", aggregators_.size());
    out_.add("links to adapters", counts(host_speeds_));
    out_.add("links between switches (counted at each end)", counts(switch_speeds_));
    if (parallel > 0) out_.add("most parallel links", static_cast<std::size_t>(parallel));
    if (leaves > 0 && up > 0)
      out_.add("fabric", fmt::format("{} with {} down and {} up: {:.2f} : 1",
                                     leaves == 1 ? std::string("1 leaf switch")
                                                 : fmt::format("{} leaf switches", leaves),
                                     down, up, static_cast<double>(down) / up));
    out_.add("ports without a link", joined(unlinked_));
    if (!missing.empty())
      out_.remark(
          fmt::format("links lead to {} without a block of their own: the file is partial, "
                      "they are kept as dangling",
                      missing.size() == 1 ? std::string("1 switch")
                                          : fmt::format("{} switches", missing.size())));
    if (switches_.empty())
      out_.remark("an adapter and no switch: it has no link, so that the fabric is not seen");
    if (!aggregators_.empty())
      out_.remark("aggregation nodes (SHARP) are part of switches, no hosts");
  }

  ImportedFile& out_;
  std::string current_;
  std::map<std::string, Switch> switches_;
  std::map<std::string, std::string> adapters_;
  std::set<std::string> aggregators_;
  std::map<std::string, int> host_speeds_, switch_speeds_;
  std::vector<std::string> unlinked_;
  int report_lines_ = 0;
};

}  // namespace

bool read_ib_network(const LogText& log, ImportedFile& out) { return NetworkReader(out).read(log); }

}  // namespace fabricast::import_readers
