#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/outputs.hpp"
#include "cli/output/streams.hpp"
#include "cli/sweep/crew.hpp"
#include "cli/sweep/slurm.hpp"
#include "cli/sweep/worker.hpp"
#include "cli/workers.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/host/cpus.hpp"
#include "models/io/report/columns.hpp"
#include "models/io/store/store.hpp"
#include "models/studies/sweep/sweep.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kErrorsShown = 20;
constexpr std::size_t kSamples = 5;
constexpr int kTasksMax = 10'000;
constexpr int kTasksUsual = 16;

struct SweepOptions {
  std::string file, store, share;
  std::string format = "text";
  int jobs = 0;
  bool dry_run = false, retry_failed = false, slurm = false, print_commands = false;
  SlurmOptions array;
};

struct Share {
  std::size_t number = 1, of = 1;
};

Share share_of(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t slash = text.find('/');
  const auto number = to_number<std::size_t>(text.substr(0, slash));
  const auto of =
      slash == std::string::npos ? std::nullopt : to_number<std::size_t>(text.substr(slash + 1));
  if (!number || !of || *number < 1 || *number > *of)
    throw Error(option_place("--share"), fmt::format("\"{}\" is no share", text),
                "like 2/16: the second of sixteen");
  return {*number, *of};
}

/// Each mistake once, with the points that make it.
void say_wrong(const std::vector<SweepPoint>& points, const std::vector<WrongPoint>& wrong) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> mistakes;
  for (const WrongPoint& one : wrong) {
    auto known = std::ranges::find(mistakes, std::string(one.error.what()),
                                   [](const auto& mistake) { return mistake.first; });
    if (known == mistakes.end()) known = mistakes.insert(mistakes.end(), {one.error.what(), {}});
    known->second.push_back(one.place);
  }
  for (const auto& [mistake, places] : mistakes) {
    const auto first = std::ranges::find(points, places.front(), &SweepPoint::place);
    print_err("fabricast sweep: {}\n  {}, first: {}\n", mistake,
              counted(std::ssize(places), "point"), point_text(*first));
  }
}

/// The points of the share, each question known to be right.
std::vector<SweepPoint> checked_points(const Sweep& sweep, const Share& share) {
  std::vector<SweepPoint> all = points_of(sweep), points;
  for (std::size_t i = share.number - 1; i < all.size(); i += share.of)
    points.push_back(std::move(all[i]));
  const std::vector<WrongPoint> wrong = wrong_points(sweep, points);
  say_wrong(points, wrong);
  if (!wrong.empty())
    throw Error(Place{sweep.file, 0, {}},
                fmt::format("{} of {} are no questions; nothing was run",
                            counted(std::ssize(wrong), "point"), points.size()),
                "mend them, or leave them out: where: ...");
  return points;
}

/// "study: bench" of a scenario, else the kind.
std::string study_of(const SweepPoint& point) {
  const Json question = Json::parse(point.question);
  return question.contains("study") ? question["study"].get<std::string>()
                                    : question.value("kind", "");
}

std::vector<StorePoint> store_points(const std::vector<SweepPoint>& points) {
  std::vector<StorePoint> out;
  for (const SweepPoint& point : points) {
    Json axes = Json::object();
    for (const auto& [key, value] : point.axes) {
      const auto number = finite_number(value);
      axes[key] = number ? Json(*number) : Json(value);
      if (is_whole_number(value) && value.size() < 16) axes[key] = *to_number<std::int64_t>(value);
    }
    out.push_back({point.place, point.sha256, study_of(point), point.question, json_line(axes)});
  }
  return out;
}

/// A store has the key alone: sweeps in other files ask the same question.
std::string failure_text(const Sweep* asked, const std::string& path, const std::string& error) {
  return Error(asked != nullptr ? place_in(*asked, path) : Place{{}, 0, path}, error).reason();
}

/// What a run of this takes, by some points of it.
int dry_run(const Sweep& sweep, const std::vector<SweepPoint>& points, int jobs) {
  std::vector<std::string> keys;
  for (const SweepPoint& point : points) keys.push_back(point.sha256);
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  print_out("{}: {}, {} of them different questions\n", sweep.name,
            counted(std::ssize(points), "point"), keys.size());
  if (points.empty()) return kDone;  // of a share
  constexpr int kNever = 0;
  double cpu = 0;
  const std::size_t samples = std::min(kSamples, points.size());
  for (std::size_t i = 0; i < samples; ++i) {
    const SweepPoint& point = points[(2 * i + 1) * points.size() / (2 * samples)];
    const StoreResult result = answer_point(point.question, sweep.question_file, kNever);
    cpu += result.cpu_s;
    print_out(
        "  {:10.1f} ms  {}{}\n", 1000 * result.cpu_s, point_text(point),
        result.error.empty() ? "" : ": " + failure_text(&sweep, result.error_place, result.error));
  }
  const double all = cpu / static_cast<double>(samples) * static_cast<double>(keys.size());
  print_out("about {:.3g} s of CPU, {:.3g} s with --jobs {}, by these {}\n", all, all / jobs, jobs,
            counted(static_cast<std::int64_t>(samples), "point"));
  return kDone;
}

struct Failure {
  std::int64_t place = 0;
  std::string axes, error;
};

struct SweepOutcome {
  std::string sweep, store;
  Store::Counts counts;
  std::vector<Failure> failures;  ///< the first of them
};

/// `asked`: in whose files a failure has its line; nullptr: they are not at hand.
SweepOutcome outcome_of(const std::string& path, const std::string& sweep, const Sweep* asked) {
  const StoreVersion version = this_version();
  Store store(path, StoreAccess::read);
  SweepOutcome out{sweep, path, store.counts(sweep, version), {}};
  store.select(
      "SELECT place, axes, error, error_place FROM points WHERE sweep = ? AND program = ? AND data "
      "= ? AND error IS NOT NULL AND error != '' ORDER BY place LIMIT ?",
      {sweep, version.program, version.data, std::int64_t{kErrorsShown}},
      [&](std::span<const StoreCell> row) {
        const auto text = [&](std::size_t i) {
          const auto* const cell = std::get_if<std::string_view>(&row[i]);
          return cell == nullptr ? std::string() : std::string(*cell);
        };
        out.failures.push_back(
            {std::get<std::int64_t>(row[0]), text(1), failure_text(asked, text(3), text(2))});
      });
  return out;
}

std::string outcome_text(const SweepOutcome& outcome) {
  const Store::Counts& counts = outcome.counts;
  std::string out = fmt::format("{}: {}: {} done, {} failed, {} under way, {} open\n",
                                outcome.sweep, counted(counts.points, "point"), counts.done,
                                counts.failed, counts.claimed, counts.open);
  for (const Failure& failure : outcome.failures)
    out += fmt::format("  failed: {}: {}\n", failure.axes, failure.error);
  if (counts.failed > std::ssize(outcome.failures))
    out += fmt::format("  and {} more\n", counts.failed - std::ssize(outcome.failures));
  return out;
}

Report outcome_report(const std::vector<SweepOutcome>& outcomes) {
  using namespace column;
  Report out;
  out.study = "sweep";
  ReportTable rows("rows", {text("sweep"), whole("points"), whole("done"), whole("failed"),
                            whole("claimed"), whole("open")});
  ReportTable failed("failed", {text("sweep"), whole("point"), text("axes"), text("error")});
  for (const SweepOutcome& one : outcomes) {
    rows.add({one.sweep, one.counts.points, one.counts.done, one.counts.failed, one.counts.claimed,
              one.counts.open});
    for (const Failure& failure : one.failures)
      failed.add({one.sweep, failure.place, failure.axes, failure.error});
  }
  out.tables = {std::move(rows), std::move(failed)};
  return out;
}

void give(const std::vector<SweepOutcome>& outcomes, const std::string& format,
          const Answers& answers) {
  answers.give(
      format,
      [&] {
        std::string out;
        for (const SweepOutcome& one : outcomes) out += outcome_text(one);
        return out;
      },
      [&] { return outcome_report(outcomes); });
}

/// Runs what is left to do in the store, on this host.
CrewEnd run_here(const SweepOptions& options, const SweepWork& work, int jobs,
                 const Answers& answers) {
  const auto unfinished = [&] {
    return Store(options.store, StoreAccess::read).unfinished(work.sweep, this_version());
  };
  const std::int64_t before = unfinished();
  if (before == 0) return {};
  Progress progress(answers);
  const auto told = progress.callback();
  std::int64_t ticks = 0;
  const std::int64_t pause = std::max<std::int64_t>(5, before / 10'000);  // to count takes its time
  const auto begin = std::chrono::steady_clock::now();
  const CrewEnd end = run_crew(
      static_cast<int>(std::min<std::int64_t>(jobs, before)), [&] { work_on(options.store, work); },
      [&] { return unfinished() > 0; },
      [&] {
        if (!told || ++ticks % pause != 0) return;
        told(1 - static_cast<double>(unfinished()) / static_cast<double>(before));
      });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const std::int64_t answered = before - unfinished();
  print_err("{} in {:.1f} s: {:.4g} a second\n", counted(answered, "question"), took.count(),
            static_cast<double>(answered) / took.count());
  if (end.died > 0) print_err("{} died, {} replaced\n", counted(end.died, "worker"), end.replaced);
  return end;
}

std::string absolute(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

std::string own_program() {
  std::error_code ignored;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return path.empty() ? "fabricast" : path.string();
}

/// By Slurm, or by whoever is given the commands.
int elsewhere(const SweepOptions& options, const CLI::App& command, std::size_t points) {
  for (const char* name : {"--share", "--retry-failed"})
    if (given(command, name))
      throw Error(option_place(name), "is of a run on this host",
                  "leave it out: each task has a share of its own");
  SlurmOptions array = options.array;
  const int wanted = array.tasks > 0 ? array.tasks : kTasksUsual;
  array.tasks = static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(wanted), points));
  array.cpus = std::max(options.jobs, 1);
  const std::string file = absolute(options.file), store = absolute(options.store);
  if (options.print_commands) {
    for (const std::string& line : share_commands(own_program(), file, store, array))
      print_out("{}\n", line);
    return kDone;
  }
  Outputs outputs(command);
  const std::vector<std::string> submitted = submit(own_program(), file, store, array, outputs);
  print_out("submitted: job array {} of {}, then job {} merges into {}\n", submitted[0],
            counted(array.tasks, "task"), submitted[1], options.store);
  return kDone;
}

/// What is said of a job array needs one.
void check_array(const SweepOptions& options, const CLI::App& command) {
  if (options.slurm) return;
  for (const char* name : {"--partition", "--time"})
    if (given(command, name))
      throw Error(option_place(name), "is of a job array of Slurm", "--slurm submits one");
  if (!options.print_commands && given(command, "--array-size"))
    throw Error(option_place("--array-size"), "is of shares that are run elsewhere",
                "--slurm submits them, --print-commands prints them");
}

int run(const SweepOptions& options, const CLI::App& command, const Answers& answers) {
  if (options.file.empty())
    throw Error("FILE is missing", "fabricast sweep FILE.yaml --store results.sqlite");
  const Sweep sweep =
      parse_sweep(read_text_file(options.file, "give the path of a sweep's file"), options.file);
  check_array(options, command);
  const int jobs = options.jobs > 0 ? options.jobs : usable_cpus();
  const std::vector<SweepPoint> points = checked_points(sweep, share_of(options.share));
  if (options.dry_run) return dry_run(sweep, points, jobs);
  if (options.store.empty())
    throw Error(about("--store"), "--store is missing",
                "name the file for results: --store results.sqlite");
  if (options.print_commands || options.slurm) return elsewhere(options, command, points.size());
  {
    Store store(options.store, StoreAccess::write);
    store.add_points(sweep.name, store_points(points), this_version());
    if (options.retry_failed) store.retry_failed(sweep.name, this_version());
  }
  SweepWork work{sweep.name, sweep.question_file, {}};
  for (const SweepPoint& point : points) work.questions.emplace(point.sha256, point.question);
  const CrewEnd end = run_here(options, work, jobs, answers);
  if (!end.failure.empty() && !end.was_stopped)
    print_err("fabricast sweep: {}; nothing is lost: run it again\n", end.failure);
  Store(options.store, StoreAccess::write).settle();
  const SweepOutcome outcome = outcome_of(options.store, sweep.name, &sweep);
  give({outcome}, options.format, answers);
  return outcome.counts.done == outcome.counts.points ? kDone : kCheckFailed;
}

struct StoreOnly {
  std::string store, format = "text";
  std::vector<std::string> others;
};

int status(const StoreOnly& options, const Answers& answers) {
  std::vector<SweepOutcome> outcomes;
  for (const std::string& sweep : Store(options.store, StoreAccess::read).sweeps())
    outcomes.push_back(outcome_of(options.store, sweep, nullptr));
  give(outcomes, options.format, answers);
  return kDone;
}

int merge(const StoreOnly& options) {
  Store store(options.store, StoreAccess::write);
  for (const std::string& other : options.others) store.merge(other);
  for (const std::string& sweep : store.sweeps()) {
    const Store::Counts counts = store.counts(sweep, this_version());
    print_out("{}: {} of {}\n", sweep, counts.done, counted(counts.points, "point"));
  }
  return kDone;
}

void add_status(CLI::App& sweep, Action& action) {
  auto options = std::make_shared<StoreOnly>();
  CLI::App* command = sweep.add_subcommand("status", "how far the sweeps of a store are");
  command->add_option("store", options->store, "the file for results")->required();
  add_answer_options(*command, options->format);
  command->callback([options, &action] {
    action = [options](Answers& answers) { return status(*options, answers); };
  });
}

void add_merge(CLI::App& sweep, Action& action) {
  auto options = std::make_shared<StoreOnly>();
  CLI::App* command = sweep.add_subcommand("merge", "add what other stores hold to a store");
  command->add_option("store", options->store, "the file for results, made where there is none")
      ->required();
  command->add_option("others", options->others, "stores to be added")->required();
  command->callback(
      [options, &action] { action = [options](Answers&) { return merge(*options); }; });
}

void add_cancel(CLI::App& sweep, Action& action) {
  auto options = std::make_shared<StoreOnly>();
  CLI::App* command = sweep.add_subcommand("cancel", "cancel the Slurm jobs of a store");
  command->add_option("store", options->store, "as --slurm had it")->required();
  command->callback([options, &action] {
    action = [options](Answers&) {
      const std::vector<std::string> jobs = cancel(absolute(options->store));
      print_out("cancelled: job array {}; {} merges what it has done\n", jobs.front(),
                jobs.size() == 1 ? "no job" : "job " + jobs.back());
      return kDone;
    };
  });
}

}  // namespace

void add_sweep(CLI::App& app, Action& action) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App* command =
      app.add_subcommand("sweep", "a question on a grid: all answers into a store, none lost");
  command->add_option("file", options->file, "YAML file of kind sweep: a question and axes");
  command->add_option("--store", options->store,
                      "SQLite file for results; what is there is not run again");
  command
      ->add_option("--jobs", options->jobs,
                   "worker processes; default: one for each CPU that this process may use")
      ->check(whole_number(1, kJobsMax));
  command->add_option("--share", options->share, "only these points: 2/16, the second of sixteen");
  command->add_flag("--dry-run", options->dry_run, "how many points, and about how long they take");
  command->add_flag("--retry-failed", options->retry_failed, "what failed is run again");
  command->add_flag("--slurm", options->slurm,
                    "submit a job array to Slurm in place of running here");
  command->add_option("--partition", options->array.partition, "of Slurm");
  command->add_option("--time", options->array.time, "of each task, as Slurm has it");
  command
      ->add_option("--array-size", options->array.tasks,
                   fmt::format("tasks of the array; default: {}", kTasksUsual))
      ->check(whole_number(1, kTasksMax));
  command->add_flag(
      "--print-commands", options->print_commands,
      "a command for each of --array-size shares, for GNU parallel; merge them after");
  add_answer_options(*command, options->format);
  add_status(*command, action);
  add_merge(*command, action);
  add_cancel(*command, action);
  command->callback([options, command, &action] {
    if (!command->get_subcommands().empty()) return;
    action = [options, command](Answers& answers) { return run(*options, *command, answers); };
  });
}

}  // namespace fabricast
