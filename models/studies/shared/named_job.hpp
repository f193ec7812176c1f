#pragma once
// Jobs side by side: every combination of what differs between them, each named by that.

#include <string>
#include <utility>
#include <vector>

#include "models/studies/shared/job.hpp"

namespace fabricast {

/// A job, and the words that tell it from the others; "" = there are none.
struct NamedJob {
  std::string name;
  Job job;
};

/// Each of `all` with each value, if there are any; named where there are several. `change` makes
/// the change and says the word for it.
template <class Value, class Change>
void multiply(std::vector<NamedJob>& all, const std::vector<Value>& values, Change change) {
  if (values.empty()) return;
  std::vector<NamedJob> out;
  for (const NamedJob& one : all) {
    for (const Value& value : values) {
      NamedJob made = one;
      const std::string word = change(made.job, value);
      if (values.size() > 1) made.name += (made.name.empty() ? "" : ", ") + word;
      out.push_back(std::move(made));
    }
  }
  all = std::move(out);
}

}  // namespace fabricast
