#include <fmt/format.h>

#include "models/io/hosts/host_list.hpp"
#include "models/io/report/columns.hpp"
#include "models/studies/placement/placement.hpp"
#include "models/studies/shared/job_json.hpp"

namespace fabricast {

namespace {

using namespace column;

ReportTable rows_table(const PlacementResult& result) {
  ReportTable out("rows", {text("allocation"), kCollective, kSize, kNodes, kRanks, kAlgorithm,
                           kProtocol, kTime, kBusbw, number("time_of_this", {}, ".4f")});
  for (std::size_t row = 0; row < result.rows.size(); ++row) {
    const PlacementRow& call = result.rows[row];
    for (const Allocation& one : result.allocations) {
      const double us = one.times_us[row];
      out.add({one.name, to_text(call.collective), call.size.count, result.nodes, call.ranks,
               call.algorithm, call.protocol, us,
               static_cast<double>(call.size.count) / us / 1e3 *
                   busbw_factor(call.collective, call.ranks),
               us / result.allocations.front().times_us[row]});
    }
  }
  return out;
}

/// "rack1 x18, rack2 x6"; nothing where NVLink joins no hosts.
Json shares_json(const std::vector<GroupShare>& shares) {
  std::string out;
  for (const GroupShare& one : shares)
    out += fmt::format("{}{} x{}", out.empty() ? "" : ", ", one.name, one.hosts);
  return out.empty() ? Json() : Json(out);
}

ReportTable allocations_table(const PlacementResult& result) {
  ReportTable out("allocations",
                  {text("allocation"), whole("leaves"), text("hosts_of_leaves"), whole("domains"),
                   text("hosts_of_domains"), whole("crossings"), text("hosts"), s("step_s")});
  for (const Allocation& one : result.allocations)
    out.add({one.name, one.leaves.size(), shares_json(one.leaves),
             result.by_domain ? Json(one.domains.size()) : Json(), shares_json(one.domains),
             one.crossings, to_host_list(one.hosts), one.step ? Json(seconds(*one.step)) : Json()});
  return out;
}

ReportTable swaps_table(const PlacementResult& result) {
  ReportTable out("swaps", {text("out"), text("out_group"), text("in"), text("in_group")});
  for (const HostSwap& one : result.swaps) out.add({one.out, one.out_group, one.in, one.in_group});
  return out;
}

ReportTable neighbours_table(const NeighbourResult& pair) {
  ReportTable out("neighbours",
                  {text("job"), kNodes, text("call"), us("alone_us"), number("slowdown", {}, ".4f"),
                   whole("priority"), s("step_s"), number("network_share", {}, ".4f"),
                   s("step_least_s"), s("step_most_s")});
  for (const NeighbourJob* const job : {&pair.self, &pair.other}) {
    const auto of_step = [&](double value) { return job->step_s ? Json(value) : Json(); };
    out.add({job->name, job->hosts, job->call, job->alone_us, job->slowdown, job->priority,
             or_null(job->step_s), of_step(job->network_share), of_step(job->step_least_s),
             of_step(job->step_most_s)});
  }
  return out;
}

ReportTable trunks_table(const NeighbourResult& pair) {
  ReportTable out("trunks",
                  {text("link"), number("utilisation", {}, ".4f"), number("own_share", {}, ".4f")});
  for (const SharedTrunk& one : pair.trunks) out.add({one.link, one.utilisation, one.share});
  return out;
}

}  // namespace

Report placement_report(const PlacementResult& result) {
  const PlacementConfig& config = result.config;
  Json sizes = Json::array(), collectives = Json::array();
  for (const Bytes one : config.sizes) sizes.push_back(one.count);
  for (const Collective one : config.collectives) collectives.push_back(to_text(one));
  Report out;
  out.study = "placement";
  out.job = job_json(config, {result.nodes},
                     {{"tree", config.tree.kind},
                      {"hosts", to_host_list(result.allocations.front().hosts)},
                      {"free", to_host_list(config.free)},
                      {"oversubscription", config.oversubscription},
                      {"collectives", std::move(collectives)},
                      {"sizes_bytes", std::move(sizes)}});
  out.notes = result.notes;
  out.tables = {rows_table(result), allocations_table(result), swaps_table(result)};
  if (result.neighbour) {
    out.tables.push_back(neighbours_table(*result.neighbour));
    out.tables.push_back(trunks_table(*result.neighbour));
  }
  out.facts = {{"candidates", result.candidates}, {"swaps", result.swaps.size()}};
  return out;
}

}  // namespace fabricast
