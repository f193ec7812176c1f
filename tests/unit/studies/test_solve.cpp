// A question asked backwards: where a condition changes, and what a report's figures are at the
// ends of its band.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "models/studies/solve/report_values.hpp"
#include "models/studies/solve/solve.hpp"
#include "models/studies/solve/switch_search.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

/// "01111": where the condition holds. How many were asked.
ConditionSwitch searched(const std::string& holds, int* asked = nullptr) {
  std::set<std::size_t> places;
  const ConditionSwitch out = find_switch(holds.size(), {}, [&](std::size_t i) {
    CHECK(places.insert(i).second);  // never twice
    return holds[i] == '1';
  });
  if (asked != nullptr) *asked = static_cast<int>(places.size());
  return out;
}

/// Two rows with a band, the second twice as slow as the first.
Report two_rows() {
  Report out;
  out.study = "bench";
  ReportTable rows("rows", {{"size_bytes", ReportColumn::Type::whole},
                            {"time_us", ReportColumn::Type::number},
                            {"lower_us", ReportColumn::Type::number},
                            {"upper_us", ReportColumn::Type::number},
                            {"busbw_GBps", ReportColumn::Type::number},
                            {"algorithm", ReportColumn::Type::text}});
  rows.add({1024, 10.0, 8.0, 15.0, 300.0, "Ring"});
  rows.add({2048, 20.0, 16.0, 30.0, 200.0, "Tree"});
  out.tables.push_back(std::move(rows));
  return out;
}

FormulaValue figure(const Report& report, const FormulaName& name, double factor = 1) {
  return ReportValue(report, name).with(factor);
}

/// A question in a file that goes with the object.
class QuestionFile {
 public:
  explicit QuestionFile(
      const std::string& rest,
      const std::string& head = "kind: scenario\nstudy: bench\nname: x\nquestion: What?\n")
      : path_((std::filesystem::temp_directory_path() /
               ("fabricast-solve-" + std::to_string(reinterpret_cast<std::uintptr_t>(this))))
                  .string()) {
    std::ofstream(path_) << head << rest;
  }
  ~QuestionFile() { std::filesystem::remove(path_); }
  QuestionFile(const QuestionFile&) = delete;
  QuestionFile& operator=(const QuestionFile&) = delete;
  const std::string& path() const { return path_; }
  std::string name() const { return std::filesystem::path(path_).filename().string(); }

 private:
  std::string path_;
};

const std::string kTwoNodes =
    "topology: dgx-h100\nnodes: 2\nnccl: 2.30.7\ncollective: all_reduce\nsizes: 256MiB\n";

std::string answer_of_first(const SolveResult& result) {
  const auto& at = result.lines.front().answer.front();
  return at ? result.values[*at] : "none";
}

}  // namespace

TEST_CASE("solve: a switch is found with as few questions as a bisection takes") {
  int asked = 0;
  CHECK(searched("0001111111111111", &asked).at == 3);
  CHECK(asked == 6);  // both ends, and 4 = log2(16)
  CHECK(searched("1111111111111110").at == 15);
  CHECK(searched("01").at == 1);
  CHECK(searched("0").at == std::nullopt);
  CHECK_FALSE(searched("1").at.has_value());
  CHECK(searched("1111", &asked).first_holds);
  CHECK(asked == 3);  // both ends and the middle
  CHECK_FALSE(searched("0110").changes_once);
  CHECK_FALSE(searched("1001").changes_once);
  CHECK(searched("0111").changes_once);
}

TEST_CASE("solve: what is known is not asked again, and tells where it changes twice") {
  const auto never = [](std::size_t) {
    FAIL("asked");
    return false;
  };
  CHECK(find_switch(4, {{0, false}, {1, false}, {2, true}, {3, true}}, never).at == 2);
  CHECK_FALSE(find_switch(4, {{0, false}, {1, true}, {2, false}, {3, true}}, never).changes_once);
}

TEST_CASE("solve: a name is the row that tells most, or that of its filter") {
  const Report report = two_rows();
  CHECK(figure(report, {"busbw_GBps", false, {}}) == FormulaValue(200.0));
  CHECK(figure(report, {"busbw_GBps", false, {{"size_bytes", "1024"}}}) == FormulaValue(300.0));
  CHECK(figure(report, {"algorithm", false, {{"size_bytes", "1024"}}}) == FormulaValue("Ring"));
  CHECK(error_text([&] {
          figure(report, {"busbw", false, {}});
        }) == "the answer has no table with busbw\nhint: did you mean \"busbw_GBps\"?");
  CHECK(error_text([&] {
          figure(report, {"time_us", false, {{"size_bytes", "7"}}});
        }).starts_with("no rows of the answer fit time_us[size_bytes=\"7\"]"));
}

TEST_CASE("solve: at the slow end times are longer and rates lower by as much") {
  const Report report = two_rows();
  const std::optional<TimeFactors> band = ReportValue(report, {"time_us", false, {}}).band();
  REQUIRE(band);
  CHECK(band->fast == doctest::Approx(0.8));
  CHECK(band->slow == doctest::Approx(1.5));
  CHECK(figure(report, {"time_us", false, {}}, band->slow) == FormulaValue(30.0));
  CHECK(figure(report, {"busbw_GBps", false, {}}, band->fast) == FormulaValue(250.0));
  CHECK(figure(report, {"size_bytes", false, {}}, band->slow) == FormulaValue(2048.0));
}

TEST_CASE("solve: the fewest NICs, the most nodes, how far a fabric may be oversubscribed") {
  const QuestionFile question(kTwoNodes);
  const auto solved = [&](SolveGoal goal, const std::string& key, const std::string& values,
                          const std::string& condition) {
    return run_solve({question.path(), {{key, values}}, goal, key, condition}, in_turn);
  };
  const SolveResult nics =
      solved(SolveGoal::fewest, "site.nics", "1,2,4,8", "busbw_GBps[size_bytes=256MiB] >= 185");
  // A NIC carries 48 GB/s, and a tree of two nodes 15/8 of that: two reach 180 at most.
  CHECK(answer_of_first(nics) == "4");
  CHECK(nics.has_band);
  CHECK(answer_of_first(solved(SolveGoal::most, "nodes", "1..4", "ranks <= 16")) == "2");
  CHECK(answer_of_first(solved(SolveGoal::fewest, "nodes", "1..4", "ranks > 99")) == "none");
  CHECK(answer_of_first(solved(SolveGoal::until, "nodes", "1..4", "ranks <= base.ranks")) == "2");
  // Two nodes hang on one leaf: nothing goes up.
  CHECK(answer_of_first(solved(SolveGoal::until, "fabric.oversubscription", "1..8",
                               "time_us <= 1.01 * base.time_us")) == "8");
}

TEST_CASE("solve: what the question names is looked for beside it") {
  const QuestionFile nic(
      "",
      "kind: parts\nnics:\n  My_NIC:\n"
      "    identity: {class: \"0x020700\", vendor: \"0x15b3\", device: \"0x1021\", "
      "subsystem_vendor: \"0x15b3\", subsystem_device: \"0x0023\", pcie_gen: 5, pcie_width: 16, "
      "source: pci_ids, status: datasheet}\n"
      "    port_rate: {value: 200 Gb/s, source: nvidia_net, status: datasheet}\n"
      "    goodput: {value: 0.96, source: nccl_tests_267, status: derived}\n"
      "    latency: {value: 450 ns, source: model, status: assumed}\n");
  const QuestionFile question(
      "topology: dgx-h100:nic=My_NIC:nics=4\nnodes: 2\nsizes: 1MiB\nparts: " + nic.name() + "\n");
  const auto values = [](const QuestionFile& asked) {
    return run_solve({asked.path(), {}, SolveGoal::fewest, "nics", "ranks >= 16"}, in_turn).values;
  };
  CHECK(values(question).size() == 4);
  const QuestionFile cluster("", "kind: cluster\nname: c\nnode: hgx-h200-2nic\nnodes: 2\n");
  CHECK(values(QuestionFile("topology: ./" + cluster.name() + "\nsizes: 1MiB\n")).size() == 2);
}

TEST_CASE("solve: the band of a change is that of the question's own calibrated values") {
  const std::string bands = "{sizes: \">= 64 MiB\", lower: 0.9, upper: 1.1, runs: 5}";
  const QuestionFile own(
      "", "kind: calibrated\nvalues: {}\nbands: [" + bands +
              "]\nchanges: [{sizes: \">= 64 MiB\", lower: 0.5, upper: 100, runs: 5}]\n");
  const QuestionFile question(kTwoNodes + "parts: " + own.name() + "\n");
  const SolveResult result = run_solve({question.path(),
                                        {{"environment.NCCL_PROTO", "Simple,LL"}},
                                        SolveGoal::until,
                                        "",
                                        "time_us < 20 * base.time_us"},
                                       in_turn);
  // LL takes 11 times as long; a change may be off by a factor of 100 there.
  CHECK(result.lines.front().answer == std::array{std::optional<std::size_t>(1),
                                                  std::optional<std::size_t>(1),
                                                  std::optional<std::size_t>(0)});
}

TEST_CASE("solve: a refused value names the line of the case in the question's file") {
  const QuestionFile question(
      "topology: dgx-h100\nnodes: 1\nnccl: 2.30.7\ncollective: all_reduce\nsizes: 1MiB\n"
      "cases:\n  - name: first\n  - name: second\n");
  const SolveResult result = run_solve({question.path(),
                                        {{"cases.1.environment.NCCL_ALGO", "Ring,CollnetDirect"}},
                                        SolveGoal::until,
                                        "",
                                        "time_us < 1 s"},
                                       in_turn);
  CHECK(result.asked.front().refused.empty());
  const std::string& refused = result.asked.back().refused;
  CHECK_MESSAGE(refused.starts_with(question.path() + ":12: cases[1]: all_reduce: NCCL refuses"),
                refused);
  // The reason has lines of its own, which would break the table, and stands below it.
  const std::string text = solve_text(result);
  const std::size_t row = text.find("  CollnetDirect");
  REQUIRE(row != std::string::npos);
  CHECK(text.substr(row, text.find('\n', row) - row).ends_with(" refused"));
  CHECK(text.find("NCCL_ALGO CollnetDirect is refused: " + question.path() + ":12: cases[1]: ") !=
        std::string::npos);
}

TEST_CASE("solve: what cannot be asked is told") {
  const QuestionFile question(kTwoNodes);
  const auto failure = [&](const std::string& key, const std::string& values,
                           const std::string& condition) {
    return error_text([&] {
      run_solve({question.path(), {{key, values}}, SolveGoal::fewest, key, condition}, in_turn);
    });
  };
  CHECK(failure("nodes", "1..4", "busbw_GBps >=").find("the condition") != std::string::npos);
  CHECK(failure("nodes", "1..4", "busbw >= 3").find("did you mean \"busbw_GBps\"") !=
        std::string::npos);
  CHECK(failure("nodes", "1..4", "busbw_GBps").find("no condition") != std::string::npos);
  CHECK(failure("collective", "all_reduce,all_gather", "time_us < 3").find("is no number") !=
        std::string::npos);
  CHECK(failure("noodes", "1..4", "time_us < 3").find("nodes") != std::string::npos);
}
