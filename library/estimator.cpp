#include "fabricast/estimator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cli/options/asked_bench.hpp"
#include "cli/output/streams.hpp"
#include "library/translate.hpp"
#include "library/words.hpp"
#include "models/studies/bench/estimator.hpp"
#include "text/quoting.hpp"
#include "text/words.hpp"

namespace fabricast::api {
namespace {

/// Options of `bench` that say where calls run and how, not which calls.
constexpr std::array kSiteOptions = {
    "topology",  "nics",       "gpu",      "fabric",   "nodes",    "gpus-per-node", "parts",
    "nccl",      "env",        "env-file", "sharp",    "tuner",    "network",       "routing",
    "seed",      "background", "no-fold",  "one-shot", "nthreads", "ngpus",         "root",
    "agg_iters", "cudagraph",  "budget",   "exact"};

void check_options(const Options& site) {
  const std::vector<std::string> known(kSiteOptions.begin(), kSiteOptions.end());
  for (const auto& [name, values] : site) {
    if (std::ranges::find(known, name) == known.end())
      throw fabricast::Error(fmt::format("an estimator has no option \"{}\"", name),
                             hint_nearest(name, known));
  }
}

Collective collective_of(std::string_view name) {
  const std::vector<Collective> named = parse_collectives(name);
  if (named.size() != 1) throw fabricast::Error("an estimate is of one collective");
  return named.front();
}

Bytes size_of(std::int64_t bytes) {
  if (bytes <= 0) throw fabricast::Error(fmt::format("{} bytes are no size", bytes), "from 1 on");
  return {bytes};
}

}  // namespace

struct Estimator::Content {
  explicit Content(const Options& site) {
    check_options(site);
    const StreamListener streams(
        [](std::string_view) {},
        [&](std::string_view text) {
          notes.push_back(utf8_text(text.substr(0, text.find_last_not_of('\n') + 1)));
        });
    asked = ask_bench(words_of(site));
    estimator.emplace(asked->config, asked->parts, asked->bands);
    for (const std::string& note : estimator->notes()) notes.push_back(utf8_text(note));
  }

  Estimate estimate(Collective collective, std::int64_t bytes, std::string_view datatype, int ranks,
                    const std::function<void()>& poll) const {
    const CallEstimate found =
        estimator->estimate(collective, size_of(bytes), datatype, ranks, poll);
    return {found.time.ps,
            microseconds_of(found.time),
            found.lower_us,
            found.upper_us,
            std::string(found.algorithm),
            std::string(found.protocol),
            found.channels,
            found.threads};
  }

  std::vector<std::string> notes;
  std::unique_ptr<const AskedBench> asked;
  std::optional<CallEstimator> estimator;
};

Estimator::Estimator(const Options& site)
    : content_(translated([&] { return std::make_unique<const Content>(site); })) {}
Estimator::Estimator(Estimator&& other) noexcept = default;
Estimator& Estimator::operator=(Estimator&& other) noexcept = default;
Estimator::~Estimator() = default;

int Estimator::ranks() const { return content_->estimator->ranks(); }
const std::vector<std::string>& Estimator::notes() const { return content_->notes; }

Estimate Estimator::estimate(std::string_view collective, std::int64_t bytes,
                             std::string_view datatype, int ranks,
                             const std::function<void()>& poll) const {
  return translated(
      [&] { return content_->estimate(collective_of(collective), bytes, datatype, ranks, poll); });
}

std::vector<Estimate> Estimator::estimate(std::string_view collective,
                                          std::span<const std::int64_t> sizes,
                                          std::string_view datatype, int ranks,
                                          const std::function<void()>& poll) const {
  return translated([&] {
    const Collective which = collective_of(collective);
    std::vector<Estimate> out;
    out.reserve(sizes.size());
    for (const std::int64_t bytes : sizes)
      out.push_back(content_->estimate(which, bytes, datatype, ranks, poll));
    return out;
  });
}

}  // namespace fabricast::api
