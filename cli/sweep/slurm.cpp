#include "cli/sweep/slurm.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "cli/output/outputs.hpp"
#include "models/io/formats/text_file.hpp"
#include "sim/base/error.hpp"
#include "text/quoting.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

std::string option(const char* name, const std::string& value) {
  return value.empty() ? "" : fmt::format("#SBATCH --{}={}\n", name, value);
}

std::string header(const SlurmOptions& options, const std::string& name, const std::string& log) {
  return "#!/bin/bash\n# Written by fabricast sweep --slurm.\n" + option("job-name", name) +
         option("output", shell_word(log)) + option("partition", options.partition) +
         option("time", options.time);
}

/// What a command of Slurm prints.
std::string output_of(const std::string& command) {
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw Error(fmt::format("{} cannot be run", command));
  std::string out;
  std::array<char, 4096> part{};
  while (const std::size_t read = std::fread(part.data(), 1, part.size(), pipe))
    out.append(part.data(), read);
  if (const int status = pclose(pipe); status != 0)
    throw Error(fmt::format("this failed: {}", command),
                "is Slurm here? --print-commands does without");
  return out;
}

/// "123" of "123;cluster\n".
std::string job_number(const std::string& parsable) {
  return parsable.substr(0, parsable.find_first_of(";\n"));
}

}  // namespace

std::string slurm_folder(const std::string& store) { return store + ".slurm"; }

std::string array_script(const std::string& program, const std::string& file,
                         const std::string& store, const SlurmOptions& options) {
  const std::string folder = slurm_folder(store);
  std::string out = header(options, "fabricast-sweep", folder + "/%A_%a.log");
  out += option("array", fmt::format("1-{}", options.tasks));
  out += option("cpus-per-task", std::to_string(options.cpus));
  // The store is on a disk of the node while it is written; what there is gets copied, whatever
  // ends the task, and the next try goes on from it.
  out += fmt::format(R"(
folder={}
share=share-$SLURM_ARRAY_TASK_ID.sqlite
work=$(mktemp -d -p "${{SLURM_TMPDIR:-${{TMPDIR:-/tmp}}}}")
[[ -f $folder/$share ]] && cp "$folder/$share" "$work/"
{} sweep {} --store "$work/$share" --share "$SLURM_ARRAY_TASK_ID/{}" --jobs {} &
trap 'kill -TERM %1' TERM INT
wait %1; code=$?
[[ $code -gt 128 ]] && {{ wait %1; code=$?; }}
cp "$work/$share" "$folder/$share.part" && mv "$folder/$share.part" "$folder/$share"
rm -rf "$work"
exit $code
)",
                     shell_word(folder), shell_word(program), shell_word(file), options.tasks,
                     options.cpus);
  return out;
}

std::string merge_script(const std::string& program, const std::string& store,
                         const SlurmOptions& options) {
  const std::string folder = slurm_folder(store);
  return header(options, "fabricast-merge", folder + "/merge.log") +
         fmt::format(R"(
set -e
store={}
work=$(mktemp -d -p "${{SLURM_TMPDIR:-${{TMPDIR:-/tmp}}}}")
[[ -f $store ]] && cp "$store" "$work/merged.sqlite"
{} sweep merge "$work/merged.sqlite" {}/share-*.sqlite
cp "$work/merged.sqlite" "$store.part" && mv "$store.part" "$store"
rm -rf "$work"
)",
                     shell_word(store), shell_word(program), shell_word(folder));
}

std::vector<std::string> share_commands(const std::string& program, const std::string& file,
                                        const std::string& store, const SlurmOptions& options) {
  const std::string folder = slurm_folder(store);
  std::vector<std::string> out;
  for (int share = 1; share <= options.tasks; ++share)
    out.push_back(fmt::format("mkdir -p {} && {} sweep {} --store {} --share {}/{} --jobs {}",
                              shell_word(folder), shell_word(program), shell_word(file),
                              shell_word(fmt::format("{}/share-{}.sqlite", folder, share)), share,
                              options.tasks, options.cpus));
  return out;
}

std::vector<std::string> submit(const std::string& program, const std::string& file,
                                const std::string& store, const SlurmOptions& options,
                                Outputs& outputs) {
  const std::string folder = slurm_folder(store);
  std::filesystem::create_directories(folder);
  const std::string array = folder + "/array.sbatch", merge = folder + "/merge.sbatch",
                    jobs = folder + "/jobs";
  for (const std::string& path : {array, merge, jobs}) outputs.add("--slurm", path);
  outputs.write(array, array_script(program, file, store, options));
  outputs.write(merge, merge_script(program, store, options));
  outputs.commit();
  const std::string first = job_number(output_of("sbatch --parsable " + shell_word(array)));
  outputs.write(jobs, first + "\n");
  outputs.commit();  // so that it can be cancelled, should the other one not be taken
  const std::string last = job_number(output_of(
      fmt::format("sbatch --parsable --dependency=afterany:{} {}", first, shell_word(merge))));
  outputs.write(jobs, first + "\n" + last + "\n");
  outputs.commit();
  return {first, last};
}

std::vector<std::string> cancel(const std::string& store) {
  const std::string jobs = read_text_file(slurm_folder(store) + "/jobs",
                                          "only what --slurm has submitted can be cancelled");
  std::vector<std::string> out;
  for (std::string_view rest = jobs; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (out.empty() || out.size() > 2)
    throw Error(Place{slurm_folder(store) + "/jobs", 0, {}}, "does not name one job or two");
  output_of("scancel " + shell_word(out.front()));
  return out;
}

}  // namespace fabricast
