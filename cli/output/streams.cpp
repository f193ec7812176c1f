#include "cli/output/streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#include "text/quoting.hpp"

namespace fabricast {
namespace {

[[noreturn]] void fail() {
  const char* const what = "the output could not be written";
  if (errno == EPIPE) throw ReaderLeft(what);
  throw OutputError(what);
}

/// All of the answer: what ends in an error has printed nothing.
std::string& held_back() {
  static std::string text;
  return text;
}

/// Of this thread; nullptr = there is none.
StreamListener*& listener() {
  static thread_local StreamListener* one = nullptr;
  return one;
}

/// Standard input, output, error, with what makes every use of a closed one fail.
constexpr int kUseless[] = {O_WRONLY, O_RDONLY, O_RDONLY};

}  // namespace

void prepare_streams() {
  for (int stream = 0; stream < 3; ++stream) {
    // The lowest free number is taken, which is this one.
    if (fcntl(stream, F_GETFD) == -1) static_cast<void>(open("/dev/null", kUseless[stream]));
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

StreamListener::StreamListener(Take out, Take err) : out_(std::move(out)), err_(std::move(err)) {
  listener() = this;
}

StreamListener::~StreamListener() { listener() = nullptr; }

void write_out(std::string_view text) {
  if (listener() != nullptr) return listener()->out_(text);
  held_back() += terminal_text(text);
}

void flush_out() {
  const std::string text = std::exchange(held_back(), {});
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) fail();
}

void write_err(std::string_view text) noexcept {
  try {
    if (listener() != nullptr) return listener()->err_(text);
    const std::string clean = terminal_text(text);
    std::fwrite(clean.data(), 1, clean.size(), stderr);
  } catch (const std::exception&) {  // no memory: better nothing than what a terminal acts on
  }
}

}  // namespace fabricast
