#include "models/io/report/junit.hpp"

#include <fmt/format.h>

#include "text/quoting.hpp"

namespace fabricast {
namespace {

/// XML 1.0 has no control characters.
std::string xml_text(const std::string& text) { return markup_text(terminal_text(text)); }

std::string time_text(double seconds) { return fmt::format("time=\"{:.9f}\"", seconds); }

struct Totals {
  std::size_t tests = 0, failures = 0, skipped = 0;
  double seconds = 0;

  void add(const JunitCase& one) {
    ++tests;
    failures += one.failure ? 1 : 0;
    skipped += one.skipped ? 1 : 0;
    seconds += one.seconds;
  }
  std::string text() const {
    return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" {}", tests,
                       failures, skipped, time_text(seconds));
  }
};

/// An element with a message, and lines where there are some.
std::string message_xml(const char* element, const std::string& message,
                        const std::string& lines = {}) {
  const std::string head = fmt::format("      <{} message=\"{}\"", element, xml_text(message));
  if (lines.empty()) return head + "/>\n";
  return fmt::format("{}>{}</{}>\n", head, xml_text(lines), element);
}

std::string case_xml(const JunitCase& one) {
  std::string inside;
  if (one.failure) inside += message_xml("failure", *one.failure, one.details);
  if (one.skipped) inside += message_xml("skipped", *one.skipped);
  if (!one.said.empty())
    inside += fmt::format("      <system-out>{}</system-out>\n", xml_text(one.said));
  const std::string head =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\" {}", xml_text(one.class_name),
                  xml_text(one.name), time_text(one.seconds));
  return inside.empty() ? head + "/>\n" : head + ">\n" + inside + "    </testcase>\n";
}

}  // namespace

std::string junit_xml(const std::vector<JunitSuite>& suites) {
  std::string inside;
  Totals all;
  for (const JunitSuite& suite : suites) {
    Totals own;
    std::string cases;
    for (const JunitCase& one : suite.cases) {
      own.add(one);
      all.add(one);
      cases += case_xml(one);
    }
    inside += fmt::format("  <testsuite name=\"{}\" {}>\n{}  </testsuite>\n", xml_text(suite.name),
                          own.text(), cases);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {}>\n{}</testsuites>\n", all.text(),
      inside);
}

}  // namespace fabricast
