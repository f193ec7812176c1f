// Any bytes as measured kernels, as costs of kernels: an error, or something that reads back the
// same.

#include <cmath>

#include "input.hpp"
#include "models/io/workloads/load_kernels.hpp"
#include "models/io/workloads/load_step_fits.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/kernels/kernel_time.hpp"
#include "models/studies/kernels/kernel_rows.hpp"

using namespace fabricast;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ComputeCatalogue compute = load_compute();
  const std::string text = fuzz::text_of(data, size);
  fuzz::runs([&] {
    for (const KernelRow& row : read_kernel_rows(text, "k.csv", compute).rows) {
      fuzz::require(row.time_us > 0);
      const double time = kernel_time(row.gpu, row.work, start_costs(row.name.family));
      fuzz::require(std::isfinite(time) && time > 0);
    }
  });
  fuzz::runs([&] {
    const KernelCatalogue read = parse_kernels(text, "k.yaml");
    const std::string again = "kind: kernels\n" + kernels_yaml(read);
    fuzz::require(parse_kernels(again, "k.yaml").sets.size() == read.sets.size());
  });
  fuzz::runs([&] {
    const StepFits read = parse_step_fits(text, "f.yaml");
    fuzz::require(parse_step_fits(step_fits_yaml(read), "f.yaml").without.size() ==
                  read.without.size());
  });
  return 0;
}
