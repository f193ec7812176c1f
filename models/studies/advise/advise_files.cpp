// The recommended environment in the forms in which jobs take it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "models/studies/advise/advise_text.hpp"
#include "sim/base/add_once.hpp"
#include "text/quoting.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

std::string heading(const AdviseResult& result) {
  return fmt::format("# fabricast advise: {} on {}, NCCL {}\n", to_text(result.config.goal),
                     line_text(result.topology), to_text(job_of(result.config.work).version));
}

const AdviseLine* line_of(const AdviseResult& result, const std::string& name) {
  const auto found = std::ranges::find_if(
      result.lines, [&](const AdviseLine& line) { return line.factor.name == name; });
  return found == result.lines.end() ? nullptr : &*found;
}

/// Why a variable is there, for the end of its line.
std::string why(const AdviseResult& result, const std::string& name) {
  const AdviseLine* line = line_of(result, name);
  if (line == nullptr) return "as it was";
  if (line->pinned) return "asked for";
  return fmt::format("saves {:.1f} %", 100 * line->saves);
}

/// What `form` makes of each variable that stays, and of those that go.
template <class Form, class Gone>
std::string variables(const AdviseResult& result, Form form, Gone gone) {
  std::string out;
  for (const auto& [name, value] : result.best.variables())
    out += form(name, value, why(result, name));
  for (const AdviseLine& line : result.lines)
    if (!line.factor.after) out += gone(line.factor.name, why(result, line.factor.name));
  if (out.empty()) out = "# nothing to set: NCCL's defaults\n";
  return out;
}

std::string gone_comment(const std::string& name, const std::string& why) {
  return fmt::format("# without {}: {}\n", name, why);
}

/// nccl-tests' options for sizes: one range where they grow by one whole factor.
std::vector<std::string> size_options(std::vector<Bytes> sizes) {
  std::ranges::sort(sizes);
  const std::int64_t first = sizes.front().count, last = sizes.back().count;
  if (first == last) return {fmt::format("-b {} -e {}", first, last)};
  const std::int64_t factor = sizes[1].count / first;
  bool regular = factor > 1;
  for (std::size_t i = 1; i < sizes.size(); ++i)
    regular = regular && sizes[i].count == sizes[i - 1].count * factor;
  if (regular) return {fmt::format("-b {} -e {} -f {}", first, last, factor)};
  std::vector<std::string> out;
  for (const Bytes size : sizes) out.push_back(fmt::format("-b {0} -e {0}", size.count));
  return out;
}

/// "alltoall_perf".
std::string binary(Collective collective) { return fmt::format("{}_perf", to_text(collective)); }

std::string passed_on(const AdviseResult& result) {
  std::string out;
  for (const auto& [name, value] : result.best.variables())
    out += fmt::format(" -x {}", shell_word(name + "=" + value));
  return out;
}

std::string expected(const AdviseRow& row) {
  std::string out =
      fmt::format("#   {:>14} B  {:>10.4g} GB/s", row.after.size.count, row.after.busbw_GBps);
  if (row.band)
    out += fmt::format("  {:.4g} .. {:.4g} GB/s ({}: {})", row.after.busbw_GBps / row.band->upper,
                       row.after.busbw_GBps / row.band->lower, to_text(row.band->known),
                       line_text(row.band->basis));
  return out + "\n";
}

/// One collective on one number of nodes: its commands and its rows.
std::string verify_one(const AdviseResult& result, Collective collective, int nodes) {
  const BenchConfig& config = std::get<BenchConfig>(result.config.work);
  std::vector<const AdviseRow*> rows;
  for (const AdviseRow& row : result.rows) {
    if (row.after.collective == collective && row.after.nodes == nodes) rows.push_back(&row);
  }
  if (rows.empty()) return {};
  const int ranks = rows.front()->after.ranks;
  std::string out = "#\n";
  for (const std::string& sizes : size_options(config.sizes))
    out += fmt::format("mpirun -np {} -N {}{} ./build/{} {} -g 1\n", ranks, ranks / nodes,
                       passed_on(result), binary(collective), sizes);
  out += "# expected busbw, and what 80 % of measured ones lie in:\n";
  for (const AdviseRow* row : rows) out += expected(*row);
  return out;
}

}  // namespace

std::string advise_shell(const AdviseResult& result) {
  return heading(result) +
         variables(
             result,
             [](const std::string& name, const std::string& value, const std::string& why) {
               return fmt::format("export {}={}  # {}\n", name, shell_word(value), why);
             },
             [](const std::string& name, const std::string& why) {
               return fmt::format("unset {}  # {}\n", name, why);
             });
}

std::string advise_kubernetes(const AdviseResult& result) {
  const std::string all = variables(
      result,
      [](const std::string& name, const std::string& value, const std::string& why) {
        return fmt::format("  - name: {}  # {}\n    value: {}\n", name, why, yaml_text(value));
      },
      gone_comment);
  return heading(result) + "# for each container of the job\n" +
         (result.best.variables().empty() ? "env: []\n" + all : "env:\n" + all);
}

std::string advise_slurm(const AdviseResult& result) {
  return "#!/bin/sh\n" + heading(result) +
         "# srun --task-prolog=THIS_FILE: what it prints becomes the environment of each task\n" +
         variables(
             result,
             [](const std::string& name, const std::string& value, const std::string& why) {
               return fmt::format("{}  # {}\n", shell_print("export " + name + "=" + value), why);
             },
             [](const std::string& name, const std::string& why) {
               return fmt::format("{}  # {}\n", shell_print("unset " + name), why);
             });
}

std::string advise_nccl_conf(const AdviseResult& result) {
  return heading(result) +
         "# /etc/nccl.conf or ~/.nccl.conf on each node; what the environment says goes first\n" +
         variables(
             result,
             [](const std::string& name, const std::string& value, const std::string& why) {
               return fmt::format("# {}\n{}", why, nccl_conf_line(name, value));
             },
             gone_comment);
}

std::string advise_tuner(const AdviseResult& result) {
  if (!result.tuner)
    return heading(result) +
           fmt::format("# No rules, and no plugin to load: {}.\n", line_text(result.no_tuner));
  std::string variables;
  for (const auto& [name, value] : result.best.variables())
    variables += fmt::format(" {}={}", name, value);
  return heading(result) +
         fmt::format("# Channels are those of this environment:{}\n",
                     variables.empty() ? " no variable set" : line_text(variables)) +
         tuner_file(*result.tuner);
}

std::string advise_verify(const AdviseResult& result) {
  std::string out = "#!/bin/sh\n" + heading(result);
  if (is_step(result.config.work)) {
    const AdviseRow& row = result.rows.front();
    return out + fmt::format(
                     "# {}: expected {}, 9 of 10 published steps within {} .. {}.\n"
                     "# Time steps 10 to 30 of the job with and without these variables.\n",
                     line_text(row.after.what), time_text(row.after.time_us * 1e-6),
                     time_text(row.after.time_us * 1e-6 * row.band->lower),
                     time_text(row.after.time_us * 1e-6 * row.band->upper));
  }
  out +=
      "# github.com/NVIDIA/nccl-tests, built with MPI=1; name the hosts as your mpirun wants it\n";
  std::vector<int> nodes;
  for (const AdviseRow& row : result.rows) add_once(nodes, row.after.nodes);
  for (const int n : nodes) {
    for (const Collective collective : std::get<BenchConfig>(result.config.work).collectives)
      out += verify_one(result, collective, n);
  }
  return out;
}

std::vector<AdviseFile> advise_files(const AdviseResult& result) {
  std::vector<AdviseFile> out = {{"advice.txt", advise_text(result)},
                                 {"advice.json", report_json(advise_report(result))},
                                 {"nccl-env.sh", advise_shell(result)},
                                 {"kubernetes-env.yaml", advise_kubernetes(result)},
                                 {"slurm-task-prolog.sh", advise_slurm(result)},
                                 {"nccl.conf", advise_nccl_conf(result)},
                                 {"verify.sh", advise_verify(result)}};
  if (result.tuner) out.push_back({"nccl_tuner.conf", advise_tuner(result)});
  return out;
}

}  // namespace fabricast
