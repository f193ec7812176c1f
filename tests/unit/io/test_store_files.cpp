// Stores of results and what may happen to them: several processes, kill -9, a full disk, files
// that are something else. Real files, real processes.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>

#include "models/io/store/file_system.hpp"
#include "models/io/store/schema.hpp"
#include "models/io/store/sqlite.hpp"
#include "models/io/store/store.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/io/store_cases.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

/// What a process of its own does; its number. It ends without tidying up, as a killed one does.
template <class Call>
pid_t child(Call call) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  REQUIRE(pid >= 0);
  if (pid != 0) return pid;
  int code = 1;
  try {
    call();
    code = 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "child: {}\n", e.what());
  }
  std::fflush(nullptr);
  _exit(code);
}

/// Whether it ended by itself and well.
bool ended_well(pid_t pid) {
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// The text of the error that opening the file gives.
std::string opening(const std::string& path, StoreAccess access, const StoreOptions& options = {}) {
  return error_text([&] { const Store store(path, access, options); });
}

}  // namespace
TEST_CASE("processes that open a new store at the same time all find it made") {
  const StoreFolder folder;
  std::vector<pid_t> workers;
  for (int w = 0; w < 8; ++w) {
    workers.push_back(child([&] {
      Store store(folder.file(), StoreAccess::write);
      store.add_points("grid", points(5), kNow);
    }));
  }
  for (const pid_t pid : workers) CHECK(ended_well(pid));
  Store store(folder.file(), StoreAccess::write);
  CHECK(counts(store) == "5 points: 0 done, 0 failed, 0 claimed, 5 open");
}

TEST_CASE("processes on one store share no job and miss none") {
  const StoreFolder folder;
  constexpr std::int64_t kPoints = 300;
  {
    Store store(folder.file(), StoreAccess::write);
    store.add_points("grid", points(kPoints), kNow);
  }
  std::vector<pid_t> workers;
  for (int w = 0; w < 3; ++w) {
    workers.push_back(child([&] {
      Store store(folder.file(), StoreAccess::write);
      std::ofstream log(folder.file(fmt::format("log{}", w)));
      while (true) {
        const std::vector<Claimed> claimed = store.claim(
            "grid", fmt::format("w{}", w), kNow, 1 + static_cast<std::size_t>(w) * 3, 0, 60);
        if (claimed.empty()) break;
        for (const Claimed& c : claimed) {
          log << c.job_sha256 << '\n';
          store.finish(c, kNow, result(c, 5000));
        }
      }
    }));
  }
  for (const pid_t pid : workers) CHECK(ended_well(pid));
  std::map<std::string, int> times;
  for (int w = 0; w < 3; ++w) {
    std::ifstream log(folder.file(fmt::format("log{}", w)));
    for (std::string line; std::getline(log, line);) ++times[line];
  }
  CHECK(times.size() == kPoints);
  for (const auto& [name, count] : times) CHECK(count == 1);
  Store store(folder.file(), StoreAccess::read);
  CHECK(counts(store) == "300 points: 300 done, 0 failed, 0 claimed, 0 open");
}

TEST_CASE("a copy of the file alone has all, also while others have the store open") {
  const StoreFolder folder;
  const std::string copy = folder.file("copy.sqlite");
  const auto copied = [&] {
    std::filesystem::copy_file(folder.file(), copy,
                               std::filesystem::copy_options::overwrite_existing);
    Store store(copy, StoreAccess::read);
    return counts(store);
  };
  {
    Store store(folder.file(), StoreAccess::write);
    store.add_points("grid", points(3), kNow);
  }
  const Store other(folder.file(), StoreAccess::read);
  {
    Store store(folder.file(), StoreAccess::write);
    for (const Claimed& c : store.claim("grid", "w", kNow, 3, 0, 60))
      store.finish(c, kNow, result(c));
  }
  CHECK(copied() == "3 points: 0 done, 0 failed, 0 claimed, 3 open");  // it is in the log
  Store(folder.file(), StoreAccess::write).settle();
  CHECK(copied() == "3 points: 3 done, 0 failed, 0 claimed, 0 open");
}

TEST_CASE("workers killed at any moment lose nothing, and others take over at once") {
  const StoreFolder folder;
  constexpr std::int64_t kPoints = 200;
  {
    Store store(folder.file(), StoreAccess::write);
    store.add_points("grid", points(kPoints), kNow);
  }
  // Each is killed while it works, the later the further on.
  for (useconds_t kill_after_us = 1000; kill_after_us < 30'000; kill_after_us += 3000) {
    const pid_t pid = child([&] {
      Store store(folder.file(), StoreAccess::write);
      store.set_gone([](const std::string& worker) { return kill(std::stoi(worker), 0) != 0; });
      while (true) {
        for (const Claimed& c : store.claim("grid", std::to_string(getpid()), kNow, 4, 0, 3600))
          store.finish(c, kNow, result(c, 20'000));
        usleep(200);
      }
    });
    usleep(kill_after_us);
    kill(pid, SIGKILL);
    int status = 0;
    waitpid(pid, &status, 0);
    CHECK(WIFSIGNALED(status));
  }
  Store store(folder.file(), StoreAccess::write);
  CHECK(store.check() == "ok");
  store.set_gone([](const std::string& worker) { return kill(std::stoi(worker), 0) != 0; });
  for (const Claimed& c : store.claim("grid", std::to_string(getpid()), kNow, 1000, 0, 3600))
    store.finish(c, kNow, result(c, 20'000));
  CHECK(counts(store) == "200 points: 200 done, 0 failed, 0 claimed, 0 open");
  // The same bytes as an undisturbed run.
  std::int64_t same = 0;
  store.select("SELECT job_sha256, text FROM reports", {}, [&](std::span<const StoreCell> row) {
    const Claimed c{std::string(std::get<std::string_view>(row[0])), "", 1};
    if (std::get<std::string_view>(row[1]) == result(c, 20'000).report) ++same;
  });
  CHECK(same == kPoints);
}

TEST_CASE("a worker killed with its claims: they are taken over when their time is over") {
  const StoreFolder folder;
  {
    Store store(folder.file(), StoreAccess::write);
    store.add_points("grid", points(3), kNow);
  }
  const pid_t pid = child([&] {
    Store store(folder.file(), StoreAccess::write);
    const std::vector<Claimed> claimed = store.claim("grid", "dead", kNow, 3, 100, 60);
    store.finish(claimed.at(0), kNow, result(claimed.at(0)));
    kill(getpid(), SIGKILL);
  });
  CHECK_FALSE(ended_well(pid));
  Store store(folder.file(), StoreAccess::write);
  CHECK(counts(store) == "3 points: 1 done, 0 failed, 2 claimed, 0 open");
  CHECK(store.claim("grid", "b", kNow, 9, 159, 60).empty());
  CHECK(jobs(store.claim("grid", "b", kNow, 9, 160, 60)) == std::vector{job(1), job(2)});
}

TEST_CASE("a store that another keeps locked") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write, {.busy_ms = 20});
  store.add_points("grid", points(1), kNow);
  SqliteDatabase holder(folder.file(), StoreAccess::write, {});
  const SqliteChange held(holder);
  CHECK(in_folder(folder, error_text([&] { store.claim("grid", "a", kNow, 1, 0, 60); })) ==
        "s.sqlite: another process has kept the store locked for 0.02 s\n"
        "hint: `fuser FILE` tells which; run it again when that is done");
  CHECK(counts(store) == "1 points: 0 done, 0 failed, 0 claimed, 1 open");  // readers do not wait
}

// What may be wrong with a file.

TEST_CASE("no store, no folder, a folder") {
  const StoreFolder folder;
  CHECK(in_folder(folder, opening(folder.file("a"), StoreAccess::read)) ==
        "a: there is no such store\nhint: fabricast sweep makes one");
  CHECK_FALSE(std::filesystem::exists(folder.file("a")));
  CHECK(in_folder(folder, opening(folder.file("b/c"), StoreAccess::write)) ==
        "b/c: there is no folder " + folder.file("b").substr(folder.path().size() + 1) +
            "\nhint: make it first");
  CHECK(opening(folder.path(), StoreAccess::write) ==
        folder.path() + ": is a directory\nhint: name a file in it");
}

TEST_CASE("a file that is something else stays as it is") {
  const StoreFolder folder;
  std::ofstream(folder.file("a.yaml")) << std::string(5000, 'y');
  const std::string no_database =
      "a.yaml: is no store: not a SQLite database\n"
      "hint: name one that `fabricast sweep` wrote; it makes one that is not there yet";
  CHECK(in_folder(folder, opening(folder.file("a.yaml"), StoreAccess::write)) == no_database);
  CHECK(in_folder(folder, opening(folder.file("a.yaml"), StoreAccess::read)) == no_database);
  CHECK(std::filesystem::file_size(folder.file("a.yaml")) == 5000);
  run_sql(folder.file("b.db"), "CREATE TABLE mine(x)");
  const std::string no_store =
      "b.db: is a SQLite database, but no store of results\n"
      "hint: name one that `fabricast sweep` wrote; it makes one that is not there yet";
  CHECK(in_folder(folder, opening(folder.file("b.db"), StoreAccess::write)) == no_store);
  CHECK(in_folder(folder, opening(folder.file("b.db"), StoreAccess::read)) == no_store);
  // One of no bytes is a new one.
  std::ofstream(folder.file("c.sqlite")).flush();
  CHECK(in_folder(folder, opening(folder.file("c.sqlite"), StoreAccess::read)) ==
        "c.sqlite: holds nothing\nhint: fabricast sweep fills a store");
  CHECK(opening(folder.file("c.sqlite"), StoreAccess::write) == "no error");
}

TEST_CASE("a damaged store says so") {
  const StoreFolder folder;
  {
    Store store(folder.file(), StoreAccess::write);
    store.add_points("grid", points(200), kNow);
    finish_all(store, "w", 2000);
  }
  const std::uintmax_t size = std::filesystem::file_size(folder.file());
  {
    std::fstream file(folder.file(), std::ios::in | std::ios::out | std::ios::binary);
    for (std::uintmax_t at = 16 * 4096; at + 4096 < size; at += 3 * 4096) {
      file.seekp(static_cast<std::streamoff>(at));
      file << std::string(4096, '\xa5');
    }
  }
  Store store(folder.file(), StoreAccess::read);
  const std::string text = error_text(
      [&] { rows(store, "SELECT sum(length(text)), count(axes) FROM point JOIN report"); });
  CHECK(in_folder(folder, text) ==
        "s.sqlite: the store is damaged (database disk image is malformed)\n"
        "hint: keep a copy; `sqlite3 FILE .recover | sqlite3 NEW` saves what can be read, and a "
        "sweep into NEW computes the rest");
  CHECK(store.check() != "ok");
}

TEST_CASE("stores of other programs") {
  const StoreFolder folder;
  { const Store store(folder.file(), StoreAccess::write); }
  run_sql(folder.file(), "UPDATE meta SET value = '3' WHERE key = 'schema_version'");
  const std::string newer =
      "s.sqlite: made by a newer fabricast (schema 3, this knows 2)\n"
      "hint: use that one, or a store of its own for this";
  CHECK(in_folder(folder, opening(folder.file(), StoreAccess::write)) == newer);
  CHECK(in_folder(folder, opening(folder.file(), StoreAccess::read)) == newer);
  run_sql(folder.file(), "UPDATE meta SET value = 'x' WHERE key = 'schema_version'");
  CHECK(first_line(in_folder(folder, opening(folder.file(), StoreAccess::read))) ==
        "s.sqlite: is a SQLite database, but no store of results");
}

TEST_CASE("older schemas become newer ones, step by step, all steps or none") {
  const StoreFolder folder;
  { const Store store(folder.file(), StoreAccess::write); }
  run_sql(folder.file(), "UPDATE meta SET value = '1' WHERE key = 'schema_version'");
  SqliteDatabase database(folder.file(), StoreAccess::write, {});
  const std::array<StoreMigration, 2> steps = {{
      {1, [](SqliteDatabase& d) { d.run("ALTER TABLE work ADD COLUMN host TEXT"); }},
      {2, [](SqliteDatabase& d) { d.run("UPDATE work SET host = 'x'; SELECT no FROM meta"); }},
  }};
  CHECK(error_text([&] { migrate_schema(database, steps, 3); }).find("no such column: no") !=
        std::string::npos);
  CHECK(database.whole("SELECT value FROM meta WHERE key = 'schema_version'") == 1);
  CHECK(database.whole("SELECT count(*) FROM pragma_table_info('work') WHERE name = 'host'") == 0);
  migrate_schema(database, steps, 2);
  CHECK(database.whole("SELECT value FROM meta WHERE key = 'schema_version'") == 2);
  CHECK(database.whole("SELECT count(*) FROM pragma_table_info('work') WHERE name = 'host'") == 1);
  migrate_schema(database, steps, 2);  // another process was first
  CHECK(in_folder(folder, error_text([&] { migrate_schema(database, {}, 3); })) ==
        "s.sqlite: of schema 2, which can no longer be read\nhint: make a new store");
}

TEST_CASE("a store of schema 1 gets the columns of costs and keeps what it has") {
  const StoreFolder folder;
  {
    Store store(folder.file(), StoreAccess::write);
    store.add_points("grid", points(2), kNow);
    finish_all(store);
  }
  std::string older = "DROP VIEW IF EXISTS bench; DROP VIEW IF EXISTS step; DROP VIEW points;";
  for (const char* const column : {"fabric_usd", "fabric_watts", "usd_per_hour", "usd_per_GBps"})
    older += std::string("ALTER TABLE result DROP COLUMN ") + column + ";";
  run_sql(folder.file(), older + "UPDATE meta SET value = '1' WHERE key = 'schema_version'");
  CHECK(in_folder(folder, opening(folder.file(), StoreAccess::read))
            .starts_with("s.sqlite: of an older fabricast (schema 1, this reads 2)"));
  Store store(folder.file(), StoreAccess::write);
  CHECK(counts(store) == "2 points: 2 done, 0 failed, 0 claimed, 0 open");
  CHECK(rows(store, "SELECT place, fabric_usd IS NULL FROM points ORDER BY place") == "0 1|1 1");
  CHECK(rows(store, "SELECT value FROM meta WHERE key = 'schema_version'") == "2");
}

TEST_CASE("a store that may not be written") {
  const StoreFolder folder;
  {
    Store store(folder.file(), StoreAccess::write);
    store.add_points("grid", points(2), kNow);
  }
  REQUIRE_FALSE(std::filesystem::exists(folder.file() + "-wal"));
  std::filesystem::permissions(folder.file(), std::filesystem::perms(0444));
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
  const pid_t pid = child([&] {  // as nobody where the tests run as root, who may write anything
    if (geteuid() == 0 && setuid(65534) != 0) throw std::runtime_error("setuid");
    const std::string text = in_folder(folder, opening(folder.file(), StoreAccess::write));
    if (text !=
        "s.sqlite: the store cannot be written: it is read-only\n"
        "hint: give yourself the right to write the file and its folder, or name another file")
      throw std::runtime_error(text);
    const std::string made = in_folder(folder, opening(folder.file("new"), StoreAccess::write));
    if (first_line(made) != "new: the store cannot be opened") throw std::runtime_error(made);
    Store store(folder.file(), StoreAccess::read);  // without any file beside it
    if (counts(store) != "2 points: 0 done, 0 failed, 0 claimed, 2 open")
      throw std::runtime_error(counts(store));
  });
  CHECK(ended_well(pid));
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  CHECK_FALSE(std::filesystem::exists(folder.file() + "-shm"));
}

TEST_CASE("results in the log of a store that may not be written are not passed over") {
  const StoreFolder folder;
  const std::string copy = folder.file("copy/s.sqlite");
  std::filesystem::create_directory(folder.file("copy"));
  {
    Store store(folder.file(), StoreAccess::write);
    store.add_points("grid", points(2), kNow);
    std::filesystem::copy_file(folder.file(), copy);
    std::filesystem::copy_file(folder.file() + "-wal", copy + "-wal");
  }
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(folder.file("copy"), std::filesystem::perms(0555));
  const pid_t pid = child([&] {
    if (geteuid() == 0 && setuid(65534) != 0) throw std::runtime_error("setuid");
    const std::string text = first_line(opening(copy, StoreAccess::read));
    if (text != copy + ": some of its results are still in " + copy +
                    "-wal, which cannot be read where nothing can be written")
      throw std::runtime_error(text);
  });
  CHECK(ended_well(pid));
  std::filesystem::permissions(folder.file("copy"), std::filesystem::perms(0755));
  Store store(copy, StoreAccess::read);
  CHECK(store.sweeps().size() == 1);
}

TEST_CASE("a full disk loses nothing that was finished") {
  const StoreFolder folder;
  {
    Store store(folder.file(), StoreAccess::write);
    store.add_points("grid", points(50), kNow);
  }
  const auto pages = static_cast<std::int64_t>(std::filesystem::file_size(folder.file()) / 4096);
  std::int64_t finished = 0;
  {
    Store store(folder.file(), StoreAccess::write, {.pages_max = pages + 60});
    const std::string text = error_text([&] {
      for (const Claimed& c : store.claim("grid", "a", kNow, 50, 0, 60)) {
        store.finish(c, kNow, result(c, 20'000));
        ++finished;
      }
    });
    CHECK(in_folder(folder, text) ==
          "s.sqlite: the disk is full; nothing that was finished is lost\n"
          "hint: make room, then run the same again: it goes on where it stopped");
    CHECK(finished > 5);
    CHECK(finished < 15);  // 60 pages of 4 KiB, 5 for each report
    // The same connection goes on with what takes no room.
    store.give_back("a");
    CHECK(counts(store) ==
          fmt::format("50 points: {} done, 0 failed, 0 claimed, {} open", finished, 50 - finished));
  }
  Store store(folder.file(), StoreAccess::write);
  CHECK(store.check() == "ok");
  finish_all(store, "b", 20'000);
  CHECK(counts(store) == "50 points: 50 done, 0 failed, 0 claimed, 0 open");
}

TEST_CASE("on a network's file system a store is read, not written") {
  const StoreFolder folder;
  constexpr std::int64_t kNfs = 0x6969;
  CHECK(network_file_system(kNfs) == "NFS");
  CHECK(network_file_system(0xff534d42) == "CIFS");
  CHECK(network_file_system(0x0bd00bd0) == "Lustre");
  CHECK(network_file_system(0xef53).empty());  // ext4
  CHECK(network_file_system(file_system_of("/proc/self/stat")).empty());
  CHECK(file_system_of("/proc/self/stat") == 0x9fa0);
  CHECK(file_system_of("/proc/none") == 0x9fa0);
  CHECK(file_system_of(folder.file("a/b/c")) == 0);
  CHECK(in_folder(folder, opening(folder.file(), StoreAccess::write, {.file_system = kNfs})) ==
        "s.sqlite: is on a network's file system: SQLite on NFS loses writes\n"
        "hint: put the store on a local disk and merge");
  CHECK_FALSE(std::filesystem::exists(folder.file()));
  {
    Store store(folder.file(), StoreAccess::write);
    store.add_points("grid", points(2), kNow);
  }
  Store store(folder.file(), StoreAccess::read, {.file_system = kNfs});
  CHECK(store.sweeps().size() == 1);
  CHECK_FALSE(std::filesystem::exists(folder.file() + "-shm"));
}
