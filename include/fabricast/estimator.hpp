#pragma once
// How long does this collective take here? For compilers and planners that ask thousands of times:
// the machines are loaded and NCCL's search is run once, a call is simulated once and then known.
// The times are those of `fabricast bench`, to the picosecond.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/error.hpp"
#include "fabricast/export.hpp"
#include "fabricast/fabricast.hpp"

namespace fabricast::api {

struct Estimate {
  std::int64_t time_ps = 0;           ///< of one call in a row of calls, as nccl-tests measures it
  double time_us = 0;                 ///< the same in microseconds
  double lower_us = 0, upper_us = 0;  ///< 80 % of measured times lie between them
  std::string algorithm, protocol;    ///< NCCL's spelling; "none" for groups of sends and receives
  int nchannels = 0;                  ///< that get work
  int nthreads = 0;                   ///< of each channel
};

/// Several threads may use one; each may have its own, too. What has been estimated stays in
/// memory, about 200 B a call.
class FABRICAST_API Estimator {
 public:
  /// Options of `bench` that say what machines there are and how NCCL is set: {{"topology",
  /// {"dgx-h100"}}, {"nodes", {"16"}}, {"env", {"NCCL_ALGO=Ring"}}}. One number of nodes. Throws
  /// Error.
  explicit Estimator(const Options& site);
  Estimator(Estimator&& other) noexcept;
  Estimator& operator=(Estimator&& other) noexcept;
  ~Estimator();

  /// GPUs of the site.
  int ranks() const;
  /// What the reader should know of the site; one sentence each.
  const std::vector<std::string>& notes() const;

  /// `collective`, `datatype`: nccl-tests' names. `bytes`: the size as nccl-tests counts it (of
  /// all_gather and reduce_scatter the larger buffer). `ranks`: on so many GPUs of the site, which
  /// are whole nodes or within one; 0 = all. `poll`: called now and then while a call is simulated;
  /// what it throws ends that and comes out. Throws Error.
  Estimate estimate(std::string_view collective, std::int64_t bytes,
                    std::string_view datatype = "float", int ranks = 0,
                    const std::function<void()>& poll = {}) const;
  /// One for each size.
  std::vector<Estimate> estimate(std::string_view collective, std::span<const std::int64_t> sizes,
                                 std::string_view datatype = "float", int ranks = 0,
                                 const std::function<void()>& poll = {}) const;

 private:
  struct Content;
  std::unique_ptr<const Content> content_;
};

}  // namespace fabricast::api
