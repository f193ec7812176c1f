#pragma once
// A question in a file, of any kind, and its answer: what `fabricast run` does. A new kind is a row
// of the table in question.cpp.

#include <functional>
#include <string>
#include <vector>

#include "models/io/report/report.hpp"
#include "models/studies/shared/for_each.hpp"
#include "models/studies/shared/job.hpp"

namespace fabricast {

struct Answer {
  std::function<std::string()> page;  ///< for people
  std::function<Report()> report;
  bool holds = true;      ///< all that the file expects, and every collective completes
  std::vector<Job> jobs;  ///< that the file names, as far as its kind has any
};

/// The kinds of files, as `kind:` names them.
std::vector<std::string> question_kinds();

/// `text` is what `file` says. `for_each`: for kinds that have many runs of their own. `progress`:
/// the share done, 0..1. Throws Error.
Answer answer_question(const std::string& text, const std::string& file, const ForEach& for_each,
                       const std::function<void(double)>& progress = {});

}  // namespace fabricast
