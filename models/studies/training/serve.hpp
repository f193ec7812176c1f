#pragma once
// The study behind `fabricast serve`: the time to the first token and per token of a model on a
// cluster, and how much of it is communication: of requests that come alone. What a queue of them
// makes of it is models/studies/serving.

#include <optional>
#include <string>

#include "models/engines/engine.hpp"
#include "models/serving/load.hpp"
#include "models/serving/pass_times.hpp"
#include "models/studies/training/step.hpp"
#include "models/training/step/inference.hpp"

namespace fabricast {

/// Layout of an engine. `data` copies of attention have requests of their own; 0 = `expert`.
struct ServeLayout {
  int tensor = 1, pipeline = 1, expert = 1, data = 0;
  int copies() const { return data > 0 ? data : expert; }
  int gpus() const { return tensor * copies() * pipeline; }
  bool operator==(const ServeLayout&) const = default;
};
/// "TP 8, PP 1, EP 8, DP 1"
std::string to_text(const ServeLayout& layout);

/// Engines that work on prompts alone and send keys and values on.
struct PrefillPool {
  ServeLayout layout;
  int workers = 1;
  int token_budget = 16384;
};

struct ServeConfig : ServeLayout {
  /// Cluster, model and price; its layout's precision and overlap of experts. Without kernels of EP
  /// they are the engine's.
  StepConfig site;
  int batch = 1;
  int prompt = 1, output = 1;  ///< tokens of a request
  double cache_element = 0;    ///< bytes of keys and values, as ServeSetup has them
  std::optional<EngineRelease> engine;
  bool flashinfer_blocks = false;  ///< as ServeSetup has it
  bool finds_scales = false;       ///< the same
  // Of a queue:
  std::optional<OfferedLoad> load;  ///< nothing: no queue is asked for
  BatchRules rules;                 ///< their blocks follow from the memory
  int workers = 1;                  ///< engines
  bool in_turn = false;             ///< requests go to them in turn, else to who has fewest
  std::optional<PrefillPool> prefill;
  bool streams_layers = true;  ///< keys and values leave layer by layer, while prompts are computed
  ServeLimits limits;
  /// Of a GPU that the engine takes; nothing: 0.9, or where no engine is named all but
  /// kServeReserved.
  std::optional<double> memory_share;
};

/// The same with another number of requests at once.
struct ServeLoad {
  int batch = 1;
  double first_token = 0, token = 0;  ///< seconds
  double tokens_per_s = 0;            ///< see ServeResult
};

struct ServeResult {
  ServeConfig config;
  GpuCompute gpu;
  ServeTime prefill;   ///< to the first token
  ServeTime decode;    ///< per token, at the mean length of the requests
  ServeMemory memory;  ///< at their full length
  int at_once = 1;     ///< requests whose keys and values fit at their full length, of the batch
  bool fits = true;    ///< all of them
  /// One request per GPU of an expert group, then twice as many each time, as long as they fit.
  std::vector<ServeLoad> loads;
  /// Of a whole batch of requests, in seconds: what does not fit at once waits.
  double request() const {
    return prefill.total() + config.output * decode.total() * config.batch / at_once;
  }
  /// While all that run at once decode, of all GPUs.
  double tokens_per_s() const { return at_once / decode.total(); }
  int gpus() const { return config.gpus(); }
};

/// Model, layout and precision fit the GPU. Throws Error.
void check_serve(const ServeConfig& config, const ServeLayout& layout, const GpuCompute& gpu);
/// A GPU that does not compute in 4 bits keeps weights so and computes in 16 (Marlin kernels).
GpuCompute with_weights_only(GpuCompute gpu);
/// Bytes that are nobody's keys and values: contexts of CUDA and NCCL, workspaces; half of them lie
/// in the share of the memory that an engine leaves to others.
inline constexpr double kServeReserved = 4e9;
/// Bytes of a GPU that keys and values have beside so many of weights; below 0 they do not fit.
double room_of_cache(const ServeConfig& config, const GpuCompute& gpu, double weights);
/// Kernels and costs of an engine; by default NCCL's collectives and no host.
struct ServeEngine {
  ServeKernels kernels = {};
  EngineHost host = {};
};
ServeSetup serve_setup(const ServeConfig& config, const ServeLayout& layout, const GpuCompute& gpu);

/// Throws Error.
ServeResult run_serve(const ServeConfig& config, const GpuCompute& gpu,
                      CollectiveTimes& collectives, const ServeEngine& engine = {});
/// The same from names, by NCCL, with collectives side by side.
ServeResult run_serve(const ServeConfig& config, const PartsCatalogue& parts,
                      const ForEach& for_each = in_turn);

std::string serve_text(const ServeResult& result);

/// How engines form their passes unless they are told otherwise, by their documentation: vLLM V1
/// mixes chunks of prompts with decodes and lets requests in when their prompts fit; SGLang gives
/// prompts passes of their own (server arguments: --enable-mixed-chunk is off) and forms a pass
/// while the one before it is computed (--disable-overlap-schedule is off); TensorRT-LLM mixes
/// whole prompts with decodes (chunked context is off) and lets in what fits to its end
/// (GUARANTEED_NO_EVICT). All have 8192 tokens a pass here, as InferenceX and trtllm-serve do.
BatchRules engine_rules(const EngineRelease& engine);

/// What stands in place of the file's words.
struct ServeOverrides {
  std::optional<EngineRelease> engine;
  double rate = 0;      ///< of requests that arrive at random, or
  int concurrency = 0;  ///< so many at a time; with neither the file's load, if it has one
};
/// A file of `kind: serve`. A load is served by the newest vLLM unless an engine is named; passes
/// are formed as the engine does (engine_rules()), where the file says nothing else. Throws Error.
ServeConfig load_serve(const std::string& path, const ServeOverrides& overrides = {});
ServeConfig parse_serve(const std::string& text, const std::string& file,
                        const ServeOverrides& overrides = {});

}  // namespace fabricast
