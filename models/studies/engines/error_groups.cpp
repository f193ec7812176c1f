#include "models/studies/engines/error_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "models/io/report/columns.hpp"
#include "models/studies/shared/percentile.hpp"

namespace fabricast {
namespace {

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

}  // namespace

double error_of(double predicted, double measured) {
  return std::abs(predicted - measured) / measured;
}

double ErrorGroup::median() const { return percentile(errors, 0.5); }
double ErrorGroup::p90() const { return percentile(errors, 0.9); }
double ErrorGroup::unseen_median() const { return percentile(unseen, 0.5); }
double ErrorGroup::unseen_p90() const { return percentile(unseen, 0.9); }

void ErrorGroups::add(std::string_view of, std::string_view by, std::string name, double error,
                      std::optional<double> unseen) {
  if (std::ranges::find(order_, by) == order_.end()) order_.emplace_back(by);
  auto at = std::ranges::find_if(groups_, [&](const ErrorGroup& group) {
    return group.of == of && group.by == by && group.name == name;
  });
  if (at == groups_.end())
    at = groups_.insert(groups_.end(), {std::string(of), std::string(by), std::move(name), {}, {}});
  at->errors.push_back(error);
  if (unseen) at->unseen.push_back(*unseen);
}

std::vector<ErrorGroup> ErrorGroups::take() {
  std::ranges::stable_sort(groups_, {}, [&](const ErrorGroup& group) {
    const bool as_it_came = group.by == "size" || group.by == "GPUs";
    return std::tuple(group.of, std::ranges::find(order_, group.by) - order_.begin(),
                      as_it_came ? std::string() : group.name);
  });
  return std::move(groups_);
}

std::string error_table(std::span<const ErrorGroup> groups, bool has_unseen) {
  std::string by, out = fmt::format("  {:<38} {:>5} {:>7} {:>7}{}\n", "", "rows", "median", "p90",
                                    has_unseen ? "   median     p90" : "");
  for (const ErrorGroup& group : groups) {
    if (group.by != by && group.by != "all") out += fmt::format("by {}\n", group.by);
    by = group.by;
    out += fmt::format("  {:<38} {:>5} {:>7} {:>7}", group.name, group.errors.size(),
                       percent(group.median()), percent(group.p90()));
    if (has_unseen && !group.unseen.empty())
      out +=
          fmt::format("  {:>7} {:>7}", percent(group.unseen_median()), percent(group.unseen_p90()));
    out += '\n';
  }
  return out;
}

ReportTable error_scores(std::span<const ErrorGroup> groups, std::string_view of, bool has_unseen) {
  using namespace column;
  std::vector<ReportColumn> columns = {text("by"), text("name"), whole("rows"),
                                       number("median_error", "", ".4f"),
                                       number("p90_error", "", ".4f")};
  if (!of.empty()) columns.insert(columns.begin(), text(of));
  if (has_unseen) {
    columns.push_back(number("unseen_median_error", "", ".4f"));
    columns.push_back(number("unseen_p90_error", "", ".4f"));
  }
  ReportTable out("scores", std::move(columns));
  for (const ErrorGroup& group : groups) {
    std::vector<Json> cells = {group.by, group.name, group.errors.size(), group.median(),
                               group.p90()};
    if (!of.empty()) cells.insert(cells.begin(), group.of);
    if (has_unseen) {
      const bool known = !group.unseen.empty();
      cells.push_back(known ? Json(group.unseen_median()) : Json());
      cells.push_back(known ? Json(group.unseen_p90()) : Json());
    }
    out.add(std::move(cells));
  }
  return out;
}

}  // namespace fabricast
