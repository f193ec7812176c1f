#include <unistd.h>

#include <cstdio>

#include "cli/commands.hpp"

namespace fabricast {

Progress::Progress() : watched_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_ >= 0) std::fputs("\r\033[K", stderr);
}

std::function<void(double)> Progress::callback() {
  if (!watched_) return {};
  return [this](double share) {
    const int percent = static_cast<int>(share * 100);
    if (percent == shown_) return;
    shown_ = percent;
    std::fprintf(stderr, "\rsimulating %3d %%", percent);
    std::fflush(stderr);
  };
}

}  // namespace fabricast
