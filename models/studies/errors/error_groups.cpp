#include "models/studies/errors/error_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "models/io/report/columns.hpp"
#include "models/studies/shared/quantile.hpp"
#include "text/counted.hpp"
#include "text/text_table.hpp"

namespace fabricast {
namespace {

constexpr std::array kAsTheyCame = {std::string_view("size"), std::string_view("GPUs"),
                                    std::string_view("nodes")};

double quantile_of_errors(std::span<const double> ratios, double share) {
  std::vector<double> errors;
  for (const double ratio : ratios) errors.push_back(std::abs(ratio - 1));
  return quantile(std::move(errors), share);
}

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

}  // namespace

double error_of(double predicted, double measured) {
  return std::abs(predicted - measured) / measured;
}
double median_error(std::span<const double> ratios) { return quantile_of_errors(ratios, 0.5); }
double p90_error(std::span<const double> ratios) { return quantile_of_errors(ratios, 0.9); }

void ErrorGroups::add(std::string_view of, std::string_view by, std::string name,
                      const Compared& one) {
  if (std::ranges::find(order_, by) == order_.end()) order_.emplace_back(by);
  auto at = std::ranges::find_if(groups_, [&](const ErrorGroup& group) {
    return group.of == of && group.by == by && group.name == name;
  });
  if (at == groups_.end()) {
    at = groups_.insert(groups_.end(), {std::string(of), std::string(by), std::move(name), {}, {}});
    at->unseen.resize(unseen_.size());
  }
  at->ratios.push_back(one.shipped / one.measured);
  for (std::size_t fit = 0; fit < std::min(unseen_.size(), one.unseen.size()); ++fit)
    if (one.unseen[fit]) at->unseen[fit].push_back(*one.unseen[fit] / one.measured);
}

std::vector<ErrorGroup> ErrorGroups::sorted() const {
  std::vector<ErrorGroup> out = groups_;
  std::ranges::stable_sort(out, {}, [&](const ErrorGroup& group) {
    const bool as_it_came = std::ranges::find(kAsTheyCame, group.by) != kAsTheyCame.end();
    return std::tuple(group.of, std::ranges::find(order_, group.by) - order_.begin(),
                      as_it_came ? std::string() : group.name);
  });
  return out;
}

std::string ErrorGroups::text(
    const std::function<std::string(std::string_view of)>& title_of) const {
  const std::vector<ErrorGroup> all = sorted();
  std::string out;
  for (auto at = all.begin(); at != all.end();) {
    const auto end =
        std::find_if(at, all.end(), [&](const ErrorGroup& group) { return group.of != at->of; });
    out += (out.empty() ? "" : "\n") + title_of(at->of) + heading() + table_text({at, end});
    at = end;
  }
  const std::vector<std::size_t> shown = shown_fits();
  for (std::size_t fit = 0; asked_ && fit < unseen_.size(); ++fit)
    if (std::ranges::find(shown, fit) == shown.end())
      out += fmt::format("No row is of another {}: there is nothing to leave out.\n",
                         unseen_[fit].what);
  return out;
}

std::vector<std::size_t> ErrorGroups::shown_fits() const {
  std::vector<std::size_t> out;
  for (std::size_t fit = 0; fit < unseen_.size(); ++fit) {
    if (std::ranges::any_of(groups_, [&](const ErrorGroup& g) { return !g.unseen[fit].empty(); }))
      out.push_back(fit);
  }
  return out;
}

std::string ErrorGroups::heading() const {
  std::string out = ": errors in %, of the shipped values";
  for (const std::size_t fit : shown_fits())
    out += fmt::format(", and of fits without the {}", unseen_[fit].what);
  return out + "\n";
}

std::string ErrorGroups::table_text(std::span<const ErrorGroup> groups) const {
  TextTable table;
  const std::vector<std::size_t> fits = shown_fits();
  std::vector<std::string> head = {"", "rows", "median", "p90", "predicted/measured"};
  for (const std::size_t fit : fits) {
    head.push_back(fmt::format("without {}: median", unseen_[fit].what));
    head.emplace_back("p90");
  }
  for (std::size_t column = 1; column < head.size(); ++column) table.align_right(column);
  table.add(std::move(head));
  std::string by = "all";
  for (const ErrorGroup& group : groups) {
    if (group.by != by) table.add({"by " + group.by});
    by = group.by;
    std::vector<std::string> cells = {"  " + group.name, fmt::format("{}", group.ratios.size()),
                                      percent(median_error(group.ratios)),
                                      percent(p90_error(group.ratios)),
                                      fmt::format("{:.2f}", median(group.ratios))};
    for (const std::size_t fit : fits) {
      const std::vector<double>& ratios = group.unseen[fit];
      cells.push_back(ratios.empty() ? "-" : percent(median_error(ratios)));
      cells.push_back(ratios.empty() ? "-" : percent(p90_error(ratios)));
    }
    table.add(std::move(cells));
  }
  return table.text();
}

ReportTable ErrorGroups::scores(std::string_view of) const {
  std::vector<ReportColumn> columns = {column::text("by"),
                                       column::text("name"),
                                       column::whole("rows"),
                                       column::number("median_error", "", ".4f"),
                                       column::number("p90_error", "", ".4f"),
                                       column::number("median_ratio", "", ".4f")};
  if (!of.empty()) columns.insert(columns.begin(), column::text(of));
  const std::vector<std::size_t> fits = shown_fits();
  for (const std::size_t fit : fits)
    for (const std::string_view name : {unseen_[fit].median_error, unseen_[fit].p90_error})
      columns.push_back(column::number(name, "", ".4f"));
  ReportTable out("scores", std::move(columns));
  for (const ErrorGroup& group : sorted()) {
    std::vector<Json> cells = {group.by,
                               group.name,
                               group.ratios.size(),
                               median_error(group.ratios),
                               p90_error(group.ratios),
                               median(group.ratios)};
    if (!of.empty()) cells.insert(cells.begin(), group.of);
    for (const std::size_t fit : fits) {
      const std::vector<double>& ratios = group.unseen[fit];
      cells.push_back(ratios.empty() ? Json() : Json(median_error(ratios)));
      cells.push_back(ratios.empty() ? Json() : Json(p90_error(ratios)));
    }
    out.add(std::move(cells));
  }
  return out;
}

std::string below_scores(const std::map<std::string, int>& left_out,
                         const std::map<std::string, std::string>& fitted,
                         std::string_view fitted_to) {
  std::string out;
  for (const auto& [why, count] : left_out)
    out += fmt::format("{} left out: {}\n", counted(count, "row"), why);
  if (!fitted.empty()) out += fmt::format("\nA fit to {} gives:\n", fitted_to);
  std::size_t widest = 0;
  for (const auto& [name, value] : fitted) widest = std::max(widest, name.size());
  for (const auto& [name, value] : fitted) out += fmt::format("  {:<{}} {}\n", name, widest, value);
  return out;
}

}  // namespace fabricast
