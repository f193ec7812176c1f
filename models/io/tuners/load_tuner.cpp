#include "models/io/tuners/load_tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "models/io/formats/text_file.hpp"
#include "models/io/tuners/aws_ofi.hpp"
#include "models/io/tuners/ncclx_tuner.hpp"
#include "models/io/tuners/tuner_csv.hpp"
#include "models/io/tuners/tuner_words.hpp"
#include "text/quoting.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr std::string_view kAwsOfi = "aws-ofi";
constexpr auto kReadingWords =
    enum_words<TunerReading>("file", "nccl-example", "fabricast", "ncclx");

/// Calls `see(line, number)` for lines that are neither empty nor comments, until it returns true.
bool any_line(std::string_view text, const auto& see) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = trimmed(line);
    if (!line.empty() && line.front() != '#' && see(line, number)) return true;
  }
  return false;
}

[[noreturn]] void fail_unread(const std::string& file, int line, const std::string& why) {
  throw Error(
      Place{file, line, {}}, why,
      "known are NCCL's example plugin "
      "(collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks) and NCCLX "
      "(collective,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks; or JSON)");
}

/// Protocol buffers as text: "name {" or "name: value".
bool is_textproto(std::string_view line) {
  const std::size_t end = line.find_first_not_of(
      "abcdefghijklmnopqrstuvwxyz"
      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  if (end == 0 || end == std::string_view::npos) return false;
  const std::string_view rest = trimmed(line.substr(end));
  return rest.starts_with('{') || rest.starts_with(':');
}

/// By the place of the first known algorithm.
TunerReading recognised(const std::string& text, const std::string& file) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') return TunerReading::ncclx;
  TunerReading out = TunerReading::recognised;
  int begin = 0;
  any_line(text, [&](std::string_view line, int number) {
    if (begin == 0) {
      begin = number;
      if (is_textproto(line)) {
        throw Error(
            Place{file, number, {}},
            "this is a protocol buffer as text, as Google's tuner reads: its fields are not "
            "public, and it cannot be read",
            "write its rules for NCCL's example plugin: "
            "collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks");
      }
    }
    const auto fields = ncclx_fields(line);
    const auto algorithm = [&](std::size_t field) {
      return fields.size() > field && kTunerAlgorithmWords.find(fields[field]);
    };
    if (algorithm(3)) out = TunerReading::nccl_example;
    if (algorithm(2)) out = TunerReading::ncclx;
    return out != TunerReading::recognised;
  });
  if (begin == 0) fail_unread(file, 0, "has no rule for a tuner");
  if (out == TunerReading::recognised)
    fail_unread(file, begin, "is no file for a tuner that is known: no line names an algorithm");
  return out;
}

std::unique_ptr<const TunerPlugin> csv_plugin(const std::string& text, const std::string& file,
                                              TunerSilence silence) {
  TunerCsv csv = read_tuner_csv(text);
  if (csv.rules.empty())
    fail_unread(file, 0, "has no line that is a rule of NCCL's example plugin");
  return csv_tuner(std::move(csv), file, silence);
}

/// "name" and what follows the colon; the name is "" where it is that of no tuner.
std::pair<std::string, std::string> split(const std::string& what) {
  const std::size_t colon = std::min(what.find(':'), what.size());
  const std::string name = what.substr(0, colon);
  const bool known = name == kAwsOfi || (name != kReadingWords[TunerReading::recognised] &&
                                         kReadingWords.find(name) && colon < what.size());
  if (!known) return {"", what};
  return {name, what.substr(std::min(colon + 1, what.size()))};
}

std::string hint_for(const std::string& what) {
  const std::string name = what.substr(0, what.find(':'));
  const std::string near =
      nearest(name, {std::string(kAwsOfi), "nccl-example", "fabricast", "ncclx"});
  if (!near.empty()) return fmt::format("did you mean \"{}\"?", near);
  return "a tuner is a file, aws-ofi, aws-ofi:p5.48xlarge, or nccl-example:, fabricast: or ncclx: "
         "in front of a file";
}

}  // namespace

std::unique_ptr<const TunerPlugin> parse_tuner(const std::string& text, const std::string& file,
                                               const TunerSite& site, TunerReading reading) {
  if (reading == TunerReading::recognised) reading = recognised(text, file);
  switch (reading) {
    case TunerReading::fabricast:
      return csv_plugin(text, file, TunerSilence::nothing);
    case TunerReading::ncclx: {
      const std::size_t first = text.find_first_not_of(" \t\r\n");
      const bool json = first != std::string::npos && text[first] == '{';
      return ncclx_tuner(json ? parse_ncclx_json(text, file) : parse_ncclx_csv(text, file), file,
                         site);
    }
    case TunerReading::recognised:
    case TunerReading::nccl_example:
      break;
  }
  if (site.release < kTunerFileSince) {
    throw Error(
        fmt::format("the example tuner plugin of NCCL {} reads no file", to_text(site.release)),
        fmt::format("that of 2.27.5 and later does; fabricast:{} is read as our own plugin "
                    "reads it",
                    line_text(file)));
  }
  return csv_plugin(text, file, TunerSilence::one_channel);
}

std::unique_ptr<const TunerPlugin> load_tuner(const std::string& what, const TunerSite& site) {
  const auto [name, rest] = split(what);
  if (name == kAwsOfi) return aws_ofi_plugin(load_aws_ofi(), rest, site);
  const TunerReading reading = name.empty() ? TunerReading::recognised : *kReadingWords.find(name);
  return parse_tuner(read_text_file(rest, hint_for(what)), rest, site, reading);
}

}  // namespace fabricast
