#include "models/io/experts/read_experts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "models/io/formats/reader.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/shipped/embedded.hpp"
#include "models/io/workloads/load_engines.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

constexpr double kShareMax = 1.25;  ///< wider stores than NCCL's, whose rate the catalogue has
constexpr double kZipfMax = 8;

/// One file. Figures that a kernel does not have are left out of it.
class KernelsReader {
 public:
  explicit KernelsReader(const std::map<std::string, Source>& sources) : figures_(sources) {}

  ExpertKernels read(Reader& root) const {
    ExpertKernels out;
    out.network_share = figures_.number(root, "network_share", 0.1, kShareMax);
    out.chunk_tokens = figures_.whole(root, "chunk_tokens", 1, 4096);
    out.net_chunk_tokens = figures_.whole(root, "net_chunk_tokens", 1, 4096);
    out.launch.layout = figures_.duration(root, "layout");
    out.launch.layout_token = figures_.duration(root, "layout_token");
    for (int mode = 0; mode < kEpKernelModes; ++mode) {
      const std::string_view name = kEpModeWords[static_cast<EpMode>(mode)];
      std::vector<ModeCosts>& all = out.modes[static_cast<std::size_t>(mode)];
      for (Reader& in : root.children(name)) all.push_back(mode_costs(in));
      if (all.empty()) root.fail(name, "needs the costs of one generation of GPUs at least");
      std::ranges::stable_sort(all, {}, &ModeCosts::since_sm);
    }
    return out;
  }

 private:
  ModeCosts mode_costs(Reader& in) const {
    ModeCosts out;
    out.since_sm = in.whole("since_sm", 10, 1000);
    in.prose("gpus");
    for (const EpPhase phase : {EpPhase::dispatch, EpPhase::combine}) {
      Reader of = in.child(kEpPhaseWords[phase]);
      out.phases[static_cast<std::size_t>(phase)] = phase_costs(of);
      of.finish();
    }
    in.finish();
    return out;
  }

  PhaseCosts phase_costs(Reader& in) const {
    PhaseCosts out;
    out.start = figures_.duration(in, "start");
    out.start_rate = rate(in, "start_rate");
    if (in.has("start_hops")) out.start_hops = figures_.number(in, "start_hops", 0, 100);
    out.start_doubling = duration_of(in, "start_doubling");
    out.send = work(in, "send");
    out.receive = work(in, "receive");
    out.nvlink_share = figures_.number(in, "nvlink_share", 0.1, kShareMax);
    if (in.has("nic_share")) out.nic_share = figures_.number(in, "nic_share", 0.1, kShareMax);
    out.scan = duration_of(in, "scan");
    out.expert_flag = duration_of(in, "expert_flag");
    if (in.has("forward")) out.forward = figures_.number(in, "forward", 0.1, 10);
    out.net_start = duration_of(in, "net_start");
    out.net_doubling = duration_of(in, "net_doubling");
    out.notify = duration_of(in, "notify");
    out.notify_doubling = duration_of(in, "notify_doubling");
    out.notify_token = duration_of(in, "notify_token");
    out.net_flag = duration_of(in, "net_flag");
    return out;
  }

  TokenWork work(Reader& in, std::string_view key) const {
    if (!in.has(key)) return {};
    Reader of = in.child(key);
    const TokenWork out{duration_of(of, "token"), rate(of, "token_rate"), duration_of(of, "copy"),
                        rate(of, "rate")};
    of.finish();
    return out;
  }

  Duration duration_of(Reader& in, std::string_view key) const {
    return in.has(key) ? figures_.duration(in, key) : Duration{};
  }
  Bandwidth rate(Reader& in, std::string_view key) const {
    return in.has(key) ? figures_.bandwidth(in, key) : Bandwidth{};
  }

  Figures figures_;
};

}  // namespace

ExpertKernels parse_expert_kernels(const YamlText& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader root(tree, file);
  root.choice("kind", {"experts"});
  std::map<std::string, Source> sources;
  read_sources(root, sources);
  ExpertKernels out = KernelsReader(sources).read(root);
  root.finish();
  return out;
}

ExpertKernels load_expert_kernels(const std::string& own_file) {
  const auto with_shared = [](ExpertKernels kernels) {
    const EngineCosts engines = load_engines();
    for (const auto& [sm, gpu] : engines.gpus) kernels.hops[sm] = gpu.hop;
    kernels.launch.node = engines.node;
    kernels.launch.host_call = engines.host_call[static_cast<std::size_t>(Engine::vllm)];
    return kernels;
  };
  if (!own_file.empty())
    return with_shared(parse_expert_kernels(
        YamlText{read_text_file(own_file, "a file like workloads/experts.yaml")}, own_file));
  static const ExpertKernels kernels = with_shared(parse_expert_kernels(
      find_embedded(embedded_workloads(), "experts")->yaml(), "workloads/experts.yaml"));
  return kernels;
}

ExpertWish read_expert_wish(Reader& in, std::string_view key, const std::string& file, int experts,
                            int top_k) {
  ExpertWish out;
  if (experts == 0)
    in.fail(key, "the model has no experts", "take a model with experts, or leave it out");
  const auto take_mode = [&](Reader& from, std::string_view name) {
    out.mode = from.choice(name, kEpModeWords);
    if (out.mode == EpMode::hierarchical)
      from.fail(name, "hierarchical is known to `fabricast experts` alone",
                "nccl-alltoall is what frameworks do without kernels of their own");
  };
  if (!in.is_mapping(key)) {
    take_mode(in, key);
    return out;
  }
  Reader of = in.child(key);
  take_mode(of, "mode");
  out.sms = of.whole("sms", 2, kSmsMax, out.sms);
  if (takes_sms(out.mode) && out.sms % 2 != 0)
    of.fail("sms", "is odd", "half of them send, half receive or forward");
  if (of.has("dtype")) out.dispatched = of.choice("dtype", kEpDatatypeWords);
  out.load = of.text("load", "uniform");
  const bool is_file = out.load != "uniform" && !out.load.starts_with("zipf");
  out.weights = placed(of.place("load"), [&] {
    return load_expert_weights(is_file ? resolved(out.load, file) : out.load, experts);
  });
  out.groups = of.whole("groups", 1, experts, 1);
  if (experts % out.groups != 0)
    of.fail("groups",
            fmt::format("{} experts do not fall into {} equal groups", experts, out.groups));
  out.top_groups = of.whole("top_groups", 1, out.groups, out.groups);
  if (const int reached = experts / out.groups * out.top_groups; top_k > reached)
    of.fail("top_groups", fmt::format("{} experts a token are more than the {} of so many groups",
                                      top_k, reached));
  of.finish();
  return out;
}

std::vector<double> parse_expert_weights(std::string_view text, const std::string& file,
                                         int experts) {
  std::vector<double> out;
  int line = 1;
  bool any = false;
  for (; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    rest = rest.substr(0, rest.find('#'));
    while (true) {
      const std::size_t begin = rest.find_first_not_of(" \t\r,;");
      if (begin == std::string_view::npos) break;
      rest.remove_prefix(begin);
      const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r,;"));
      rest.remove_prefix(word.size());
      const std::optional<double> value = finite_number(word);
      if (!value || *value < 0 || *value > 1e15)
        throw Error(Place{file, line, {}}, fmt::format("\"{}\" is no weight of an expert", word),
                    "a number from 0 on for each expert, e.g. how many tokens it got");
      any = any || *value > 0;
      out.push_back(*value);
    }
  }
  if (static_cast<int>(out.size()) != experts)
    throw Error(Place{file, 0, {}},
                fmt::format("{} weights of experts, but there are {} experts", out.size(), experts),
                "give a number for each expert, or another --experts");
  if (!any) throw Error(Place{file, 0, {}}, "all weights are 0: no expert would be taken");
  return out;
}

std::vector<double> load_expert_weights(const std::string& text, int experts) {
  if (text == "uniform") return {};
  if (!text.starts_with("zipf"))
    return parse_expert_weights(
        read_text_file(text, "uniform, zipf:1.2, or a file with a weight for each expert"), text,
        experts);
  const std::optional<double> slope =
      text.starts_with("zipf:") ? finite_number(std::string_view(text).substr(5)) : std::nullopt;
  if (!slope || *slope < 0 || *slope > kZipfMax)
    throw Error(
        fmt::format("\"{}\" is no Zipf distribution", text),
        fmt::format("zipf:EXPONENT with an exponent from 0 to {}, e.g. zipf:1.2", kZipfMax));
  std::vector<double> out;
  for (int expert = 0; expert < experts; ++expert) out.push_back(std::pow(expert + 1, -*slope));
  return out;
}

}  // namespace fabricast
