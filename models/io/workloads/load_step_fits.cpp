#include "models/io/workloads/load_step_fits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/io/formats/reader.hpp"
#include "models/io/shipped/embedded.hpp"
#include "text/counted.hpp"

namespace fabricast {
namespace {

constexpr double kFactorMost = 20, kBandMost = 20;
constexpr int kCasesMost = 1 << 24;

StepFit step_fit(Reader& in) {
  StepFit out;
  Reader factors = in.child("factors");
  const std::vector<std::string> names(factors.keys().begin(), factors.keys().end());
  for (const std::string& name : names)
    out.factors[name] = factors.number(name, 1 / kFactorMost, kFactorMost);
  factors.finish();
  for (Reader& band : in.children("bands")) {
    StepBand one;
    one.known = band.flag("known", false);
    one.experts = band.flag("experts", false);
    one.low = band.number("low", 1 / kBandMost, 1);
    one.high = band.number("high", 1, kBandMost);
    one.cases = band.whole("cases", 1, kCasesMost);
    one.sources = band.whole("sources", 1, kCasesMost);
    band.finish();
    out.bands.push_back(one);
  }
  return out;
}

std::string fit_yaml(const StepFit& fit, const char* indent) {
  std::string out = fmt::format("{}factors:\n", indent);
  for (const auto& [name, value] : fit.factors)
    out += fmt::format("{}  {}: {:.4f}\n", indent, name, value);
  out += fmt::format("{}bands:{}\n", indent, fit.bands.empty() ? " []" : "");
  for (const StepBand& band : fit.bands)
    out += fmt::format(
        "{}  - {{known: {}, experts: {}, low: {:.3f}, high: {:.3f}, cases: {}, sources: {}}}\n",
        indent, band.known, band.experts, band.low, band.high, band.cases, band.sources);
  return out;
}

constexpr const char* kHead =
    R"(# yaml-language-server: $schema=../schemas/step_fits.json
# What published training steps say of running jobs: factors on times. Made by
# `fabricast validate steps --cases FILE --fit`; docs/validate.md says how, and how well it does.
#
# smNN PRECISION, PART PRECISION   of products, by generation and part: a job's clocks, streams beside
# smNN attention, smNN experts     of attention, of products of many experts
# FRAMEWORK elementwise            of bytes that its other kernels move
# FRAMEWORK attention              of its attention kernels, where they are not those of the GPU
# communication                    of collectives
# bands   four of five steps of sources that the fit had not seen lie in low .. high times the
#         prediction; known: it had seen the framework, and the GPU's generation in that precision
# without the same, fitted without a source

kind: step_fits

)";

}  // namespace

std::string StepBand::basis() const {
  return fmt::format("{}{}: {} of {}", experts ? "MoE, " : "",
                     known ? "same framework and GPU generation" : "other frameworks or GPUs",
                     counted(cases, "step"), counted(sources, "source"));
}

bool is_known(const StepFit& fit, const GpuCompute& gpu, const Framework& framework,
              Precision precision) {
  return fit.factors.contains(generation_figure(gpu, precision)) &&
         fit.factors.contains(family_of(framework) + " elementwise");
}

StepBand find_band(const StepFit& fit, bool known, bool experts) {
  for (const StepBand& band : fit.bands)
    if (band.known == known && band.experts == experts) return band;
  return {};
}

StepBand find_band(const StepFit& fit, const GpuCompute& gpu, const Framework& framework,
                   Precision precision, bool experts) {
  return find_band(fit, is_known(fit, gpu, framework, precision), experts);
}

const StepFits& load_step_fits() {
  static const StepFits fits = parse_step_fits(
      find_embedded(embedded_workloads(), "step_fits")->yaml(), "workloads/step_fits.yaml");
  return fits;
}

StepFits parse_step_fits(const YamlText& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader root(tree, file);
  root.choice("kind", {"step_fits"});
  StepFits out;
  out.all = step_fit(root);
  for (auto& [source, in] : root.table("without")) {
    out.without[source] = step_fit(in);
    in.finish();
  }
  root.finish();
  return out;
}

std::string step_fits_yaml(const StepFits& fits) {
  std::string out = kHead + fit_yaml(fits.all, "");
  out += "without:\n";
  for (const auto& [source, fit] : fits.without)
    out += fmt::format("  {}:\n", source) + fit_yaml(fit, "    ");
  return out;
}

}  // namespace fabricast
