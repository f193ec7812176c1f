// Stores of results: what goes in comes out, each question is computed once, and two stores become
// one. Real files in a folder of their own.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <new>

#include "models/io/store/store.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/io/store_cases.hpp"

using namespace fabricast;
using namespace fabricast::testing;

TEST_CASE("a sweep from its points to its results") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  CHECK(store.sweeps().empty());
  store.add_points("grid", points(3), kNow);
  CHECK(store.sweeps() == std::vector<std::string>{"grid"});
  CHECK(counts(store) == "3 points: 0 done, 0 failed, 0 claimed, 3 open");

  // In the order of the points, whatever the order of their keys.
  const std::vector<Claimed> first = store.claim("grid", "a", kNow, 2, 100, 60);
  CHECK(jobs(first) == std::vector{job(0), job(1)});
  CHECK(first[1].study == "step");
  CHECK(first[1].tries == 1);
  CHECK(counts(store) == "3 points: 0 done, 0 failed, 2 claimed, 1 open");
  store.finish(first[0], kNow, result(first[0]));
  store.finish(first[1], kNow, error("no such fabric"));
  CHECK(counts(store) == "3 points: 1 done, 1 failed, 0 claimed, 1 open");

  const std::vector<Claimed> last = store.claim("grid", "a", kNow, 9, 100, 60);
  CHECK(jobs(last) == std::vector{job(2)});
  CHECK(store.claim("grid", "b", kNow, 9, 100, 60).empty());
  store.finish(last[0], kNow, result(last[0]));
  CHECK(counts(store) == "3 points: 2 done, 1 failed, 0 claimed, 0 open");

  CHECK(rows(store, "SELECT text FROM reports WHERE job_sha256 = ?1", {job(2)}) ==
        result(last[0]).report);
  CHECK(rows(store,
             "SELECT place, program, data, study, answer, error, error_place, cpu_s, "
             "max_rss_bytes, finished_at, step_s, nodes, algorithm, mfu FROM points") ==
        "0 0.2.0 2026-11-30 bench answer of bench - - 0.25 1048576 2026-12-01T00:00:00Z 0.5 4 "
        "Ring -|"
        "1 0.2.0 2026-11-30 step - no such fabric a.yaml:3 0 0  - - - -|"
        "2 0.2.0 2026-11-30 bench answer of bench - - 0.25 1048576 2026-12-01T00:00:00Z 0.5 4 "
        "Ring -");
  CHECK(rows(store, "SELECT key, value FROM meta WHERE key = 'schema_version'") ==
        "schema_version 2");
  CHECK(rows(store, "SELECT value LIKE 'fabricast %' FROM meta WHERE key = 'made_by'") == "1");
  CHECK(store.check() == "ok");
}

TEST_CASE("a report is kept byte by byte") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  store.add_points("grid", points(1), kNow);
  const Claimed claimed = store.claim("grid", "a", kNow, 1, 0, 60).at(0);
  StoreResult odd = result(claimed);
  odd.report = std::string("{\"a\": 1.50}\n\0\xff\xc3\xa4", 16);
  store.finish(claimed, kNow, odd);
  std::string read;
  store.select("SELECT text FROM report", {},
               [&](std::span<const StoreCell> row) { read = std::get<std::string_view>(row[0]); });
  CHECK(read == odd.report);
}

TEST_CASE("adding the same points again changes nothing") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  store.add_points("grid", points(4), kNow);
  const std::vector<Claimed> claimed = store.claim("grid", "a", kNow, 2, 0, 60);
  store.finish(claimed[0], kNow, result(claimed[0]));
  store.finish(claimed[1], kNow, error("too large"));
  static_cast<void>(store.claim("grid", "a", kNow, 1, 0, 60));
  const std::string before =
      rows(store, "SELECT * FROM work") + rows(store, "SELECT * FROM result");
  store.add_points("grid", points(4), kNow);
  CHECK(rows(store, "SELECT * FROM work") + rows(store, "SELECT * FROM result") == before);
  CHECK(counts(store) == "4 points: 1 done, 1 failed, 1 claimed, 1 open");
}

TEST_CASE("points that are no longer listed go, with their work; results stay") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  store.add_points("grid", points(4), kNow);
  const std::vector<Claimed> claimed = store.claim("grid", "a", kNow, 2, 0, 60);
  store.finish(claimed[0], kNow, result(claimed[0]));
  store.finish(claimed[1], kNow, error("too large"));
  // Place 0 asks what place 3 did, place 1 is another question, 2 and 3 are gone.
  store.add_points("grid", {point(0, 3), point(1, 7)}, kNow);
  CHECK(rows(store, "SELECT place, job_sha256 FROM points") == "0 " + job(3) + "|1 " + job(7));
  CHECK(rows(store,
             "SELECT job_sha256, state FROM work JOIN question ON id = question ORDER BY id") ==
        job(3) + " open|" + job(7) + " open");
  // As before: what was computed is there, what failed is failed.
  store.add_points("grid", points(4), kNow);
  CHECK(counts(store) == "4 points: 1 done, 1 failed, 0 claimed, 2 open");
  // A sweep without points is gone.
  store.add_points("grid", {}, kNow);
  CHECK(store.sweeps().empty());
  CHECK(rows(store, "SELECT count(*) FROM work") == "0");
  CHECK(rows(store, "SELECT count(*) FROM report") == "1");
}

TEST_CASE("work that another sweep still wants stays") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  store.add_points("b", points(3), kNow);
  store.add_points("a", {point(5, 1), point(6, 9)}, kNow);
  CHECK(store.sweeps() == std::vector<std::string>{"a", "b"});
  store.add_points("b", {}, kNow);
  CHECK(rows(store, "SELECT job_sha256 FROM work JOIN question ON id = question ORDER BY id") ==
        job(1) + "|" + job(9));
}

TEST_CASE("what another sweep asks is not claimed, not waited for, and not tried again") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  store.add_points("a", {point(0, 1), point(1, 2), point(2, 3)}, kNow);
  store.add_points("b", {point(0, 3), point(1, 4)}, kNow);
  const Claimed failed = store.claim("a", "w", kNow, 1, 0, 60).at(0);
  store.finish(failed, kNow, error("no"));
  CHECK(store.retry_failed("b", kNow) == 0);
  CHECK(store.unfinished("b", kNow) == 2);
  for (const Claimed& c : store.claim("b", "w", kNow, 9, 0, 60)) store.finish(c, kNow, result(c));
  CHECK(store.claim("b", "w", kNow, 9, 0, 60).empty());
  CHECK(store.unfinished("b", kNow) == 0);
  CHECK(counts(store, "a") == "3 points: 1 done, 1 failed, 0 claimed, 1 open");
}

TEST_CASE("equal questions are computed once: within a sweep, and across sweeps") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  store.add_points("grid", {point(0, 1), point(1, 1), point(2, 2)}, kNow);
  CHECK(counts(store) == "3 points: 0 done, 0 failed, 0 claimed, 3 open");
  CHECK(store.unfinished("grid", kNow) == 2);
  CHECK(store.claim("grid", "a", kNow, 9, 0, 60).size() == 2);
  store.give_back("a");
  finish_all(store);
  CHECK(counts(store) == "3 points: 3 done, 0 failed, 0 claimed, 0 open");
  store.add_points("other", {point(0, 2), point(1, 3)}, kNow);
  CHECK(counts(store, "other") == "2 points: 1 done, 0 failed, 0 claimed, 1 open");
}

TEST_CASE("another version of the program or of the data computes anew, beside the old results") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  store.add_points("grid", points(2), kBefore);
  for (const Claimed& c : store.claim("grid", "a", kBefore, 9, 0, 60))
    store.finish(c, kBefore, result(c));
  CHECK(counts(store, "grid", kNow) == "2 points: 0 done, 0 failed, 0 claimed, 0 open");
  store.add_points("grid", points(2), kNow);
  CHECK(counts(store, "grid", kNow) == "2 points: 0 done, 0 failed, 0 claimed, 2 open");
  CHECK(counts(store, "grid", kBefore) == "2 points: 2 done, 0 failed, 0 claimed, 0 open");
  finish_all(store);
  CHECK(rows(store, "SELECT place, program FROM points ORDER BY place, program") ==
        "0 0.1.0|0 0.2.0|1 0.1.0|1 0.2.0");
}

TEST_CASE("claims end: by time, by the death of the worker, by being given back") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  store.add_points("grid", points(2), kNow);
  CHECK(store.claim("grid", "a", kNow, 9, 100, 60).size() == 2);
  CHECK(store.claim("grid", "b", kNow, 9, 159, 60).empty());
  SUBCASE("the lease is over") {
    const std::vector<Claimed> taken = store.claim("grid", "b", kNow, 1, 160, 60);
    REQUIRE(taken.size() == 1);
    CHECK(taken[0].tries == 2);
  }
  SUBCASE("renewed, it is over later") {
    store.renew("a", 200);
    CHECK(store.claim("grid", "b", kNow, 9, 199, 60).empty());
    CHECK(store.claim("grid", "b", kNow, 9, 200, 60).size() == 2);
  }
  SUBCASE("another's renewal does not help") {
    store.renew("b", 1000);
    CHECK(store.claim("grid", "c", kNow, 9, 160, 60).size() == 2);
  }
  SUBCASE("the worker is gone") {
    store.set_gone([](const std::string& worker) { return worker == "a"; });
    const std::vector<Claimed> taken = store.claim("grid", "b", kNow, 9, 101, 60);
    REQUIRE(taken.size() == 2);
    CHECK(taken[0].tries == 2);
    CHECK(taken[1].tries == 1);  // it had not begun that one
    CHECK(store.claim("grid", "c", kNow, 9, 101, 60).empty());
  }
  SUBCASE("given back, it was no try") {
    store.give_back("a");
    CHECK(counts(store) == "2 points: 0 done, 0 failed, 0 claimed, 2 open");
    CHECK(store.claim("grid", "b", kNow, 9, 101, 60).at(0).tries == 1);
  }
}

TEST_CASE("of two workers on one job the first result stays") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  store.add_points("grid", points(1), kNow);
  const Claimed slow = store.claim("grid", "a", kNow, 1, 0, 60).at(0);
  const Claimed quick = store.claim("grid", "b", kNow, 1, 60, 60).at(0);
  store.finish(quick, kNow, result(quick));
  SUBCASE("the same again is dropped") {
    StoreResult again = result(slow);
    again.cpu_s = 99;
    store.finish(slow, kNow, again);
    CHECK(rows(store, "SELECT cpu_s FROM result") == "0.25");
  }
  SUBCASE("an error is dropped") {
    store.finish(slow, kNow, error("killed"));
    CHECK(counts(store) == "1 points: 1 done, 0 failed, 0 claimed, 0 open");
  }
  SUBCASE("another report is a mistake of the program") {
    StoreResult other = result(slow);
    other.report += ' ';
    const std::string text = error_text([&] { store.finish(slow, kNow, other); });
    CHECK(in_folder(folder, first_line(text)) ==
          "s.sqlite: two workers computed " + job(0) + " and got different reports");
    CHECK(rows(store, "SELECT text FROM report") == result(quick).report);
  }
}

TEST_CASE("a result takes the place of an error of another worker") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  store.add_points("grid", points(1), kNow);
  const Claimed slow = store.claim("grid", "a", kNow, 1, 0, 60).at(0);
  const Claimed quick = store.claim("grid", "b", kNow, 1, 60, 60).at(0);
  store.finish(quick, kNow, error("killed"));
  store.finish(slow, kNow, result(slow));
  CHECK(counts(store) == "1 points: 1 done, 0 failed, 0 claimed, 0 open");
  CHECK(rows(store, "SELECT error FROM result") == "-");
}

TEST_CASE("what failed is tried again when asked") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  store.add_points("grid", points(3), kNow);
  for (const Claimed& c : store.claim("grid", "a", kNow, 2, 0, 60))
    store.finish(c, kNow, error("no"));
  CHECK(store.retry_failed("grid", kBefore) == 0);
  CHECK(store.retry_failed("grid", kNow) == 2);
  CHECK(store.retry_failed("grid", kNow) == 0);
  CHECK(rows(store, "SELECT count(*) FROM result") == "0");
  CHECK(store.claim("grid", "a", kNow, 9, 0, 60).at(0).tries == 1);
}

TEST_CASE("a figure that has no column is a mistake of ours") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  store.add_points("grid", points(1), kNow);
  const Claimed claimed = store.claim("grid", "a", kNow, 1, 0, 60).at(0);
  StoreResult wrong = result(claimed);
  wrong.headline["steps"] = 1.0;
  CHECK_THROWS_AS(store.finish(claimed, kNow, wrong), std::logic_error);
  CHECK(rows(store, "SELECT count(*) FROM result") == "0");
  const std::vector<std::string> known = headline_columns();
  CHECK(known.front() == "collective");
  CHECK(known.back() == "usd_per_GBps");
}

TEST_CASE("axes are columns of points, of all sweeps") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  store.add_points("grid", points(3), kNow);
  std::vector<std::string> names;
  store.select(
      "SELECT * FROM points", {}, [](auto) {}, &names);
  REQUIRE(names.size() > 7);
  CHECK(std::vector(names.begin(), names.begin() + 7) ==
        std::vector<std::string>{"sweep", "place", "job_sha256", "site.nodes", "site.fabric",
                                 "axes", "program"});
  CHECK(rows(store, R"(SELECT place, "site.nodes", "site.fabric" FROM points)") ==
        "0 0 f0|1 1 f1|2 2 f2");
  // Names that other columns have, in capitals or not, and one with all that a name may hold.
  StorePoint odd = point(0, 10);
  odd.axes = R"({"Nodes":5,"axis_nodes":6,"it's; DROP TABLE point":[1,2],"seed":1.5,"a b":"c"})";
  store.add_points("odd", {odd}, kNow);
  CHECK(rows(store, R"(SELECT axis_Nodes, axis_axis_nodes, "it's; DROP TABLE point", seed, "a b",
                       "site.nodes", nodes FROM points WHERE sweep = 'odd')") ==
        "5 6 [1,2] 1.5 c - -");
  CHECK(rows(store, "SELECT count(*), count(seed) FROM points") == "4 1");
  // They go with the sweep.
  store.add_points("odd", {}, kNow);
  CHECK(first_line(error_text([&] {
          rows(store, "SELECT seed FROM points");
        })).ends_with("SQLite: no such column: seed"));
}

TEST_CASE("an axis that cannot be a column is refused, and nothing is added") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  StorePoint odd = point(0, 1);
  odd.axes = R"({"a\"b":1})";
  CHECK(in_folder(folder, error_text([&] { store.add_points("odd", {odd}, kNow); })) ==
        "s.sqlite: axis 'a\"b' of sweep odd cannot be a column\n"
        "hint: leave quotes, backslashes and control characters out of its name");
  CHECK(store.sweeps().empty());
}

TEST_CASE("each study has a view") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  std::vector<StorePoint> all = points(4);
  all[3].study = "Reports";  // the name of a view, in capitals
  store.add_points("grid", all, kNow);
  finish_all(store);
  CHECK(rows(store, "SELECT place FROM bench") == "0|2");
  CHECK(rows(store, "SELECT place FROM step") == "1");
  CHECK(rows(store, "SELECT place FROM study_Reports") == "3");
  store.add_points("more", {{0, job(9), "serve", "{}", R"({"batch":8})"}}, kNow);
  finish_all(store);
  CHECK(rows(store, "SELECT batch FROM serve") == "8");
  CHECK(rows(store, "SELECT batch FROM step") == "-");
}

TEST_CASE("a question to the store changes nothing") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  store.add_points("grid", points(2), kNow);
  const auto asked = [&](const std::string& sql) {
    return in_folder(folder, first_line(error_text([&] { rows(store, sql); })));
  };
  CHECK(asked("DELETE FROM work") == "s.sqlite: not a question to the store: DELETE FROM work");
  CHECK(asked("DELETE FROM work RETURNING *") ==
        "s.sqlite: not a question to the store: DELETE FROM work RETURNING *");
  CHECK(asked("ATTACH 'x' AS y") == "s.sqlite: not a question to the store: ATTACH 'x' AS y");
  CHECK(asked("SELECT 1; DELETE FROM work") == "s.sqlite: one statement is expected");
  CHECK(asked("") == "s.sqlite: one statement is expected");
  CHECK(asked("SELECT x FROM points") == "s.sqlite: SQLite: no such column: x");
  CHECK(asked("SELECT FROM") == "s.sqlite: SQLite: near \"FROM\": syntax error");
  CHECK(rows(store, "SELECT count(*) FROM work; ") == "2");
  // Names come without rows, too; values of every kind go in and out.
  std::vector<std::string> names;
  store.select(
      "SELECT 1 AS a, 2 WHERE false", {}, [](auto) { FAIL("a row"); }, &names);
  CHECK(names == std::vector<std::string>{"a", "2"});
  CHECK(rows(store, "SELECT ?1, ?2, ?3, ?4, ?4 IS NULL",
             {std::int64_t{1} << 60, 0.5, std::string("it's"), std::monostate{}}) ==
        "1152921504606846976 0.5 it's - 1");
  CHECK(rows(store, "SELECT ?1 = ''", {std::string()}) == "1");
  // What a reader throws ends the question; the store can be written.
  CHECK_THROWS_AS(store.select("SELECT * FROM work", {}, [](auto) { throw std::bad_alloc(); }),
                  std::bad_alloc);
  store.add_points("grid", {}, kNow);
}

TEST_CASE("who reads cannot write, and sees what a writer adds") {
  const StoreFolder folder;
  Store writer(folder.file(), StoreAccess::write);
  Store reader(folder.file(), StoreAccess::read);
  writer.add_points("grid", points(2), kNow);
  CHECK(counts(reader) == "2 points: 0 done, 0 failed, 0 claimed, 2 open");
  const Claimed claimed{job(0), "bench", 1};
  const std::string refused = "s.sqlite: the store was opened for reading";
  const auto trying = [&](auto call) { return in_folder(folder, error_text(call)); };
  CHECK(trying([&] { reader.add_points("grid", {}, kNow); }) == refused);
  CHECK(trying([&] { reader.claim("grid", "a", kNow, 1, 0, 60); }) == refused);
  CHECK(trying([&] { reader.renew("a", 1); }) == refused);
  CHECK(trying([&] { reader.give_back("a"); }) == refused);
  CHECK(trying([&] { reader.finish(claimed, kNow, {}); }) == refused);
  CHECK(trying([&] { reader.retry_failed("grid", kNow); }) == refused);
  CHECK(trying([&] { reader.merge(folder.file("o")); }) == refused);
  CHECK(reader.check() == "ok");
}

TEST_CASE("a store can be moved") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  store.add_points("grid", points(2), kNow);
  Store moved = std::move(store);
  CHECK(moved.claim("grid", "a", kNow, 9, 0, 60).size() == 2);
  Store other(folder.file("o.sqlite"), StoreAccess::write);
  moved = std::move(other);
  CHECK(moved.sweeps().empty());
}

TEST_CASE("names of files that mean something to SQLite are names of files") {
  const StoreFolder folder;
  for (const std::string name : {"a%20b?mode=ro#c", ":memory:", "file:x", "\xc3\xa4 b"}) {
    {
      Store store(folder.file(name), StoreAccess::write);
      store.add_points("grid", points(1), kNow);
    }
    CHECK(std::filesystem::is_regular_file(folder.file(name)));
    Store store(folder.file(name), StoreAccess::read);
    CHECK(store.sweeps().size() == 1);
  }
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  { const Store store(":memory:x", StoreAccess::write); }
  std::filesystem::current_path(before);
  CHECK(std::filesystem::is_regular_file(folder.file(":memory:x")));
}

// Two stores.

TEST_CASE("merging adds what another store knows") {
  const StoreFolder folder;
  Store main(folder.file("main"), StoreAccess::write);
  main.add_points("grid", points(6), kNow);
  std::vector<Claimed> claimed = main.claim("grid", "a", kNow, 3, 0, 60);
  main.finish(claimed[0], kNow, result(claimed[0]));
  main.finish(claimed[1], kNow, error("no memory"));
  {
    Store other(folder.file("other"), StoreAccess::write);
    other.add_points("grid", points(6), kNow);
    StorePoint extra = point(0, 20);
    extra.axes = R"({"seed":7})";
    extra.study = "serve";
    other.add_points("more", {extra, point(1, 21)}, kNow);
    claimed = other.claim("grid", "b", kNow, 7, 0, 60);
    claimed.push_back(other.claim("more", "b", kNow, 1, 0, 60).at(0));
    REQUIRE(claimed.size() == 7);
    for (const std::size_t i : {0u, 1u, 2u, 6u}) other.finish(claimed[i], kNow, result(claimed[i]));
    other.finish(claimed[3], kNow, error("too large"));
  }
  CHECK(counts(main) == "6 points: 1 done, 1 failed, 1 claimed, 3 open");
  main.merge(folder.file("other"));
  // 0 in both; 1 failed here only; 2 was claimed here; 3 failed there; 4 and 5 were claimed there.
  CHECK(counts(main) == "6 points: 3 done, 1 failed, 0 claimed, 2 open");
  CHECK(counts(main, "more") == "2 points: 1 done, 0 failed, 0 claimed, 1 open");
  CHECK(rows(main, "SELECT place, error FROM points WHERE error <> ''") == "3 too large");
  CHECK(rows(main, "SELECT seed, \"site.nodes\", step_s FROM serve") == "7 - 0.5");
  CHECK(rows(main, "SELECT count(*) FROM report") == "4");
  CHECK(jobs(main.claim("grid", "c", kNow, 9, 0, 60)) == std::vector{job(4), job(5)});
  const std::string before = rows(main, "SELECT * FROM points") + rows(main, "SELECT * FROM work");
  main.merge(folder.file("other"));
  CHECK(rows(main, "SELECT * FROM points") + rows(main, "SELECT * FROM work") == before);
  CHECK(main.check() == "ok");
}

TEST_CASE("merging stores that contradict each other changes nothing") {
  const StoreFolder folder;
  Store main(folder.file("main"), StoreAccess::write);
  main.add_points("grid", points(3), kNow);
  finish_all(main);
  {
    Store other(folder.file("other"), StoreAccess::write);
    other.add_points("grid", points(3), kNow);
    other.add_points("more", {point(0, 8)}, kNow);
    for (const Claimed& c : other.claim("grid", "b", kNow, 9, 0, 60))
      other.finish(c, kNow, result(c, c.job_sha256 == job(1) ? 101 : 100));
  }
  CHECK(in_folder(folder, error_text([&] { main.merge(folder.file("other")); })) ==
        "other: has another report of job " + job(1) +
            " (program 0.2.0, data 2026-11-30) than main\n"
            "hint: nothing was merged: one of the two programs was changed without a new version");
  {
    Store third(folder.file("third"), StoreAccess::write);
    third.add_points("grid", {point(0, 0), point(1, 5)}, kNow);
  }
  CHECK(in_folder(folder, error_text([&] { main.merge(folder.file("third")); })) ==
        "third: asks something else at point 1 of sweep grid than main\n"
        "hint: nothing was merged: run the sweep on both, then merge");
  CHECK(main.sweeps() == std::vector<std::string>{"grid"});
  CHECK(rows(main, "SELECT count(*) FROM question") == "3");
}

TEST_CASE("merging what cannot be merged") {
  const StoreFolder folder;
  Store main(folder.file("main"), StoreAccess::write);
  const auto merging = [&](const std::string& name) {
    return in_folder(folder, first_line(error_text([&] { main.merge(folder.file(name)); })));
  };
  CHECK(merging("none") == "none: there is no such store");
  CHECK(merging("main") == "main: is the store itself");
  CHECK(merging("../" + std::filesystem::path(folder.path()).filename().string() + "/main")
            .ends_with("is the store itself"));
  std::ofstream(folder.file("text")) << std::string(5000, 'y');
  CHECK(merging("text") == "text: is no store: not a SQLite database");
  { const Store newer(folder.file("newer"), StoreAccess::write); }
  run_sql(folder.file("newer"), "UPDATE meta SET value = '3' WHERE key = 'schema_version'");
  CHECK(merging("newer") == "newer: made by a newer fabricast (schema 3, this knows 2)");
  { const Store empty(folder.file("em?ty"), StoreAccess::write); }
  CHECK(merging("em?ty") == "no error");
}

TEST_CASE("a store that is still written is merged as it is at that moment") {
  const StoreFolder folder;
  Store main(folder.file("main"), StoreAccess::write);
  Store other(folder.file("other"), StoreAccess::write);
  other.add_points("grid", points(3), kNow);
  const Claimed claimed = other.claim("grid", "b", kNow, 1, 0, 60).at(0);
  other.finish(claimed, kNow, result(claimed));
  main.merge(folder.file("other"));
  CHECK(counts(main) == "3 points: 1 done, 0 failed, 0 claimed, 2 open");
  finish_all(other);
  main.merge(folder.file("other"));
  CHECK(counts(main) == "3 points: 3 done, 0 failed, 0 claimed, 0 open");
}
