#pragma once
// The keys of a Job in YAML files of all kinds: what a file does not say stays as it is.

#include <string>
#include <string_view>

#include "models/io/formats/reader.hpp"
#include "models/studies/shared/job.hpp"

namespace fabricast {

/// Is the key there? Asking also makes it known, for the hint on a misspelt one.
inline bool given(Reader& in, std::string_view key) { return !in.text(key, "").empty(); }

/// A value that a parser of unit_text refuses gets the place of its key.
template <class Parse>
auto parsed(Reader& in, std::string_view key, Parse parse) {
  const std::string text = in.text(key);
  return placed(in.place(key), [&] { return parse(text); });
}

/// A name or a path relative to the folder of `file`, of what there is. Throws Error at the key.
std::string read_topology(Reader& in, std::string_view key, const std::string& file);
void read_fabric(Reader& in, const std::string& file, Job& job);
int read_gpus_per_node(Reader& in, int otherwise = 0);
void read_release(Reader& in, NcclVersion& version);
/// On top of what is set.
void read_environment(Reader& in, Environment& environment);
/// What of a job `whatif` compares: topology, nccl, environment.
void read_machine(Reader& in, const std::string& file, Job& job);
/// What every question in a scenario heeds: topology, gpus_per_node, sharp, nccl, environment.
void read_job(Reader& in, const std::string& file, Job& job);

}  // namespace fabricast
