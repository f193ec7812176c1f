// workloads/prices.yaml -> Prices, and a user's own file on top of it.
#include <fmt/format.h>

#include <algorithm>

#include "models/io/formats/reader.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

constexpr double kUsdMax = 1e7;
constexpr double kUsdPerHourMax = 1000;
constexpr double kYearsMax = 50;

template <class Map>
void add_names(const Map& map, std::vector<std::string>& out) {
  for (const auto& [name, unused] : map) out.push_back(name);
}

/// One file. Without a base every key of it is needed, and every figure has a source.
class PricesReader {
 public:
  PricesReader(Reader& root, const std::string& file, const Prices* base,
               const PartsCatalogue* parts)
      : root_(root), file_(file), is_own_(base != nullptr), parts_(parts), figures_(sources_) {
    if (base != nullptr) out_ = *base;
    as_of_file_ = is_own_ ? root.text("as_of", "") : root.text("as_of");
    read_dated_sources();
  }

  Prices read() {
    if (wants("gpus")) out_.as_of = as_of_file_;
    read_table("gpus", kUsdPerHourMax, out_.gpus, known(&PartsCatalogue::gpus, out_.gpus));
    read_table("nics", kUsdMax, out_.nics, known(&PartsCatalogue::nics, out_.nics));
    read_table("switches", kUsdMax, out_.switches,
               known(&PartsCatalogue::fabric_switches, out_.switches));
    read_table("transceivers", kUsdMax, out_.transceivers,
               known(&PartsCatalogue::transceivers, out_.transceivers));
    read_cables();
    if (wants("power_price")) out_.power = figure(root_, "power_price", 0, kUsdPerHourMax);
    if (wants("fabric_years")) out_.fabric_years = figure(root_, "fabric_years", 0.1, kYearsMax);
    return std::move(out_);
  }

 private:
  /// What is absent is asked for all the same: it is a word that hints may name.
  bool wants(std::string_view key) const {
    if (!is_own_ || root_.has(key)) return true;
    root_.table(key);
    return false;
  }

  /// Each with the month for which it speaks.
  void read_dated_sources() {
    for (auto& [name, entry] : root_.table("sources")) {
      Source source;
      source.what = entry.prose("what");
      source.url = entry.text("url", "");
      as_of_[name] = entry.text("as_of", as_of_file_);
      entry.finish();
      sources_[name] = std::move(source);
    }
  }

  PriceFigure figure(Reader& in, std::string_view key, double least, double most) const {
    PriceFigure out;
    if (is_own_ && in.has(key) && !in.is_mapping(key)) {
      out = {in.number(key, least, most), file_, "own", as_of_file_, ""};
      return out;
    }
    out.value = figures_.number(in, key, least, most);
    Reader again = in.child(key);
    const std::string source = again.text("source");
    out.source = sources_.at(source).what;
    out.status = again.text("status");
    out.as_of = as_of_.at(source);
    out.note = again.prose("note", "");
    return out;
  }

  /// What a table may price: what is priced already, and the parts of the catalogue.
  template <class Part, class Priced>
  std::vector<std::string> known(std::map<std::string, Part> PartsCatalogue::*parts,
                                 const Priced& priced) const {
    std::vector<std::string> out;
    add_names(priced, out);
    if (parts_ != nullptr) add_names(parts_->*parts, out);
    return out;
  }

  void check_known(const Reader& in, const std::string& name,
                   const std::vector<std::string>& known) const {
    if (!is_own_ || std::find(known.begin(), known.end(), name) != known.end()) return;
    in.fail(name, fmt::format("no part is named \"{}\"", name), hint_nearest(name, known));
  }

  void read_table(std::string_view key, double most, PriceTable& table,
                  const std::vector<std::string>& known) const {
    if (!wants(key)) return;
    Reader in = root_.child(key);
    for (const std::string& name : in.keys()) {
      check_known(in, name, known);
      table[name] = figure(in, name, 0, most);
    }
    in.finish();
  }

  void read_cables() {
    if (!wants("cables")) return;
    std::vector<std::string> known_cables = known(&PartsCatalogue::copper_cables, out_.cables);
    if (parts_ != nullptr)
      for (const auto& [name, part] : parts_->transceivers) known_cables.push_back(part.fibre);
    Reader in = root_.child("cables");
    for (const std::string& name : in.keys()) {
      check_known(in, name, known_cables);
      Reader cable = in.child(name);
      const bool needs_both = !out_.cables.contains(name);
      CablePrice& price = out_.cables[name];
      if (needs_both || cable.has("per_piece"))
        price.piece = figure(cable, "per_piece", 0, kUsdMax);
      if (needs_both || cable.has("per_metre"))
        price.metre = figure(cable, "per_metre", 0, kUsdMax);
      cable.finish();
    }
    in.finish();
  }

  Reader& root_;
  const std::string& file_;
  bool is_own_;
  const PartsCatalogue* parts_;
  std::map<std::string, Source> sources_;
  std::map<std::string, std::string> as_of_;  ///< by source
  std::string as_of_file_;
  Figures figures_;
  Prices out_;
};

Prices read_prices(const YamlText& text, const std::string& file, const Prices* base,
                   const PartsCatalogue* parts) {
  const YamlNode tree = parse_yaml(text, file);
  Reader root(tree, file);
  root.choice("kind", {"prices"});
  Prices out = PricesReader(root, file, base, parts).read();
  root.finish();
  return out;
}

}  // namespace

Prices parse_prices(const YamlText& text, const std::string& file) {
  return read_prices(text, file, nullptr, nullptr);
}

Prices parse_own_prices(const std::string& text, const std::string& file, const Prices& base,
                        const PartsCatalogue& parts) {
  return read_prices(text, file, &base, &parts);
}

}  // namespace fabricast
