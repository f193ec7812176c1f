#include "models/studies/shared/read_job.hpp"

#include "models/io/formats/text_file.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/base/releases.hpp"

namespace fabricast {

std::string read_topology(Reader& in, std::string_view key, const std::string& file) {
  std::string out = resolved(in.text(key), file);
  placed(in.place(key), [&] { check_topology_name(out); });
  return out;
}

void read_fabric(Reader& in, const std::string& file, Job& job) {
  if (!given(in, "fabric")) return;
  job.fabric = resolved(in.text("fabric"), file);
  placed(in.place("fabric"), [&] { check_fabric_name(job.fabric); });
}

int read_gpus_per_node(Reader& in, int otherwise) {
  return in.whole("gpus_per_node", 1, kGpusPerNodeMax, otherwise);
}

void read_release(Reader& in, NcclVersion& version) {
  if (given(in, "nccl")) version = parsed(in, "nccl", nccl_version_from_text);
}

void read_environment(Reader& in, Environment& environment) {
  if (!in.has("environment")) {
    in.table("environment");  // makes the key known
    return;
  }
  Reader variables = in.child("environment");
  for (const std::string& name : variables.keys()) environment.set(name, variables.any_text(name));
}

void read_machine(Reader& in, const std::string& file, Job& job) {
  if (given(in, "topology")) job.topology = read_topology(in, "topology", file);
  read_release(in, job.version);
  read_environment(in, job.environment);
}

void read_job(Reader& in, const std::string& file, Job& job) {
  read_machine(in, file, job);
  job.gpus_per_node = read_gpus_per_node(in, job.gpus_per_node);
  job.sharp = in.flag("sharp", job.sharp);
}

}  // namespace fabricast
