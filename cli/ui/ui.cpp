#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "cli/commands.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/streams.hpp"
#include "cli/ui/own_folder.hpp"
#include "cli/ui/question.hpp"
#include "cli/ui/server.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/topologies/load.hpp"

namespace fabricast {

namespace {

struct UiOptions {
  int port = 0;
};

/// Of the address space, with that of its threads' stacks.
constexpr rlim_t kMemoryMax = rlim_t{3} << 30;

/// 128 bits that nobody can guess, in hexadecimal.
std::string make_token() {
  std::random_device random;
  std::string out;
  for (int i = 0; i < 4; ++i) out += fmt::format("{:08x}", random());
  return out;
}

int run(const UiOptions& options) {
  const OwnFolder folder;
  const std::string token = make_token();
  UiServer server(folder.path(), token);
  const int port = server.bind(options.port);
  read_only_below(folder.path());
  build_at_most(kPageNodesMax);
  std::filesystem::current_path(folder.path());
  const rlimit memory{kMemoryMax, kMemoryMax};
  setrlimit(RLIMIT_AS, &memory);
  // Threads inherit that these are blocked: one of them alone waits for them.
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  // Before there is a thread to wait for: it may be that nobody can be told.
  print_out("http://127.0.0.1:{}/?token={}\nCtrl-C ends it.\n", port, token);
  flush_out();
  std::jthread waiter([&] {
    int signal = 0;
    sigwait(&ending, &signal);
    server.stop();
  });
  const struct WakesIt {
    std::jthread& waiter;
    ~WakesIt() { pthread_kill(waiter.native_handle(), SIGTERM); }
  } wakes_it{waiter};
  server.run();
  return kDone;
}

}  // namespace

void add_ui(CLI::App& app, Action& action) {
  auto options = std::make_shared<UiOptions>();
  CLI::App* command = app.add_subcommand(
      "ui", "a live page on this machine: change a cluster and watch the curves, in a browser");
  command->add_option("--port", options->port, "of 127.0.0.1; default: any that is free")
      ->check(whole_number(0, 65535));
  command->callback([options, &action] { action = [options](Answers&) { return run(*options); }; });
}

}  // namespace fabricast
