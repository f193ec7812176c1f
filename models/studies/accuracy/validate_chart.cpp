#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "models/io/bands/size_range.hpp"
#include "models/studies/accuracy/validate_text.hpp"

namespace fabricast {

namespace {

constexpr int kColumns = 4, kPanelWidth = 300, kPanelHeight = 280, kLegendHeight = 60;
constexpr std::array<std::string_view, kSizeRanges> kColours = {"#1f77b4", "#2ca02c", "#ff7f0e",
                                                                "#d62728"};

/// In single quotes nothing but a quote is special to gnuplot.
std::string gnuplot_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    if (static_cast<unsigned char>(c) >= ' ') out += c;
  }
  return out + '\'';
}

/// Lines "measured predicted" by class and range.
using Panels = std::map<std::string, std::array<std::string, kSizeRanges>>;

Panels panels_of(const ValidateResult& result) {
  Panels panels;
  for (std::size_t i = 0; i < result.predictions.size(); ++i) {
    const MeasuredPoint& point = result.measured.points[i];
    const MeasuredRun& run = result.measured.runs[point.run];
    if (result.predictions[i].method == Method::none || !run.scored) continue;
    panels[class_of(run)][size_range(point.size)] +=
        fmt::format("{:.3f} {:.3f}\n", point.time_us, result.predictions[i].time_us);
  }
  return panels;
}

/// An empty block would stop gnuplot: a point that is not drawn.
std::string block(const std::string& name, const std::string& lines) {
  return fmt::format("${} << EOD\n{}EOD\n", name, lines.empty() ? "NaN NaN\n" : lines);
}

}  // namespace

std::string validate_chart(const ValidateResult& result, const std::string& file) {
  const Panels panels = panels_of(result);
  const int rows = (static_cast<int>(panels.size()) + kColumns - 1) / kColumns;
  const bool png = file.ends_with(".png");
  const int height = std::max(rows, 1) * kPanelHeight + kLegendHeight;
  std::string out = fmt::format("set terminal {} size {},{} font 'sans,11' background 'white'\n",
                                png ? "pngcairo" : "svg", kColumns * kPanelWidth, height);
  out += fmt::format("set output {}\n", gnuplot_text(file));
  for (std::size_t range = 0; range < kSizeRanges; ++range) {
    out += fmt::format("set style line {} lc rgb '{}' pt 7 ps 0.45\n", range + 1, kColours[range]);
  }
  const std::string settings = fmt::format(
      "set multiplot layout {},{} title {} font ',14'\n"
      "set logscale xy\nset xrange [3:3e6]\nset yrange [3:3e6]\nset format xy '10^{{%T}}'\n"
      "set xlabel 'measured, us' offset 0,0.5\nset ylabel 'predicted, us' offset 1,0\n"
      "set grid lc rgb '#dddddd'\nset key top left samplen 0.5 spacing 0.8 font ',9'\n",
      std::max(rows, 1), kColumns,
      gnuplot_text(
          fmt::format("nccl-tests: predicted ({}) against measured time. Lines: equal, half and "
                      "double",
                      to_text(result.predictor))));
  std::string data, plots;
  int number = 0;
  for (const auto& [name, ranges] : panels) {
    std::string plot =
        "plot x lc rgb '#888888' notitle, 2*x lc rgb '#cccccc' notitle, "
        "x/2 lc rgb '#cccccc' notitle";
    for (std::size_t range = 0; range < kSizeRanges; ++range) {
      const std::string block_name = fmt::format("d{}_{}", number, range);
      data += block(block_name, ranges[range]);
      const std::string title = number == 0 ? gnuplot_text(kSizeRangeNames[range]) : "''";
      plot +=
          fmt::format(", ${} using 1:2 with points ls {} title {}", block_name, range + 1, title);
    }
    plots += fmt::format("set title {} font ',11' offset 0,-0.7\n{}\n", gnuplot_text(name), plot);
    ++number;
  }
  return out + data + settings + plots + "unset multiplot\n";
}

}  // namespace fabricast
