#pragma once
// A question that the live page asks: JSON whose keys are a command's options (docs/ui.md), as the
// words of a command line, so that page and command line mean the same and refuse the same.

#include <functional>
#include <optional>
#include <string>

#include "cli/ui/own_folder.hpp"
#include "models/io/report/page_data.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

/// What the page may ask for, by an option or in a file.
inline constexpr int kPageNodesMax = 1024;

/// What went wrong, as the page takes it: {"error": {"message", "option", "file", "line", "hint"}},
/// null where there is none.
Json error_json(const Error& error);

/// The question was given up: nobody waits for its answer any more, or it took too long.
class GivenUp {};

/// Who follows it. Each may throw GivenUp.
struct Listener {
  std::function<void()> poll;               ///< as Answers has it
  std::function<void(double)> progress;     ///< the share done, 0..1
  std::function<void(const Json&)> so_far;  ///< a part with the rows there are
  std::function<bool()> wants_more;         ///< is it time for another of these?
};

/// The part that answers it, or an error. `folder`: an empty one, for the files that came with it.
struct Answered {
  std::optional<Json> part;
  Json error;
};
/// `threads`: that simulate.
Answered answer(const std::string& study, const Json& body, const OwnFolder& folder, int threads,
                const Listener& listener);

/// What a dropped file is: {"kind", "name", "facts", "topology"}. `folder` as above.
Json describe_file(const std::string& name, const std::string& text, const OwnFolder& folder);

bool is_file_name(const std::string& name);

}  // namespace fabricast
