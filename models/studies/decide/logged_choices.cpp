#include "models/studies/decide/logged_choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "models/io/formats/log_lines.hpp"
#include "models/io/report/columns.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/environment/env_values.hpp"
#include "models/nccl/environment/variables.hpp"
#include "models/studies/shared/site.hpp"
#include "text/numbers.hpp"
#include "text/text_table.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

/// The largest of numbers like "2 16"; 0 where there is none.
int largest(const std::string& numbers) {
  std::int64_t out = 0;
  for (const std::string_view word : split_words(numbers))
    out = std::max(out, to_number<std::int64_t>(word).value_or(0));
  return static_cast<int>(std::min<std::int64_t>(out, 1 << 20));
}

/// Of what ran, as far as it is known; the default where the log does not say.
NcclVersion version_of(const std::string& text) {
  try {
    return answered_version(nccl_release_from_text(text.substr(0, text.find('+'))));
  } catch (const Error&) {
    return kDefaultNccl;
  }
}

std::optional<Collective> collective_of(const std::string& name) {
  for (const Collective collective : kAllCollectives) {
    if (nccl_name(collective) == name) return collective;
  }
  return std::nullopt;
}

bool same_word(std::string_view a, std::string_view b) { return lower_case(a) == lower_case(b); }

}  // namespace

std::vector<ComparedChoice> compare_choices(const ImportedFile& log, const std::string& topology,
                                            int nodes, const PartsCatalogue& parts) {
  Environment environment;
  for (const ImportFinding& setting : log.settings) {
    if (is_settable(setting.key, setting.value)) environment.set(setting.key, setting.value);
  }
  const NcclVersion version = version_of(log.value("version"));
  const int logged_nodes = largest(log.value("nodes")), ranks = largest(log.value("ranks"));
  Job job{topology, "", 0, false, version, environment};
  const Topology known = topology_of(job, parts);
  NodesRequest asked = nodes_of(job, nodes > 0 ? nodes : logged_nodes);
  const int count = std::max(asked.nodes, 1);
  const int gpus = static_cast<int>(gpu_devs(known.describe({1}).node).size());
  if (asked.joins_domains && ranks > count * gpus && ranks % gpus == 0) {
    // To NCCL the hosts of an NVLink domain are one node.
    asked.nodes = ranks / gpus;
  } else if (ranks > 0 && ranks % count == 0) {
    asked.gpus_per_node = job.gpus_per_node = ranks / count;
  }
  const Site site = site_of(known, job, asked);
  const Communicator communicator = site.make();
  std::vector<ComparedChoice> out;
  for (const LoggedChoice& logged : log.choices) {
    ComparedChoice& compared = out.emplace_back();
    compared.logged = logged;
    const auto collective =
        collective_of(logged.collective.empty() ? "AllReduce" : logged.collective);
    if (!collective || !is_tuned(*collective)) {
      compared.decided = "no choice to make";
      continue;
    }
    const bool of_rank = counts_per_rank(*collective) && version >= kNccl2_24;
    const std::int64_t share =
        counts_per_rank(*collective) && !of_rank ? logged.bytes / communicator.ranks : logged.bytes;
    try {
      const DecidedCall call =
          decide_call(communicator, {*collective, std::max<std::int64_t>(share, 1), 1, 0});
      const std::string_view algorithm = to_text(call.run.algorithm),
                             protocol = to_text(call.run.protocol);
      compared.decided = fmt::format("{} {} x{}", algorithm, protocol, call.run.channels);
      compared.agrees = same_word(algorithm, logged.algorithm) &&
                        same_word(protocol, logged.protocol) &&
                        (logged.channels == 0 || logged.channels == call.run.channels);
    } catch (const Error& error) {
      compared.decided = error.reason();
    }
  }
  return out;
}

std::string compared_text(const std::vector<ComparedChoice>& compared,
                          const std::string& topology) {
  if (compared.empty())
    return "  note: the log names no choice: NCCL_DEBUG_SUBSYS=TUNING prints them (2.20 and "
           "later)\n";
  TextTable table("  ");
  table.align_right(1);
  table.add({"call", "bytes", "the log", topology, ""});
  std::size_t agree = 0;
  for (const ComparedChoice& one : compared) {
    const LoggedChoice& logged = one.logged;
    agree += one.agrees ? 1 : 0;
    table.add({logged.collective, std::to_string(logged.bytes),
               fmt::format("{} {}{}", logged.algorithm, logged.protocol,
                           logged.channels > 0 ? fmt::format(" x{}", logged.channels) : ""),
               one.decided, one.agrees ? "" : "differs"});
  }
  return table.text() + fmt::format("  {} of {} choices agree\n", agree, compared.size());
}

ReportTable compared_table(const std::vector<ComparedChoice>& compared) {
  using namespace column;
  ReportTable out("compared", {kCollective, kSize, kAlgorithm, kProtocol, kChannels,
                               text("decided"), flag("agrees")});
  for (const ComparedChoice& one : compared) {
    const LoggedChoice& logged = one.logged;
    out.add({logged.collective, logged.bytes, logged.algorithm, logged.protocol, logged.channels,
             one.decided, one.agrees});
  }
  return out;
}

}  // namespace fabricast
