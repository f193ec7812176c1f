#pragma once
// For tests of messages: what a call throws, as the user would read it.

#include <string>

#include "sim/base/error.hpp"

namespace fabricast {

/// The text of the Error that `call` throws, or "no error".
template <class Call>
std::string error_text(Call call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace fabricast
