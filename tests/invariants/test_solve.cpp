// A bisection finds what a grid finds, with a quarter of its questions.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "models/studies/solve/solve.hpp"

using namespace fabricast;

TEST_CASE("solve: as the whole grid in 20 random cases, with at most a quarter of its questions") {
  std::mt19937 random(26);
  const std::string file =
      (std::filesystem::temp_directory_path() / "fabricast-solve-grid.yaml").string();
  int cases = 0;
  for (int tries = 0; tries < 40 && cases < 20; ++tries) {
    std::ofstream(file) << "kind: scenario\nstudy: bench\nname: x\nquestion: What?\n"
                        << "topology: " << (random() % 2 == 0 ? "dgx-h100" : "dgx-a100")
                        << "\nnodes: 1\nnccl: 2.27.7\ncollective: "
                        << (random() % 2 == 0 ? "all_reduce" : "all_gather")
                        << "\nsizes: 1MiB\nenvironment: {NCCL_ALGO: Ring, NCCL_PROTO: "
                        << (random() % 2 == 0 ? "Simple" : "LL") << "}\n";
    SolveAsk ask;
    ask.file = file;
    ask.vary = {{"sizes", "256KiB..32MiB:+256KiB"}};
    ask.goal = static_cast<SolveGoal>(random() % 3);
    ask.key = "sizes";
    ask.condition = "time_us > 0";
    ask.grid = true;
    std::vector<double> times;
    for (const SolvedValue& one : run_solve(ask, in_turn).asked)
      times.push_back(one.figure.value());
    if (!std::ranges::is_sorted(times)) continue;
    const std::size_t at = 1 + random() % (times.size() - 1);
    const double limit = (times[at - 1] + times[at]) / 2;
    if (times[at - 1] == times[at]) continue;
    ask.grid = false;
    ask.condition =
        fmt::format("time_us {} {}", ask.goal == SolveGoal::fewest ? ">=" : "<=", limit);
    const SolveResult found = run_solve(ask, in_turn);
    CAPTURE(ask.condition);
    CHECK(found.lines.front().answer.front() == (ask.goal == SolveGoal::fewest ? at : at - 1));
    CHECK(found.asked.size() * 4 <= times.size());
    ++cases;
  }
  std::filesystem::remove(file);
  CHECK(cases == 20);
}
