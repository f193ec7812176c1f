#include "models/studies/decide/decide_kernels.hpp"

#include <fmt/format.h>

#include "models/io/report/columns.hpp"
#include "text/text_table.hpp"
#include "text/unit_text.hpp"

namespace fabricast {
namespace {

/// What a row says, in columns but for the size; equal ones are joined.
using Cells = std::vector<std::string>;

template <class Said>
void add_runs(const std::vector<const DecideRow*>& rows, TextTable& table, Said said) {
  for (std::size_t i = 0; i < rows.size();) {
    Cells cells = said(*rows[i]);
    std::size_t j = i + 1;
    while (j < rows.size() && said(*rows[j]) == cells) ++j;
    const std::string first = to_text(rows[i]->requested), last = to_text(rows[j - 1]->requested);
    cells.insert(cells.begin(), first == last ? first : fmt::format("{} .. {}", first, last));
    table.add(std::move(cells));
    i = j;
  }
}

std::string name_of(const DecideRow& row) {
  const RegisteredChoice& choice = *row.registered;
  if (choice.path == RegisteredPath::symmetric)
    return std::string(kSymmetricKernelWords[choice.kernel]);
  if (choice.path == RegisteredPath::copy_engine) return "CopyEngine";
  if (!row.decision.algorithm) return "none";
  return fmt::format("{} {}", to_text(*row.decision.algorithm), to_text(row.decision.protocol));
}

Cells said_of_registered(const DecideRow& row) {
  const RegisteredChoice& choice = *row.registered;
  const std::string blocks = choice.blocks > 0 ? std::to_string(choice.blocks) : "-";
  return {std::string(kRegisteredPathWords[choice.path]), name_of(row), blocks, choice.why};
}

}  // namespace

std::string kernels_text(const DecideConfig& config, const std::vector<const DecideRow*>& rows) {
  std::string out;
  if (rows.front()->registered) {
    TextTable table("  ");
    table.add({"size", "path", "kernel", "blocks", "why"});
    add_runs(rows, table, said_of_registered);
    out += fmt::format("With registered buffers (-R {}):\n{}",
                       kRegistrationWords[config.registered], table.text());
  }
  for (std::size_t i = 0; i < rows.front()->engines.size(); ++i) {
    TextTable table("  ");
    table.add({"size", "kernel", "why"});
    add_runs(rows, table, [&](const DecideRow& row) {
      const EngineChoice& choice = row.engines[i];
      return Cells{std::string(kEngineKernelWords[choice.kernel]), choice.why};
    });
    out += fmt::format("{}, bfloat16:\n{}", to_text(config.engines[i]), table.text());
  }
  return out;
}

ReportTable registered_table(const DecideResult& result) {
  using namespace column;
  ReportTable out("registered",
                  {kCollective, kSize, kNodes, text("path"), text("kernel"), whole("blocks"),
                   us("nccl_predicted_us"), text("why"), text("untimed")});
  for (const DecideBlock& block : result.blocks) {
    for (const DecideRow& row : block.rows) {
      const RegisteredChoice& choice = *row.registered;
      out.add({to_text(row.collective), row.requested.count, block.communicator.hosts,
               kRegisteredPathWords[choice.path], name_of(row),
               choice.blocks > 0 ? Json(choice.blocks) : Json(),
               choice.nccl_us > 0 ? Json(choice.nccl_us) : Json(), choice.why, choice.untimed});
    }
  }
  return out;
}

ReportTable engines_table(const DecideResult& result) {
  using namespace column;
  ReportTable out("engines",
                  {kCollective, kSize, kNodes, text("engine"), text("kernel"), text("why")});
  for (const DecideBlock& block : result.blocks) {
    for (const DecideRow& row : block.rows)
      for (std::size_t i = 0; i < row.engines.size(); ++i)
        out.add({to_text(row.collective), row.requested.count, block.communicator.hosts,
                 to_text(result.config.engines[i]), kEngineKernelWords[row.engines[i].kernel],
                 row.engines[i].why});
  }
  return out;
}

}  // namespace fabricast
