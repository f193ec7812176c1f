#pragma once
// An answer in the form that --format asks for.

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "models/io/report/report.hpp"

namespace fabricast {

/// --format text, csv or json.
CLI::Option* add_format_option(CLI::App& command, std::string& format);

/// `page`: for people; only what is asked for is made. CSV has no room for notes: they go to
/// standard error.
void print_answer(const std::string& format, const std::function<std::string()>& page,
                  const std::function<Report()>& report);

}  // namespace fabricast
