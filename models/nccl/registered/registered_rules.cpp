#include "models/nccl/registered/registered_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/base/error.hpp"
#include "text/numbers.hpp"

namespace fabricast {
namespace {

using Path = RegisteredPath;

constexpr NcclVersion kSendsDirect{23, 0}, kRailKernels{29, 7}, kAveragesInSwitch{28, 0},
    kCopyEngines{28, 0}, kCopiesByThemselves{29, 2}, kPolicyWords{29, 2};

RegisteredChoice copied(std::string why) { return {Path::copied, {}, 0, 0, std::move(why), {}}; }

bool is_switched_off(const Environment& environment, std::string_view name) {
  const std::optional<std::string_view> value = environment.get(name);
  return value && to_number<int>(*value) == 0;
}

std::int64_t number_of(const Environment& environment, std::string_view name, std::int64_t usual) {
  const std::optional<std::string_view> value = environment.get(name);
  if (!value || value->empty()) return usual;
  return to_number<std::int64_t>(*value).value_or(usual);
}

bool is_sum(std::string_view op) { return op == "sum"; }
bool is_float(std::string_view type) {
  return type.find("float") != std::string_view::npos || type == "half" || type.starts_with("f8");
}
bool is_byte_float(const RegisteredQuestion& question) {
  return is_float(question.datatype) && question.element_bytes == 1;
}

bool wants_no_kernels(const RegisteredQuestion& question, const Environment& environment) {
  const std::string_view value = environment.get("NCCL_CTA_POLICY").value_or("");
  if (to_number<int>(value)) return to_number<int>(value) == 2;
  return question.version >= kPolicyWords && value.find("ZERO") != std::string_view::npos;
}

bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter;
}
bool has_kernels(Collective collective) {
  return reduces(collective) || collective == Collective::all_gather;
}
bool copies_only(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::alltoall ||
         collective == Collective::gather || collective == Collective::scatter;
}

/// Of the count as the call has it.
Bytes count_bytes(const RegisteredQuestion& question) {
  return {counts_per_rank(question.collective) ? question.size.count / question.ranks
                                               : question.size.count};
}

/// Copies by the driver, where they are asked for or large. Nothing: a kernel.
std::optional<RegisteredChoice> copy_engines(const RegisteredQuestion& question,
                                             const Environment& environment) {
  if (question.version < kCopyEngines || !copies_only(question.collective) || question.nodes > 1 ||
      !question.all_nvlink)
    return std::nullopt;
  RegisteredChoice out;
  out.path = Path::copy_engine;
  if (wants_no_kernels(question, environment)) {
    out.why = "NCCL_CTA_POLICY asks for no thread blocks, and copy engines have this collective";
    return out;
  }
  constexpr std::int64_t kUsual = 8 << 20;
  const std::int64_t threshold = number_of(environment, "NCCL_SYM_CE_THRESHOLD", kUsual);
  const std::int64_t count = count_bytes(question).count / question.element_bytes;
  if (question.version < kCopiesByThemselves || question.collective != Collective::all_gather ||
      question.sm < 100 || count <= threshold)
    return std::nullopt;
  out.why = fmt::format(
      "more elements a rank than NCCL_SYM_CE_THRESHOLD ({}), on GPUs of compute capability 10.0",
      threshold);
  return out;
}

/// Why there is none for the call, whatever the kernel.
std::string no_symmetric(const RegisteredQuestion& question, const Environment& environment) {
  for (const std::string_view name : {"NCCL_WIN_ENABLE", "NCCL_CUMEM_ENABLE"})
    if (is_switched_off(environment, name)) return fmt::format("{}=0: no windows", name);
  if (!has_kernels(question.collective))
    return fmt::format("{} has no symmetric kernel", to_text(question.collective));
  if (reduces(question.collective)) {
    const bool averages = question.op == "avg" && question.version >= kAveragesInSwitch;
    if (!is_sum(question.op) && !averages)
      return fmt::format("symmetric kernels sum, they have no {}", question.op);
    if (!is_float(question.datatype) || question.element_bytes == 8)
      return fmt::format("symmetric kernels sum floats of 1, 2 and 4 bytes, not {}",
                         question.datatype);
  }
  if (question.nodes > 1 && question.version < kRailKernels)
    return fmt::format(
        "ranks are on {} nodes, and symmetric kernels of NCCL {} stay within one "
        "NVLink domain",
        question.nodes, to_text(question.version));
  if (question.nodes > 1 && question.collective == Collective::all_reduce)
    return fmt::format(
        "ranks are on {} nodes, and all_reduce has no symmetric kernel that crosses "
        "a network",
        question.nodes);
  if (!question.all_nvlink) return "not every GPU reaches every other one over NVLink";
  return {};
}

/// What the model is asked of a kernel, in turn; says why one is out of the race.
class Race {
 public:
  Race(const RegisteredQuestion& question, const Environment& environment)
      : question_(question), forced_(environment.get("NCCL_SYM_KERNEL").value_or("")) {
    if (forced_ == "^") forced_ = {};
    crosses_ = question.nodes > 1;
    if (crosses_ && number_of(environment, "NCCL_SYM_GIN_KERNELS_ENABLE", 1) == 0) crosses_ = false;
    const auto ctas = static_cast<int>(
        std::clamp<std::int64_t>(number_of(environment, "NCCL_SYM_CTAS", 0), 0, 64));
    blocks_ = ctas > 0 ? SymmetricBlocks{ctas, ctas}
                       : SymmetricBlocks{question.ctas_min, std::min(64, question.ctas_max)};
  }

  RegisteredChoice run() {
    RegisteredChoice best;
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kSymmetricKernels; ++i) {
      const auto kernel = static_cast<SymmetricKernel>(i);
      if (!enters(kernel)) continue;
      if (traits_of(kernel).crosses_network) {
        best = {Path::symmetric,
                kernel,
                0,
                0,
                "it crosses the network along rails",
                "GPU-initiated sends over rails are not simulated"};
        continue;
      }
      const SymmetricEstimate model =
          estimate(kernel, question_.sm, question_.ranks, count_bytes(question_), blocks_);
      // The model charges 2.5 % of the time for each thread block.
      const double weighed = model.us * (1 + 0.025 * model.blocks);
      if (weighed >= least) continue;
      least = weighed;
      best = {Path::symmetric, kernel, model.blocks, model.us, {}, {}};
    }
    if (best.path != Path::symmetric) return copied(nobody());
    if (best.why.empty()) best.why = why();
    return best;
  }

 private:
  bool enters(SymmetricKernel kernel) const {
    const SymmetricTraits traits = traits_of(kernel);
    if (traits.collective != question_.collective) return false;
    if (!forced_.empty() && kSymmetricKernelWords[kernel] != forced_) return false;
    if (traits.crosses_network != crosses_ || (question_.nodes > 1 && !crosses_)) return false;
    const bool of_gather = kernel == SymmetricKernel::gather_rail;
    if ((traits.multicasts || of_gather) && !multicasts()) return false;
    if (traits.sums_in_switch && is_byte_float(question_) && question_.sm < 100) return false;
    // 32-bit counts: of elements in LL, of unrolled chunks in all.
    constexpr std::int64_t kMost = std::int64_t{2} << 30;
    return question_.size.count < (traits.ll ? kMost : 32 * kMost);
  }
  /// From 2.28 on not for two GPUs.
  bool multicasts() const {
    return question_.nvls && (question_.version < kNccl2_28 || question_.ranks > 2);
  }
  std::string nobody() const {
    if (!forced_.empty())
      return fmt::format("NCCL_SYM_KERNEL={} leaves no kernel for {}", forced_,
                         to_text(question_.collective));
    if (question_.nodes > 1) return "NCCL_SYM_GIN_KERNELS_ENABLE=0 leaves none that crosses nodes";
    return "the message is too large for symmetric kernels";
  }
  std::string why() const {
    if (!forced_.empty()) return "NCCL_SYM_KERNEL says so";
    return fmt::format("the least time in NCCL's cost model{}",
                       multicasts() ? "" : ", without multicast");
  }

  const RegisteredQuestion& question_;
  std::string_view forced_;
  bool crosses_ = false;
  SymmetricBlocks blocks_;
};

/// Channels of registered NVLS.
int nvls_channels(const RegisteredQuestion& question) {
  const bool scatters = question.collective == Collective::reduce_scatter;
  int most = scatters ? 5 : 4;
  if (question.nodes > 1) {
    most = 6;
  } else if (question.version >= kNccl2_27) {
    int factor = scatters ? 5 : 4;
    if (question.sm >= 100 && scatters) factor = 6;
    if (question.sm >= 100 && question.collective == Collective::all_reduce) factor = 8;
    most = (factor * 8 + question.nvls_heads - 1) / question.nvls_heads;
  }
  return std::max(question.ctas_min, std::min(question.ctas_max, most));
}

RegisteredChoice direct(std::string why) { return {Path::direct, {}, 0, 0, std::move(why), {}}; }
RegisteredChoice network(std::string why) { return {Path::network, {}, 0, 0, std::move(why), {}}; }

RegisteredChoice sends(const RegisteredQuestion& question) {
  if (question.version < kSendsDirect)
    return copied("sends and receives use registered buffers from 2.23 on");
  // NVIDIA/nccl issue 1722: eight H800 gain 10 % at 4 GiB inside the node, nothing over two.
  if (question.nodes > 1)
    return network("sends and receives go from buffer to buffer; two nodes gained nothing by it");
  return direct("peers write into each other's buffers; 4 GiB on eight GPUs gained 10 % by it");
}

/// Of an AllReduce SHARP adds up what the node has, which lies in NCCL's buffers: users' are of use
/// where a rank is alone (ncclRegisterCollBuffers, isOneRPN).
RegisteredChoice by_sharp(const RegisteredQuestion& question) {
  if (question.version < kNccl2_21) return copied("SHARP uses registered buffers from 2.21 on");
  if (question.collective == Collective::all_reduce && question.nodes < question.ranks)
    return copied("SHARP adds up users' buffers of one rank a node only");
  return network("SHARP reads and writes users' buffers");
}

RegisteredChoice along_rings_and_trees(const RegisteredQuestion& question) {
  const Algorithm algorithm = *question.algorithm;
  const std::string_view name = to_text(algorithm);
  if (question.protocol != Protocol::simple)
    return copied(fmt::format("{} goes through NCCL's buffers whatever is registered",
                              to_text(question.protocol)));
  if (algorithm == Algorithm::collnet_direct || algorithm == Algorithm::collnet_chain)
    return by_sharp(question);
  if (algorithm == Algorithm::pat) return copied("PAT has no registered buffers");
  if (question.version < kNccl2_23)
    return copied(fmt::format("{} uses registered buffers from 2.23 on", name));
  if (question.collective == Collective::reduce_scatter ||
      question.collective == Collective::reduce)
    return copied(
        fmt::format("{} of {} has no registered buffers", name, to_text(question.collective)));
  if (question.nodes == question.ranks) {
    if (algorithm == Algorithm::ring && question.collective == Collective::all_gather)
      return network("one rank a node: the ring goes from buffer to buffer");
    return copied("no peer in the same node");
  }
  const std::string where = question.nodes > 1 ? " inside the nodes" : "";
  const bool out_of_place = question.collective == Collective::all_reduce;
  return direct(fmt::format("{} hands on from buffer to buffer{}{}", name, where,
                            out_of_place ? ", out of place only" : ""));
}

RegisteredChoice local(const RegisteredQuestion& question, const Environment& environment) {
  if (is_switched_off(environment, "NCCL_LOCAL_REGISTER")) return copied("NCCL_LOCAL_REGISTER=0");
  if (!question.algorithm) return sends(question);
  if (!is_nvls(*question.algorithm)) return along_rings_and_trees(question);
  RegisteredChoice out;
  out.path = Path::nvls;
  out.blocks = nvls_channels(question);
  out.why = "the NVSwitches read and write users' buffers, nothing is copied";
  return out;
}

}  // namespace

NcclVersion first_release(Registration registration) {
  switch (registration) {
    case Registration::none:
      return {};
    case Registration::local:
      return kNccl2_19;
    case Registration::windows:
      return kNccl2_27;
  }
  return {};
}

void check_registration(Registration registration, NcclVersion version) {
  if (registration == Registration::none || version >= first_release(registration)) return;
  const bool windows = registration == Registration::windows;
  throw Error(fmt::format("-R {}: NCCL {} has no {}", kRegistrationWords[registration],
                          to_text(version), windows ? "windows" : "ncclCommRegister"),
              fmt::format("they came with 2.{}; take -R {}", windows ? 27 : 19,
                          windows && version >= kNccl2_19 ? 1 : 0));
}

RegisteredChoice choose_registered(const RegisteredQuestion& question,
                                   const Environment& environment) {
  if (question.asked == Registration::none) return copied("nothing is registered");
  if (question.ranks == 1) return copied("one rank has nobody to send to");
  if (question.asked == Registration::local) return local(question, environment);
  if (std::optional<RegisteredChoice> copies = copy_engines(question, environment)) return *copies;
  std::string none = no_symmetric(question, environment);
  if (none.empty()) {
    RegisteredChoice out = Race(question, environment).run();
    if (out.path == Path::symmetric) return out;
    none = std::move(out.why);
  }
  // A window is registered in the other way, too.
  RegisteredChoice out = local(question, environment);
  out.why = fmt::format("{}; as -R 1: {}", none, out.why);
  return out;
}

}  // namespace fabricast
