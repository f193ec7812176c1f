// Goal: calibration finds parameters that made synthetic measurements, refuses what the data cannot
// tell, says where a recipe is wrong; bands hold about as much as they say.
// Method: fits of closed forms; runs "measured" by the simulator with values moved by known factors
// and noise on top; bands of seeded random ratios.

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "models/io/bands/ratio_band.hpp"
#include "models/io/bands/read_measured.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/accuracy/calibrate_reach.hpp"
#include "models/studies/accuracy/calibrate_text.hpp"
#include "models/studies/accuracy/read_recipe.hpp"
#include "models/studies/shared/for_each.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

using Verdict = Identified::Verdict;

/// residual i = target_i - sum over k of slope_ki x_k.
FitProblem linear_problem(const Vector& target, const Slopes& slopes) {
  FitProblem problem;
  problem.parameters.assign(slopes.size(), FitBounds{});
  problem.weights.assign(target.size(), 1);
  problem.residuals = [=](const Vector& x) {
    Vector out = target;
    for (std::size_t k = 0; k < x.size(); ++k) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] += slopes[k][i] * x[k];
    }
    return out;
  };
  problem.slopes = [=](const Vector&, const Vector&) { return slopes; };
  return problem;
}

constexpr const char* kHead =
    "kind: calibration\nname: a\nmeasured: {runs: r.csv, points: p.csv}\n"
    "fit: {points_per_range: 3, noise: 0.1, huber: 0.1}\nparameters:\n";

CalibrationRecipe recipe(const std::string& parameters) {
  return parse_recipe(kHead + parameters, "dir/a.yaml");
}

/// Two sources with a node of H100 each, one with nodes on InfiniBand.
Measurements two_sites() {
  Measurements out;
  out.runs = parse_runs(
      "run_id,collective,gpu_model,node_kind,net_kind,gpus_per_node,nodes,ranks,nics_per_node,"
      "nic_gbps,nccl_version,env_kv,source_key\n"
      "a,all_reduce,H100,nvswitch,none,8,1,4,,,2.21.5,NCCL_ALGO=Ring,north\n"
      "b,all_gather,H100,nvswitch,none,8,1,8,,,2.21.5,NCCL_ALGO=Ring,south\n"
      "c,all_reduce,H100,nvswitch,ib,8,2,4,8,400,2.21.5,,south\n",
      "r.csv");
  for (std::size_t run = 0; run < out.runs.size(); ++run) {
    for (std::int64_t size = 1024; size <= 64 << 20; size *= 16)
      out.points.push_back({run, Bytes{size}, "float", 1});
  }
  return out;
}

/// The times of the simulator with figures moved, and noise of 2 %.
Measurements measured_with(const std::vector<std::pair<std::string, double>>& factors) {
  CatalogueText text;
  for (const auto& [path, factor] : factors) text.set(path, scaled(text.value(path), factor, 6));
  ValidateConfig config;
  config.measured = two_sites();
  config.slices_max = 1'000'000;
  const ValidateResult truth = run_validate(std::move(config), text.parts(), in_turn);
  Measurements out = truth.measured;
  std::mt19937 random(7);
  for (std::size_t i = 0; i < out.points.size(); ++i) {
    const double noise = static_cast<double>(random() % 1000) / 1000 - 0.5;
    out.points[i].time_us = truth.predictions[i].time_us * std::exp(0.04 * noise);
  }
  return out;
}

CalibrateResult calibrated(const std::string& parameters, Measurements measured) {
  CalibrateConfig config;
  config.recipe = recipe(parameters);
  config.measured = std::move(measured);
  config.slices_max = config.slices_max_final = 1'000'000;
  return run_calibrate(std::move(config), in_turn, [](const std::string&) {});
}

std::string calibrate_error(const std::string& parameters) {
  return error_text([&] { calibrated(parameters, two_sites()); });
}

constexpr const char* kLaunch =
    "  launch: {figures: [gpus.H100_SXM5.launch], low: 0.5 x, high: 2 x, width: 0.5}\n";
constexpr const char* kNvlink =
    "  nvlink: {figures: [gpus.H100_SXM5.nvlink_store_efficiency], low: 0.6, high: 0.95, width: "
    "0.5}\n";

}  // namespace

TEST_CASE("a robust fit of a line: the minimum, bounds, an outlier") {
  // With residuals below huber the minimum is that of least squares: n t a / (n a^2 + (noise /
  // width)^2), here 4 x 0.05 / (4 + 1 / 9).
  FitProblem problem = linear_problem({-0.05, -0.05, -0.05, -0.05}, {{1, 1, 1, 1}});
  const Vector start(1, 0);
  FitResult fit = robust_fit(problem, problem.residuals(start), problem.slopes(start, {}));
  CHECK(fit.x[0] == doctest::Approx(0.2 / (4 + 1.0 / 9)).epsilon(1e-3));
  problem.parameters[0].high = 0.02;
  fit = robust_fit(problem, problem.residuals(start), problem.slopes(start, {}));
  CHECK(fit.x[0] == doctest::Approx(0.02));
  // One point far off moves it by no more than huber's pull of 0.1.
  problem = linear_problem({0, 0, 0, 0, 0, 0, 0, 0, 0, -5}, {Vector(10, 1)});
  fit = robust_fit(problem, problem.residuals(start), problem.slopes(start, {}));
  CHECK(fit.x[0] == doctest::Approx(0.1 / (9 + 1.0 / 9)).epsilon(1e-2));
}

TEST_CASE("what data cannot tell is refused") {
  // 0 and 1 do the same, 2 nothing, 3 hardly anything, 4 is told.
  const Slopes slopes = {
      {1, 1, 1, 0}, {1, 1, 1, 0}, {0, 0, 0, 0}, {0, 0, 0, 0.05}, {0.5, -1, 0.5, 0}};
  const FitProblem problem = linear_problem({0.1, 0, 0, 0}, slopes);
  const std::vector<Identified> found = identify(problem, {0.1, 0, 0, 0}, slopes);
  CHECK(found[0].verdict == Verdict::free);
  CHECK(found[1].verdict == Verdict::correlated);
  CHECK(found[1].other == 0);
  CHECK(found[1].correlation == doctest::Approx(-1).epsilon(0.01));
  CHECK(found[2].verdict == Verdict::untouched);
  CHECK(found[3].verdict == Verdict::weak);
  CHECK(found[4].verdict == Verdict::free);
}

TEST_CASE("of one part no more are free than so many, those that data say most of") {
  std::vector<Identified> found(5);
  for (std::size_t k = 0; k < found.size(); ++k)
    found[k].width_ratio = 0.8 - 0.1 * static_cast<double>(k);  // 4 is told best
  found[4].verdict = Verdict::weak;
  keep_best(found, {0, 1, 3, 4}, 2);
  CHECK(found[0].verdict == Verdict::crowded);
  CHECK(found[1].verdict == Verdict::free);
  CHECK(found[2].verdict == Verdict::free);  // of another part
  CHECK(found[3].verdict == Verdict::free);
  CHECK(found[4].verdict == Verdict::weak);
}

TEST_CASE("calibration finds what made synthetic measurements") {
  const CalibrateResult result =
      calibrated(std::string(kLaunch) + kNvlink,
                 measured_with({{"gpus.H100_SXM5.launch", 1.3},
                                {"gpus.H100_SXM5.nvlink_store_efficiency", 0.9}}));
  CHECK(result.runs == 3);
  CHECK(result.sources == 2);
  CHECK(result.parameters[0].factor == doctest::Approx(1.3).epsilon(0.05));
  CHECK(result.parameters[1].factor == doctest::Approx(0.9).epsilon(0.03));
  CHECK(result.cost < result.cost_before);
  for (const FittedParameter& parameter : result.parameters) {
    CHECK(parameter.low < parameter.factor);
    CHECK(parameter.factor < parameter.high);
  }
  // What is written is what another command reads.
  const Calibrated written = calibrated_of(result);
  REQUIRE(written.values.size() == 2);
  const Calibrated read = parse_calibrated(calibrated_yaml(written, "# made\n"), "c.yaml");
  CHECK(read.values.size() == 2);
  CHECK(read.values[1].path == "gpus.H100_SXM5.nvlink_store_efficiency");
  CHECK(read.values[0].catalogue == CatalogueText().value(read.values[0].path));
  CatalogueText text;
  overlay(read, text);
  CHECK(text.value(read.values[0].path) == written.values[0].value);
}

TEST_CASE("calibration refuses what one source says, what does nothing, what does the same twice") {
  const CalibrateResult result = calibrated(
      std::string(kLaunch) +
          "  again: {figures: [software.protocols.ll.overhead.pcie], low: 0.5 x, high: 2 x, "
          "width: 0.5}\n"
          "  wire: {figures: [networks.ib.sync.ll], low: 0.1 x, high: 3 x, width: 0.5}\n",
      two_sites());
  CHECK(result.parameters[1].identified.verdict == Verdict::untouched);
  CHECK(result.parameters[1].factor == 1);
  CHECK(result.parameters[2].identified.verdict == Verdict::untouched);
  CHECK(result.parameters[2].sources == 1);
  const std::string text = calibrate_text(result);
  CHECK(text.find("again stays at 800 ns: no measured run depends on it\n") != std::string::npos);
  CHECK(text.find("wire stays at 1.2 us: only runs of one source depend on it\n") !=
        std::string::npos);
}

TEST_CASE("a figure matters to no more than what can_matter says") {
  // Every parameter of a recipe, moved: points outside its reach keep their times exactly.
  const std::vector<std::string> paths = {
      "gpus.H100_SXM5.launch",           "gpus.H100_SXM5.overhead.simple",
      "gpus.H100_SXM5.copy_rate.simple", "networks.ib.sync.simple",
      "nics.ConnectX-7.goodput",         "nvswitches.NVSwitch3.latency"};
  ValidateConfig config;
  config.slices_max = 1'000'000;
  config.measured = two_sites();
  const PartsCatalogue parts = CatalogueText().parts();
  const ValidateResult before = run_validate(config, parts, in_turn);
  for (const std::string& path : paths) {
    CatalogueText text;
    text.set(path, scaled(text.value(path), 0.9, 6));
    const ValidateResult after = run_validate(config, text.parts(), in_turn);
    int moved = 0;
    for (std::size_t i = 0; i < before.predictions.size(); ++i) {
      const MeasuredRun& run = config.measured.runs[config.measured.points[i].run];
      const RunParts known = parts_of(map_run(run, parts), parts);
      if (before.predictions[i].time_us == after.predictions[i].time_us) continue;
      ++moved;
      CAPTURE(path);
      CAPTURE(i);
      CHECK(can_matter(path, known, before.predictions[i].protocol));
    }
    CHECK(moved > 0);
  }
}

TEST_CASE("a recipe says where it is wrong") {
  CHECK(error_text([] { recipe("  a: {low: 1 us, high: 2 us, width: 0.3}\n"); }) ==
        "dir/a.yaml:6: parameters.a: \"figures\" is missing\n"
        "hint: the dotted paths of figures: [a.b, c.d]");
  CHECK(calibrate_error(
            "  a: {figures: [software.launch_per_gpus], low: 1 us, high: 9 us, width: 0.3}\n") ==
        "dir/a.yaml:6: parameters.a: software.launch_per_gpus: the catalogue has no figure "
        "\"software.launch_per_gpus\"\nhint: did you mean \"software.launch_per_gpu\"?");
  CHECK(calibrate_error(
            "  a: {figures: [software.launch_per_gpu], low: 5 us, high: 9 us, width: 0.3}\n") ==
        "dir/a.yaml:6: parameters.a: software.launch_per_gpu: the catalogue's value 4.4 us is not "
        "within 5 us and 9 us");
  CHECK(calibrate_error(
            "  a: {figures: [software.launch_per_gpu], low: 5 GB/s, high: 9 us, width: 0.3}\n") ==
        "dir/a.yaml:6: parameters.a: software.launch_per_gpu: \"5 GB/s\" and \"4.4 us\" are not of "
        "one kind");
  CHECK(calibrate_error(
            "  a: {figures: [software.launch_per_gpu], low: 1 us, high: 9 us, width: 0.3}\n"
            "  b: {figures: [software.launch_per_gpu], low: 1 us, high: 9 us, width: 0.3}\n") ==
        "dir/a.yaml:7: parameters.b: software.launch_per_gpu is also moved by a");
  CHECK(error_text([] {
          CatalogueText text;
          overlay(parse_calibrated("kind: calibrated\nvalues:\n  software.launched: {value: 1 us, "
                                   "low: 1 us, high: 2 us, catalogue: 1 us, source: calibrate, "
                                   "runs: 1}\n",
                                   "c.yaml"),
                  text);
        }).starts_with("c.yaml:3: values.software.launched: the catalogue has no figure"));
}

TEST_CASE("runs that no fit sees move no value, and make bands") {
  Measurements measured = measured_with({{"gpus.H100_SXM5.launch", 1.3}});
  const FittedParameter alone = calibrated(kLaunch, measured).parameters.front();
  const std::size_t points = measured.points.size();
  MeasuredRun unseen = measured.runs.front();
  unseen.source = "west";
  unseen.fitted = false;
  measured.runs.push_back(unseen);
  for (std::size_t i = 0; i < points; ++i) {
    if (measured.points[i].run != 0) continue;
    MeasuredPoint slow = measured.points[i];
    slow.run = measured.runs.size() - 1;
    slow.time_us *= 3;
    measured.points.push_back(slow);
  }
  CalibrateConfig config;
  config.recipe = recipe(kLaunch);
  config.measured = measured;
  config.slices_max = config.slices_max_final = 1'000'000;
  config.cross_validate = true;
  const CalibrateResult both = run_calibrate(std::move(config), in_turn, [](const std::string&) {});
  CHECK(both.sources == 2);
  CHECK(both.parameters.front().factor == alone.factor);
  // The fit that has not seen its source is the fit to all others.
  CHECK(both.left_out.at("west").front() == doctest::Approx(alone.factor).epsilon(0.001));
  double slowest = 0;
  for (const BandSample& sample : both.samples)
    if (sample.source == "west") slowest = std::max(slowest, std::exp(sample.log_ratio));
  CHECK(slowest > 2.5);
  const BandKey key = both.samples.front().key;
  CHECK(find_band(make_bands(both.samples), key)->upper >
        find_band(bands_without(both.samples, "west"), key)->upper);
}

TEST_CASE("bands hold about what they say, and are wider where nothing was measured") {
  std::mt19937 random(3);
  const auto normal = [&] {  // about, of standard deviation 1
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random()) / 4294967296.0;
    return sum - 6;
  };
  const auto sample = [&](int run, double spread, bool unseen) {
    return BandSample{{unseen ? "C pcie" : "A nvswitch", "ib", "all_reduce", 0, unseen ? 8 : 9},
                      std::to_string(run),
                      std::to_string(run),  // each from a source of its own
                      spread * normal(),
                      unseen ? Known::nothing : Known::hardware_and_network};
  };
  std::vector<BandSample> samples;
  for (int i = 0; i < 400; ++i) samples.push_back(sample(i % 40, 0.1, false));
  for (int i = 0; i < 100; ++i) samples.push_back(sample(100 + i % 10, 0.4, true));
  const BandTable table = make_bands(samples);
  const auto band = find_band(table, samples.front().key);
  REQUIRE(band);
  CHECK(band->known == Known::hardware_and_network);
  CHECK(band->basis == "40 runs of A nvswitch ib");
  int inside = 0;
  for (int i = 0; i < 1000; ++i) {
    const double ratio = std::exp(0.1 * normal());
    if (band->lower <= ratio && ratio <= band->upper) ++inside;
  }
  CHECK(inside > 750);
  CHECK(inside < 900);
  const auto other = find_band(table, {"B nvswitch", "ib", "alltoall", 0, 10});
  REQUIRE(other);
  CHECK(other->known == Known::nothing);
  CHECK(other->basis == "50 runs of other hardware ib");
  CHECK(other->lower < band->lower);
  CHECK(other->upper > band->upper);
  CHECK_FALSE(find_band(table, {"B nvswitch", "ib", "alltoall", 2, 10}));
  // The nearer, the more is known; what is unlike everything measured knows nothing.
  CHECK(find_band(table, {"A nvswitch", "roce", "alltoall", 0, 9})->known == Known::hardware);
  CHECK(find_band(table, {"B nvswitch", "ib", "alltoall", 0, 9})->known == Known::generation);
  const auto faulty = find_band(table, samples.front().key, Known::nothing);
  CHECK(faulty->known == Known::nothing);
  CHECK(faulty->lower == other->lower);
  CHECK(faulty->upper == other->upper);
  const BandTable read = parse_calibrated(calibrated_yaml({{}, table}, ""), "c.yaml").bands;
  CHECK(read.bands.size() == table.bands.size());
  CHECK(read.further[3].size() == 1);
  CHECK(read.bands.back().key.generation == 8);
}

TEST_CASE("bands: a source of many runs counts as one") {
  const BandKey key{"A nvswitch", "ib", "all_reduce", 0, 9};
  std::vector<BandSample> samples;
  for (int i = 0; i < 90; ++i) samples.push_back({key, std::to_string(i), "large", 0.5, {}});
  for (int i = 0; i < 9; ++i) {
    const std::string own = "small " + std::to_string(i);
    samples.push_back({key, own, own, 0, {}});
  }
  // One of ten sources is 65 % too low: it stands at the end of the band, not in the middle.
  const auto band = find_band(make_bands(samples), key);
  REQUIRE(band);
  CHECK(band->runs == 99);
  CHECK(band->lower == 1);
  CHECK(band->upper > 1);
  CHECK(band->upper < std::exp(0.5));
}

TEST_CASE("bands: of few sources that no fit has seen all count, of many about 80 %") {
  const auto upper = [](int sources) {
    std::vector<BandSample> samples;
    for (int i = 0; i < sources; ++i) {
      const std::string own = std::to_string(i);
      samples.push_back({{"C pcie", "ib", "all_reduce", 0, 8},
                         own,
                         own,
                         2.0 * i / (sources - 1) - 1,
                         Known::nothing});
    }
    return std::log(find_band(make_bands(samples), {"B nvswitch", "ib", "alltoall", 0, 10})->upper);
  };
  // 0.5 + 0.4 (1 + 1/4) = 1; 0.5 + 0.4 (1 + 1/40) = 0.91 of 40 is the one at place 35.9.
  CHECK(upper(4) == doctest::Approx(1));
  CHECK(upper(40) == doctest::Approx(2 * 35.9 / 39 - 1));
}

TEST_CASE("bands: launches of the host have their own, of all GPUs and sizes") {
  std::vector<BandSample> samples;
  const auto add = [&](const char* hardware, const char* source, std::size_t range, double ratio,
                       bool by_launches) {
    samples.push_back({{hardware, "none", "all_reduce", range, 9, by_launches},
                       source,
                       source,
                       std::log(ratio),
                       Known::hardware_and_network});
  };
  for (const char* source : {"one", "two", "three"}) add("A nvswitch", source, 0, 1.1, false);
  add("A nvswitch", "four", 0, 0.7, true);
  add("B pcie", "five", 1, 1.5, true);
  const BandTable table = make_bands(samples);
  BandKey key{"A nvswitch", "none", "all_reduce", 0, 9, true};
  const auto launched = find_band(table, key);
  REQUIRE(launched);
  CHECK(launched->lower == doctest::Approx(0.7));
  CHECK(launched->upper == doctest::Approx(1.5));
  CHECK(launched->runs == 2);
  CHECK(launched->basis == "2 runs of hosts whose launches decide");
  key.by_launches = false;
  CHECK(find_band(table, key)->lower == 1);
  CHECK(find_band(table, key)->upper == doctest::Approx(1.1));
  // Without any such run, the machine's own band speaks.
  key.by_launches = true;
  std::erase_if(samples, [](const BandSample& sample) { return sample.key.by_launches; });
  CHECK(find_band(make_bands(samples), key)->upper == doctest::Approx(1.1));
  const BandTable read = parse_calibrated(calibrated_yaml({{}, table}, ""), "c.yaml").bands;
  REQUIRE(read.launches);
  CHECK(read.launches->upper == doctest::Approx(1.5));
}

TEST_CASE("bands: what is said of a source's own runs has not seen them") {
  std::vector<BandSample> samples;
  const BandKey key{"A nvswitch", "ib", "all_reduce", 2, 9};
  for (const char* source : {"one", "two", "three"})
    for (const double ratio : {0.9, 1.2})
      samples.push_back({key, source, source, std::log(ratio), Known::hardware_and_network});
  for (const double ratio : {2.0, 3.0})
    samples.push_back({key, "far off", "far off", std::log(ratio), Known::hardware_and_network});
  samples.push_back(
      {{"B nvswitch", "ib", "all_reduce", 2, 9}, "far off", "far off", 0, Known::generation});
  const std::vector<LeftOutBand> own = left_out_bands(samples, "far off");
  REQUIRE(own.size() == 2);
  CHECK(own[0].key == key);
  CHECK(own[0].lower == doctest::Approx(0.9));
  CHECK(own[0].upper == doctest::Approx(1.2));
  CHECK(own[0].known == Known::hardware_and_network);
  CHECK(own[1].known == Known::generation);
  CHECK(find_band(make_bands(samples), key)->upper > 1.5);
  Calibrated calibrated;
  calibrated.left_out.parameters.emplace_back("launch",
                                              std::vector<std::string>{"software.launch"});
  calibrated.left_out.factors["far off"] = {1};
  calibrated.left_out.bands["far off"] = own;
  const LeftOutFits read = parse_calibrated(calibrated_yaml(calibrated, ""), "c.yaml").left_out;
  REQUIRE(read.bands.at("far off").size() == 2);
  CHECK(read.bands.at("far off")[0].key == key);
  CHECK(read.bands.at("far off")[0].upper == doctest::Approx(1.2));
  CHECK(read.bands.at("far off")[1].known == Known::generation);
}

TEST_CASE("bands of ratios: what a change is worth, of pairs of runs on one machine") {
  std::vector<BandSample> samples;
  const auto add = [&](const char* source, int run, const char* machine, double measured,
                       double predicted) {
    samples.push_back({{"A nvswitch", "ib", "all_reduce", 1, 9},
                       std::to_string(run),
                       source,
                       std::log(measured / predicted),
                       Known::hardware_and_network,
                       machine,
                       Bytes{1 << 20},
                       std::log(predicted)});
  };
  // The slower by prediction over the faster: 2 predicted, 1.5 measured. The second machine and
  // what is predicted alike (100 and 101) tell nothing.
  add("one", 0, "x", 300, 200);
  add("one", 1, "x", 200, 100);
  add("one", 2, "y", 900, 100);
  add("two", 3, "x", 100, 100);
  add("two", 4, "x", 100, 101);
  BandTable table = make_bands(samples);
  REQUIRE(table.changes.size() == 1);
  CHECK(table.changes[0].runs == 1);
  CHECK(table.changes[0].lower == doctest::Approx(0.75));
  CHECK(table.changes[0].upper == doctest::Approx(0.75));
  // The band holds the prediction, and turns with it.
  const auto slower = change_band(table, 1, 2), faster = change_band(table, 1, 0.5);
  REQUIRE(slower);
  REQUIRE(faster);
  CHECK(slower->lower == doctest::Approx(1.5));
  CHECK(slower->upper == 2);
  CHECK(faster->lower == 0.5);
  CHECK(faster->upper == doctest::Approx(1 / 1.5));
  CHECK(change_band(table, 1, 1)->upper == 1);
  CHECK_FALSE(change_band(table, 2, 2));
  // Two machines: errors of 20 % and 10 % are 22 % together.
  const FoundBand before{std::exp(-0.1), std::exp(0.2), {}, 1, {}},
      after{std::exp(-0.1), std::exp(0.1), {}, 1, {}};
  const RatioBand machines = machines_band(before, after, 3);
  CHECK(machines.lower == doctest::Approx(3 * std::exp(-std::hypot(0.1, 0.2))));
  CHECK(machines.upper == doctest::Approx(3 * std::exp(std::hypot(0.1, 0.1))));
  const BandTable read = parse_calibrated(calibrated_yaml({{}, table}, ""), "c.yaml").bands;
  REQUIRE(read.changes.size() == 1);
  CHECK(read.changes[0].key.range == 1);
}

TEST_CASE("left out: a file holds what each refit says, and validate predicts with it") {
  CalibrateConfig config;
  config.recipe = recipe(std::string(kLaunch) + kNvlink);
  config.measured = measured_with({{"gpus.H100_SXM5.launch", 1.3}});
  config.slices_max = config.slices_max_final = 1'000'000;
  config.cross_validate = true;
  const CalibrateResult result = run_calibrate(config, in_turn, [](const std::string&) {});
  const Calibrated written = calibrated_of(result);
  REQUIRE(written.left_out.factors.size() == 2);
  const Calibrated read = parse_calibrated(calibrated_yaml(written, ""), "c.yaml");
  CHECK(read.left_out.parameters == written.left_out.parameters);
  ValidateConfig ask;
  ask.measured = config.measured;
  ask.slices_max = 1'000'000;
  for (const auto& [source, factors] : read.left_out.factors)
    ask.left_out.emplace(source, catalogue_without(read.left_out, source).parts());
  const ValidateResult got = run_validate(ask, CatalogueText().parts(), in_turn);
  // As the refits themselves predicted, but for the digits that are written.
  int compared = 0;
  for (std::size_t i = 0; i < got.predictions.size(); ++i) {
    const MeasuredRun& run = got.measured.runs[got.measured.points[i].run];
    CHECK(got.predictions[i].left_out_us != got.predictions[i].time_us);
    for (std::size_t k = 0; k < result.unseen->predictions.size(); ++k) {
      const MeasuredPoint& point = result.unseen->measured.points[k];
      if (result.unseen->measured.runs[point.run].id != run.id ||
          point.size != got.measured.points[i].size)
        continue;
      ++compared;
      CHECK(got.predictions[i].left_out_us ==
            doctest::Approx(result.unseen->predictions[k].time_us).epsilon(1e-4));
    }
  }
  CHECK(compared == static_cast<int>(got.predictions.size()));
  CHECK(error_text([] {
          parse_calibrated(
              "kind: calibrated\nleft_out:\n  parameters:\n    a: [b.c]\n"
              "  factors:\n    s: [1, 2]\n",
              "c.yaml");
        }).starts_with("c.yaml:6: left_out.factors.s: 2 factors of 1 parameters"));
  CHECK(error_text([] {
          parse_calibrated(
              "kind: calibrated\nleft_out:\n  parameters:\n    a: [b.c]\n"
              "  factors:\n    s: [nan]\n",
              "c.yaml");
        }).starts_with("c.yaml:6: left_out.factors.s: \"nan\" is no factor"));
}
