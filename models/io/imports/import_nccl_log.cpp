// NCCL_DEBUG=INFO: versions, communicators, rings, networks, transports, choices. Lines differ by
// release (src/init.cc, enqueue.cc, graph/*.cc, transport/*.cc of NCCL 2.7 to 2.30).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "models/io/imports/import_readers.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast::import_readers {

namespace {

std::string first_word(std::string_view text) {
  const auto words = split_words(text);
  return words.empty() ? "" : std::string(words.front());
}

std::optional<std::int64_t> whole_after(std::string_view text, std::string_view key) {
  const std::string_view rest = after(text, key);
  return rest.starts_with('-') ? std::nullopt : leading_number<std::int64_t>(rest);
}

constexpr std::array<std::string_view, 7> kAlgorithmsByNumber = {
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
constexpr std::array<std::string_view, 3> kProtocols = {"LL", "LL128", "Simple"};

/// Numbers up to 2.23, names since.
template <std::size_t N>
std::string choice_word(std::string_view word, const std::array<std::string_view, N>& names) {
  const int number = to_number<int>(word).value_or(-1);
  const bool known = number >= 0 && number < static_cast<int>(N);
  return std::string(known ? names[static_cast<std::size_t>(number)] : word);
}

class NcclLogReader {
 public:
  explicit NcclLogReader(ImportedFile& out) : out_(out) {}

  bool read(const LogText& log) {
    for (const LogLine& line : log.lines) take(line.text);
    if (lines_ == 0) return false;
    out_.kind = import_kind::kNcclLog;
    tell();
    return true;
  }

 private:
  void take(std::string_view text) {
    version(text);
    std::size_t at = text.find("NCCL INFO ");
    if (at == std::string_view::npos) {
      if (text.find("NCCL WARN") != std::string_view::npos) {
        ++lines_;
        ++warnings_[plain(trimmed(after(text, "NCCL WARN")))];
      }
      if (text.find("NCCL CALL") != std::string_view::npos ||
          text.find("NCCL TRACE") != std::string_view::npos)
        ++lines_;
      return;
    }
    ++lines_;
    said(text.substr(at + 10));
  }

  void version(std::string_view text) {
    std::string_view rest = after(text, "NCCL version ");
    if (rest.empty()) rest = after(text, "RCCL version : ");
    std::string word = first_word(rest);
    if (word.empty() || word[0] < '0' || word[0] > '9') return;
    word = word.substr(0, word.find("NCCL"));  // lines that touch
    ++lines_;
    versions_.insert(word);
  }

  void said(std::string_view text) {
    if (const auto ranks = whole_after(text, "nranks ")) ranks_.insert(*ranks);
    if (const auto nodes = whole_after(text, "nNodes ")) nodes_.insert(*nodes);
    ring(text);
    trees(text);
    if (const auto list = after(text, "NET/IB : Using "); !list.empty()) devices(list);
    if (const auto name = after(text, "Using network "); !name.empty())
      networks_.insert(network_name(name));
    setting(text);
    transport(text);
    if (text.find("NVLS") != std::string_view::npos) nvls_ = true;
    if (text.find("Pattern ") != std::string_view::npos) ++patterns_;
    if (const auto cross = whole_after(text, "crossNic "); cross && *cross == 1) cross_nic_ = true;
    if (const auto count = whole_after(text, "nChannels "); count && text.find("Pattern") < 8)
      graph_channels_.insert(*count);
    if (text.starts_with("NET/") && text.find(" :GPU/") != std::string_view::npos)
      nets_.insert(std::string(text.substr(0, text.find(' '))));
    if (text.find(" coll channels") != std::string_view::npos)
      if (channel_line_.empty()) channel_line_ = std::string(trimmed(text));
    tables_ = tables_ || text.find("Max NThreads") != std::string_view::npos;
    if (text.find("GPU Direct RDMA Disabled") != std::string_view::npos) no_gdr_ = true;
    decision(text);
  }

  static std::string network_name(std::string_view text) {
    const std::string_view name = trimmed(text);
    if (name.starts_with("AWS Libfabric")) return "AWS Libfabric";
    return first_word(name);
  }

  /// "Channel 00/16 :    0   1   2": of all channels, the first and how many.
  void ring(std::string_view text) {
    const std::size_t at = text.find("Channel ");
    if (at == std::string_view::npos) return;
    const std::string_view rest = text.substr(at + 8);
    const std::size_t slash = rest.find('/'), colon = rest.find(" :");
    if (slash == std::string_view::npos || colon == std::string_view::npos || slash > colon) return;
    const auto channel = to_number<std::int64_t>(trimmed(rest.substr(0, slash)));
    const auto of = to_number<std::int64_t>(trimmed(rest.substr(slash + 1, colon - slash - 1)));
    if (!channel || !of) return;
    std::vector<std::string> ring;
    for (const std::string_view word : split_words(rest.substr(colon + 2))) {
      if (!to_number<std::int64_t>(word)) break;
      ring.emplace_back(word);
    }
    const bool is_hop = rest.find("->") != std::string_view::npos;
    if (ring.empty() || is_hop || *of == 0) return;
    channels_.insert(*of);
    if (ring_.empty()) ring_ = std::move(ring);
  }

  /// "Trees [0] 26/-1/-1->25->24 [1] ..."
  void trees(std::string_view text) {
    const std::string_view rest = after(text, "Trees [");
    const std::size_t arrow = rest.find("->");
    if (arrow == std::string_view::npos) return;
    if (const auto rank = whole_after(rest.substr(arrow), "->")) tree_ranks_.insert(*rank);
  }

  void devices(std::string_view list) {
    std::vector<std::string> names;
    for (const std::string_view word : split_words(list)) {
      if (word.starts_with(';')) break;
      if (word.starts_with('[') && word.find(']') != std::string_view::npos) {
        const std::string name(word.substr(word.find(']') + 1));
        if (!name.empty() && name.find(':') != std::string::npos) names.push_back(name);
      }
    }
    if (names.size() > devices_.size()) devices_ = std::move(names);
  }

  void setting(std::string_view text) {
    for (const std::string_view set : {" set by environment to ", " set to "}) {
      const std::size_t at = text.find(set);
      if (at == std::string_view::npos) continue;
      const auto before = split_words(text.substr(0, at));
      std::string_view value = trimmed(text.substr(at + set.size()));
      if (value.ends_with('.')) value.remove_suffix(1);
      if (!before.empty() && before.back().starts_with("NCCL_"))
        settings_[std::string(before.back())] = std::string(value);
      return;
    }
  }

  /// "via NET/IB/0/GDRDMA" without its device
  void transport(std::string_view text) {
    if (text.find("->") == std::string_view::npos &&
        text.find("Channel") == std::string_view::npos &&
        text.find("COLLNET") == std::string_view::npos)
      return;
    std::string_view rest = after(text, " via ");
    rest = trimmed(rest.substr(0, rest.find(" comm ")));
    if (rest.empty()) return;
    std::vector<std::string> parts;
    while (!rest.empty()) {
      const std::size_t slash = std::min(rest.find('/'), rest.size());
      std::string_view part = rest.substr(0, slash);
      part = part.substr(0, part.find('('));
      if (!to_number<std::int64_t>(part)) parts.emplace_back(part);
      rest.remove_prefix(std::min(slash + 1, rest.size()));
    }
    const std::string name = joined(parts, "/");
    ++transports_[name];
    if (name.starts_with("NET/")) {
      ++hops_;
      direct_ += name.find("GDRDMA") != std::string::npos ? 1 : 0;
    }
  }

  /// "AllGather: 16 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}"
  void decision(std::string_view text) {
    const std::size_t at = text.find(" Bytes -> ");
    if (at == std::string_view::npos) return;
    const auto before = split_words(text.substr(0, at));
    const std::string_view rest = text.substr(at + 10);
    const std::string algorithm = first_word(after(rest, "Algo "));
    const std::string protocol = first_word(after(rest, "proto "));
    if (before.empty() || algorithm.empty() || protocol.empty()) return;
    LoggedChoice choice;
    const auto bytes = to_number<std::int64_t>(before.back());
    if (!bytes) return;
    choice.bytes = *bytes;
    if (before.size() > 1 && before[before.size() - 2].ends_with(':'))
      choice.collective =
          std::string(before[before.size() - 2].substr(0, before[before.size() - 2].size() - 1));
    choice.algorithm = choice_word(algorithm, kAlgorithmsByNumber);
    choice.protocol = choice_word(protocol, kProtocols);
    const auto low = whole_after(rest, "={"), high = whole_after(after(rest, "={"), "..");
    if (low && high && *high >= *low && *high < 1024)
      choice.channels = static_cast<int>(*high - *low + 1);
    if (std::ranges::find(out_.choices, choice) == out_.choices.end())
      out_.choices.push_back(std::move(choice));
  }

  static std::string text_of(const LoggedChoice& choice) {
    return fmt::format("{}{} {} {}{}", choice.collective.empty() ? "" : choice.collective + ": ",
                       choice.bytes, choice.algorithm, choice.protocol,
                       choice.channels > 0 ? fmt::format(" x{}", choice.channels) : "");
  }

  template <class Set>
  static std::string numbers(const Set& set, const char* between = " ") {
    std::vector<std::string> words;
    for (const auto number : set) words.push_back(std::to_string(number));
    return joined(words, between);
  }
  static std::string words(const std::set<std::string>& set) {
    return joined({set.begin(), set.end()});
  }

  void tell() {
    out_.add("version", words(versions_));
    out_.add("ranks", numbers(ranks_));
    out_.add("nodes", numbers(nodes_));
    out_.add("channels", numbers(channels_));
    out_.add("channels in graphs", numbers(graph_channels_));
    out_.add("channel line", channel_line_);
    out_.add("ring 0", joined(ring_, " "));
    if (!tree_ranks_.empty()) out_.add("ranks with trees", tree_ranks_.size());
    if (!devices_.empty()) out_.add("NET/IB devices", devices_.size());
    out_.add("devices", joined(devices_, " "));
    out_.add("network", words(networks_));
    if (!nets_.empty()) out_.add("nets with paths", nets_.size());
    std::vector<std::string> ways, set, chosen;
    for (const auto& [name, count] : transports_) ways.push_back(name);
    out_.add("transports", joined(ways));
    if (hops_ > 0)
      out_.add("GPUDirect RDMA",
               fmt::format("{} of {}", direct_, counted(hops_, "network connection")));
    for (const auto& [name, value] : settings_) {
      set.push_back(fmt::format("{}={}", name, value));
      out_.settings.push_back({name, value});
    }
    out_.add("settings", joined(set, "; "));
    if (nvls_) out_.add("NVLS", "yes");
    if (cross_nic_) out_.add("crossNic", "1: a ring leaves by another NIC than it enters");
    if (patterns_ > 0) out_.add("graph lines", static_cast<std::size_t>(patterns_));
    if (tables_) out_.add("tuning table", "yes");
    for (const LoggedChoice& choice : out_.choices) chosen.push_back(text_of(choice));
    out_.add("choices", joined(chosen, "; "));
    remarks();
  }

  void remarks() {
    if (versions_.size() > 1) out_.remark("several releases of NCCL in one log");
    if (hops_ > 0 && direct_ == 0)
      out_.remark("no network connection uses GPUDirect RDMA: bytes go through host memory");
    if (no_gdr_) out_.remark("NCCL says that GPUDirect RDMA is disabled for HCAs");
    if (networks_.contains("Socket") && (hops_ > 0 || (!nodes_.empty() && *nodes_.rbegin() > 1)))
      out_.remark("the network is sockets: RDMA is not used");
    if (ranks_.size() == 1 && *ranks_.begin() == 1)
      out_.remark("communicators of one rank: each process runs for itself");
    for (const auto& [warning, count] : warnings_) {
      if (out_.remarks.size() > 12) break;
      out_.remark(fmt::format("NCCL warns: {}{}{}", warning,
                              count > 1 ? fmt::format(" ({} times)", count) : "",
                              is_noise_of_exit(warning) ? ": noise of the exit, no hang" : ""));
    }
  }

  /// Other processes have gone already (src/proxy.cc).
  static bool is_noise_of_exit(std::string_view warning) {
    for (const std::string_view words : {"Accept failed", "Could not receive type from localRank",
                                         "Failed to execute operation Close"}) {
      if (warning.find(words) != std::string_view::npos) return true;
    }
    return false;
  }

  /// Without numbers, so that equal ones of several ranks are one.
  static std::string plain(std::string_view warning) {
    std::string out;
    for (const char c : warning) {
      const bool digit = c >= '0' && c <= '9';
      if (!digit) out += c;
      if (digit && !out.ends_with('#')) out += '#';
    }
    return out;
  }

  ImportedFile& out_;
  int lines_ = 0, patterns_ = 0, hops_ = 0, direct_ = 0;
  bool nvls_ = false, cross_nic_ = false, tables_ = false, no_gdr_ = false;
  std::set<std::string> versions_, networks_, nets_;
  std::set<std::int64_t> ranks_, nodes_, channels_, graph_channels_, tree_ranks_;
  std::vector<std::string> ring_, devices_;
  std::map<std::string, std::string> settings_;
  std::map<std::string, int> transports_, warnings_;
  std::string channel_line_;
};

}  // namespace

bool read_nccl_log(const LogText& log, ImportedFile& out) { return NcclLogReader(out).read(log); }

}  // namespace fabricast::import_readers
