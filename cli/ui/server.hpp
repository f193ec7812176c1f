#pragma once
// The live page's server, for one user on this machine: it listens on 127.0.0.1 alone, and answers
// those alone who know its token. docs/ui.md lists what it answers.

#include <cstddef>
#include <functional>
#include <string>

namespace fabricast {

struct ServerLimits {
  std::size_t body_bytes = 16 << 20;
  double seconds = 300;  ///< for one answer
};

class UiServer {
 public:
  /// `folder`: an empty one that is its own, for files that come with questions.
  UiServer(std::string folder, std::string token, ServerLimits limits = {});
  ~UiServer();
  UiServer(const UiServer&) = delete;
  UiServer& operator=(const UiServer&) = delete;

  /// 0: any that is free. The port; throws Error when it cannot be had.
  int bind(int port);
  /// Answers until stop().
  void run();
  /// From any thread, after bind(), once; run() may be yet to come, or never come. What is being
  /// simulated is given up.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fabricast
