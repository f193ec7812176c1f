#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "cli/commands.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/streams.hpp"

namespace fabricast {
namespace {

std::string progress_text(double share, double passed_s) {
  std::string out = fmt::format("simulating {:3.0f} %", std::floor(share * 100));
  const double left_s = passed_s * (1 - share) / std::max(share, 1e-9);
  if (passed_s < 3 || share < 0.01 || left_s < 10) return out;
  if (left_s < 90) return out + fmt::format(", about {:.0f} s left", left_s);
  if (left_s < 90 * 60) return out + fmt::format(", about {:.0f} min left", left_s / 60);
  return out + fmt::format(", about {:.0f} h left", left_s / 3600);
}

}  // namespace

Progress::Progress(const Answers& answers)
    : poll_(answers.poll), listener_(answers.progress), watched_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (!shown_.empty()) std::fputs("\r\033[K", stderr);
}

std::function<void(double)> Progress::callback() {
  return [this](double share) {
    if (poll_) poll_();
    if (listener_) return listener_(share);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    if (!watched_ && passed.count() < next_line_s_) return;
    std::string text = progress_text(share, passed.count());
    if (!watched_) {
      print_err("{}\n", text);
      next_line_s_ = passed.count() + 60;
      return;
    }
    if (text == shown_) return;
    std::fputs(fmt::format("\r{}\033[K", text).c_str(), stderr);
    std::fflush(stderr);
    shown_ = std::move(text);
  };
}

}  // namespace fabricast
