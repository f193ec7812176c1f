#include "fabricast/error.hpp"

#include "sim/base/error.hpp"
#include "text/quoting.hpp"

namespace fabricast::api {

Error::Error(std::string file, int line, std::string path, std::string message, std::string hint)
    : file_(utf8_text(file)),
      line_(line),
      path_(utf8_text(path)),
      message_(utf8_text(message)),
      hint_(utf8_text(hint)),
      text_(fabricast::Error({file_, line_, path_}, message_, hint_).what()) {}

Error::~Error() = default;

}  // namespace fabricast::api
