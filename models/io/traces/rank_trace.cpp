#include "models/io/traces/rank_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "models/io/formats/text_file.hpp"
#include "sim/base/error.hpp"
#include "text/numbers.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kTextMax = 4096;  ///< of a value that is kept
constexpr std::size_t kSpansMax = 50'000'000;
constexpr std::int64_t kNsMax = std::int64_t{1} << 62;
/// Of a clock: the year 2043. Differences of two times fit, whatever a file says.
constexpr std::int64_t kClockMax = std::int64_t{1} << 61;

/// Microseconds as JSON has them, "4458676524670.502", to ns. A double would lose digits of them.
std::int64_t nanoseconds(std::string_view text, double value) {
  const std::size_t dot = text.find('.');
  const auto whole = to_number<std::int64_t>(text.substr(0, dot));
  if (!whole || text.find_first_of("eE") != std::string_view::npos)
    return static_cast<std::int64_t>(
        std::clamp(value * 1000, -static_cast<double>(kNsMax), static_cast<double>(kNsMax)));
  if (*whole > kNsMax / 1000 || *whole < -kNsMax / 1000) return *whole < 0 ? -kNsMax : kNsMax;
  std::string digits(dot == std::string_view::npos ? "" : text.substr(dot + 1, 3));
  digits.resize(3, '0');
  const std::int64_t part = to_number<std::int64_t>(digits).value_or(0);
  return *whole * 1000 + (*whole < 0 ? -part : part);
}

/// An event of traceEvents, as far as it counts.
struct Event {
  std::string name, category;
  std::int64_t start_ns = 0, duration_ns = 0;
  std::int64_t correlation = -1, in = 0, out = 0, group_size = 0, seq = -1;
  std::string collective, dtype, group, description, ranks;
};

class Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Reader(RankTrace& out, const std::string& file) : out_(out), file_(file) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override {
    whole(value);
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    whole(static_cast<std::int64_t>(std::min<number_unsigned_t>(value, INT64_MAX)));
    return true;
  }
  bool number_float(number_float_t value, const string_t& text) override {
    take_time(text, value);
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool string(string_t& text) override {
    word(text);
    return true;
  }
  bool start_object(std::size_t) override { return open(false); }
  bool end_object() override {
    if (depth_ == event_depth_ && in_events_) finish();
    return close();
  }
  bool start_array(std::size_t) override { return open(true); }
  bool end_array() override {
    if (depth_ == 2) in_events_ = false;
    return close();
  }
  bool key(string_t& text) override {
    key_ = text.size() > kTextMax ? std::string() : text;
    return true;
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::json::exception&) override {
    error_at_ = at;
    return false;
  }

  std::size_t error_at() const { return error_at_; }

  void end() {
    std::ranges::sort(launches_);
    for (const auto& [correlation, index] : kernels_) {
      const auto found = std::ranges::lower_bound(launches_, correlation, {},
                                                  &std::pair<std::int64_t, std::int64_t>::first);
      if (found != launches_.end() && found->first == correlation)
        out_.collectives[index].launched_ns = found->second;
    }
    shift(std::clamp(base_ns_, -kClockMax, kClockMax));
    std::ranges::stable_sort(out_.steps, {}, &RankStep::start_ns);
    std::ranges::stable_sort(out_.collectives, {}, &RankCollective::start_ns);
    join_spans(out_.compute);
    if (!has_events_)
      throw Error(Place{file_, 0, {}}, "no trace of Kineto: it has no traceEvents",
                  "torch.profiler writes one for each rank (export_chrome_trace)");
  }

 private:
  static constexpr std::size_t kDepthMax = 512;

  bool open(bool is_array) {
    if (++depth_ > kDepthMax) return false;
    if (depth_ == 2) part_ = key_;
    if (is_array && depth_ == 2 && part_ == "traceEvents") in_events_ = has_events_ = true;
    if (!is_array && in_events_ && depth_ == event_depth_) event_ = {};
    if (depth_ == event_depth_ + 1) in_args_ = key_ == "args";
    return true;
  }
  bool close() {
    if (depth_ == event_depth_ + 1) in_args_ = false;
    --depth_;
    if (depth_ < 2) part_.clear();
    return true;
  }
  bool of_event() const { return in_events_ && depth_ == event_depth_; }
  bool of_args() const { return in_events_ && in_args_ && depth_ == event_depth_ + 1; }

  void whole(std::int64_t value) {
    if (of_event() && (key_ == "ts" || key_ == "dur")) return take_time(std::to_string(value), 0);
    if (of_args()) return argument(value);
    if (depth_ == 1 && key_ == "baseTimeNanoseconds") base_ns_ = value;
    if (depth_ != 2 || part_ != "distributedInfo") return;
    if (key_ == "rank" && value >= 0 && value < (1 << 24)) out_.rank = static_cast<int>(value);
    if (key_ == "world_size" && value > 0 && value < (1 << 24))
      out_.world_size = static_cast<int>(value);
  }

  void argument(std::int64_t value) {
    if (key_ == "correlation") event_.correlation = value;
    if (key_ == "In msg nelems") event_.in = std::max<std::int64_t>(value, 0);
    if (key_ == "Out msg nelems") event_.out = std::max<std::int64_t>(value, 0);
    if (key_ == "Group size") event_.group_size = std::clamp<std::int64_t>(value, 0, 1 << 24);
    if (key_ == "Seq") event_.seq = value;
  }

  void take_time(std::string_view text, double value) {
    if (!of_event()) return;
    if (key_ == "ts") event_.start_ns = nanoseconds(text, value);
    if (key_ == "dur") event_.duration_ns = std::max<std::int64_t>(nanoseconds(text, value), 0);
  }

  void word(const std::string& text) {
    const auto take = [&](std::string& into) { into = text.substr(0, kTextMax); };
    if (of_event()) {
      if (key_ == "name") take(event_.name);
      if (key_ == "cat") take(event_.category);
    } else if (of_args()) {
      if (key_ == "Collective name") take(event_.collective);
      if (key_ == "dtype") take(event_.dtype);
      if (key_ == "Process Group Name") take(event_.group);
      if (key_ == "Process Group Description") take(event_.description);
      if (key_ == "Process Group Ranks") take(event_.ranks);
    } else if (depth_ == 2 && part_ == "distributedInfo" && key_ == "nccl_version") {
      take(out_.nccl_version);
    }
  }

  /// Times of one trace are counted from one instant, that of its clock.
  TraceSpan span() const {
    const std::int64_t start = std::clamp(event_.start_ns, -kClockMax, kClockMax);
    return {start, start + std::min(event_.duration_ns, kClockMax)};
  }

  void finish() {
    if (event_.category == "kernel") {
      const bool is_nccl = event_.name.find("nccl") != std::string::npos;
      if (is_nccl && event_.collective.empty()) {
        ++out_.bare_kernels;
      } else if (is_nccl) {
        add_collective();
      } else {
        add_compute();
      }
    } else if (event_.category == "gpu_memcpy" || event_.category == "gpu_memset") {
      add_compute();
    } else if (event_.category == "user_annotation" && event_.name.starts_with("ProfilerStep#")) {
      const auto number = to_number<int>(std::string_view(event_.name).substr(13));
      if (number) out_.steps.push_back({span(), *number});
    } else if (event_.category == "cuda_runtime" || event_.category == "cuda_driver") {
      if (event_.correlation >= 0 && event_.name.find("Launch") != std::string::npos &&
          launches_.size() < kSpansMax)
        launches_.emplace_back(event_.correlation, span().start_ns);
    }
  }

  void add_compute() {
    if (out_.compute.size() >= kSpansMax)
      throw Error(Place{file_, 0, {}}, fmt::format("more than {} kernels", kSpansMax),
                  "trace fewer steps");
    out_.compute.push_back(span());
  }

  void add_collective() {
    if (out_.collectives.size() >= kRankCollectivesMax)
      throw Error(Place{file_, 0, {}}, fmt::format("more than {} collectives", kRankCollectivesMax),
                  "trace fewer steps");
    RankCollective one{span(),       event_.collective,  event_.dtype,
                       event_.group, event_.description, event_.ranks,
                       event_.in,    event_.out,         static_cast<int>(event_.group_size),
                       event_.seq,   span().start_ns};
    if (event_.correlation >= 0) kernels_.emplace_back(event_.correlation, out_.collectives.size());
    out_.collectives.push_back(std::move(one));
  }

  /// From times since baseTimeNanoseconds to those of the rank's clock.
  void shift(std::int64_t by) {
    const auto at = [&](std::int64_t time) { return std::clamp(time + by, -kClockMax, kClockMax); };
    const auto move = [&](TraceSpan& one) {
      one.start_ns = at(one.start_ns);
      one.end_ns = at(one.end_ns);
    };
    for (RankCollective& one : out_.collectives) {
      move(one);
      one.launched_ns = at(one.launched_ns);
    }
    for (RankStep& one : out_.steps) move(one);
    for (TraceSpan& one : out_.compute) move(one);
  }

  static constexpr std::size_t event_depth_ = 3;  ///< {traceEvents: [{
  RankTrace& out_;
  const std::string& file_;
  std::size_t depth_ = 0, error_at_ = 0;
  std::string key_, part_;
  bool in_events_ = false, has_events_ = false, in_args_ = false;
  Event event_;
  std::int64_t base_ns_ = 0;
  std::vector<std::pair<std::int64_t, std::size_t>> kernels_;    ///< correlation, collective
  std::vector<std::pair<std::int64_t, std::int64_t>> launches_;  ///< correlation, when
};

template <class Input>
RankTrace read(Input&& input, const std::string& file) {
  RankTrace out;
  out.file = file;
  Reader reader(out, file);
  if (!nlohmann::json::sax_parse(std::forward<Input>(input), &reader))
    throw Error(Place{file, 0, {}},
                fmt::format("this JSON is cut off or broken, at byte {}", reader.error_at()),
                "a rank that ended early leaves such a file: leave it out");
  reader.end();
  return out;
}

}  // namespace

RankTrace parse_rank_trace(const std::string& text, const std::string& file) {
  return read(text, file);
}

RankTrace read_rank_trace(const std::string& path) {
  if (!is_large_file(path))
    return parse_rank_trace(read_text_file(path, "a trace of Kineto"), path);
  std::ifstream in = open_file(path);
  return read(in, path);
}

void join_spans(std::vector<TraceSpan>& spans) {
  std::ranges::sort(spans, {}, &TraceSpan::start_ns);
  std::size_t kept = 0;
  for (const TraceSpan& one : spans) {
    if (kept > 0 && one.start_ns <= spans[kept - 1].end_ns) {
      spans[kept - 1].end_ns = std::max(spans[kept - 1].end_ns, one.end_ns);
    } else {
      spans[kept++] = one;
    }
  }
  spans.resize(kept);
}

std::int64_t overlap_ns(const TraceSpan& span, const std::vector<TraceSpan>& with) {
  auto at = std::ranges::upper_bound(with, span.start_ns, {}, &TraceSpan::start_ns);
  if (at != with.begin()) --at;
  std::int64_t out = 0;
  for (; at != with.end() && at->start_ns < span.end_ns; ++at)
    out += std::max<std::int64_t>(
        std::min(at->end_ns, span.end_ns) - std::max(at->start_ns, span.start_ns), 0);
  return out;
}

}  // namespace fabricast
