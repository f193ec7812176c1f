// Any bytes as a file of prices: an error, or prices that a bill can be made with.

#include <cmath>

#include "input.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/costs/costs.hpp"

using namespace fabricast;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const PartsCatalogue parts = load_parts();
  static const Prices shipped = load_prices();
  static const Cluster cluster = load_cluster({"dgx-h100", 8, "fabric-ndr-rail"}, parts);
  const std::string text = fuzz::text_of(data, size);
  fuzz::runs([&] { parse_prices(text, "p.yaml"); });
  fuzz::runs([&] {
    const PricedBill bill =
        price_fabric(cluster, parts, parse_own_prices(text, "p.yaml", shipped, parts));
    fuzz::require(std::isfinite(bill.usd) && bill.usd >= 0 && bill.unpriced.empty());
    fuzz::require(std::isfinite(bill.fabric_usd_per_hour()));
    fuzz::require(!bill_text(bill, cluster).empty());
  });
  return 0;
}
