#include <map>
#include <tuple>

#include "models/io/report/columns.hpp"
#include "models/studies/memory/memory_text.hpp"
#include "models/studies/shared/job_json.hpp"
#include "sim/base/add_once.hpp"

namespace fabricast {
namespace {

constexpr MemoryPlace kPlaces[] = {MemoryPlace::gpu, MemoryPlace::host};

/// Each allocation of the rank that is told.
ReportTable rows_table(const MemoryResult& result) {
  using namespace column;
  ReportTable out("rows",
                  {kNccl, kNodes, text("group"), kRanks, whole("communicators"), whole("rank"),
                   text("place"), text("purpose"), whole("count"), whole("each_bytes", "B"),
                   whole("bytes", "B"), text("variables"), text("source"), flag("assumed")});
  for (const MemoryCase& of : result.cases) {
    for (const MemoryGroup& group : of.groups) {
      for (const MemoryRow& row : group.told().rows) {
        const MemoryFact fact = memory_fact(row.purpose, of.version);
        out.add({to_text(of.version), of.nodes, group.name, group.ranks, group.communicators,
                 group.rank, kMemoryPlaceWords[row.place], kMemoryPurposeWords[row.purpose],
                 row.count, row.each, row.bytes, fact.variables, fact.file, fact.assumed});
      }
    }
  }
  return out;
}

/// Of all ranks of a communicator: how many take how much.
ReportTable totals_table(const MemoryResult& result) {
  using namespace column;
  ReportTable out("totals", {kNccl, kNodes, text("group"), whole("gpu_bytes", "B"),
                             whole("host_bytes", "B"), whole("ranks_alike"), whole("first_rank")});
  for (const MemoryCase& of : result.cases) {
    for (const MemoryGroup& group : of.groups) {
      std::map<std::pair<std::int64_t, std::int64_t>, std::pair<int, int>> alike;
      for (int rank = 0; rank < group.ranks; ++rank) {
        const RankMemory& memory = group.memory.ranks[static_cast<std::size_t>(rank)];
        auto& [count, first] =
            alike[{-memory.bytes(MemoryPlace::gpu), -memory.bytes(MemoryPlace::host)}];
        if (count++ == 0) first = rank;
      }
      for (const auto& [bytes, ranks] : alike)
        out.add({to_text(of.version), of.nodes, group.name, -bytes.first, -bytes.second,
                 ranks.first, ranks.second});
    }
  }
  return out;
}

ReportTable savings_table(const MemoryResult& result) {
  using namespace column;
  ReportTable out("savings", {text("variable"), text("value"), whole("gpu_saved_bytes", "B"),
                              whole("host_saved_bytes", "B")});
  for (const MemorySaving& saving : result.savings)
    out.add({saving.variable, saving.value, saving.gpu, saving.host});
  return out;
}

Json facts_of(const MemoryCase& first) {
  Json out = Json::object();
  for (const MemoryPlace place : kPlaces)
    out[std::string(kMemoryPlaceWords[place]) + "_bytes"] = first.bytes(place);
  return out;
}

}  // namespace

Report memory_report(const MemoryResult& result) {
  const MemoryConfig& config = result.config;
  Json collectives = Json::array(), sizes = Json::array(), releases = Json::array();
  for (const Collective one : config.collectives) collectives.push_back(to_text(one));
  for (const Bytes one : config.sizes) sizes.push_back(one.count);
  for (const NcclVersion one : config.releases) releases.push_back(to_text(one));
  Report out;
  out.study = "memory";
  std::vector<int> nodes;
  for (const MemoryCase& one : result.cases) add_once(nodes, one.nodes);
  out.job = job_json(config, nodes,
                     {{"collectives", std::move(collectives)},
                      {"sizes_bytes", std::move(sizes)},
                      {"releases", std::move(releases)},
                      {"communicators", config.communicators},
                      {"rank", or_null(config.rank)},
                      {"layout", config.layout ? Json(config.layout->title) : Json()}});
  out.notes = result.notes;
  out.tables = {rows_table(result), totals_table(result), savings_table(result)};
  out.facts = facts_of(result.cases.front());
  return out;
}

}  // namespace fabricast
