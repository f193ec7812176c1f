#pragma once
// What scenarios and rules say of a run: cluster, release, environment, sizes, network, faults.

#include <string>
#include <string_view>

#include "models/io/formats/reader.hpp"
#include "models/studies/scenario/scenario.hpp"

namespace fabricast {

/// Is the key there? Asking also makes it known, for the hint on a misspelt one.
inline bool given(Reader& in, std::string_view key) { return !in.text(key, "").empty(); }

/// A value that a parser of unit_text refuses gets the place of its key.
template <class Parse>
auto parsed(Reader& in, std::string_view key, Parse parse) {
  const std::string text = in.text(key);
  return placed(in.place(key), [&] { return parse(text); });
}

// What a case of each study may say; what it does not say stays as it is.
/// What every study heeds: topology, gpus_per_node, sharp, nccl, environment.
void read_job(Reader& in, const std::string& file, Job& job);
void read_fabric(Reader& in, const std::string& file, Job& job);
/// `1..64`, doubling, or `1,2,4`.
void read_nodes(Reader& in, std::vector<int>& nodes);
void read_bench(Reader& in, const std::string& file, BenchConfig& config);
void read_decide(Reader& in, const std::string& file, DecideConfig& config);
void read_concurrent_case(Reader& in, const std::string& file, ConcurrentCase& config);
/// whatif, above its cases: calls or a layout, and where they run.
void read_work(Reader& in, const std::string& file, Work& work);
/// whatif, in a case: topology, fabric, nccl, environment.
void read_setup(Reader& in, const std::string& file, Work& work);

}  // namespace fabricast
