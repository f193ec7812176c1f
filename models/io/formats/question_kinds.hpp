#pragma once
// The kinds of files that `fabricast run` answers, as the key `kind` names them.

#include <cstdint>

#include "text/enum_words.hpp"

namespace fabricast {

enum class QuestionKind : std::uint8_t { scenario, step, plan, serve, hang, rules, compare };
inline constexpr auto kQuestionKindWords =
    enum_words<QuestionKind>("scenario", "step", "plan", "serve", "hang", "rules", "compare");

}  // namespace fabricast
