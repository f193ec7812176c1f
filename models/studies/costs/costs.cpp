#include "models/studies/costs/costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fabricast {
namespace {

constexpr double kHoursPerYear = 24 * 365.25;
constexpr double kWattsPerKilowatt = 1000;

/// The weakest word last; a word that is not listed is weaker than all.
std::size_t weakness(const std::string& status) {
  constexpr std::array words = {"own", "datasheet", "measured", "derived", "assumed"};
  return static_cast<std::size_t>(std::ranges::find(words, status) - words.begin());
}

PriceFigure of_length(const CablePrice& price, double metres) {
  PriceFigure out = price.piece;
  if (weakness(price.metre.status) > weakness(out.status)) out = price.metre;
  out.value = price.piece.value + price.metre.value * metres;
  return out;
}

std::optional<PriceFigure> price_in(const PriceTable& table, const std::string& part) {
  const auto found = table.find(part);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

std::optional<PriceFigure> price_of(const BillLine& line, const Prices& prices) {
  switch (line.kind) {
    case BillKind::nic:
      return price_in(prices.nics, line.part);
    case BillKind::fabric_switch:
      return price_in(prices.switches, line.part);
    case BillKind::transceiver:
      return price_in(prices.transceivers, line.part);
    case BillKind::copper:
    case BillKind::fibre:
      break;
  }
  const auto found = prices.cables.find(line.part);
  if (found == prices.cables.end()) return std::nullopt;
  return of_length(found->second, line.metres);
}

/// "32 nic EFA_v2"
std::string name_of(const BillLine& line) {
  return fmt::format("{} {} {}", line.count, kBillKindWords[line.kind],
                     line.part.empty() ? fmt::format("at {}: nothing that is sold fits",
                                                     kBillPlaceWords[line.place])
                                       : line.part);
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

PricedBill price(const FabricBill& bill, const Prices& prices) {
  PricedBill out;
  out.ports = bill.ports;
  out.notes = bill.notes;
  std::vector<std::string> powerless;
  for (const BillLine& line : bill.lines) {
    PricedLine priced{line, price_of(line, prices)};
    if (priced.each)
      priced.usd = priced.each->value * static_cast<double>(line.count);
    else
      out.unpriced.push_back(name_of(line));
    if (!line.watts_each) powerless.push_back(name_of(line));
    out.usd += priced.usd;
    out.lines.push_back(std::move(priced));
  }
  out.watts = bill.watts();
  out.capital_per_hour = out.usd / (prices.fabric_years.value * kHoursPerYear);
  out.power_per_hour = out.watts / kWattsPerKilowatt * prices.power.value;
  if (!out.unpriced.empty())
    out.notes.push_back(fmt::format("Without a price, not in the sum: {}.", joined(out.unpriced)));
  if (!powerless.empty())
    out.notes.push_back(fmt::format("Power not known, not in the sum: {}.", joined(powerless)));
  return out;
}

PricedBill price_fabric(const Cluster& cluster, const PartsCatalogue& parts, const Prices& prices) {
  return price(bill_of(cluster, parts), prices);
}

}  // namespace fabricast
