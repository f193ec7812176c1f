#pragma once
// Errors of the rooms as those of the library.

#include <filesystem>
#include <string>

#include "cli/output/streams.hpp"
#include "fabricast/error.hpp"
#include "sim/base/error.hpp"

namespace fabricast::api {

/// What `call` returns. What is nobody's mistake (std::bad_alloc, what a listener threw) passes.
template <class Call>
decltype(auto) translated(const Call& call) {
  try {
    return call();
  } catch (const fabricast::Error& error) {
    const Place& place = error.place();
    throw Error(place.file, place.line, place.path, error.message(), error.hint());
  } catch (const OutputError& error) {
    throw Error({}, 0, {}, error.what(), {});
  } catch (const std::filesystem::filesystem_error& error) {
    throw Error(error.path1().string(), 0, {}, error.code().message(), {});
  }
}

}  // namespace fabricast::api
