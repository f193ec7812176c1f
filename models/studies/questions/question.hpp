#pragma once
// A question in a file, of any kind (kQuestionKindWords), and its answer: what `fabricast run`
// does.

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
  bool holds = true;  ///< all that the file expects, and every collective completes
};

/// What a file asks, read and checked.
struct Question {
  std::string kind;
  std::vector<Job> jobs;  ///< that the file names, as far as its kind has any
  /// `for_each`: for kinds that have many runs of their own. `progress`: the share done, 0..1.
  /// Throws Error.
  std::function<Answer(const ForEach& for_each, const std::function<void(double)>& progress)>
      answer;
};

/// `text` is what `file` says; other files that it names are looked for beside it. Throws Error.
Question parse_question(const std::string& text, const std::string& file);

}  // namespace fabricast
