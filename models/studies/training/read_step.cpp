#include "models/studies/training/read_step.hpp"

#include <fmt/format.h>

#include <sstream>

#include "models/io/experts/read_experts.hpp"
#include "models/io/formats/reader.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/nccl/base/members.hpp"
#include "models/studies/shared/read_job.hpp"
#include "text/numbers.hpp"

namespace fabricast {
namespace {

void read_parallel(Reader in, Layout& layout) {
  layout.tensor = in.whole("tp", 1, kRanksMax, 1);
  layout.context = in.whole("cp", 1, kRanksMax, 1);
  layout.pipeline = in.whole("pp", 1, kRanksMax, 1);
  layout.virtual_stages = in.whole("vpp", 1, kRanksMax, 1);
  layout.expert = in.whole("ep", 1, kRanksMax, 1);
  layout.expert_tensor = in.whole("etp", 1, kRanksMax, 1);
  in.finish();
}

void read_schedule(Reader& in, Layout& layout) {
  layout.schedule = layout.virtual_stages > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
  if (in.has("schedule")) {
    layout.schedule = in.choice("schedule", kScheduleWords);
    if (layout.schedule == Schedule::interleaved && layout.virtual_stages == 1)
      in.fail("schedule", "interleaved needs model chunks", "say parallel.vpp, 2 or more");
  } else {
    in.text("schedule", "");
  }
}

void read_layout(Reader& in, const Framework& framework, LayoutFile kind, Layout& layout) {
  layout.sequence = in.whole("sequence", 1, kSequenceMax);
  layout.document = in.whole("document", 1, kSequenceMax, 0);
  layout.micro_batch = kind == LayoutFile::open ? in.whole("micro_batch", 1, kBatchMax, 1)
                                                : in.whole("micro_batch", 1, kBatchMax);
  layout.global_batch = in.whole("global_batch", 1, kBatchMax);
  layout.precision = read_precision(in, "precision");
  if (in.has("parallel")) read_parallel(in.child("parallel"), layout);
  read_schedule(in, layout);
  for (const std::string& text : in.texts("stage_layers")) {
    const auto layers = to_number<int>(text);
    if (!layers || *layers < 0 || *layers > kRanksMax)
      in.fail("stage_layers", fmt::format("\"{}\" is no number of layers", text));
    layout.stage_layers.push_back(*layers);
  }
  layout.sharding = in.has("sharding") ? in.choice("sharding", kShardingWords) : Sharding::zero1;
  if (in.has("order")) {
    const std::string order = in.text("order");
    layout.order = placed(in.place("order"), [&] { return parse_order(order); });
  }
  layout.shard_group = in.whole("shard_group", 1, kRanksMax, 0);
  if (in.has("bucket")) layout.bucket = static_cast<double>(in.bytes("bucket").count);
  layout.recompute = in.has("recompute") ? read_recompute(in, "recompute") : framework.recompute;
  layout.sequence_parallel = in.flag("sequence_parallel", framework.sequence_parallel);
  if (in.has("context_exchange"))
    layout.context_exchange = in.choice("context_exchange", kContextExchangeWords);
  if (in.has("train")) layout.trained = in.choice("train", kTrainedWords);
  if (in.has("master_weights"))
    layout.master_weights = in.choice("master_weights", kMasterWeightsWords);
  if (in.has("optimizer_states"))
    layout.optimizer_states = in.choice("optimizer_states", kOptimizerStatesWords);
  layout.overlap = read_overlap(in, "overlap", framework.overlap);
}

/// `ranks: [...]`.
std::vector<RankRange> read_ranks(Reader& in) {
  std::vector<RankRange> out;
  for (const std::string& text : in.texts("ranks"))
    out.push_back(placed(in.place("ranks"), [&] { return parse_rank_range(text); }));
  return out;
}

/// The same in a file: words, and comments from # to the end of the line.
std::vector<RankRange> read_ranks_file(const std::string& path) {
  std::istringstream lines(read_text_file(path, "a file of ranks"));
  std::vector<RankRange> out;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;)
      out.push_back(placed({path, number, {}}, [&] { return parse_rank_range(word); }));
  }
  if (out.empty()) throw Error(Place{path, 0, {}}, "no ranks");
  return out;
}

const Framework& find_framework(Reader& in, const FrameworkCatalogue& catalogue,
                                const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [word, unused] : catalogue) known.push_back(word);
  if (in.has("framework")) in.choice("framework", known);
  return catalogue.at(name);
}

}  // namespace

void read_site(Reader& in, const std::string& file, StepConfig& out) {
  out.title = in.text("title", "");
  out.place = {file, in.place("parallel").line, {}};
  const std::string model = in.text("model");
  out.model = placed(in.place("model"), [&] { return load_transformer(resolved(model, file)); });
  out.topology = read_topology(in, "topology", file);
  read_fabric(in, file, out);
  out.nodes = in.whole("nodes", 1, kRanksMax);
  out.gpus_per_node = read_gpus_per_node(in);
  if (in.has("oversubscription")) out.oversubscription = in.number("oversubscription", 1, 1000);
  read_release(in, out.version);
  read_environment(in, out.environment);
  if (in.has("ep_kernels")) {
    const std::optional<Experts>& experts = out.model.experts;
    out.ep_kernels = read_expert_wish(in, "ep_kernels", file, experts ? experts->count : 0,
                                      experts ? experts->per_token : 0);
  }
  if (in.has("price")) out.price = in.number("price", 1e-6, 1e6);
}

StepConfig parse_step(const std::string& text, const std::string& file, LayoutFile kind) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  in.kind("step");
  StepConfig out;
  read_site(in, file, out);
  out.ranks = read_ranks(in);
  if (const std::string listed = in.text("ranks_file", ""); !listed.empty()) {
    if (!out.ranks.empty()) in.fail("ranks_file", "ranks are listed already");
    out.ranks = read_ranks_file(resolved(listed, file));
  }
  if (in.has("tokens")) out.run_tokens = in.number("tokens", 1, 1e18);
  out.framework = in.text("framework", "megatron");
  const FrameworkCatalogue frameworks = load_frameworks();
  read_layout(in, find_framework(in, frameworks, out.framework), kind, out.layout);
  in.finish();
  return out;
}

StepConfig load_step(const std::string& path, LayoutFile kind) {
  return parse_step(read_text_file(path, "fabricast step takes a layout file"), path, kind);
}

}  // namespace fabricast
