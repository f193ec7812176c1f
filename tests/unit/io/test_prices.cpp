// Goal: prices are read with their sources, a user's file replaces single figures, and what has no
// price is said. Method: the shipped prices, and small files with one mistake each.

#include <doctest/doctest.h>

#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/studies/costs/costs.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

const PartsCatalogue& catalogue() {
  static const PartsCatalogue parts = load_catalogue();
  return parts;
}

Prices own(const std::string& text) {
  return parse_own_prices("kind: prices\n" + text, "p.yaml", load_prices(), catalogue());
}

std::string price_error(const std::string& text) {
  return error_text([&] { own(text); });
}

/// 10 switches and 4 copper cables of 2 m.
FabricBill small_bill() {
  FabricBill out;
  out.lines = {{BillKind::fabric_switch, BillPlace::leaf, "QM9700", 0, 10, 0, 750.0, false},
               {BillKind::copper, BillPlace::node_leaf, "800G_DAC_split", 2, 4, 8, 0.5, false}};
  return out;
}

}  // namespace

TEST_CASE("the shipped prices: every part that is sold has one, with source and status") {
  const Prices prices = load_prices();
  for (const auto& [name, part] : catalogue().fabric_switches)
    CHECK(prices.switches.contains(name));
  for (const auto& [name, part] : catalogue().copper_cables) CHECK(prices.cables.contains(name));
  for (const auto& [name, part] : catalogue().transceivers) {
    CHECK(prices.transceivers.contains(name));
    CHECK(prices.cables.contains(part.fibre));
  }
  for (const auto& [name, part] : catalogue().nics) {
    const bool of_a_cloud =
        name.starts_with("EFA") || name.starts_with("ENA") || name.starts_with("gVNIC");
    CHECK(prices.nics.contains(name) != of_a_cloud);
  }
  const PriceFigure& figure = prices.switches.at("QM9700");
  CHECK(figure.value == 36000);
  CHECK(figure.status == "measured");
  CHECK(figure.as_of == "August 2024");
  CHECK(prices.nics.at("ConnectX-5").as_of == "May 2026");  // of the file
  CHECK(prices.as_of == "May 2026");
  CHECK(prices.gpus.at("H100_SXM5").value == 2.95);
}

TEST_CASE("own prices replace single figures and keep the rest") {
  const Prices prices =
      own("as_of: \"June 2026\"\nswitches: {QM9700: 21000}\n"
          "cables: {800G_DAC: {per_metre: 10}}\npower_price: 0.25\n");
  CHECK(prices.switches.at("QM9700").value == 21000);
  CHECK(prices.switches.at("QM9700").source == "p.yaml");
  CHECK(prices.switches.at("QM9700").status == "own");
  CHECK(prices.switches.at("QM9700").as_of == "June 2026");
  CHECK(prices.switches.at("QM8700").value == load_prices().switches.at("QM8700").value);
  CHECK(prices.cables.at("800G_DAC").metre.value == 10);
  CHECK(prices.cables.at("800G_DAC").piece.value ==
        load_prices().cables.at("800G_DAC").piece.value);
  CHECK(prices.power.value == 0.25);
  CHECK(prices.fabric_years.value == load_prices().fabric_years.value);
  CHECK(prices.as_of == "May 2026");  // of GPUs, which the file does not price
  const Prices sourced = own(
      "sources: {quote: {what: \"a quote\", url: \"https://example.com\", as_of: \"July 2026\"}}\n"
      "nics: {EFA_v2: {value: 5, source: quote, status: measured}}\n");
  CHECK(sourced.nics.at("EFA_v2").source == "a quote");
  CHECK(sourced.nics.at("EFA_v2").as_of == "July 2026");
}

TEST_CASE("own prices: mistakes") {
  CHECK(price_error("switches: {QM970: 1}\n") ==
        "p.yaml:2: switches.QM970: no part is named \"QM970\"\nhint: did you mean \"QM9700\"?");
  CHECK(price_error("cables: {800G_DACC: {per_piece: 1, per_metre: 1}}\n") ==
        "p.yaml:2: cables.800G_DACC: no part is named \"800G_DACC\"\n"
        "hint: did you mean \"800G_DAC\"?");
  CHECK(price_error("cables: {800G_DAC: 100}\n") ==
        "p.yaml:2: cables.800G_DAC: a mapping (key: value) is expected here, not a single value");
  CHECK(price_error("switch: {QM9700: 1}\n") ==
        "p.yaml:2: unknown key \"switch\"\nhint: did you mean \"switches\"?");
  CHECK(price_error("nics: {ConnectX-7: -1}\n") ==
        "p.yaml:2: nics.ConnectX-7: -1 is out of range: 0 to 10000000");
  CHECK(price_error("nics: {ConnectX-7: cheap}\n") ==
        "p.yaml:2: nics.ConnectX-7: \"cheap\" is not a number");
  CHECK(price_error("fabric_years: 0\n") == "p.yaml:2: fabric_years: 0 is out of range: 0.1 to 50");
  CHECK(price_error("nics: {ConnectX-7: {value: 1}}\n") ==
        "p.yaml:2: nics.ConnectX-7: a figure needs its source\n"
        "hint: write {value: ..., source: KEY, status: ...} with a key of \"sources\"");
  CHECK(error_text([] { parse_prices("kind: prices\nas_of: now\ngpus: {H100_SXM5: 3}\n", "p"); }) ==
        "p:3: gpus.H100_SXM5: a figure needs its source\n"
        "hint: write {value: ..., source: KEY, status: ...} with a key of \"sources\"");
}

// 10 x 20,000 USD and 4 x (100 + 2 x 25) USD are 200,600 USD. Over two years of 8766 hours that is
// 11.442 USD an hour; 7502 W at 0.2 USD a kWh are 1.5004 USD an hour.
TEST_CASE("a bill is priced line by line, an hour is capital and power") {
  const Prices prices =
      own("switches: {QM9700: 20000}\ncables: {800G_DAC_split: {per_piece: 100, per_metre: 25}}\n"
          "power_price: 0.2\nfabric_years: 2\n");
  const PricedBill priced = price(small_bill(), prices);
  REQUIRE(priced.lines.size() == 2);
  CHECK(priced.lines[0].usd == 200000);
  CHECK(priced.lines[1].each->value == 150);
  CHECK(priced.lines[1].usd == 600);
  CHECK(priced.usd == 200600);
  CHECK(priced.watts == 7502);
  CHECK(priced.capital_per_hour == doctest::Approx(200600 / (2 * 8766.0)));
  CHECK(priced.power_per_hour == doctest::Approx(1.5004));
  CHECK(priced.fabric_usd_per_hour() == priced.capital_per_hour + priced.power_per_hour);
  CHECK(priced.unpriced.empty());
  CHECK(priced.notes.empty());
}

TEST_CASE("a cable has the weaker status of its plugs and its metres") {
  Prices prices = load_prices();
  CablePrice& cable = prices.cables["800G_DAC_split"];
  cable.piece.status = "measured";
  cable.metre.status = "assumed";
  cable.metre.as_of = "1999";
  CHECK(price(small_bill(), prices).lines[1].each->status == "assumed");
  CHECK(price(small_bill(), prices).lines[1].each->as_of == "1999");
  cable.metre.status = "own";
  CHECK(price(small_bill(), prices).lines[1].each->status == "measured");
}

TEST_CASE("what has no price is named, with what nothing sold fits and what has no known power") {
  FabricBill bill = small_bill();
  bill.lines.push_back({BillKind::nic, BillPlace::nic, "EFA_v2", 0, 32, 0, std::nullopt, false});
  bill.lines.push_back({BillKind::transceiver, BillPlace::leaf, "", 0, 7, 0, std::nullopt, false});
  const PricedBill priced = price(bill, load_prices());
  CHECK(!priced.lines[2].each);
  CHECK(priced.lines[2].usd == 0);
  REQUIRE(priced.notes.size() == 2);
  CHECK(priced.notes[0] ==
        "Without a price, not in the sum: 32 nic EFA_v2, 7 transceiver at leaf: nothing that is "
        "sold fits.");
  CHECK(priced.notes[1] ==
        "Power not known, not in the sum: 32 nic EFA_v2, 7 transceiver at leaf: nothing that is "
        "sold fits.");
}

TEST_CASE("the report of a bill adds up") {
  const Cluster cluster = load_cluster({"dgx-h100", 32, "fabric-ndr-rail"}, catalogue());
  const PricedBill bill = price_fabric(cluster, catalogue(), load_prices());
  const Report report = bill_report(bill, cluster, "dgx-h100", "fabric-ndr-rail");
  const ReportTable& lines = report.table("bill");
  double usd = 0, watts = 0;
  for (std::size_t row = 0; row < lines.rows().size(); ++row) {
    usd += lines.at(row, "usd").get<double>();
    watts += lines.at(row, "watts").get<double>();
    CHECK(lines.at(row, "usd").get<double>() ==
          lines.at(row, "usd_each").get<double>() * lines.at(row, "count").get<double>());
  }
  CHECK(report.facts.at("usd").get<double>() == doctest::Approx(usd));
  CHECK(report.facts.at("watts").get<double>() == doctest::Approx(watts));
  CHECK(report.table("ports").rows().size() == 2);
  CHECK(bill_text(bill, cluster).find("leaf: 512 used, 0 free; spine: 256 used, 0 free") !=
        std::string::npos);
}
