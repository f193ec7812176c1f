#include "models/io/tuners/tuner_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/io/tuners/tuner_words.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"
#include "text/quoting.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kLineMost = 255;  // plugin.c: char line[256], read by fgets
constexpr std::size_t kCsvFieldsLeast = 8;

/// Up to the first character that is no digit, as atoi and strtoull read; 0 without any.
template <class Number>
Number number_in(std::string_view text) {
  return leading_number<Number>(text).value_or(0);
}

/// As strtok splits: empty fields vanish.
std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> out;
  while (!line.empty()) {
    const std::size_t comma = std::min(line.find(','), line.size());
    if (comma > 0) out.push_back(trimmed(line.substr(0, comma)));
    line.remove_prefix(std::min(comma + 1, line.size()));
  }
  return out;
}

/// Reads one line into `csv`.
class LineReader {
 public:
  LineReader(TunerCsv& csv, int line) : csv_(csv), line_(line) {}

  void read(std::string_view line) {
    if (line.empty() || line.front() == '#') return;
    const std::vector<std::string_view> fields = fields_of(line);
    if (fields.size() < kCsvFieldsLeast) {
      return note(fmt::format("passed over: {}, at least {} are needed",
                              counted(static_cast<int>(fields.size()), "field"), kCsvFieldsLeast));
    }
    TunerRule out;
    out.collective = word(kTunerCollectiveWords, fields[0], out.collective);
    out.bytes_min = number_in<std::int64_t>(fields[1]);
    out.bytes_max = number_in<std::int64_t>(fields[2]);
    out.algorithm = word(kTunerAlgorithmWords, fields[3], out.algorithm);
    out.protocol = word(kTunerProtocolWords, fields[4], out.protocol);
    out.channels = number_in<int>(fields[5]);
    out.nodes = number_in<int>(fields[6]);
    out.ranks = number_in<int>(fields[7]);
    if (fields.size() > 8) out.operations = number_in<int>(fields[8]);
    if (fields.size() > 9) out.registered = number_in<int>(fields[9]);
    csv_.rules.push_back(out);
    csv_.lines.push_back(line_);
  }

 private:
  template <class Words, class Value>
  Value word(const Words& words, std::string_view text, Value otherwise) {
    if (const auto known = words.find(text)) return *known;
    note(fmt::format("\"{}\" is read as {}", line_text(text), words[otherwise]));
    return otherwise;
  }
  void note(std::string text) {
    if (csv_.notes.size() < kTunerNotesMost)
      csv_.notes.push_back(fmt::format("line {}: {}", line_, text));
  }

  TunerCsv& csv_;
  int line_;
};

bool matches(const TunerRule& rule, const TunerCall& call) {
  const auto fits = [](int wanted, int is) { return wanted == -1 || wanted == is; };
  return rule.collective == call.collective && rule.bytes_min <= call.bytes &&
         call.bytes <= rule.bytes_max && fits(rule.nodes, call.nodes) &&
         fits(rule.ranks, call.ranks) && fits(rule.operations, call.operations) &&
         fits(rule.registered, call.registered ? 1 : 0);
}

std::string_view rest_of(TunerSilence silence) {
  switch (silence) {
    case TunerSilence::one_channel:
      return ": NCCL's example plugin says one channel";
    case TunerSilence::nothing:
      return "";
  }
  return {};
}

class CsvTuner final : public TunerPlugin {
 public:
  CsvTuner(TunerCsv csv, std::string file, TunerSilence silence)
      : csv_(std::move(csv)),
        file_(std::move(file)),
        name_(fmt::format(
            "{}, read as {} reads it", file_,
            silence == TunerSilence::one_channel ? "NCCL's example plugin" : "Fabricast's plugin")),
        silence_(silence) {}

  std::string_view name() const override { return name_; }

  TunerAnswer ask(const TunerCall& call, const TunerOffers& is_there) const override {
    TunerAnswer out;
    if (silence_ == TunerSilence::one_channel) out.channels = 1;
    const std::optional<std::size_t> at = matching_rule(csv_.rules, call, is_there);
    if (!at) {
      out.because = fmt::format("no line of {} matches{}", file_, rest_of(silence_));
      return out;
    }
    const TunerRule& rule = csv_.rules[*at];
    out.pair = {rule.algorithm, rule.protocol};
    out.because = fmt::format("line {} of {}", csv_.lines[*at], file_);
    if (rule.channels > 0) {
      out.channels = rule.channels;
    } else if (rule.channels == -1) {
      if (out.channels) out.because += rest_of(silence_);
    } else {
      out.channels.reset();  // 0: NCCL's own number
    }
    return out;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> out;
    for (const std::string& note : csv_.notes) out.push_back(fmt::format("{}: {}", file_, note));
    return out;
  }

 private:
  TunerCsv csv_;
  std::string file_, name_;
  TunerSilence silence_;
};

}  // namespace

TunerCsv read_tuner_csv(std::string_view text) {
  TunerCsv out;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    do {
      LineReader(out, number).read(line.substr(0, kLineMost));
      line.remove_prefix(std::min(kLineMost, line.size()));
    } while (!line.empty());
  }
  return out;
}

std::vector<TunerRule> parse_tuner_csv(std::string_view text) {
  return std::move(read_tuner_csv(text).rules);
}

std::optional<std::size_t> matching_rule(const std::vector<TunerRule>& rules, const TunerCall& call,
                                         const TunerOffers& is_there) {
  const auto found = std::ranges::find_if(rules, [&](const TunerRule& rule) {
    return matches(rule, call) && is_there(rule.algorithm, rule.protocol);
  });
  if (found == rules.end()) return std::nullopt;
  return static_cast<std::size_t>(found - rules.begin());
}

std::unique_ptr<const TunerPlugin> csv_tuner(TunerCsv csv, std::string file, TunerSilence silence) {
  return std::make_unique<CsvTuner>(std::move(csv), std::move(file), silence);
}

std::string tuner_csv_line(const TunerRule& rule) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{}", kTunerCollectiveWords[rule.collective],
                     rule.bytes_min, rule.bytes_max, kTunerAlgorithmWords[rule.algorithm],
                     kTunerProtocolWords[rule.protocol], rule.channels, rule.nodes, rule.ranks,
                     rule.operations, rule.registered);
}

}  // namespace fabricast
