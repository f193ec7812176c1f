#pragma once
// Requests in front of inference engines: continuous batching, pass by pass. A pass computes a
// token of every request that decodes and as much of waiting prompts as its budget of tokens has
// room for; requests come and go between passes (Yu et al., Orca, OSDI 2022; chunked prompts:
// Agrawal et al., Sarathi-Serve, OSDI 2024; blocks of keys and values: Kwon et al., vLLM, SOSP
// 2023). Time is in seconds, as kernels are; the same question gives the same bytes.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "models/serving/pass_times.hpp"
#include "models/training/step/inference.hpp"

namespace fabricast {

/// One request. `cached` tokens of its prompt are there already (prefix cache).
struct ServeRequest {
  double arrival = 0;  ///< of an open loop
  int prompt = 1, output = 1, cached = 0;
};

/// How an engine forms its passes. Everything is of one data-parallel copy.
struct BatchRules {
  int token_budget = 8192;  ///< tokens of a pass, at most
  int requests_max = 256;   ///< that are computed at the same time
  std::int64_t blocks = 1;  ///< of keys and values
  int block_tokens = 16;
  bool mixes = true;      ///< prompts beside decodes in a pass; else passes of prompts go first
  bool chunks = true;     ///< a prompt may be cut to fill a pass
  bool reserves = false;  ///< a request is let in when all its tokens fit; else its prompt has to
  int drafts = 0;         ///< tokens that speculative decoding checks in a pass
  double acceptance = 0;  ///< chance that a draft token is right after those before it were
  /// The scheduler looks for new requests when so many passes of decodes have gone by since it
  /// last did, or prompts were computed, or nothing runs.
  int receive_interval = 1;
  /// Beside decodes prompts wait for others, up to so many passes: until they fill a pass, or with
  /// several copies until each has one.
  int prompt_wait = 0;
  /// A pass is formed while the one before it is computed: who comes in between waits for the next.
  bool ahead = false;
  PromptLaunches launches;

  /// Tokens that a pass adds to a request, on average: 1 + a + a^2 + ... of the drafts.
  double tokens_per_pass() const;
  std::int64_t blocks_of(double tokens) const;
};

/// Seconds of a pass.
using PassSeconds = std::function<double(const ServeBatch&)>;

/// Equal engines, each with `copies` of its attention that take requests of their own and pass
/// together. In a copy of an engine a request goes to the copy that has fewest.
struct ServePool {
  int workers = 1, copies = 1;
  BatchRules rules;
  PassSeconds pass;
};

struct ServeQueue {
  bool in_turn = false;  ///< requests go to engines in turn, not to the one that has fewest
  ServePool pool;        ///< all of a request, or with `prefill` what follows
  /// Engines for prompts alone. The first token comes from the others, with their first pass.
  std::optional<ServePool> prefill;
  /// How long the keys and values of so many tokens occupy the sender's NICs, and what of that the
  /// first token waits for when it took so long to compute them (layers may leave as they are
  /// done). Empty: they are there at once.
  std::function<double(double tokens)> sends;
  std::function<double(double tokens, double computing)> waits;
  double front = 0;     ///< from a request's arrival until an engine sees it, and before that
  double token = 0;     ///< of a prompt, in a front end that takes one prompt after another
  int concurrency = 0;  ///< closed loop: so many requests at a time; 0 = they come as they arrive
};

struct ServedRequest {
  double arrival = 0, first_token = 0, finish = 0;
  int prompt = 0, output = 0;

  double to_first() const { return first_token - arrival; }
  /// Between tokens after the first. REQUIRES: output >= 2.
  double per_token() const { return (finish - first_token) / (output - 1); }
};

struct QueueResult {
  std::vector<ServedRequest> requests;  ///< as asked
  /// Time from a token (or several, with drafts) to the next, and how many times.
  std::vector<std::pair<double, double>> gaps;
  double end = 0;        ///< of the last request
  double in_flight = 0;  ///< requests, on average until then
  double decoding = 0;   ///< requests of an engine between two tokens, on average
  double busy = 0;       ///< share of the time that engines are in a pass
  double prefill_busy = 0;
  std::int64_t passes = 0, preemptions = 0;
  std::int64_t peak_blocks = 0;  ///< that a copy uses
  double computed = 0;           ///< prompt tokens, those of preempted requests again
};

/// `progress`: called now and then with the share of requests that are done, 0..1; what it throws
/// ends the run. Throws Error when a request does not fit into the blocks of an empty copy.
QueueResult run_queue(const ServeQueue& queue, const std::vector<ServeRequest>& requests,
                      const std::function<void(double)>& progress = {});

}  // namespace fabricast
