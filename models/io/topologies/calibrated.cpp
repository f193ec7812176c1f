#include "models/io/topologies/calibrated.hpp"

#include <fmt/format.h>

#include "models/io/formats/embedded.hpp"
#include "models/io/formats/reader.hpp"
#include "models/io/formats/text_file.hpp"

namespace fabricast {
namespace {

constexpr int kRunsMax = 1'000'000'000;
constexpr double kFactorMin = 1e-6, kFactorMax = 1e6;

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

Band read_band(Reader& in) {
  Band out;
  out.key.hardware = in.text("hardware", "");
  out.key.network = in.text("network", "");
  out.key.collective = in.text("collective", "");
  out.key.range = in.choice("sizes", {kSizeRangeNames.begin(), kSizeRangeNames.end()});
  out.lower = in.number("lower", kFactorMin, kFactorMax);
  out.upper = in.number("upper", kFactorMin, kFactorMax);
  out.runs = in.whole("runs", 0, kRunsMax);
  if (out.lower > out.upper) in.fail("lower", "is above upper");
  in.finish();
  return out;
}

std::string band_yaml(const Band& band) {
  std::string key;
  if (!band.key.hardware.empty()) key += fmt::format("hardware: {}, ", band.key.hardware);
  if (!band.key.network.empty()) key += fmt::format("network: {}, ", band.key.network);
  if (!band.key.collective.empty()) key += fmt::format("collective: {}, ", band.key.collective);
  return fmt::format("  - {{{}sizes: \"{}\", lower: {:.3f}, upper: {:.3f}, runs: {}}}\n", key,
                     kSizeRangeNames[band.key.range], band.lower, band.upper, band.runs);
}

std::string bands_yaml(const char* key, const std::vector<Band>& bands) {
  if (bands.empty()) return {};
  std::string out = fmt::format("\n{}:\n", key);
  for (const Band& band : bands) out += band_yaml(band);
  return out;
}

}  // namespace

bool is_calibrated_file(const std::string& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  if (tree.kind != YamlNode::Kind::mapping) return false;
  Reader in(tree, file);
  return in.has("kind") && !in.is_mapping("kind") && in.text("kind") == "calibrated";
}

Calibrated parse_calibrated(const std::string& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  in.choice("kind", {"calibrated"});
  Calibrated out;
  for (auto& [path, value] : in.table("values")) out.values.push_back(read_value(path, value));
  for (Reader& band : in.children("bands")) out.bands.bands.push_back(read_band(band));
  for (Reader& band : in.children("new_hardware"))
    out.bands.extrapolated.push_back(read_band(band));
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
  return out + bands_yaml("new_hardware", calibrated.bands.extrapolated);
}

const Calibrated& shipped_calibrated() {
  static const Calibrated shipped = [] {
    for (const EmbeddedFile& file : embedded_topologies()) {
      if (file.name == "calibrated")
        return parse_calibrated(std::string(file.text), "topologies/calibrated.yaml");
    }
    return Calibrated{};
  }();
  return shipped;
}

void overlay(const Calibrated& calibrated, CatalogueText& catalogue) {
  for (const CalibratedValue& value : calibrated.values) {
    placed(value.place, [&] { return ratio(value.value, catalogue.value(value.path)); });
    catalogue.set(value.path, value.value);
  }
}

BandTable load_bands(const std::string& own_file) {
  if (!own_file.empty()) {
    const std::string text = read_text_file(own_file);
    if (is_calibrated_file(text, own_file)) {
      BandTable own = parse_calibrated(text, own_file).bands;
      if (!own.bands.empty()) return own;
    }
  }
  return shipped_calibrated().bands;
}

}  // namespace fabricast
