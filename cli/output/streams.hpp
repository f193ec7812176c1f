#pragma once
// What the program says: answers to standard output, notes and errors to standard error. The only
// place that writes to either. What a terminal would act on is made visible (terminal_text).

#include <fmt/format.h>

#include <functional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace fabricast {

/// An answer or a file could not be written: exit code 3.
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
/// Whoever read the answer has left, as `head` does: exit code 3 too, but nothing to tell.
class ReaderLeft : public OutputError {
 public:
  using OutputError::OutputError;
};

/// Before anything else: a closed stream stays without a number that a file could take; a pipe that
/// nobody reads and a file that may not grow are errors of writing, not the end of the program.
void prepare_streams();

/// While it lives, what this thread says goes to these in place of the process's own streams: for
/// programs that this one is a library of. One at a time.
class StreamListener {
 public:
  using Take = std::function<void(std::string_view)>;

  StreamListener(Take out, Take err);
  ~StreamListener();
  StreamListener(const StreamListener&) = delete;
  StreamListener& operator=(const StreamListener&) = delete;

 private:
  friend void write_out(std::string_view text);
  friend void write_err(std::string_view text) noexcept;

  Take out_, err_;
};

/// Adds to the answer, which flush_out() prints: a run that ends in an error prints none of it.
void write_out(std::string_view text);
/// Throws OutputError.
void flush_out();
/// What cannot be said is lost: no answer depends on it.
void write_err(std::string_view text) noexcept;

template <class... Args>
void print_out(fmt::format_string<Args...> format, Args&&... args) {
  write_out(fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void print_err(fmt::format_string<Args...> format, Args&&... args) noexcept {
  try {
    write_err(fmt::format(format, std::forward<Args>(args)...));
  } catch (const std::exception&) {  // no memory for the message
    write_err("fabricast: out of memory\n");
  }
}

}  // namespace fabricast
