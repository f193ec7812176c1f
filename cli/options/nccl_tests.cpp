#include "cli/options/nccl_tests.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/options/values.hpp"
#include "cli/output/streams.hpp"
#include "models/io/workloads/load_engines.hpp"
#include "models/studies/bench/bench.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr int kProcessGpusMax = 1024;
constexpr int kCallsMax = 1024;
constexpr std::size_t kSizesMax = 10'000;

struct IgnoredOption {
  std::string_view names;
  const char* why;
};
constexpr IgnoredOption kIgnored[] = {
    {"-n,--iters", "one simulated iteration equals every other"},
    {"-w,--warmup_iters", "there is nothing to warm up"},
    {"-N,--run_cycles", "one cycle equals every other"},
    {"-p,--parallel_init", "initialisation is not simulated"},
    {"-c,--check", "data are not computed"},
    {"-z,--blocking", "the host does not wait between calls"},
    {"-y,--stream_null", "streams are not told apart"},
    {"-T,--timeout", "nothing can hang"},
    {"-C,--report_cputime", "GPU time is reported"},
    {"-a,--average", "the slowest rank counts"},
    {"-x,--cta_policy", "--env NCCL_CTA_POLICY=2 asks for copy engines, of windows (-R 2)"},
    {"-M,--memory_report", "memory is not reported"},
    {"-J,--output_file", "use --format json"},
    {"-S,--report_timestamps", "there is no wall clock"},
    {"-I,--per_iter", "one simulated iteration equals every other"}};

Bytes size_of(const char* option, const std::string& text) {
  return of_option(option, [&] {
    const Bytes size = parse_nccl_tests_size(text);
    if (size.count < 1) throw Error("must be at least 1 byte");
    return size;
  });
}

}  // namespace

CLI::Option* add_registered_option(CLI::App& command, std::string& registered) {
  return command
      .add_option("-R,--local_register", registered,
                  "user buffers: 0 plain, 1 registered (ncclCommRegister), 2 in symmetric windows")
      ->check(one_of(kRegistrationWords.list(), "registration"))
      ->capture_default_str();
}

std::optional<AskedRegistration> registered_from_option(const std::string& registered) {
  const Registration asked = *kRegistrationWords.find(registered);
  if (asked == Registration::none) return std::nullopt;
  return AskedRegistration{asked, load_engines()};
}

bool NcclTestsOptions::asks_for_sizes(const CLI::App& command) const {
  return given(command, "-b") || given(command, "-e") || given(command, "-f") ||
         given(command, "-i");
}

std::vector<Bytes> NcclTestsOptions::sizes() const {
  // nccl-tests' defaults (src/common.cu): 32 MiB to 32 MiB, steps of 1 MiB.
  const Bytes usual = parse_nccl_tests_size("32M");
  const Bytes low = minbytes.empty() ? usual : size_of("-b", minbytes);
  const Bytes high = maxbytes.empty() ? std::max(low, usual) : size_of("-e", maxbytes);
  if (high < low) {
    throw Error(fmt::format("-e {} is below -b {}", to_text(high), to_text(low)),
                "-b is the smallest size (default 32M), -e the largest");
  }
  const Bytes step = stepbytes.empty() ? Bytes{1 << 20} : size_of("-i", stepbytes);
  std::vector<Bytes> out;
  for (Bytes size = low;; size = stepfactor > 1 ? size * stepfactor : size + step) {
    if (out.size() == kSizesMax)
      throw Error(fmt::format("more than {} sizes", kSizesMax), "raise -i or use -f 2");
    out.push_back(size);
    const bool last = stepfactor > 1 ? size.count > high.count / stepfactor : step > high - size;
    if (last) return out;
  }
}

void add_nccl_tests_options(CLI::App& command, NcclTestsOptions& options) {
  const auto add = [&](const char* names, auto& value, const char* what) {
    return command.add_option(names, value, what)->group("nccl-tests");
  };
  add("-b,--minbytes", options.minbytes, "smallest size; K, M, G are powers of 1024");
  add("-e,--maxbytes", options.maxbytes, "largest size");
  add("-f,--stepfactor", options.stepfactor, "factor between sizes; 1: steps of -i")
      ->check(whole_number(1, 1 << 20));
  add("-i,--stepbytes", options.stepbytes, "step between sizes, default 1M");
  add("-t,--nthreads", options.threads, "threads per process")
      ->check(whole_number(1, kProcessGpusMax));
  add("-g,--ngpus", options.gpus,
      "GPUs per thread: -t times -g GPUs share a process, whose launches serialise")
      ->check(whole_number(1, kProcessGpusMax));
  add("-d,--datatype", options.datatype, "element type")
      ->check(one_of(datatype_names(), "datatype"))
      ->capture_default_str();
  add("-o,--op", options.op, "reduction; all take equal time")
      ->check(one_of({"sum", "prod", "max", "min", "avg", "mulsum"}, "reduction"))
      ->capture_default_str();
  add("-r,--root", options.root, "root rank of broadcast, reduce, gather and scatter")
      ->check(whole_number(0, 1 << 30));
  add("-m,--agg_iters", options.calls, "so many calls in one group: the time is one call's share")
      ->check(whole_number(1, kCallsMax));
  add("-G,--cudagraph", options.graphs,
      "launch all calls as one CUDA graph: the CPU's launches, and -g, take no time; how often "
      "it is launched has no effect")
      ->check(whole_number(0, 1 << 30));
  add_registered_option(command, options.registered)->group("nccl-tests");
  for (const IgnoredOption& ignored : kIgnored) {
    command
        .add_option(
            std::string(ignored.names), [](const CLI::results_t&) { return true; },
            fmt::format("accepted, no effect: {}", ignored.why))
        ->type_name("VALUE")
        ->group("nccl-tests");
  }
}

bool is_ignored(const CLI::Option& option) {
  const std::string names = option.get_name(false, true);
  return std::ranges::find(kIgnored, names, &IgnoredOption::names) != std::end(kIgnored);
}

void say_what_is_ignored(const CLI::App& command, const NcclTestsOptions& options) {
  for (const IgnoredOption& ignored : kIgnored) {
    const std::string names(ignored.names);
    if (given(command, names.substr(names.find(',') + 1).c_str()))
      print_err("{}: accepted, no effect: {}\n", names, ignored.why);
  }
  if (options.op != "sum") print_err("-o,--op: accepted, all operators take equal time\n");
}

}  // namespace fabricast
