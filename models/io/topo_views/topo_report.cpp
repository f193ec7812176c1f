#include "models/io/report/columns.hpp"
#include "models/io/topo_views/topo_formats.hpp"

namespace fabricast {
namespace {

int count(const Json& machine, const char* kind) {
  int out = 0;
  for (const Json& device : machine.at("devices")) out += device.at("kind") == kind;
  return out;
}

}  // namespace

Report topo_report(const Cluster& cluster, const std::string& topology, const std::string& fabric) {
  const Json machine = Json::parse(topo_json(cluster));
  Report out;
  out.study = "topo";
  out.job = {{"site", {{"topology", topology}, {"fabric", fabric}, {"nodes", {cluster.nodes()}}}},
             {"ask", Json::object()}};
  ReportTable links("rows", {column::text("from"), column::text("to"), column::text("kind"),
                             column::number("rate_GBps", "GB/s", ".4g"),
                             column::number("latency_ns", "ns", ".4g")});
  for (const Json& link : machine.at("links"))
    links.add({link.at("from"), link.at("to"), link.at("kind"),
               link.at("bytes_per_s").get<double>() / 1e9, link.at("latency_ns")});
  ReportTable devices("devices", {column::text("name"), column::text("kind"), column::text("part"),
                                  column::text("parent"), column::text("busid")});
  for (const Json& device : machine.at("devices"))
    devices.add({device.at("name"), device.at("kind"), device.at("part"),
                 device.value("parent", Json()), device.value("busid", Json())});
  ReportTable counts("counts", {column::text("what"), column::whole("count")});
  counts.add({"nodes", cluster.nodes()});
  for (const char* kind : {"gpu", "nic", "cpu", "pcie_switch", "nvswitch"})
    counts.add({kind, count(machine, kind)});
  if (machine.at("fabric").at("is_assumed").get<bool>() && cluster.nodes() > 1)
    out.notes.push_back(
        "assumed: no fabric is named, so rails through two tiers of switches, "
        "non-blocking");
  out.tables = {std::move(links), std::move(devices), std::move(counts)};
  out.facts = {{"title", machine.at("title")}, {"fabric", machine.at("fabric")}};
  return out;
}

}  // namespace fabricast
