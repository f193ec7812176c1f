// What `judge` reads off a log that does not say what was measured is right or refused, never
// wrong: collective, ranks, nodes and the bus bandwidth of every row. Logs are bench's own text,
// and rows written by nccl-tests' formulas for up to 4,096 ranks; then what names the collective is
// taken off, and the layout is one of those that people keep.

#include "models/studies/bench/bench_text.hpp"
#include "models/studies/judge/judge_log.hpp"
#include "tests/invariants/cases.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace fabricast::testing {
namespace {

/// How somebody kept a log, and with which options it ran.
struct Kept {
  bool devices = true;    ///< the list of them is there
  bool checked = true;    ///< ran with -c 1: values, or N/A in place where there is no in place
  bool hashes = true;     ///< header lines begin with #
  bool csv = false;       ///< commas instead of blanks, and one line of header
  bool old = false;       ///< up to 2.10: no column for the root
  bool blank = false;     ///< up to 2.12: nothing instead of "none"
  bool prefixed = false;  ///< by srun -l
  enum class Name : std::uint8_t { none, file, command } name = Name::none;
};

struct Log {
  std::string text, file = "log.txt";
};

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

/// One line of bench's text as `kept` has it; "" where it is not kept.
std::string line_as(const std::string& line, const Kept& kept, Collective collective) {
  const bool row = !line.starts_with('#');
  const bool columns = line.find("algbw") != std::string::npos;
  const bool device = line.starts_with("#  Rank") || line.starts_with("# nThread");
  if (!row && !columns && !(device && kept.devices && !kept.csv)) return {};
  if (device) return line;
  std::vector<std::string> words = words_of(line.substr(row ? 0 : 1));
  if (words.size() != 13) return {};
  if (row && kept.checked) {
    const bool in_place = collective != Collective::alltoall && collective != Collective::sendrecv;
    words[8] = "0";
    words[12] = in_place ? "0" : "N/A";
  }
  if (kept.old) words.erase(words.begin() + 4);
  if (row && kept.blank && words[3] == "none") words.erase(words.begin() + 3);
  std::string out = !row && kept.hashes && !kept.csv ? "# " : "";
  for (std::size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : kept.csv ? "," : "  ") + words[i];
  return out;
}

Log log_of(const std::string& bench, const Kept& kept, Collective collective) {
  Log out;
  const std::string name(to_text(collective));
  if (kept.name == Kept::Name::file) out.file = "runs/" + name + "_h100.log";
  if (kept.name == Kept::Name::command) out.text = "$ ./build/" + name + "_perf -b 8 -e 1G -f 2\n";
  std::istringstream lines(bench);
  for (std::string line; std::getline(lines, line);) {
    const std::string one = line_as(line, kept, collective);
    if (!one.empty()) out.text += (kept.prefixed ? "0: " : "") + one + "\n";
  }
  return out;
}

Kept drawn_layout(Dice& random, Collective collective) {
  const auto coin = [&] { return random.pick(0, 1) == 1; };
  Kept out;
  out.devices = coin();
  out.checked = random.pick(0, 3) > 0;
  out.hashes = coin();
  out.csv = random.pick(0, 4) == 0;
  out.old = !has_root(collective) && random.pick(0, 3) == 0;
  out.blank = !out.csv && random.pick(0, 3) == 0;
  out.prefixed = coin();
  out.name = static_cast<Kept::Name>(random.pick(0, 2));
  return out;
}

/// nccl-tests' columns for time, size and bandwidths: two decimals, fewer where they do not fit.
std::string time_text(double us) {
  return us >= 10'000 ? fmt::format("{:.0f}", us)
         : us >= 100  ? fmt::format("{:.1f}", us)
                      : fmt::format("{:.2f}", us);
}

/// What nccl-tests prints of so many ranks whose calls take some time.
std::string formula_text(Dice& random, Collective collective, int ranks) {
  std::string out =
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
  for (int r = 0; r < ranks; ++r)
    out += fmt::format("#  Rank {} Group 0 Pid {} on node{} device {} [0x07] NVIDIA H100\n", r,
                       1000 + r, r / 8, r % 8);
  for (std::int64_t bytes = 1 << 20; bytes <= std::int64_t{1} << 34; bytes *= 4) {
    const std::int64_t count = counts_per_rank(collective) ? bytes / 4 / ranks / 4 * 4 : bytes / 4;
    const Bytes size = message_size(collective, count, 4, ranks);
    std::string halves;
    for (int half = 0; half < 2; ++half) {
      const double us =
          20 + static_cast<double>(size.count) / static_cast<double>(random.pick(2'000, 400'000));
      const double algbw = static_cast<double>(size.count) * 1e-3 / us;
      halves += fmt::format(" {} {:.2f} {:.2f} N/A", time_text(us), algbw,
                            algbw * busbw_factor(collective, ranks));
    }
    const bool reduces = collective == Collective::all_reduce || collective == Collective::reduce ||
                         collective == Collective::reduce_scatter ||
                         collective == Collective::sendrecv;
    out += fmt::format("{} {} float {} {}{}\n", size.count, count, reduces ? "sum" : "none",
                       has_root(collective) ? 0 : -1, halves);
  }
  return out;
}

struct Score {
  int cases = 0, right = 0, refused = 0, open_ranks = 0;
};

/// Reads it back. Everything that is said is true.
void read_back(const Log& log, Collective collective, int ranks, const Kept& kept, Score& score) {
  ++score.cases;
  CAPTURE(log.text.substr(0, 2000));
  CAPTURE(log.file);
  CAPTURE(to_text(collective));
  CAPTURE(ranks);
  const NcclTestsLog read = parse_nccl_tests(log.text, log.file);
  REQUIRE(read.tables.size() == 1);
  const NcclTestsTable& table = read.tables.front();
  LogFacts facts;
  try {
    facts = facts_of(table, log.file, std::nullopt);
  } catch (const Error&) {
    ++score.refused;
    CHECK(kept.name == Kept::Name::none);  // a name decides, whatever else is lost
    return;
  }
  CHECK(facts.collective == collective);
  CHECK(facts.possible.holds(ranks));
  if (facts.ranks == 0) {
    ++score.open_ranks;
    CHECK(table.devices.empty());
    return;
  }
  ++score.right;
  CHECK(facts.ranks == ranks);
  for (const NcclTestsRow& row : table.rows) {
    const NcclTestsTiming& half = *row.out_of_place;
    if (row.size == 0) continue;
    const double busbw = static_cast<double>(row.size) * 1e-3 / half.time_us *
                         busbw_factor(facts.collective, facts.ranks);
    CHECK(std::fabs(busbw - *half.busbw) <=
          half.busbw_half * 1.01 + busbw * half.time_half / half.time_us);
  }
}

}  // namespace

TEST_CASE("a log of nccl-tests' formulas is read right or refused, never wrong") {
  Dice random(7);
  Score score;
  for (int i = 0; i < random_cases(400); ++i) {
    const Collective collective = random.of(kAllCollectives);
    const int ranks = static_cast<int>(
        random.pick(0, 3) == 0 ? random.pick(2, 4096) : std::int64_t{1} << random.pick(1, 10));
    const Kept kept = drawn_layout(random, collective);
    read_back(log_of(formula_text(random, collective, ranks), kept, collective), collective, ranks,
              kept, score);
  }
  MESSAGE(score.cases << " logs: " << score.right << " right, " << score.open_ranks
                      << " without a number of ranks, " << score.refused << " refused");
  CHECK(2 * score.right > score.cases);
}

TEST_CASE("bench's own text is read right or refused, never wrong") {
  Dice random(11);
  Score score;
  int laid_out = 0;
  for (int i = 0; i < random_cases(60); ++i) {
    const std::vector<std::string> presets = {"dgx-h100", "gh200-4", "hgx-h200-2nic", "pcie-8"};
    const Collective collective = random.of(kAllCollectives);
    BenchConfig config =
        bench_of(random.of(presets), static_cast<int>(random.pick(1, 3)),
                 {Bytes{1 << 12}, Bytes{1 << 16}, Bytes{1 << 20}, Bytes{1 << 24}, Bytes{1 << 26}});
    config.collectives = {collective};
    config.gpus_per_node = config.topology == "gh200-4" ? 4 : random.pick(0, 1) == 1 ? 8 : 2;
    config.datatype = random.pick(0, 1) == 1 ? "float" : "bfloat16";
    const BenchResult result = run_bench(config, shipped_parts());
    const BenchBlock& block = result.blocks.front();
    const int ranks = block.rows.front().ranks;
    const Kept kept = drawn_layout(random, collective);
    const Log log = log_of(bench_text(result), kept, collective);
    read_back(log, collective, ranks, kept, score);
    // Nodes and GPUs of each: those of the list, or as many as the topology has, or refused.
    JudgeRequest request{config.topology, "", 0, 0, false, collective};
    const NcclTestsTable table = parse_nccl_tests(log.text, log.file).tables.front();
    if (kept.devices && !kept.csv) {
      const JudgeConfig judged = judge_config(table, log.file, request, shipped_parts());
      CHECK(judged.nodes == config.nodes.front());
      CHECK(judged.gpus_per_node == config.gpus_per_node);
      ++laid_out;
      // So is a number of GPUs that the list has not.
      request.gpus_per_node = config.gpus_per_node / 2;
      CHECK_THROWS_AS(judge_config(table, log.file, request, shipped_parts()), Error);
    }
    // A wrong --nodes is refused wherever the rows or the list tell.
    request.nodes = config.nodes.front() + 1;
    request.gpus_per_node = config.gpus_per_node;
    const bool tells = !table.devices.empty() || facts_of(table, log.file, collective).ranks > 0;
    if (tells) CHECK_THROWS_AS(judge_config(table, log.file, request, shipped_parts()), Error);
  }
  MESSAGE(score.cases << " logs: " << score.right << " right, " << score.open_ranks
                      << " without a number of ranks, " << score.refused << " refused; nodes of "
                      << laid_out);
  CHECK(2 * score.right > score.cases);
}

}  // namespace fabricast::testing
