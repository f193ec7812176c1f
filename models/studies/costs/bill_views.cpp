// A priced bill as text and as a report.
#include <fmt/format.h>

#include <cmath>

#include "models/io/report/columns.hpp"
#include "models/studies/costs/costs.hpp"
#include "text/counted.hpp"
#include "text/text_table.hpp"

namespace fabricast {
namespace {

/// "1,234,567"
std::string thousands(double value) {
  std::string out = fmt::format("{:.0f}", value);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, ",");
  return out;
}

/// Cents are said of what costs little.
std::string usd_text(double usd) {
  constexpr double small = 100;
  return usd < small && usd != std::floor(usd) ? fmt::format("{:.2f}", usd) : thousands(usd);
}

std::string part_text(const BillLine& line) {
  std::string out = line.part.empty() ? "(nothing that is sold fits)" : line.part;
  if (line.metres > 0) out += fmt::format(" {:.4g} m", line.metres);
  if (line.assumed) out += " (assumed)";
  return out;
}

std::string lines_text(const PricedBill& bill) {
  TextTable table;
  for (const std::size_t column : {3u, 4u, 5u, 6u}) table.align_right(column);
  table.add({"what", "where", "part", "count", "USD each", "USD", "W each", "price"});
  for (const PricedLine& priced : bill.lines) {
    const BillLine& line = priced.line;
    table.add({std::string(kBillKindWords[line.kind]), std::string(kBillPlaceWords[line.place]),
               part_text(line), thousands(static_cast<double>(line.count)),
               priced.each ? usd_text(priced.each->value) : "-",
               priced.each ? thousands(priced.usd) : "-",
               line.watts_each ? fmt::format("{:.4g}", *line.watts_each) : "-",
               priced.each
                   ? fmt::format("{}{}", priced.each->status,
                                 priced.each->as_of.empty() ? "" : ", " + priced.each->as_of)
                   : "not known"});
  }
  return table.text();
}

std::string ports_text(const PricedBill& bill) {
  constexpr std::array names = {"leaf", "spine", "core"};
  std::string out;
  for (std::size_t t = 0; t < names.size(); ++t) {
    const TierPorts& ports = bill.ports[t];
    if (ports.used + ports.free == 0) continue;
    out += fmt::format("{}{}: {} used, {} free", out.empty() ? "Ports: " : "; ", names[t],
                       thousands(static_cast<double>(ports.used)),
                       thousands(static_cast<double>(ports.free)));
  }
  return out + "\n";
}

}  // namespace

std::string bill_text(const PricedBill& bill, const Cluster& cluster) {
  if (bill.lines.empty())
    return fmt::format("{} without a fabric: nothing to buy\n", counted(cluster.hosts(), "node"));
  constexpr double watts_per_kilowatt = 1000;
  std::string out =
      fmt::format("{} of {}, {}\n\n{}\n{}", counted(cluster.hosts(), "node"), cluster.node().name(),
                  cluster.fabric_summary(), lines_text(bill), ports_text(bill));
  out += fmt::format(
      "Fabric: {} USD, {:.4g} kW, {:.4g} USD an hour ({:.4g} to pay it off, {:.4g} power)\n",
      thousands(bill.usd), bill.watts / watts_per_kilowatt, bill.fabric_usd_per_hour(),
      bill.capital_per_hour, bill.power_per_hour);
  for (const std::string& note : bill.notes) out += fmt::format("note: {}\n", note);
  return out;
}

Report bill_report(const PricedBill& bill, const Cluster& cluster, const std::string& topology,
                   const std::string& fabric) {
  Report out;
  out.study = "bill";
  out.job = {{"site", {{"topology", topology}, {"fabric", fabric}, {"nodes", {cluster.hosts()}}}},
             {"ask", Json::object()}};
  ReportTable lines("bill",
                    {column::text("kind"), column::text("part"), column::text("tier"),
                     column::number("length_m", "m", ".4g"), column::whole("count"),
                     column::whole("links"), column::number("usd_each", "USD", ".2f"),
                     column::number("usd", "USD", ".2f"), column::number("watts_each", "W", ".4g"),
                     column::number("watts", "W", ".6g"), column::flag("assumed_part"),
                     column::text("source"), column::text("status"), column::text("as_of")});
  for (const PricedLine& priced : bill.lines) {
    const BillLine& line = priced.line;
    const bool cable = line.kind == BillKind::copper || line.kind == BillKind::fibre;
    const auto of_price = [&](std::string PriceFigure::*member) {
      return priced.each && !((*priced.each).*member).empty() ? Json((*priced.each).*member)
                                                              : Json();
    };
    lines.add({kBillKindWords[line.kind], line.part, kBillPlaceWords[line.place],
               cable ? Json(line.metres) : Json(), line.count, cable ? Json(line.links) : Json(),
               priced.each ? Json(priced.each->value) : Json(),
               priced.each ? Json(priced.usd) : Json(), or_null(line.watts_each),
               line.watts_each ? Json(*line.watts_each * static_cast<double>(line.count)) : Json(),
               line.assumed, of_price(&PriceFigure::source), of_price(&PriceFigure::status),
               of_price(&PriceFigure::as_of)});
  }
  ReportTable ports("ports", {column::text("tier"), column::whole("used"), column::whole("free")});
  constexpr std::array names = {"leaf", "spine", "core"};
  for (std::size_t t = 0; t < names.size(); ++t)
    if (bill.ports[t].used + bill.ports[t].free > 0)
      ports.add({names[t], bill.ports[t].used, bill.ports[t].free});
  out.tables = {std::move(lines), std::move(ports)};
  out.notes = bill.notes;
  out.facts = {{"fabric", cluster.fabric_summary()},
               {"usd", bill.usd},
               {"watts", bill.watts},
               {"usd_per_hour_capital", bill.capital_per_hour},
               {"usd_per_hour_power", bill.power_per_hour},
               {"usd_per_hour", bill.fabric_usd_per_hour()},
               {"unpriced", bill.unpriced}};
  return out;
}

}  // namespace fabricast
