#include "models/io/report/columns.hpp"
#include "models/studies/decide/decide_kernels.hpp"
#include "models/studies/decide/decide_text.hpp"
#include "models/studies/shared/job_json.hpp"

namespace fabricast {

namespace {

/// A refused call is none, none and five empty cells.
ReportTable rows_table(const DecideResult& result) {
  using namespace column;
  ReportTable out("rows", {kNccl, kTopology, kNodes, kCollective, kSize, kAlgorithm, kProtocol,
                           kChannels, kTunedChannels, kThreads, whole("chunk_bytes", "B"),
                           number("predicted_us", "us", ".9g")});
  for (const DecideBlock& block : result.blocks) {
    for (const DecideRow& row : block.rows) {
      std::vector<Json> cells = {to_text(block.communicator.version), result.topology,
                                 block.communicator.hosts, to_text(row.collective),
                                 row.requested.count};
      if (row.decision.algorithm) {
        cells.insert(cells.end(), {to_text(*row.decision.algorithm), to_text(row.decision.protocol),
                                   row.channels, row.decision.channels, row.threads,
                                   row.chunk_bytes, row.decision.time_us});
      } else {
        cells.insert(cells.end(), {"none", "none", {}, {}, {}, {}, {}});
      }
      out.add(std::move(cells));
    }
  }
  return out;
}

ReportTable candidates_table(const DecideResult& result) {
  using namespace column;
  ReportTable out("candidates",
                  {kCollective, kSize, kNodes, whole("count"), kRanks, kAlgorithm, kProtocol,
                   number("latency_us", "us"), number("algbw_GBps", "GB/s"),
                   number("predicted_us", "us"), text("excluded")});
  for (const DecideBlock& block : result.blocks) {
    for (const DecideRow& row : block.rows) {
      for (const Candidate& one : row.decision.candidates) {
        std::vector<Json> cells = {
            to_text(row.collective),  row.requested.count,    block.communicator.hosts, row.count,
            block.communicator.ranks, to_text(one.algorithm), to_text(one.protocol)};
        if (one.excluded.empty()) {
          cells.insert(cells.end(), {one.latency_us, one.bandwidth_GBps, one.time_us, {}});
        } else {
          cells.insert(cells.end(), {{}, {}, {}, one.excluded});
        }
        out.add(std::move(cells));
      }
    }
  }
  return out;
}

/// From which size on which choice holds.
ReportTable segments_table(const DecideResult& result) {
  using namespace column;
  ReportTable out("segments",
                  {kCollective, kNodes, whole("from_bytes", "B"), kAlgorithm, kProtocol});
  for (const DecideBlock& block : result.blocks) {
    for (const Collective collective : result.config.collectives) {
      const std::vector<const DecideRow*> rows = rows_of(block, collective);
      if (rows.empty()) continue;
      for (const DecideSegment& one : decide_segments(block.communicator, rows))
        out.add({to_text(collective), block.communicator.hosts, one.first.count,
                 one.algorithm ? to_text(*one.algorithm) : "none",
                 one.algorithm ? to_text(one.protocol) : "none"});
    }
  }
  return out;
}

}  // namespace

Report decide_report(const DecideResult& result) {
  const DecideConfig& config = result.config;
  Json collectives = Json::array(), sizes = Json::array();
  for (const Collective one : config.collectives) collectives.push_back(to_text(one));
  for (const Bytes one : config.sizes) sizes.push_back(one.count);
  Report out;
  out.study = "decide";
  out.job = job_json(config, config.nodes,
                     {{"collectives", std::move(collectives)},
                      {"sizes_bytes", std::move(sizes)},
                      {"datatype", "float"}});
  out.notes = result.notes;
  out.tables = {rows_table(result), candidates_table(result), segments_table(result)};
  if (config.registered != Registration::none) out.tables.push_back(registered_table(result));
  if (!config.engines.empty()) out.tables.push_back(engines_table(result));
  return out;
}

}  // namespace fabricast
