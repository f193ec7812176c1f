#include "models/studies/engines/registered_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "models/io/formats/csv_table.hpp"
#include "models/io/formats/required_cell.hpp"

namespace fabricast {
namespace {

constexpr int kDomainMax = 576, kBlocksMax = 64;  // NVLink domain of the largest rack; NCCL's grid
constexpr int kSizeMax = std::numeric_limits<int>::max();

RegisteredRow kernel_row_of(const CsvRow& in) {
  RegisteredRow out;
  out.place = in.place();
  const std::string& kernel = in.text("kernel");
  const std::optional<SymmetricKernel> known = kSymmetricKernelWords.find(kernel);
  if (!known)
    throw Error(in.place("kernel"), fmt::format("\"{}\" is no symmetric kernel of NCCL", kernel),
                hint_nearest(kernel, kSymmetricKernelWords.list()));
  if (traits_of(*known).crosses_network)
    throw Error(in.place("kernel"), fmt::format("{} is not simulated", kernel),
                "it crosses the network: leave such rows out");
  out.kernel = *known;
  out.topology = in.text("topology");
  out.gpus = required(in.whole("gpus", 2, kDomainMax), in, "gpus");
  out.size = {required(in.whole("bytes", 1, kSizeMax), in, "bytes")};
  out.blocks = in.whole("blocks", 1, kBlocksMax).value_or(0);
  out.time_us = required(in.positive("time_us"), in, "time_us");
  return out;
}

}  // namespace

std::vector<RegisteredRow> read_registered_rows(const std::string& text, const std::string& file) {
  const CsvTable table(text, file);
  for (const std::string_view column : {"kernel", "topology", "gpus", "bytes", "time_us"})
    static_cast<void>(table.column(column));
  std::vector<RegisteredRow> out;
  for (std::size_t i = 0; i < table.rows(); ++i) out.push_back(kernel_row_of(table.row(i)));
  if (out.empty()) throw Error(Place{file, 1, {}}, "no row: nothing to compare with");
  return out;
}

}  // namespace fabricast
