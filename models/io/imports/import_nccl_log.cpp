// NCCL_DEBUG=INFO: versions, communicators, rings, networks, transports, choices. Lines differ by
// release (src/init.cc, enqueue.cc, graph/*.cc, transport/*.cc of NCCL 2.7 to 2.30).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "models/io/imports/import_readers.hpp"
#include "models/io/imports/nccl_messages.hpp"
#include "text/counted.hpp"
#include "text/cut.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast::import_readers {

namespace {

std::string first_word(std::string_view text) {
  const auto words = split_words(text);
  return words.empty() ? "" : std::string(words.front());
}

/// The last word, where it is a whole number.
std::optional<std::int64_t> last_whole(std::string_view text) {
  const auto words = split_words(text);
  return to_number<std::int64_t>(words.empty() ? "" : words.back());
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

/// What is said more than once, by whom first.
struct Said {
  std::string first, host;
  int count = 0;
  bool warned = false;
};

/// What one host says of itself.
struct HostFacts {
  std::set<std::string> releases, networks;
  std::set<std::int64_t> channels;
  std::vector<std::string> devices;
  std::map<std::string, std::string> settings;
  int hops = 0, direct = 0;
  bool no_gdr = false;

  /// "" = nothing is said of it.
  std::string gdr() const {
    if (no_gdr || (hops > 0 && direct == 0)) return "off";
    if (hops == 0) return "";
    return direct == hops ? "on" : "on for some connections";
  }
};

/// The release without what it was built for: "2.21.5" of "2.21.5+cuda12.4", and of a sentence.
std::string bare_release(std::string_view word) {
  word = word.substr(0, word.find('+'));
  while (!word.empty() && (word.back() < '0' || word.back() > '9') && word.find('.') != word.npos)
    word.remove_suffix(1);
  return std::string(word);
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
    if (const std::size_t next = glued(text); next != std::string_view::npos) {
      take(text.substr(0, next));
      take(text.substr(next));
      return;
    }
    exception(text);
    std::size_t at = text.find("NCCL INFO ");
    host_ = host_of(text);
    version(text);
    if (at == std::string_view::npos) {
      if (text.find("NCCL WARN") != std::string_view::npos) {
        ++lines_;
        note(trimmed(after(text, "NCCL WARN")), true);
      }
      if (text.find("NCCL CALL") != std::string_view::npos ||
          text.find("NCCL TRACE") != std::string_view::npos)
        ++lines_;
      return;
    }
    ++lines_;
    said(text.substr(at + 10));
  }

  /// Where a second line of the same host begins, without a line break before it.
  static std::size_t glued(std::string_view text) {
    constexpr std::string_view mark = "NCCL INFO ";
    const std::size_t first = text.find(mark);
    if (first == std::string_view::npos) return first;
    const std::size_t second = text.find(mark, first + mark.size());
    const std::string host = host_of(text.substr(0, first));
    if (second == std::string_view::npos || host.empty()) return std::string_view::npos;
    const std::size_t begin = text.rfind(host + ":", second);
    return begin > first ? begin : std::string_view::npos;
  }

  void note(std::string_view message, bool warned) {
    Said& said = messages_[plain(message)];
    if (said.count++ == 0) said = {std::string(message), host_, 1, warned};
  }

  /// What PyTorch and nccl-tests make of an error of NCCL.
  void exception(std::string_view text) {
    if (last_error_follows_) {
      std::string_view error = trimmed(text);
      if (error.starts_with("[rank")) error = trimmed(after(error, "]:"));
      if (!error.empty()) {
        last_errors_.insert(std::string(error));
        last_error_follows_ = false;
      }
    }
    if (text.find("Last error:") != std::string_view::npos) last_error_follows_ = true;
    for (const std::string_view name :
         {"ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError", "ncclInvalidArgument",
          "ncclInvalidUsage", "ncclRemoteError"}) {
      if (text.find(fmt::format("{}:", name)) == std::string_view::npos) continue;
      errors_.insert(std::string(name));
      ++lines_;
    }
    if (const std::string_view failure = after(text, "Test NCCL failure "); !failure.empty())
      errors_.insert(fmt::format("Test NCCL failure {}", trimmed(failure)));
  }

  void version(std::string_view text) {
    std::string_view rest = after(text, "NCCL version ");
    if (rest.empty()) rest = after(text, "RCCL version : ");
    std::string word = first_word(rest);
    if (word.empty() || word[0] < '0' || word[0] > '9') return;
    word = word.substr(0, word.find("NCCL"));  // lines that touch
    if (const std::size_t cuda = word.find("+cuda"); cuda != std::string::npos) {
      const std::size_t end = word.find_first_not_of("0123456789.", cuda + 5);
      if (end != std::string::npos) host_.clear();
      word = word.substr(0, end);
    }
    ++lines_;
    const std::string release = bare_release(word);
    std::string& whole = versions_[release];
    if (word.find('+') != std::string::npos || whole.empty())
      whole = word.find('+') != std::string::npos ? word : release;
    if (!host_.empty()) hosts_[host_].releases.insert(release);
  }

  void said(std::string_view text) {
    if (const auto ranks = whole_after(text, "nranks ")) ranks_.insert(*ranks);
    if (const auto nodes = whole_after(text, "nNodes ")) nodes_.insert(*nodes);
    ring(text);
    trees(text);
    if (const auto list = after(text, "NET/IB : Using "); !list.empty()) devices(list);
    if (const auto name = after(text, "Using network "); !name.empty()) {
      networks_.insert(network_name(name));
      if (!host_.empty()) hosts_[host_].networks.insert(network_name(name));
    }
    initialised(text);
    setting(text);
    transport(text);
    nvls(text);
    if (known_message(text) != nullptr) note(trimmed(text), false);
    if (text.find("Pattern ") != std::string_view::npos) ++patterns_;
    if (const auto cross = whole_after(text, "crossNic "); cross && *cross == 1) cross_nic_ = true;
    if (const auto count = whole_after(text, "nChannels "); count && text.find("Pattern") < 8)
      graph_channels_.insert(*count);
    if (text.starts_with("NET/") && text.find(" :GPU/") != std::string_view::npos)
      nets_.insert(std::string(text.substr(0, text.find(' '))));
    if (const std::size_t coll = text.find(" coll channels"); coll != std::string_view::npos) {
      if (channel_line_.empty()) channel_line_ = std::string(trimmed(text));
      const auto count = last_whole(text.substr(0, coll));
      if (count && !host_.empty()) hosts_[host_].channels.insert(*count);
    }
    tables_ = tables_ || text.find("Max NThreads") != std::string_view::npos;
    if (text.find("GPU Direct RDMA Disabled") != std::string_view::npos) {
      no_gdr_ = true;
      if (!host_.empty()) hosts_[host_].no_gdr = true;
    }
    decision(text);
  }

  /// Channels of NVLS decide; of a log without them what NCCL says of the GPUs.
  void nvls(std::string_view text) {
    if (const std::size_t at = text.find(" nvls channels"); at != std::string_view::npos) {
      const auto count = last_whole(text.substr(0, at));
      if (count) nvls_channels_ = std::max(nvls_channels_.value_or(0), *count);
    }
    if (text.find("NVLS multicast support is not available") != std::string_view::npos ||
        text.find("NCCL_NVLS_ENABLE set by environment to 0") != std::string_view::npos)
      no_nvls_ = true;
    nvls_ = nvls_ || text.find("NVLS comm ") != std::string_view::npos ||
            text.find("NVLS multicast support is available") != std::string_view::npos;
  }

  std::string nvls_text() const {
    if (nvls_channels_) return *nvls_channels_ > 0 ? "yes" : "no";
    return no_nvls_ ? "no" : nvls_ ? "yes" : "";
  }

  /// "comm 0x1 rank 2 nranks 4 ... - Init START": who began, and who came to the end.
  void initialised(std::string_view text) {
    const bool starts = text.find("Init START") != std::string_view::npos;
    const bool ends = text.find("Init COMPLETE") != std::string_view::npos;
    const auto rank = whole_after(text, " rank ");
    if ((!starts && !ends) || !rank) return;
    const std::string of = fmt::format("{} {}", host_, first_word(after(text, "comm ")));
    any_complete_ = any_complete_ || ends;
    if (starts) {
      started_[{of, *rank}] = host_;
    } else {
      started_.erase({of, *rank});
    }
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
    if (!host_.empty() && names.size() > hosts_[host_].devices.size())
      hosts_[host_].devices = names;
    if (names.size() > devices_.size()) devices_ = std::move(names);
  }

  void setting(std::string_view text) {
    for (const std::string_view set : {" set by environment to ", " set to "}) {
      const std::size_t at = text.find(set);
      if (at == std::string_view::npos) continue;
      const auto before = split_words(text.substr(0, at));
      std::string_view value = trimmed(text.substr(at + set.size()));
      if (value.ends_with('.')) value.remove_suffix(1);
      if (!before.empty() && before.back().starts_with("NCCL_")) {
        settings_[std::string(before.back())] = std::string(value);
        if (!host_.empty()) hosts_[host_].settings[std::string(before.back())] = std::string(value);
      }
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
      const int direct = name.find("GDRDMA") != std::string::npos ? 1 : 0;
      ++hops_;
      direct_ += direct;
      if (!host_.empty()) {
        ++hosts_[host_].hops;
        hosts_[host_].direct += direct;
      }
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
    std::vector<std::string> releases;
    for (const auto& [release, whole] : versions_) releases.push_back(whole);
    out_.add("version", joined(releases));
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
    out_.add("NVLS", nvls_text());
    if (cross_nic_) out_.add("crossNic", "1: a ring leaves by another NIC than it enters");
    if (patterns_ > 0) out_.add("graph lines", static_cast<std::size_t>(patterns_));
    if (tables_) out_.add("tuning table", "yes");
    for (const LoggedChoice& choice : out_.choices) chosen.push_back(text_of(choice));
    out_.add("choices", joined(chosen, "; "));
    out_.add("errors", words(errors_));
    for (const std::string& error : last_errors_) out_.add("last error", error);
    remarks();
  }

  bool over_sockets() const { return networks_.contains("Socket"); }

  void remarks() {
    if (versions_.size() > 1) out_.remark("several releases of NCCL in one log");
    if (hops_ > 0 && direct_ == 0)
      out_.remark("no network connection uses GPUDirect RDMA: bytes go through host memory");
    if (no_gdr_) out_.remark("NCCL says that GPUDirect RDMA is disabled for HCAs");
    sockets();
    if (ranks_.size() == 1 && *ranks_.begin() == 1)
      out_.remark("communicators of one rank: each process runs for itself");
    differences();
    unfinished();
    for (const std::string& error : last_errors_) {
      const std::string means = meaning(error);
      if (!means.empty()) out_.remark(fmt::format("the last error: {}", means));
    }
    messages();
  }

  /// Sockets between hosts, and what in the log has led to them.
  void sockets() {
    const bool several =
        hops_ > 0 || hosts_.size() > 1 || (!nodes_.empty() && *nodes_.rbegin() > 1);
    std::string why;
    for (const auto& [name, value] : settings_) {
      const bool off =
          (name == "NCCL_IB_DISABLE" && value == "1") || (name == "NCCL_NET" && value == "Socket");
      if (off) why += fmt::format("{}{}={} is set", why.empty() ? ": " : ", ", name, value);
      if (name == "NCCL_P2P_DISABLE" && value == "1")
        out_.remark("NCCL_P2P_DISABLE=1 is set: GPUs of a node exchange data through host memory");
    }
    const bool one_node = !nodes_.empty() && *nodes_.rbegin() == 1;
    if (over_sockets() && (several || (!why.empty() && !one_node)))
      out_.remark(fmt::format("the network is sockets: RDMA is not used{}", why));
  }

  /// "IB: node01; Socket: node02" of what hosts say, where they differ; else "".
  template <class Of>
  std::string by_host(const Of& of) const {
    std::map<std::string, std::vector<std::string>> hosts;
    for (const auto& [host, facts] : hosts_) {
      const std::string value = of(facts);
      if (!value.empty()) hosts[value].push_back(host);
    }
    if (hosts.size() < 2) return {};
    constexpr std::size_t few = 4;
    std::vector<std::string> groups;
    for (auto& [value, names] : hosts) {
      const std::size_t all = names.size();
      if (all > few) names.resize(few);
      groups.push_back(fmt::format("{}: {}{}", value, joined(names),
                                   all > few ? fmt::format(" and {} more", all - few) : ""));
    }
    return joined(groups, "; ");
  }

  void differ(std::string_view what, const std::string& groups) {
    if (!groups.empty()) out_.remark(fmt::format("hosts differ in {}: {}", what, groups));
  }

  void differences() {
    differ("the release of NCCL",
           by_host([](const HostFacts& host) { return words(host.releases); }));
    differ("the network", by_host([](const HostFacts& host) { return words(host.networks); }));
    differ("HCAs", by_host([](const HostFacts& host) { return joined(host.devices, " "); }));
    differ("GPUDirect RDMA", by_host([](const HostFacts& host) { return host.gdr(); }));
    differ("channels", by_host([](const HostFacts& host) {
             return host.channels.size() == 1 ? numbers(host.channels) : std::string();
           }));
    for (const auto& setting : settings_) {
      const std::string& name = setting.first;
      differ(name, by_host([&](const HostFacts& host) {
               const auto at = host.settings.find(name);
               return at == host.settings.end() ? std::string() : at->second;
             }));
    }
  }

  /// An excerpt without any end of an initialisation says nothing of it once channels are there.
  void unfinished() {
    const bool went_on = !ring_.empty() || !transports_.empty() || !out_.choices.empty();
    if (started_.empty() || (!any_complete_ && (went_on || started_.size() < 2))) return;
    constexpr std::size_t few = 8;
    std::vector<std::string> who;
    std::set<std::pair<std::int64_t, std::string>> ranks;
    for (const auto& [key, host] : started_) ranks.insert({key.second, host});
    for (const auto& [rank, host] : ranks) {
      if (who.size() == few) break;
      who.push_back(host.empty() ? std::to_string(rank) : fmt::format("{} ({})", rank, host));
    }
    const std::size_t more = ranks.size() - who.size();
    out_.remark(fmt::format(
        "Init START without Init COMPLETE: rank {}{}: they wait for a rank that does not come, "
        "failed, or the log ends before",
        joined(who), more > 0 ? fmt::format(" and {} more", more) : ""));
  }

  static std::string meaning(std::string_view message) {
    if (std::string status = completion_status(message); !status.empty()) return status;
    const NcclMessage* known = known_message(message);
    return known == nullptr ? std::string() : std::string(known->means);
  }

  void messages() {
    std::vector<const Said*> told;
    for (const auto& [plain, said] : messages_) {
      const NcclMessage* known = known_message(said.first);
      const bool rdma = !networks_.empty() && !over_sockets();
      const bool idle = known != nullptr && known->matters == NcclMessage::Matters::no_rdma && rdma;
      if (said.warned || !idle) told.push_back(&said);
    }
    std::ranges::stable_sort(told,
                             [](const Said* a, const Said* b) { return a->warned > b->warned; });
    for (const Said* said : told) {
      if (out_.remarks.size() > 16) break;
      constexpr std::size_t most = 200;
      std::string means = meaning(said->first);
      if (is_noise_of_exit(said->first)) means = "noise of the exit, no hang";
      std::vector<std::string> of;
      if (!said->host.empty()) of.push_back(said->host);
      if (said->count > 1) of.push_back(fmt::format("{} times", said->count));
      out_.remark(fmt::format("NCCL {}: {}{}{}{}", said->warned ? "warns" : "says",
                              cut(said->first, most), of.empty() ? "" : " (" + joined(of) + ")",
                              means.empty() ? "" : ": ", means));
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

  /// What equal ones of several ranks have in common: all but numbers.
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
  bool nvls_ = false, no_nvls_ = false, cross_nic_ = false, tables_ = false, no_gdr_ = false;
  bool last_error_follows_ = false, any_complete_ = false;
  std::optional<std::int64_t> nvls_channels_;
  std::string host_;  ///< of the line; "" = not said
  std::map<std::string, HostFacts> hosts_;
  std::map<std::string, std::string> versions_;  ///< as it is printed, by its release
  std::map<std::pair<std::string, std::int64_t>, std::string> started_;  ///< host, by rank of what
  std::map<std::string, Said> messages_;                                 ///< by plain()
  std::set<std::string> networks_, nets_, errors_, last_errors_;
  std::set<std::int64_t> ranks_, nodes_, channels_, graph_channels_, tree_ranks_;
  std::vector<std::string> ring_, devices_;
  std::map<std::string, std::string> settings_;
  std::map<std::string, int> transports_;
  std::string channel_line_;
};

}  // namespace

bool read_nccl_log(const LogText& log, ImportedFile& out) { return NcclLogReader(out).read(log); }

}  // namespace fabricast::import_readers
