#pragma once
// What a fabric costs: a bill with prices. All in USD. What has no price is named, never taken for
// free, so that a sum with such lines is a lower bound.
// Prices: workloads/prices.yaml or the user's, each with source and month (docs/costs.md).

#include <optional>
#include <string>
#include <vector>

#include "models/hardware/bill/bill.hpp"
#include "models/io/report/report.hpp"
#include "models/io/workloads/load_workloads.hpp"

namespace fabricast {

struct PricedLine {
  BillLine line;
  /// Of one piece. Of a cable its plugs and its metres, with the weaker status of the two. Nothing
  /// = no price is known.
  std::optional<PriceFigure> each;
  double usd = 0;  ///< of all pieces
};

struct PricedBill {
  std::vector<PricedLine> lines;  ///< those of the bill
  std::array<TierPorts, 3> ports{};
  std::vector<std::string> notes;     ///< of the bill, and what the sums leave out
  std::vector<std::string> unpriced;  ///< "32 nic EFA_v2"
  double usd = 0;
  double watts = 0;
  double capital_per_hour = 0;  ///< usd over the years in which it is paid off
  double power_per_hour = 0;    ///< of the fabric alone: without cooling

  /// What the fabric costs while it stands, used or not. The hourly price of a rented GPU has its
  /// share of this in it already.
  double fabric_usd_per_hour() const { return capital_per_hour + power_per_hour; }
};

PricedBill price(const FabricBill& bill, const Prices& prices);
/// bill_of() and price().
PricedBill price_fabric(const Cluster& cluster, const PartsCatalogue& parts, const Prices& prices);

/// For people.
std::string bill_text(const PricedBill& bill, const Cluster& cluster);
/// `topology`, `fabric`: as typed. Tables "bill" and "ports"; the sums are facts.
Report bill_report(const PricedBill& bill, const Cluster& cluster, const std::string& topology,
                   const std::string& fabric);

}  // namespace fabricast
