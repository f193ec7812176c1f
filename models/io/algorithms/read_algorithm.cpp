#include "models/io/algorithms/read_algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "models/io/environments/shell_arithmetic.hpp"
#include "models/io/formats/reader.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/formats/xml_reader.hpp"
#include "models/nccl/custom/custom_compile.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr int kRanksMax = 4096;
constexpr int kChunksMax = 1 << 16;
constexpr int kChannelsMax = 64;
constexpr std::size_t kTransfersMax = 50'000;
constexpr int kBytesMax = 2'000'000'000;

/// Collectives that check_algorithm() knows the result of.
constexpr std::array kCollectives = {std::pair{"allreduce", Collective::all_reduce},
                                     std::pair{"allgather", Collective::all_gather},
                                     std::pair{"reducescatter", Collective::reduce_scatter},
                                     std::pair{"reduce_scatter", Collective::reduce_scatter},
                                     std::pair{"alltoall", Collective::alltoall},
                                     std::pair{"broadcast", Collective::broadcast},
                                     std::pair{"reduce", Collective::reduce}};

constexpr std::array kSteps = {std::pair{"s", CustomKind::send},
                               std::pair{"r", CustomKind::recv},
                               std::pair{"rcs", CustomKind::recv_copy_send},
                               std::pair{"rrs", CustomKind::recv_reduce_send},
                               std::pair{"rrc", CustomKind::recv_reduce_copy},
                               std::pair{"rrcs", CustomKind::recv_reduce_copy_send},
                               std::pair{"cpy", CustomKind::copy},
                               std::pair{"re", CustomKind::reduce},
                               std::pair{"nop", CustomKind::nop}};

constexpr std::array kBuffers = {std::pair{"i", ChunkBuffer::input},
                                 std::pair{"o", ChunkBuffer::output},
                                 std::pair{"s", ChunkBuffer::scratch}};

std::string why_not_whole(const CustomAlgorithm& algorithm) {
  const bool shares = counts_per_rank(algorithm.collective);
  if (!shares || algorithm.chunks % algorithm.ranks == 0) return "";
  return fmt::format("{} chunks of a message are not shared evenly by {} ranks", algorithm.chunks,
                     algorithm.ranks);
}

class XmlAlgorithm {
 public:
  XmlAlgorithm(const std::string& text, const std::string& file) : xml_(text, file) {
    out_.file = file;
  }

 private:
  std::string unknown(pugi::xml_node node, const char* name) const {
    return fmt::format("unknown {} \"{}\"", name, xml_.text(node, name));
  }

  template <class Words>
  auto word(pugi::xml_node node, const char* name, const Words& words) const {
    const std::string_view text = xml_.required(node, name);
    std::string known;
    for (const auto& [spelled, value] : words) {
      if (text == spelled) return value;
      known += fmt::format("{}{}", known.empty() ? "" : ", ", spelled);
    }
    xml_.fail(node, unknown(node, name), "known: " + known);
  }

 public:
  CustomAlgorithm read() {
    const pugi::xml_node root = xml_.root();
    if (std::string_view(root.name()) != "algo")
      xml_.fail(root, fmt::format("<{}> is no algorithm of MSCCL, which begins with <algo>",
                                  root.name()));
    out_.name = xml_.required(root, "name");
    out_.ranks = xml_.whole(root, "ngpus", 2, kRanksMax);
    out_.chunks = xml_.whole(root, "nchunksperloop", 1, kChunksMax);
    out_.collective = word(root, "coll", kCollectives);
    out_.root = xml_.whole(root, "root", 0, out_.ranks - 1, 0);
    const auto protocol = protocol_from_text(xml_.required(root, "proto"));
    if (!protocol) xml_.fail(root, unknown(root, "proto"), "Simple, LL and LL128 are known");
    out_.protocol = protocol;
    out_.in_place = xml_.whole(root, "inplace", 0, 1, 0) == 1;
    out_.out_of_place = xml_.whole(root, "outofplace", 0, 1, out_.in_place ? 0 : 1) == 1;
    if (!out_.in_place && !out_.out_of_place)
      xml_.fail(root, "works neither in place nor out of place");
    if (root.attribute("minBytes")) out_.least = xml_.whole(root, "minBytes", 0, kBytesMax);
    if (root.attribute("maxBytes")) out_.most = xml_.whole(root, "maxBytes", 0, kBytesMax);
    channels_ = xml_.whole(root, "nchannels", 1, kChannelsMax);
    if (const std::string why = why_not_whole(out_); !why.empty()) xml_.fail(root, why);
    for (const pugi::xml_node gpu : root.children("gpu"))
      out_.scratch = std::max(out_.scratch, xml_.whole(gpu, "s_chunks", 0, kChunksMax, 0));
    int rank = 0;
    for (const pugi::xml_node gpu : root.children("gpu")) read_gpu(gpu, rank++);
    if (rank != out_.ranks)
      xml_.fail(root, fmt::format("ngpus=\"{}\", but there {} {}: the file is incomplete",
                                  out_.ranks, rank == 1 ? "is" : "are", rank));
    return std::move(out_);
  }

 private:
  void read_gpu(pugi::xml_node gpu, int rank) {
    if (xml_.whole(gpu, "id", 0, kRanksMax) != rank || rank >= out_.ranks)
      xml_.fail(gpu, fmt::format("id=\"{}\" where GPU {} of 0..{} is due", xml_.text(gpu, "id"),
                                 rank, out_.ranks - 1));
    const auto first = static_cast<std::uint32_t>(out_.blocks.size());
    std::map<int, std::uint32_t> by_id;
    std::uint32_t number = first;
    for (const pugi::xml_node tb : gpu.children("tb")) {
      if (!by_id.emplace(xml_.whole(tb, "id", 0, kChunksMax), number++).second)
        xml_.fail(
            tb, fmt::format("another threadblock of GPU {} has id {}", rank, xml_.text(tb, "id")));
    }
    for (const pugi::xml_node tb : gpu.children("tb")) read_block(tb, rank, by_id);
    check_waits(gpu, first);
  }

  int peer(pugi::xml_node tb, const char* name, int rank) const {
    const int other = xml_.whole(tb, name, -1, out_.ranks - 1);
    if (other == rank) xml_.fail(tb, fmt::format("{}=\"{}\" is its own GPU", name, other));
    return other;
  }

  void read_block(pugi::xml_node tb, int rank, const std::map<int, std::uint32_t>& by_id) {
    CustomBlock block;
    block.rank = rank;
    block.id = xml_.whole(tb, "id", 0, kChunksMax);
    block.send = peer(tb, "send", rank);
    block.recv = peer(tb, "recv", rank);
    block.channel = xml_.whole(tb, "chan", 0, channels_ - 1);
    block.line = xml_.place(tb).line;
    int number = 0;
    for (const pugi::xml_node node : tb.children("step")) {
      if (xml_.whole(node, "s", 0, kChunksMax) != number)
        xml_.fail(node, fmt::format("s=\"{}\" where step {} is due", xml_.text(node, "s"), number));
      ++number;
      CustomStep step;
      step.kind = word(node, "type", kSteps);
      step.line = xml_.place(node).line;
      if (reads_source(step.kind)) step.source = place(node, "srcbuf", "srcoff");
      if (writes_target(step.kind)) step.target = place(node, "dstbuf", "dstoff");
      step.count = xml_.whole(node, "cnt", 0, kChunksMax, 1);
      if (step.kind != CustomKind::nop && step.count == 0) xml_.fail(node, "cnt=\"0\": no chunk");
      const int depends = xml_.whole(node, "depid", -1, kChunksMax, -1);
      if (depends >= 0) {
        const auto other = by_id.find(depends);
        if (other == by_id.end())
          xml_.fail(node,
                    fmt::format("depid=\"{}\": GPU {} has no such threadblock", depends, rank));
        step.waits.push_back(
            {other->second, static_cast<std::uint32_t>(xml_.whole(node, "deps", 0, kChunksMax))});
      }
      block.steps.push_back(std::move(step));
    }
    out_.blocks.push_back(std::move(block));
  }

  ChunkPlace place(pugi::xml_node node, const char* buffer, const char* offset) const {
    return {word(node, buffer, kBuffers), xml_.whole(node, offset, 0, kChunksMax)};
  }

  void check_waits(pugi::xml_node gpu, std::uint32_t first) const {
    for (std::uint32_t b = first; b < out_.blocks.size(); ++b) {
      for (std::uint32_t at = 0; at < out_.blocks[b].steps.size(); ++at) {
        for (const CustomStep::Wait& wait : out_.blocks[b].steps[at].waits) {
          const CustomBlock& other = out_.blocks[wait.block];
          if (wait.step < other.steps.size()) continue;
          throw Error(out_.place(b, at),
                      fmt::format("depends on step {} of threadblock {}, which has {}", wait.step,
                                  other.id, other.steps.size()),
                      fmt::format("see GPU {} in line {}", other.rank, xml_.place(gpu).line));
        }
      }
    }
  }

  XmlReader xml_;
  CustomAlgorithm out_;
  int channels_ = 1;
};

/// Whole numbers with the names of loops in them.
class Names {
 public:
  void set(const std::string& name, std::int64_t value) { values_[name] = value; }
  bool has(const std::string& name) const { return values_.contains(name); }

  /// Nothing where it is none, or a name is not known.
  std::optional<std::int64_t> value(std::string_view text) const {
    std::string plain;
    for (std::size_t i = 0; i < text.size();) {
      if (!is_letter(text[i])) {
        plain += text[i++];
        continue;
      }
      std::size_t end = i;
      while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) ++end;
      const auto known = values_.find(text.substr(i, end - i));
      if (known == values_.end()) return std::nullopt;
      plain += fmt::format("({})", known->second);
      i = end;
    }
    return shell_arithmetic(plain);
  }

 private:
  static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  std::map<std::string, std::int64_t, std::less<>> values_;
};

class YamlAlgorithm {
 public:
  YamlAlgorithm(const std::string& text, const std::string& file)
      : tree_(parse_yaml(text, file)), file_(file) {}

  CustomAlgorithm read() {
    Reader in(tree_, file_);
    in.choice("kind", {"algorithm"});
    out_.file = file_;
    out_.name = in.text("name");
    const std::vector<std::string> collectives = {"all_reduce", "all_gather", "reduce_scatter",
                                                  "alltoall",   "broadcast",  "reduce"};
    out_.collective = *collective_from_text(collectives[in.choice("collective", collectives)]);
    out_.ranks = in.whole("ranks", 2, kRanksMax);
    out_.chunks = in.whole("chunks", 1, kChunksMax);
    if (const std::string why = why_not_whole(out_); !why.empty()) in.fail("chunks", why);
    out_.scratch = in.whole("scratch", 0, kChunksMax, 0);
    out_.root = in.whole("root", 0, out_.ranks - 1, 0);
    out_.in_place = in.flag("in_place", false);
    out_.out_of_place = !out_.in_place;
    if (!in.text("protocol", "").empty())
      out_.protocol = protocol_from_text(
          std::array{"LL", "LL128", "Simple"}[in.choice("protocol", {"LL", "LL128", "Simple"})]);
    names_.set("ranks", out_.ranks);
    names_.set("chunks", out_.chunks);
    for (Reader& step : in.children("steps")) read_step(step);
    in.finish();
    if (transfers_.empty()) in.fail("steps", "no step moves anything");
    compile(transfers_, out_);
    return std::move(out_);
  }

 private:
  void read_step(Reader& in) {
    std::vector<std::pair<std::string, std::string>> loops;
    if (in.has("for")) {
      Reader ranges = in.child("for");
      for (const std::string& name : ranges.keys()) {
        if (names_.has(name)) ranges.fail(name, fmt::format("\"{}\" is a name already", name));
        loops.emplace_back(name, ranges.text(name));
      }
      ranges.finish();
    }
    Step step{in,
              {},
              in.text("from"),
              in.text("to"),
              in.prose("source", ""),
              in.text("target", ""),
              in.text("count", "1"),
              in.text("channel", "0"),
              false};
    const std::string chunk = in.text("chunk", "");
    if (chunk.empty() == (step.source.empty() || step.target.empty()))
      in.fail("", "say which chunks: chunk, or source and target",
              "chunk: r is the same as source: output r, target: output r");
    if (!chunk.empty()) step.source = step.target = "output " + chunk;
    step.reduce = in.has("do") && in.choice("do", {"copy", "reduce"}) == 1;
    in.finish();
    step.loops = loops;
    repeat(step, 0, names_);
  }

  struct Step {
    Reader& in;
    std::vector<std::pair<std::string, std::string>> loops;
    std::string from, to, source, target, count, channel;
    bool reduce = false;
  };

  void repeat(const Step& step, std::size_t depth, const Names& names) {
    if (depth == step.loops.size()) return add(step, names);
    const auto& [name, range] = step.loops[depth];
    const std::size_t dots = range.find("..");
    const auto first = names.value(range.substr(0, dots));
    const auto last = names.value(dots == std::string::npos ? "" : range.substr(dots + 2));
    if (!first || !last || *last - *first >= static_cast<std::int64_t>(kTransfersMax))
      step.in.fail("for", fmt::format("{}: \"{}\" is no range", name, range), "like r: 0..ranks-1");
    Names inner = names;
    for (std::int64_t value = *first; value <= *last; ++value) {
      if (++turns_ > kTransfersMax) step.in.fail("for", "more than 50000 turns in all");
      inner.set(name, value);
      repeat(step, depth + 1, inner);
    }
  }

  int whole(const Step& step, const Names& names, std::string_view key, const std::string& text,
            int min, int max) const {
    const auto value = names.value(text);
    if (!value)
      step.in.fail(key, fmt::format("\"{}\" is no number", text),
                   "whole numbers, + - * / % and parentheses, the names of `for`, ranks, chunks");
    if (*value < min || *value > max)
      step.in.fail(key,
                   fmt::format("\"{}\" makes {}: {} to {} is possible", text, *value, min, max));
    return static_cast<int>(*value);
  }

  /// "scratch r * 2"
  ChunkPlace place(const Step& step, const Names& names, std::string_view key,
                   const std::string& text) const {
    for (const ChunkBuffer buffer :
         {ChunkBuffer::input, ChunkBuffer::output, ChunkBuffer::scratch}) {
      const std::string_view word = to_text(buffer);
      if (!text.starts_with(word) || text.size() <= word.size() || text[word.size()] != ' ')
        continue;
      const int most = buffer == ChunkBuffer::input    ? out_.inputs()
                       : buffer == ChunkBuffer::output ? out_.outputs()
                                                       : out_.scratch;
      return {buffer, whole(step, names, key, text.substr(word.size() + 1), 0, most - 1)};
    }
    step.in.fail(key, fmt::format("\"{}\" is no chunk", text), "like input 0, output r, scratch 2");
  }

  void add(const Step& step, const Names& names) {
    if (transfers_.size() == kTransfersMax) step.in.fail("", "more than 50000 transfers");
    ChunkTransfer one;
    one.from = whole(step, names, "from", step.from, 0, out_.ranks - 1);
    one.to = whole(step, names, "to", step.to, 0, out_.ranks - 1);
    one.source = place(step, names, "source", step.source);
    one.target = place(step, names, "target", step.target);
    one.count = whole(step, names, "count", step.count, 1, kChunksMax);
    one.channel = whole(step, names, "channel", step.channel, 0, kChannelsMax - 1);
    one.reduce = step.reduce;
    one.line = step.in.place().line;
    const auto ends = [&](ChunkPlace at) {
      return at.chunk + one.count > (at.buffer == ChunkBuffer::input    ? out_.inputs()
                                     : at.buffer == ChunkBuffer::output ? out_.outputs()
                                                                        : out_.scratch);
    };
    if (ends(one.source) || ends(one.target))
      step.in.fail("count", fmt::format("{} chunks go beyond the end of the buffer", one.count));
    transfers_.push_back(one);
  }

  YamlNode tree_;
  std::string file_;
  CustomAlgorithm out_;
  Names names_;
  std::size_t turns_ = 0;
  std::vector<ChunkTransfer> transfers_;
};

}  // namespace

CustomAlgorithm parse_algorithm(const std::string& text, const std::string& file) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const char first = begin == std::string::npos ? '\0' : text[begin];
  if (first == '{')
    throw Error(Place{file, 0, {}}, "no algorithm: it begins like JSON",
                "execution plans of MSCCL++ are not read; MSCCL's XML and YAML are");
  CustomAlgorithm out =
      first == '<' ? XmlAlgorithm(text, file).read() : YamlAlgorithm(text, file).read();
  check_algorithm(out);
  return out;
}

CustomAlgorithm load_algorithm(const std::string& file) {
  return parse_algorithm(read_text_file(file, "give the path of MSCCL's XML, or of YAML"), file);
}

}  // namespace fabricast
