#include "cli/ui/server.hpp"

#include <fmt/format.h>
#include <httplib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include "cli/output/streams.hpp"
#include "cli/ui/catalogue.hpp"
#include "cli/ui/own_folder.hpp"
#include "cli/ui/question.hpp"
#include "models/io/host/cpus.hpp"
#include "models/io/pages/page.hpp"
#include "sim/base/error.hpp"
#include "text/numbers.hpp"
#include "text/quoting.hpp"

namespace fabricast {
namespace ui_server {

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenParts = std::chrono::milliseconds(60);
constexpr auto kBetweenProgress = std::chrono::milliseconds(100);
constexpr std::size_t kThreads = 32;
/// Questions that are simulated at a time: while a long one is, what is typed gets its answer.
constexpr int kTurns = 2;
/// Threads of each, at most: stacks of more would take the server's address space.
constexpr int kThreadsEach = 8;
/// Connections that nobody took yet. The library has five: of a crowd Linux would reset those that
/// send a second segment before they are taken (SYN cookies).
constexpr int kBacklog = 1024;
constexpr const char* kJson = "application/json";

/// So many simulate at a time; the others wait for it.
class Turns {
 public:
  explicit Turns(int running) : free_(running) {}

  /// What `poll` throws ends the wait.
  void take(const std::function<void()>& poll) {
    std::unique_lock lock(mutex_);
    while (free_ == 0) {
      changed_.wait_for(lock, std::chrono::milliseconds(50));
      lock.unlock();
      poll();
      lock.lock();
    }
    --free_;
  }
  void give_back() {
    {
      const std::lock_guard lock(mutex_);
      ++free_;
    }
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int free_;
};

/// In a time that does not tell how much of it was right.
inline bool same(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  int differs = 0;
  for (std::size_t i = 0; i < one.size(); ++i) differs |= one[i] ^ other[i];
  return differs == 0;
}

inline void refuse(httplib::Response& response, int status, const std::string& message,
                   const std::string& hint = {}) {
  response.status = status;
  response.set_content(json_line(error_json(Error(message, hint))), kJson);
}

/// What became of a question that has no answer.
struct Failure {
  int status;
  std::string message, hint;
};

inline Failure failure_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const GivenUp&) {
    return {503, "the question was given up", "it took too long, or the server stops"};
  } catch (const OutputError& error) {
    return {500, error.what(),
            "files of questions are kept there: begin `fabricast ui` again, with another TMPDIR"};
  } catch (...) {
    return {500, "the program failed at this question", "please report it with the question"};
  }
}

/// As it is: the library would compress it for a browser as hard as it can, which takes seconds for
/// the page and saves nothing on the way to this machine itself. It leaves alone what has a
/// provider.
inline void give(httplib::Response& response, std::shared_ptr<const std::string> text,
                 const char* type) {
  const std::size_t bytes = text->size();
  response.set_content_provider(
      bytes, type,
      [text = std::move(text)](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
        return sink.write(text->data() + offset, length);
      });
}

inline void give_json(httplib::Response& response, const Json& json) {
  give(response, std::make_shared<const std::string>(json_line(json)), kJson);
}

/// What the page has to know, with the limit that it has to keep.
inline Json catalogue_of(const ServerLimits& limits) {
  Json out = ui_catalogue();
  out["question_bytes"] = limits.body_bytes;
  return out;
}

/// The library takes "-5" for nearly 2^64 bytes and waits for them.
inline bool has_sound_length(const httplib::Request& request) {
  const std::string length = request.get_header_value("Content-Length");
  return length.empty() || to_number<std::size_t>(length).has_value();
}

/// The library's own choice, SO_REUSEPORT, would let two servers share a port.
inline void keep_port(int socket) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

inline std::string event(const char* name, const Json& data) {
  return fmt::format("event: {}\ndata: {}\n\n", name, json_line(data));
}

}  // namespace ui_server

using namespace ui_server;

struct UiServer::Impl {
  Impl(std::string folder_in, std::string token_in, ServerLimits limits_in)
      : folder(std::move(folder_in)),
        token(std::move(token_in)),
        limits(limits_in),
        page(std::make_shared<const std::string>(ui_page())),
        catalogue(std::make_shared<const std::string>(json_line(catalogue_of(limits_in)))) {
    server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server.set_socket_options([this](int socket) {
      keep_port(socket);
      listening = dup(socket);
    });
    server.set_payload_max_length(limits.body_bytes);
    server.set_read_timeout(10);
    server.set_keep_alive_timeout(5);  // the end of the server waits for idle connections
    server.set_pre_routing_handler([this](const auto& request, auto& response) {
      return check(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                      : httplib::Server::HandlerResponse::Handled;
    });
    server.set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (!response.body.empty()) return;
      const char* const text = response.status == 413   ? "the question is too large"
                               : response.status == 404 ? "there is no such page"
                                                        : "this is no question";
      refuse(response, response.status, text);
    });
    server.set_exception_handler(
        [](const httplib::Request&, httplib::Response& response, const std::exception_ptr& thrown) {
          const Failure failure = failure_of(thrown);
          refuse(response, failure.status, failure.message, failure.hint);
        });
    server.Get("/", [this](const httplib::Request&, httplib::Response& response) {
      response.set_header("Referrer-Policy", "no-referrer");
      give(response, page, "text/html; charset=utf-8");
    });
    server.Get("/api/v1/catalogue", [this](const httplib::Request&, httplib::Response& response) {
      give(response, catalogue, kJson);
    });
    server.Post("/api/v1/import",
                [this](const auto& request, auto& response) { import(request, response); });
    server.Post(R"(/api/v1/([a-z]+))",
                [this](const auto& request, auto& response) { ask(request, response); });
  }

  ~Impl() {
    if (listening >= 0) close(listening);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Pages of other sites reach this server too, through their readers' browsers: they know no
  /// token, and call it by another name (DNS rebinding).
  bool check(const httplib::Request& request, httplib::Response& response) const {
    response.set_header("Cache-Control", "no-store");
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_header("Cross-Origin-Resource-Policy", "same-origin");
    const std::string here = fmt::format("127.0.0.1:{}", port),
                      name = fmt::format("localhost:{}", port);
    const std::string host = request.get_header_value("Host");
    const std::string origin = request.get_header_value("Origin");
    const bool known = host == here || host == name;
    const bool own = origin.empty() || origin == "http://" + here || origin == "http://" + name;
    // The library would read beyond the end of what it gives a part of.
    if (request.has_header("Range")) {
      refuse(response, 416, "answers are given whole", "leave Range out");
      return false;
    }
    if (!known || !own) {
      refuse(response, 403, "this address is not the server's", "open the one that it printed");
      return false;
    }
    if (request.path == "/" && request.method == "GET") return true;
    if (!has_sound_length(request)) {
      response.set_header("Connection", "close");  // where the body ends is not known
      refuse(response, 400, "the question's length is no number");
      return false;
    }
    if (!same(request.get_header_value("X-Fabricast-Token"), token)) {
      refuse(response, 401, "the token is missing or wrong", "open the address that was printed");
      return false;
    }
    return true;
  }

  void import(const httplib::Request& request, httplib::Response& response) {
    std::string name = httplib::detail::decode_url(request.get_header_value("X-File-Name"), false);
    for (char& c : name)
      if (!is_file_name(std::string("a") + c)) c = '_';
    if (!is_file_name(name)) name = "file";
    const OwnFolder own(folder, std::to_string(next++));
    give_json(response, describe_file(name, request.body, own));
  }

  void ask(const httplib::Request& request, httplib::Response& response) {
    const std::string study = request.matches[1];
    auto body = std::make_shared<Json>(Json::parse(request.body, nullptr, false));
    if (body->is_discarded()) return refuse(response, 422, "the question is no JSON");
    if (request.get_header_value("Accept").find("text/event-stream") != std::string::npos) {
      response.set_chunked_content_provider(
          "text/event-stream", [this, study, body](std::size_t, httplib::DataSink& sink) {
            stream(study, *body, sink);
            return true;
          });
      return;
    }
    const auto begin = Clock::now();
    Listener listener;
    listener.poll = [this, begin] { check_time(begin); };
    const Answered answered = in_turn(study, *body, listener);
    if (answered.part) return give_json(response, *answered.part);
    response.status = 422;
    response.set_content(json_line(answered.error), kJson);
  }

  /// The answer as server-sent events: progress, part, then report or error.
  void stream(const std::string& study, const Json& body, httplib::DataSink& sink) {
    const auto begin = Clock::now();
    auto told = begin, shown = begin, looked = begin;
    bool gone = false;
    std::mutex mutex;
    const auto send = [&](const std::string& text) {
      gone = gone || !sink.write(text.data(), text.size());
      if (gone) throw GivenUp();
    };
    Listener listener;  // called from any of the threads that simulate
    listener.poll = [&] {
      check_time(begin);
      const std::lock_guard lock(mutex);
      const auto now = Clock::now();
      if (now - looked < kBetweenProgress) return;
      looked = now;
      gone = gone || !sink.is_writable();
      if (gone) throw GivenUp();
    };
    listener.progress = [&](double done) {
      const std::lock_guard lock(mutex);
      const auto now = Clock::now();
      if (now - told < kBetweenProgress) return;
      told = now;
      const double passed = std::chrono::duration<double>(now - begin).count();
      send(event("progress",
                 {{"done", done},
                  {"seconds_left", done > 0 ? Json(passed * (1 - done) / done) : Json()}}));
    };
    listener.wants_more = [&] { return Clock::now() - shown >= kBetweenParts; };
    listener.so_far = [&](const Json& part) {
      const std::lock_guard lock(mutex);
      send(event("part", part));
      shown = Clock::now();
    };
    try {
      const Answered answered = in_turn(study, body, listener);
      send(answered.part ? event("report", *answered.part) : event("error", answered.error));
    } catch (...) {  // the library calls this where nothing catches
      const Failure failure = failure_of(std::current_exception());
      const std::string text = event("error", error_json(Error(failure.message, failure.hint)));
      if (!gone) sink.write(text.data(), text.size());
    }
    sink.done();
  }

  Answered in_turn(const std::string& study, const Json& body, const Listener& listener) {
    turns.take(listener.poll);
    struct Turn {
      Turns& turns;
      ~Turn() { turns.give_back(); }
    } const turn{turns};
    const OwnFolder own(folder, std::to_string(next++));
    return answer(study, body, own, threads, listener);
  }

  void check_time(Clock::time_point begin) const {
    const double passed = std::chrono::duration<double>(Clock::now() - begin).count();
    if (stopping || passed > limits.seconds) throw GivenUp();
  }

  std::string folder, token;
  ServerLimits limits;
  const int threads = std::min(usable_cpus(), kThreadsEach);
  Turns turns{kTurns};
  std::shared_ptr<const std::string> page, catalogue;
  std::atomic<std::uint64_t> next = 0;
  std::atomic<bool> stopping = false;
  int port = 0;
  int listening = -1;  ///< the socket, as long as this lives
  httplib::Server server;
};

UiServer::UiServer(std::string folder, std::string token, ServerLimits limits)
    : impl_(std::make_unique<Impl>(std::move(folder), std::move(token), limits)) {}

UiServer::~UiServer() = default;

int UiServer::bind(int port) {
  constexpr const char* kHost = "127.0.0.1";
  impl_->port = port == 0 ? impl_->server.bind_to_any_port(kHost)
                          : (impl_->server.bind_to_port(kHost, port) ? port : -1);
  if (impl_->port < 0)
    throw Error(option_place("--port"),
                fmt::format("{} cannot be had: {}", port, std::generic_category().message(errno)),
                "leave --port out for one that is free");
  ::listen(impl_->listening, kBacklog);
  return impl_->port;
}

void UiServer::run() { impl_->server.listen_after_bind(); }

void UiServer::stop() {
  impl_->stopping = true;
  impl_->server.stop();
  // A server that does not listen yet does not heed that, but takes nobody from such a socket.
  shutdown(impl_->listening, SHUT_RDWR);
}

}  // namespace fabricast
