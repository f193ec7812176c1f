#pragma once
// What scenarios and rules say of a run: cluster, release, environment, sizes, network, faults.

#include <string>

#include "models/io/formats/reader.hpp"
#include "models/studies/scenario/scenario.hpp"
#include "models/studies/shared/read_job.hpp"

namespace fabricast {

// What a case of each study may say; what it does not say stays as it is.
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
