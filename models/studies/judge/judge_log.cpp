#include "models/studies/judge/judge_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "models/hardware/parts/gpu_names.hpp"
#include "text/counted.hpp"

namespace fabricast {

namespace {

/// What the list of devices says of one host.
struct ListedHost {
  int ranks = 0;
  std::set<std::pair<std::string, int>> gpus;      ///< by bus and number
  std::map<std::string, std::vector<int>> by_bus;  ///< ranks of each whole bus id

  /// Else ranks share a GPU, several hosts have one name, or each process sees one GPU of a short
  /// id.
  bool has_a_gpu_for_each() const { return static_cast<int>(gpus.size()) == ranks; }
};

std::map<std::string, ListedHost> listed_hosts(const NcclTestsTable& table) {
  std::map<std::string, ListedHost> out;
  for (const NcclTestsDevice& device : table.devices) {
    ListedHost& host = out[device.host];
    ++host.ranks;
    host.gpus.emplace(device.bus, device.device);
    if (device.bus.find(':') != std::string::npos) host.by_bus[device.bus].push_back(device.rank);
  }
  return out;
}

/// Ranks that share a GPU, by the whole bus id; of many the first.
std::string shared_gpu(const NcclTestsTable& table) {
  for (const auto& [name, host] : listed_hosts(table)) {
    for (const auto& [bus, ranks] : host.by_bus) {
      if (ranks.size() < 2) continue;
      std::string list;
      for (std::size_t i = 0; i < ranks.size(); ++i)
        list += fmt::format("{}{}", i == 0 ? "" : i + 1 < ranks.size() ? ", " : " and ", ranks[i]);
      return fmt::format("ranks {} share one GPU ({} of {}): what is expected has one for each",
                         list, bus, name);
    }
  }
  return {};
}

/// GPUs of the list that are not those of the topology; "" where they are, or none is listed.
std::string other_gpus(const NcclTestsTable& table, const std::string& topology,
                       const NodeGraph& node, const PartsCatalogue& parts) {
  std::set<std::string> here, others;
  for (const GpuInfo& gpu : node.gpus()) here.insert(gpu.part.name);
  for (const NcclTestsDevice& device : table.devices) {
    const bool is_here =
        here.contains(device.model) || here.contains(gpu_named_in(device.model, parts));
    if (!device.model.empty() && !is_here) others.insert(device.model);
  }
  if (others.empty()) return {};
  return fmt::format("the list of devices has {}, {} has {}: is it the machine that was measured?",
                     fmt::join(others, ", "), topology, fmt::join(here, ", "));
}

/// Nodes and the GPUs used of each.
class LoggedLayout {
 public:
  LoggedLayout(const NcclTestsTable& table, const std::string& file, const JudgeRequest& request,
               const LogFacts& facts, int gpus_there)
      : table_(table), file_(file), request_(request), facts_(facts), gpus_there_(gpus_there) {}

  void fill(JudgeConfig& config) {
    find_gpus();
    ranks_ = facts_.ranks > 0 ? facts_.ranks : asked_ranks();
    const bool partly = gpus_ > ranks_ && !gpus_said_ && request_.nodes <= 1;
    if (partly) {
      gpus_ = ranks_;
      gpus_from_ = "fewer than the topology has";
    }
    if (ranks_ % gpus_ != 0)
      refuse(fmt::format("{} are no whole number of nodes with {}", ranks_text(),
                         counted(gpus_, "GPU")),
             "--gpus-per-node N: those of each node that took part");
    const int nodes = ranks_ / gpus_;
    if (request_.nodes > 0 && request_.nodes != nodes)
      refuse(fmt::format("--nodes {} contradicts the log: {}, {} of each node ({})", request_.nodes,
                         ranks_text(), counted(gpus_, "GPU"), gpus_from_),
             fmt::format("--nodes {}, or --gpus-per-node too", nodes));
    config.nodes = nodes;
    config.gpus_per_node = gpus_;
    config.basis.push_back(fmt::format("{}: {}", counted(ranks_, "rank"),
                                       facts_.ranks > 0 ? facts_.ranks_from : "--nodes"));
    config.basis.push_back(fmt::format("{}: {} of each, {}", counted(nodes, "node"),
                                       counted(gpus_, "GPU"), gpus_from_));
  }

 private:
  [[noreturn]] void refuse(const std::string& what, const std::string& hint) const {
    throw Error(Place{file_, table_.line, {}}, what, hint);
  }

  std::string ranks_text() const {
    return facts_.ranks > 0 ? fmt::format("{} by {}", counted(ranks_, "rank"), facts_.ranks_from)
                            : counted(ranks_, "rank");
  }

  void find_gpus() {
    const int listed = listed_gpus();
    gpus_said_ = true;
    if (request_.gpus_per_node > 0) {
      refuse_other_than_listed();
      gpus_ = request_.gpus_per_node;
      gpus_from_ = "--gpus-per-node";
    } else if (listed > 0) {
      gpus_ = listed;
      gpus_from_ = shared_gpu(table_).empty() ? "the list of devices"
                                              : "one for each rank, the list of devices has fewer";
    } else {
      gpus_said_ = false;
      gpus_ = gpus_there_;
      gpus_from_ = "as --topology has them";
    }
    if (gpus_ > gpus_there_)
      refuse(fmt::format("{} of a node took part ({}), {} has {}", counted(gpus_, "GPU"),
                         gpus_from_, request_.topology, gpus_there_),
             "name the --topology that was measured");
  }

  /// Of each host; 0 where nothing or too little is listed, or hosts cannot be told apart.
  int listed_gpus() const {
    int out = 0;
    bool told_apart = true;
    for (const auto& [name, host] : hosts_) {
      out = std::max(out, host.ranks);
      told_apart = told_apart && host.has_a_gpu_for_each();
    }
    if (out > gpus_there_ && !told_apart) return 0;  // several nodes by one name, or shared GPUs
    const bool even =
        std::ranges::all_of(hosts_, [&](const auto& host) { return host.second.ranks == out; });
    if (is_whole() && !even)
      refuse("the hosts of the list of devices have unlike numbers of GPUs",
             "runs with as many of each node are judged");
    return out;
  }

  /// Every rank is in the list.
  bool is_whole() const { return static_cast<int>(table_.devices.size()) == facts_.ranks; }

  /// A list that is cut off may lack some GPUs of a host, but has none too many.
  void refuse_other_than_listed() const {
    for (const auto& [name, host] : hosts_) {
      if (!host.has_a_gpu_for_each()) continue;
      if (host.ranks == request_.gpus_per_node) continue;
      if (host.ranks < request_.gpus_per_node && !is_whole()) continue;
      refuse(fmt::format("--gpus-per-node {} contradicts the list of devices: {} of {}",
                         request_.gpus_per_node, counted(host.ranks, "GPU"), name),
             fmt::format("leave it out, or say what the list has: --gpus-per-node {}", host.ranks));
    }
  }

  /// What --nodes says, where the rows leave it open.
  int asked_ranks() const {
    const PossibleRanks& range = facts_.possible;
    const std::string by_rows = range.high >= 1 << 19
                                    ? fmt::format("{} or more", range.low)
                                    : fmt::format("{} .. {}", range.low, range.high);
    if (request_.nodes == 0)
      refuse(
          fmt::format("nothing in the log says of how many ranks it is: by the rows {}", by_rows),
          "say it: --nodes N, and --gpus-per-node where not all took part");
    const int asked = request_.nodes * gpus_;
    if (!range.holds(asked))
      refuse(fmt::format("--nodes {} contradicts the rows: {} x {} ranks, by busbw/algbw {}",
                         request_.nodes, request_.nodes, gpus_, by_rows),
             "--nodes and --gpus-per-node of the run that was measured");
    return asked;
  }

  const NcclTestsTable& table_;
  const std::string& file_;
  const JudgeRequest& request_;
  const LogFacts& facts_;
  const std::map<std::string, ListedHost> hosts_ = listed_hosts(table_);
  int gpus_there_, gpus_ = 0, ranks_ = 0;
  bool gpus_said_ = false;
  std::string gpus_from_;
};

bool is_wrong(const NcclTestsRow& row) {
  return std::ranges::any_of(std::array{row.out_of_place, row.in_place},
                             [](const auto& half) { return half && half->wrong.value_or(0) > 0; });
}

}  // namespace

bool has_wrong_values(const NcclTestsTable& table) {
  return table.failed_check || std::ranges::any_of(table.rows, is_wrong);
}

std::vector<JudgedRow> judged_rows(const NcclTestsTable& table) {
  std::vector<JudgedRow> out;
  for (const NcclTestsRow& row : table.rows) {
    const auto& timing = row.out_of_place ? row.out_of_place : row.in_place;
    if (row.size > 0 && timing && timing->time_us > 0 && !is_wrong(row))
      out.push_back({Bytes{row.size}, timing->time_us});
  }
  return out;
}

JudgeConfig judge_config(const NcclTestsTable& table, const std::string& file,
                         const JudgeRequest& request, const PartsCatalogue& parts) {
  const LogFacts facts = facts_of(table, file, request.collective);
  JudgeConfig out;
  out.topology = request.topology;
  out.fabric = request.fabric;
  out.sharp = request.sharp;
  out.collective = facts.collective;
  out.basis.push_back(fmt::format("{}: {}", to_text(facts.collective), facts.collective_from));
  const Cluster one = load_cluster({request.topology, 1, {}}, parts);
  LoggedLayout(table, file, request, facts, one.node().gpus_per_tray()).fill(out);
  for (const std::string& note : facts.notes) out.basis.push_back(note);
  for (std::string note :
       {shared_gpu(table), other_gpus(table, request.topology, one.node(), parts)}) {
    if (!note.empty()) out.notes.push_back(std::move(note));
  }
  out.gpus_per_process = table.threads * table.gpus;
  out.launches_in_a_row = table.cuda_graph ? 0 : table.gpus;
  const NcclTestsRow& first = table.rows.front();
  out.datatype = datatype_in(first.type);
  out.root = std::max(first.root, 0);
  out.rows = judged_rows(table);
  out.wrong_rows = static_cast<int>(std::ranges::count_if(table.rows, is_wrong));
  out.wrong_values = has_wrong_values(table);
  return out;
}

}  // namespace fabricast
