#pragma once
// Where the answer of a command goes: to standard output in the form that --format asks for, into a
// page of --html, to the live page, or to a program that this one is a library of.

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "models/io/pages/page.hpp"
#include "models/io/report/report.hpp"

namespace fabricast {

/// Where the answer of a command goes.
struct Answers {
  using Text = std::function<std::string()>;
  using MakeReport = std::function<Report()>;

  bool prints = true;                                 ///< to standard output
  int jobs = 0;                                       ///< threads; 0 = as many as there are CPUs
  std::function<void(PagePart)> also;                 ///< the report, whatever --format says
  std::function<void(const Report&)> as_report = {};  ///< the same, not yet part of a page
  std::function<void(double)> progress = {};  ///< is told the share done, in place of a terminal
  /// Called now and then from any thread that works; what it throws ends the command.
  std::function<void()> poll = {};
  /// Is told that a part of the report can be had.
  std::function<void(const MakeReport&)> so_far = {};

  /// `page`: for people; only what is asked for is made. CSV has no room for notes: they go to
  /// standard error.
  void give(const std::string& format, const Text& page, const MakeReport& report) const;
  /// Of a command that prints its answer in a way of its own.
  void give(const MakeReport& report) const;
};

/// --format text, csv or json.
CLI::Option* add_format_option(CLI::App& command, std::string& format);
/// --html FILE: what the command gives to Answers::also becomes a page (cli/output/html.hpp).
CLI::Option* add_html_option(CLI::App& command);
/// Both.
CLI::Option* add_answer_options(CLI::App& command, std::string& format);

}  // namespace fabricast
