#include "fabricast/error.hpp"

#include <utility>

#include "sim/base/error.hpp"

namespace fabricast::api {

Error::Error(std::string file, int line, std::string path, std::string message, std::string hint)
    : file_(std::move(file)),
      line_(line),
      path_(std::move(path)),
      message_(std::move(message)),
      hint_(std::move(hint)),
      text_(fabricast::Error({file_, line_, path_}, message_, hint_).what()) {}

Error::~Error() = default;

}  // namespace fabricast::api
