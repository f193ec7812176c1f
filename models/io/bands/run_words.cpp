#include "models/io/bands/run_words.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "models/nccl/base/releases.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

/// What people say, as plain_word() has it, and what it means.
struct Synonym {
  std::string_view said, means;
};

constexpr std::array kNodeWords = std::to_array<Synonym>({
    {"hgx", "nvswitch"},
    {"dgx", "nvswitch"},
    {"sxm", "nvswitch"},
    {"sxm4", "nvswitch"},
    {"sxm5", "nvswitch"},
    {"sxm6", "nvswitch"},
    {"nvswitches", "nvswitch"},
    {"nvlinkswitch", "nvswitch"},
    {"nvlinknvswitch", "nvswitch"},
    {"nvlinkviaswitch", "nvswitch"},
    {"nvl8", "nvswitch"},
    {"nvlink", "nvlink"},
    {"nvl36x2", "nvl36x2"},
    {"mesh", "nvlink-mesh"},
    {"fullmesh", "nvlink-mesh"},
    {"nvlinkfullmesh", "nvlink-mesh"},
    {"nvlinkdirect", "nvlink-mesh"},
    {"nvlinkp2p", "nvlink-mesh"},
    {"nvl4", "nvlink-mesh"},
    {"nvl2", "nvlink-mesh"},
    {"cubemesh", "nvlink-cube-mesh"},
    {"hybridcubemesh", "nvlink-cube-mesh"},
    {"dgx1", "nvlink-cube-mesh"},
    {"pairs", "nvlink-pairs"},
    {"nvlinkpair", "nvlink-pairs"},
    {"nvlinkbridge", "nvlink-pairs"},
    {"nvlinkbridges", "nvlink-pairs"},
    {"nvlinkbridged", "nvlink-pairs"},
    {"nvbridge", "nvlink-pairs"},
    {"bridge", "nvlink-pairs"},
    {"bridged", "nvlink-pairs"},
    {"pci", "pcie"},
    {"pciexpress", "pcie"},
    {"pcieonly", "pcie"},
    {"pciecards", "pcie"},
    {"pcieswitch", "pcie"},
    {"pcienonvlink", "pcie"},
    {"nonvlink", "pcie"},
    {"mnnvl", "nvl72"},
    {"gb200nvl72", "nvl72"},
    {"gb300nvl72", "nvl72"},
    {"singlegpu", "single"},
    {"onegpu", "single"},
    {"1gpu", "single"},
});

constexpr std::array kNetWords = std::to_array<Synonym>({
    {"infiniband", "ib"},
    {"fdr", "ib"},
    {"edr", "ib"},
    {"hdr", "ib"},
    {"hdr100", "ib"},
    {"ndr", "ib"},
    {"ndr200", "ib"},
    {"xdr", "ib"},
    {"ibfdr", "ib"},
    {"ibedr", "ib"},
    {"ibhdr", "ib"},
    {"ibndr", "ib"},
    {"ibxdr", "ib"},
    {"rocev1", "roce"},
    {"rocev2", "roce"},
    {"roce2", "roce"},
    {"spectrumx", "roce"},
    {"gib", "roce"},
    {"rdma", "roce"},
    {"cxi", "slingshot"},
    {"slingshot11", "slingshot"},
    {"hpeslingshot", "slingshot"},
    {"ss11", "slingshot"},
    {"awsefa", "efa"},
    {"efav1", "efa"},
    {"efav2", "efa"},
    {"efav3", "efa"},
    {"efav4", "efa"},
    {"socket", "tcp"},
    {"sockets", "tcp"},
    {"tcpip", "tcp"},
    {"ip", "tcp"},
    {"ipoib", "tcp"},
    {"eth", "tcp"},
    {"ethernet", "tcp"},
    {"gpudirecttcpx", "tcpx"},
    {"gpudirecttcpxo", "tcpxo"},
    {"fastrak", "tcpxo"},
    {"opa", "omnipath"},
    {"omnipath100", "omnipath"},
    {"intranode", "none"},
    {"singlenode", "none"},
    {"no", "none"},
});

/// Rates of InfiniBand, four lanes: InfiniBand Trade Association, roadmap. HDR100 and NDR200 are of
/// two.
struct IbRate {
  std::string_view word;
  double gbps;
};
constexpr std::array kIbRates = std::to_array<IbRate>({{"fdr", 56},
                                                       {"edr", 100},
                                                       {"hdr", 200},
                                                       {"hdr100", 100},
                                                       {"ndr", 400},
                                                       {"ndr200", 200},
                                                       {"xdr", 800}});

std::string word_of(std::string_view text, std::span<const Synonym> synonyms) {
  const std::string plain = plain_word(text);
  for (const Synonym& one : synonyms)
    if (one.said == plain) return std::string(one.means);
  for (const Synonym& one : synonyms)
    if (plain_word(one.means) == plain) return std::string(one.means);
  return std::string(trimmed(text));
}

/// "400 Gb/s" is 400, "50 GB/s" too.
std::optional<double> rate_in(std::string_view text) {
  constexpr double kBits = 8;
  text = trimmed(text);
  const std::optional<double> value = take_number<double>(text);
  if (!value) return std::nullopt;
  const std::string unit = plain_word(text);
  constexpr std::array bits = {"", "g", "gb", "gbs", "gbps", "gbit", "gbits", "gbitps", "gbe"};
  if (std::ranges::find(bits, unit) == bits.end()) return std::nullopt;
  return text.find('B') != std::string_view::npos ? *value * kBits : *value;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// 2.7.8 is 2708; from 2.9 on 2.27.3 is 22703 (nccl.h).
std::optional<NcclVersion> version_of_code(std::string_view text) {
  constexpr int kOldMin = 2000, kOldMax = 2899, kNewMin = 20900, kNewMax = 29999;
  const int code = to_number<int>(text).value_or(0);
  constexpr int kPatches = 100, kOldSeries = 10, kSeries = 100;
  const auto version = [&](int series) {
    return NcclVersion{static_cast<std::int16_t>(series),
                       static_cast<std::int16_t>(code % kPatches)};
  };
  if (code >= kOldMin && code <= kOldMax) return version(code / kPatches % kOldSeries);
  if (code >= kNewMin && code <= kNewMax) return version(code / kPatches % kSeries);
  return std::nullopt;
}

}  // namespace

std::string node_kind_word(std::string_view text) { return word_of(text, kNodeWords); }

std::string net_kind_word(std::string_view text) {
  std::string word = word_of(text, kNetWords);
  return plain_word(word).starts_with("infiniband") ? "ib" : word;
}

std::optional<double> nic_gbps_in(std::string_view text) {
  text = trimmed(text);
  std::string plain = plain_word(text);
  if (plain.starts_with("ib")) plain.erase(0, 2);
  for (const IbRate& rate : kIbRates)
    if (rate.word == plain) return rate.gbps;
  const std::size_t times = text.find_first_of("xX*");
  if (times != std::string_view::npos) {
    const auto ports = to_number<int>(trimmed(text.substr(0, times)));
    const auto each = rate_in(text.substr(times + 1));
    if (!ports || *ports < 1 || !each) return std::nullopt;
    return *ports * *each;
  }
  return rate_in(text);
}

std::optional<NcclVersion> release_in(std::string_view text) {
  for (std::size_t at = 0; (at = text.find("2.", at)) != std::string_view::npos; ++at) {
    if (at > 0 && (is_digit(text[at - 1]) || text[at - 1] == '.')) continue;
    std::string_view rest = text.substr(at + 2);
    const auto series = take_number<std::int16_t>(rest);
    if (!series || *series < 0) continue;
    const std::string_view patch = rest.starts_with('.') ? rest.substr(1) : std::string_view();
    const auto said = leading_number<std::int16_t>(patch);
    const NcclVersion version{*series, said.value_or(0)};
    return said ? version : modelled_version(version);
  }
  return version_of_code(trimmed(text));
}

std::optional<int> option_in(std::string_view flags, TestOption option) {
  const std::array<std::string, 2> spellings = {std::string("-") + option.letter,
                                                "--" + std::string(option.word)};
  for (const std::string& spelling : spellings) {
    for (std::size_t at = 0; (at = flags.find(spelling, at)) != std::string_view::npos; ++at) {
      if (at > 0 && flags[at - 1] != ' ') continue;
      std::string_view rest = flags.substr(at + spelling.size());
      if (rest.starts_with('=')) rest.remove_prefix(1);
      const int value = leading_number<int>(trimmed(rest)).value_or(0);
      if (value > 0) return value;
    }
  }
  return std::nullopt;
}

Processes processes_in(std::string_view text) {
  const std::string plain = plain_word(text);
  const auto holds = [&](std::string_view word) { return plain.find(word) != std::string::npos; };
  if (holds("pergpu") || holds("perrank") || holds("perdevice") || holds("multiprocess"))
    return Processes::per_gpu;
  if (holds("pernode") || holds("singleprocess") || plain == "oneprocess")
    return Processes::per_node;
  return plain == "mpi" ? Processes::per_gpu : Processes::unknown;
}

bool is_blank_word(std::string_view text) {
  constexpr std::array words = {"", "na", "nan", "null", "unknown", "notknown", "tbd"};
  return std::ranges::find(words, plain_word(text)) != words.end();
}

}  // namespace fabricast
