// Goal: what a program says is alike is taken up without asking for each of it, and the run is the
// same. Method: a program that tells how many primitives are alike beside one that does not.

#include <doctest/doctest.h>

#include "sim/machines/executor.hpp"

using namespace fabricast;

namespace {

/// Position 0 sends to position 1: chunks of 1,000 B in a slice, but each tenth of 1,500 B in
/// three.
struct Tenths final : Program {
  static constexpr std::uint32_t kAll = 100;
  bool tells = false;
  mutable std::uint32_t asked = 0;

  explicit Tenths(bool tells_alike) : tells(tells_alike) {}
  bool next(Role role, Cursor& cursor, Primitive& primitive) const override {
    ++asked;
    if (cursor.minor == kAll) return false;
    const bool is_tenth = cursor.minor++ % 10 == 0;
    primitive = {role.position,
                 1 - role.position,
                 is_tenth ? 3u : 1u,
                 {is_tenth ? 1500 : 1000},
                 {is_tenth ? 500 : 1000}};
    return true;
  }
  std::uint64_t number(Role, Cursor cursor) const override { return cursor.minor; }
  Cursor cursor_at(Role, std::uint64_t number) const override {
    return {0, static_cast<std::uint32_t>(number)};
  }
  std::uint64_t repeats(Role, std::uint64_t first, std::uint64_t stride) const override {
    if (!tells || first % 10 == 0 || stride != 1) return 0;
    return 9 - first % 10;
  }
};

}  // namespace

TEST_CASE("a program is not asked for primitives that it has said are alike") {
  const auto run = [](const Tenths& program) {
    Executor<PlainStamp> executor;
    const std::uint32_t kind = executor.add_worker_class({{1'000'000'000'000}, {}});
    const std::uint32_t link = executor.add_link({{1'000'000'000'000}, nanoseconds(5)});
    for (std::uint32_t position = 0; position < 2; ++position)
      executor.add_worker(kind, program, {0, position});
    executor.connect({0, 1, 4, {&link, 1}, nanoseconds(2), {}, nanoseconds(1), {}});
    executor.run();
    return executor;
  };
  const Tenths silent(false), telling(true);
  const Executor<PlainStamp> all = run(silent), alike = run(telling);
  CHECK(all.events() == 2 * (90 + 10 * 3));
  CHECK(alike.digest() == all.digest());
  CHECK(alike.makespan().ps == all.makespan().ps);
  CHECK(alike.carried(0).count == 90 * 1000 + 10 * 1500);
  // Of two workers, and each time once more for the end. Of ten primitives the first has none that
  // are like it; then one goes by before it is asked again, and the third is like seven others.
  CHECK(silent.asked == 2 * 101);
  CHECK(telling.asked == 2 * (10 * 3 + 1));
}
