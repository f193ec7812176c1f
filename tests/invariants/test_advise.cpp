// What `advise` does not write it accounts for: every move that saves time somewhere, by advise's
// own simulation, is in the advice or held back with a reason. And a tensor-parallel group of
// inference never leaves what NVLink joins.

#include "models/studies/advise/advise.hpp"
#include "models/studies/shared/for_each.hpp"
#include "tests/invariants/cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

namespace fabricast::testing {
namespace {

constexpr std::array<Goal, kGoals> kAllGoals = {Goal::training, Goal::inference, Goal::latency,
                                                Goal::bandwidth};

/// A preset on one or two nodes, a goal, two of its sizes; sometimes something is set.
AdviseConfig drawn(Dice& random) {
  const std::vector<std::string> presets = preset_names();
  const auto at = random.pick(0, static_cast<std::int64_t>(presets.size()) - 1);
  AdviseConfig out;
  out.goal = random.of(kAllGoals);
  const std::int64_t low = out.goal == Goal::latency ? 10 : out.goal == Goal::inference ? 16 : 24;
  BenchConfig work =
      bench_of(presets[static_cast<std::size_t>(at)], static_cast<int>(random.pick(1, 2)),
               {Bytes{std::int64_t{1} << low}, Bytes{std::int64_t{1} << (low + 4)}});
  work.collectives = {random.pick(0, 2) == 0 ? Collective::all_gather : Collective::all_reduce};
  if (random.pick(0, 2) == 0) work.environment.set("NCCL_MAX_NCHANNELS", "2");
  out.work = work_for(out.goal, work, shipped_parts(), out.notes);
  return out;
}

std::vector<SettingMove> some_of(std::vector<SettingMove> moves, std::size_t most, Dice& random) {
  while (moves.size() > most)
    moves.erase(moves.begin() + random.pick(0, static_cast<std::int64_t>(moves.size()) - 1));
  return moves;
}

}  // namespace

TEST_CASE("advise: a move that saves time is advised, or held back with a reason") {
  Dice random(20);
  int saving = 0, advised = 0;
  for (int i = 0; i < random_cases(12); ++i) {
    const AdviseConfig config = drawn(random);
    const Job setup = job_of(config.work);
    CAPTURE(setup.topology);
    CAPTURE(to_text(config.goal));
    const std::vector<SettingMove> moves =
        some_of(candidate_moves(config.work, shipped_parts()), 12, random);
    const AdviseResult result = run_advise(config, moves, shipped_parts(), {}, in_turn);
    const auto times_in = [&](const Environment& environment) {
      KnownCalls known;
      return row_times(config.work, environment, shipped_parts(), known);
    };
    const RowTimes start = times_in(setup.environment);
    for (const SettingMove& move : moves) {
      const RowTimes alone = times_in(with_move(setup.environment, move));
      bool saves = false;
      for (std::size_t row = 0; row < alone.size(); ++row)
        saves = saves || alone[row].us < start[row].us * (1 - config.least);
      if (!saves) continue;
      ++saving;
      HeldBack held;
      held.settings = move.settings;
      CAPTURE(held.text());
      const bool written = std::ranges::all_of(move.settings, [&](const auto& setting) {
        return result.best.get(setting.first) ==
               (setting.second ? std::optional<std::string_view>(*setting.second) : std::nullopt);
      });
      const auto listed = std::ranges::find(result.held_back, move.settings, &HeldBack::settings);
      CHECK(written != (listed != result.held_back.end()));
      if (listed != result.held_back.end()) CHECK_FALSE(listed->reason.empty());
      advised += written ? 1 : 0;
    }
  }
  MESSAGE(saving << " moves save time somewhere, " << advised << " of them are advised");
  CHECK(saving > advised);
}

TEST_CASE("advise: a tensor-parallel group of inference lies in what NVLink joins") {
  for (const std::string& preset : preset_names()) {
    for (const int nodes : {1, 2, 16}) {
      CAPTURE(preset);
      CAPTURE(nodes);
      std::vector<std::string> notes;
      BenchConfig asked = bench_of(preset, nodes, {Bytes{1 << 20}});
      Work work;
      try {
        work = work_for(Goal::inference, asked, shipped_parts(), notes);
      } catch (const Error&) {  // a node without a network
        CHECK(nodes > 1);
        continue;
      }
      const std::vector<int>& used = std::get<BenchConfig>(work).nodes;
      REQUIRE(used.size() == 1);
      CHECK(used.front() <= nodes);
      CHECK(notes.empty() == (used.front() == nodes));
      asked.nodes = used;
      CHECK(run_bench(asked, shipped_parts()).blocks.front().cluster.nodes() == 1);
      CHECK(std::get<BenchConfig>(work_for(Goal::bandwidth, asked, shipped_parts(), notes)).nodes ==
            used);
    }
  }
}

}  // namespace fabricast::testing
