#include "models/io/topologies/calibrated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/io/formats/reader.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/shipped/embedded.hpp"
#include "text/numbers.hpp"

namespace fabricast {
namespace {

constexpr int kRunsMax = 1'000'000'000;
constexpr int kGenerationMax = 99;
constexpr int kLeftOutDigits = 6;
constexpr double kFactorMin = 1e-6, kFactorMax = 1e6;

const char* further_key(std::size_t known) {
  constexpr std::array<const char*, kKnowns> keys = {"bands", "same_hardware", "same_generation",
                                                     "new_hardware"};
  return keys[known];
}

CalibratedValue read_value(const std::string& path, Reader& in) {
  CalibratedValue out;
  out.place = in.place();
  out.path = path;
  out.value = in.text("value");
  out.low = in.text("low");
  out.high = in.text("high");
  out.catalogue = in.text("catalogue");
  in.choice("source", {"calibrate"});
  out.runs = in.whole("runs", 0, kRunsMax);
  in.finish();
  return out;
}

/// The key of a share, "upper_95"; that of kUpperShare is "upper".
const std::string& slow_key(std::size_t i) {
  static const std::vector<std::string> kKeys = [] {
    std::vector<std::string> out;
    for (const double share : kSlowShares) out.push_back(fmt::format("upper_{:.0f}", 100 * share));
    return out;
  }();
  return kKeys[i];
}

/// All of them or none.
void read_slow(Band& out, Reader& in) {
  if (!in.has(slow_key(0))) return;
  out.slow[kUpperShare] = out.upper;
  for (std::size_t i = 0; i < kSlowShares.size(); ++i) {
    if (i == kUpperShare) continue;
    out.slow[i] = in.number(slow_key(i), kFactorMin, kFactorMax);
  }
  if (!std::ranges::is_sorted(out.slow)) in.fail(slow_key(0), "shares of more runs are slower");
}

BandKey read_key(Reader& in) {
  static const std::vector<std::string> kRanges(kSizeRangeNames.begin(), kSizeRangeNames.end());
  BandKey out;
  out.hardware = in.text("hardware", "");
  out.network = in.text("network", "");
  out.collective = in.text("collective", "");
  out.range = in.choice("sizes", kRanges);
  out.generation = in.whole("generation", 0, kGenerationMax, 0);
  return out;
}

/// Of a Band or LeftOutBand.
void read_limits(auto& out, Reader& in) {
  out.lower = in.number("lower", kFactorMin, kFactorMax);
  out.upper = in.number("upper", kFactorMin, kFactorMax);
  if (out.lower > out.upper) in.fail("lower", "is above upper");
}

Band read_band(Reader& in, BandKey key) {
  Band out;
  out.key = std::move(key);
  read_limits(out, in);
  out.runs = in.whole("runs", 0, kRunsMax);
  read_slow(out, in);
  in.finish();
  return out;
}

LeftOutBand read_left_out_band(Reader& in) {
  LeftOutBand out;
  out.key = read_key(in);
  out.key.by_launches = in.flag("launches", false);
  read_limits(out, in);
  static const std::vector<std::string> kKnown(kKnownWords.begin(), kKnownWords.end());
  out.known = static_cast<Known>(in.choice("known", kKnown));
  in.finish();
  return out;
}

std::string key_yaml(const BandKey& key) {
  std::string out;
  if (!key.hardware.empty())
    out += fmt::format("hardware: {}, generation: {}, ", key.hardware, key.generation);
  if (!key.network.empty()) out += fmt::format("network: {}, ", key.network);
  if (!key.collective.empty()) out += fmt::format("collective: {}, ", key.collective);
  return out + fmt::format("sizes: \"{}\", ", kSizeRangeNames[key.range]);
}

std::string limits_yaml(const Band& band) {
  std::string slow;
  for (std::size_t i = 0; i < kSlowShares.size() && band.slow.front() > 0; ++i)
    if (i != kUpperShare) slow += fmt::format(", {}: {:.3f}", slow_key(i), band.slow[i]);
  return fmt::format("lower: {:.3f}, upper: {:.3f}{}, runs: {}", band.lower, band.upper, slow,
                     band.runs);
}

std::string bands_yaml(const char* key, const std::vector<Band>& bands) {
  if (bands.empty()) return {};
  std::string out = fmt::format("\n{}:\n", key);
  for (const Band& band : bands)
    out += fmt::format("  - {{{}{}}}\n", key_yaml(band.key), limits_yaml(band));
  return out;
}

LeftOutFits read_left_out(Reader in) {
  LeftOutFits out;
  Reader parameters = in.child("parameters");
  for (const std::string& name : parameters.keys())
    out.parameters.emplace_back(name, parameters.texts(name));
  parameters.finish();
  Reader factors = in.child("factors");
  for (const std::string& source : factors.keys()) {
    std::vector<double>& own = out.factors[source];
    for (const std::string& text : factors.texts(source)) {
      const auto factor = to_number<double>(text);
      if (!factor || !(*factor >= kFactorMin && *factor <= kFactorMax))
        factors.fail(source, fmt::format("\"{}\" is no factor", text));
      own.push_back(*factor);
    }
    if (own.size() != out.parameters.size())
      factors.fail(source,
                   fmt::format("{} factors of {} parameters", own.size(), out.parameters.size()));
  }
  factors.finish();
  if (in.has("bands")) {
    Reader bands = in.child("bands");
    for (const std::string& source : bands.keys())
      for (Reader& band : bands.children(source))
        out.bands[source].push_back(read_left_out_band(band));
    bands.finish();
  }
  in.finish();
  return out;
}

std::string left_out_yaml(const LeftOutFits& left_out) {
  if (left_out.factors.empty()) return {};
  std::string out = "\nleft_out:\n  parameters:\n";
  for (const auto& [name, paths] : left_out.parameters)
    out += fmt::format("    {}: [{}]\n", name, fmt::join(paths, ", "));
  out += "  factors:\n";
  for (const auto& [source, factors] : left_out.factors)
    out += fmt::format("    \"{}\": [{:.6g}]\n", source, fmt::join(factors, ", "));
  if (!left_out.bands.empty()) out += "  bands:\n";
  for (const auto& [source, bands] : left_out.bands) {
    if (bands.empty()) continue;
    out += fmt::format("    \"{}\":\n", source);
    for (const LeftOutBand& band : bands)
      out += fmt::format("      - {{{}{}lower: {:.3f}, upper: {:.3f}, known: {}}}\n",
                         key_yaml(band.key), band.key.by_launches ? "launches: true, " : "",
                         band.lower, band.upper, to_text(band.known));
  }
  return out;
}

}  // namespace

bool is_calibrated_file(const std::string& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  if (tree.kind != YamlNode::Kind::mapping) return false;
  Reader in(tree, file);
  return in.has("kind") && !in.is_mapping("kind") && in.text("kind") == "calibrated";
}

Calibrated parse_calibrated(const YamlText& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  in.choice("kind", {"calibrated"});
  Calibrated out;
  for (auto& [path, value] : in.table("values")) out.values.push_back(read_value(path, value));
  const auto read_bands = [&](const char* key, std::vector<Band>& bands) {
    for (Reader& band : in.children(key)) bands.push_back(read_band(band, read_key(band)));
  };
  read_bands("bands", out.bands.bands);
  for (std::size_t known = 1; known < kKnowns; ++known)
    read_bands(further_key(known), out.bands.further[known]);
  read_bands("changes", out.bands.changes);
  if (in.has("launches")) {
    Reader launches = in.child("launches");
    out.bands.launches = read_band(launches, {.by_launches = true});
  }
  if (in.has("left_out")) out.left_out = read_left_out(in.child("left_out"));
  in.finish();
  return out;
}

std::string calibrated_yaml(const Calibrated& calibrated, const std::string& remark) {
  std::string out = remark + "kind: calibrated\n";
  if (!calibrated.values.empty()) out += "\nvalues:\n";
  for (const CalibratedValue& value : calibrated.values) {
    out += fmt::format(
        "  {}: {{value: {}, low: {}, high: {}, catalogue: {}, source: calibrate, runs: {}}}\n",
        value.path, value.value, value.low, value.high, value.catalogue, value.runs);
  }
  out += bands_yaml("bands", calibrated.bands.bands);
  for (std::size_t known = 1; known < kKnowns; ++known)
    out += bands_yaml(further_key(known), calibrated.bands.further[known]);
  if (const std::optional<Band>& launches = calibrated.bands.launches)
    out += fmt::format("\nlaunches: {{{}}}\n", limits_yaml(*launches));
  out += bands_yaml("changes", calibrated.bands.changes);
  return out + left_out_yaml(calibrated.left_out);
}

const Calibrated& shipped_calibrated() {
  static const Calibrated shipped = parse_calibrated(
      find_embedded(embedded_topologies(), "calibrated")->yaml(), "topologies/calibrated.yaml");
  return shipped;
}

void overlay(const Calibrated& calibrated, CatalogueText& catalogue) {
  for (const CalibratedValue& value : calibrated.values) {
    placed(value.place, [&] { return ratio(value.value, catalogue.value(value.path)); });
    catalogue.set(value.path, value.value);
  }
}

CatalogueText catalogue_without(const LeftOutFits& left_out, const std::string& source) {
  CatalogueText text;
  const std::vector<double>& factors = left_out.factors.at(source);
  for (std::size_t k = 0; k < factors.size(); ++k) {
    if (factors[k] == 1) continue;
    text.scale(left_out.parameters[k].second, factors[k], kLeftOutDigits);
  }
  return text;
}

Calibrated load_calibrated(const std::string& own_file) {
  if (!own_file.empty()) {
    const std::string text = read_text_file(own_file);
    if (is_calibrated_file(text, own_file)) {
      Calibrated own = parse_calibrated(text, own_file);
      if (!own.bands.bands.empty()) return own;
    }
  }
  return shipped_calibrated();
}

BandTable load_bands(const std::string& own_file) { return load_calibrated(own_file).bands; }

}  // namespace fabricast
