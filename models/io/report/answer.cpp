#include "models/io/report/answer.hpp"

#include <algorithm>

#include "models/io/report/answer_words.hpp"

namespace fabricast {

std::string answer_of(const Report& report) {
  for (const auto& studies :
       {answers::of_calls(), answers::of_steps(), answers::of_clusters(), answers::of_sweeps()}) {
    const auto found =
        std::ranges::find(studies, std::string_view(report.study), &answers::StudyAnswer::first);
    if (found == studies.end()) continue;
    const bool from_file = std::ranges::any_of(
        report.tables, [](const ReportTable& table) { return table.name() == "expectations"; });
    return from_file ? answers::of_expectations(report) : found->second(report);
  }
  return {};
}

}  // namespace fabricast
