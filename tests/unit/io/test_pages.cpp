#include "models/io/pages/page.hpp"

#include <doctest/doctest.h>

#include <string>

#include "models/io/imports/import_file.hpp"
#include "models/io/report/answer.hpp"
#include "models/io/report/columns.hpp"
#include "models/io/topo_views/topo_formats.hpp"
#include "models/io/topologies/load.hpp"
#include "sim/base/error.hpp"

using namespace fabricast;

namespace {

using namespace column;

Report bench_of(const std::string& link) {
  Report out;
  out.study = "bench";
  out.job = {{"site", {{"topology", "dgx-h100"}, {"fabric", ""}, {"nodes", {1, 2}}}},
             {"ask", Json::object()}};
  ReportTable rows(
      "rows", {kCollective, kSize, kNodes, kAlgorithm, kProtocol, kTime, kBusbw, kLower, kUpper});
  rows.add({"all_reduce", 1 << 20, 2, "Tree", "LL", 77.5, 25.25, 70.25, 91.0});
  rows.add({"all_reduce", 1 << 30, 2, "Ring", "Simple", 5432.1, 370.5, 5000.0, 6000.0});
  ReportTable links("links", {kCollective, kSize, kNodes, text("link"), number("utilisation")});
  links.add({"all_reduce", 1 << 30, 2, "other", 0.5});
  links.add({"all_reduce", 1 << 30, 2, link, 0.875});
  links.add({"all_reduce", 1 << 20, 2, "of another size", 0.99});
  out.tables = {std::move(rows), std::move(links)};
  return out;
}

std::string page_error(const std::string& page) {
  try {
    parts_of_page(page, "p.html");
  } catch (const Error& error) {
    return error.reason();
  }
  return "";
}

std::string page_with(const std::string& data) {
  return R"(<script type="application/json" id="fabricast-data">)" + data + "</script>";
}

}  // namespace

TEST_CASE("the answer is made of the tables") {
  CHECK(answer_of(bench_of("nic")) ==
        "all_reduce of 1 GiB on 2 nodes takes 5.432 ms: 370.5 GB/s busbw with Ring Simple (80 % of "
        "measured times lie in 5 ms to 6 ms). The busiest link, nic, is busy 87.5 % of that time.");
  Report empty;
  empty.study = "bench";
  CHECK(answer_of(empty).empty());
  empty.tables = {ReportTable("rows", {kTime})};
  CHECK(answer_of(empty) == "Nothing was simulated: each size rounds down to no element.");
  empty.tables.clear();
  empty.study = "no such study";
  CHECK(answer_of(empty).empty());
}

TEST_CASE("what explains a log is told where it does not pass, whatever its verdict is called") {
  for (const bool passes : {false, true}) {
    Report report;
    report.study = "judge";
    ReportTable tables("tables", {text("collective"), kNodes, text("verdict"), flag("passes")});
    tables.add({"all_reduce", 2, "not what is expected", passes});
    ReportTable causes("causes", {text("title")});
    causes.add({"a cable"});
    report.tables = {std::move(tables), std::move(causes)};
    CHECK((answer_of(report).find("a cable") == std::string::npos) == passes);
  }
}

TEST_CASE("a hang's answer names what causes it, not who waits first") {
  Report report;
  report.study = "hang";
  report.facts = {{"hangs", true}, {"cycle", {1, 5}}};
  ReportTable rows("rows", {whole("rank"), text("op"), text("group"), text("waits_for")});
  rows.add({0, "all_reduce", "world", "1 3"});
  rows.add({1, "all_reduce", "dp", "5"});
  rows.add({5, "all_gather", "world", "1"});
  report.tables = {rows};
  CHECK(answer_of(report) ==
        "The job hangs in a cycle: rank 1 in all_reduce on dp waits for rank 5, rank 5 in "
        "all_gather on world waits for rank 1.");
  ReportTable mismatches("mismatches", {text("what"), text("group"), text("ranks"),
                                        text("other_ranks"), text("op"), text("other_op")});
  mismatches.add({"operation", "fsdp", "0-4 6", "5", "all_gather", "reduce_scatter"});
  report.tables.push_back(mismatches);
  CHECK(answer_of(report) ==
        "The job hangs: ranks 0-4 6 call all_gather on fsdp, rank 5 reduce_scatter: they meet and "
        "do not fit (operation).");
  report.tables.pop_back();
  report.facts["cycle"] = Json::array();
  CHECK(answer_of(report) == "The job hangs: rank 0 waits in all_reduce for ranks 1 3.");
}

TEST_CASE("each study's answer takes tables that are not there") {
  for (const char* study : {"bench", "decide", "cutover", "whatif", "advise", "upgrade", "step",
                            "plan", "serve", "concurrent", "check", "judge", "hang", "lint",
                            "validate nccl-tests", "topo", "calibrate", "query", "sweep"}) {
    CAPTURE(study);
    Report report;
    report.study = study;
    CHECK_NOTHROW(answer_of(report));
    // And tables of the right names without their columns.
    for (const char* table :
         {"rows", "choices", "segments", "targets", "setups", "rules", "findings", "ranges",
          "counts", "tables", "ended", "causes", "mismatches", "unfinished", "queue", "latency"}) {
      ReportTable one(table, {text("stray")});
      one.add({"x"});
      report.tables.push_back(std::move(one));
    }
    report.job = {{"site", Json::object()}};
    CHECK_NOTHROW(answer_of(report));
  }
}

TEST_CASE("a page holds its reports, and nothing in it is markup") {
  const std::string hostile = "</script><img src=x onerror=alert(1)>";
  const PagePart part = part_of(bench_of(hostile));
  CHECK(part.machine["name"] == "dgx-h100");
  CHECK(part.machine["nodes"] == 2);
  const std::string page = report_page({part, part});
  CHECK(page.find(hostile) == std::string::npos);
  CHECK(page.find("{{") == std::string::npos);
  CHECK(page.find("connect-src 'none'") != std::string::npos);
  REQUIRE(is_page(page));
  const std::vector<PagePart> read = parts_of_page(page, "p.html");
  REQUIRE(read.size() == 2);
  CHECK(read[1].report == part.report);
  CHECK(read[1].machine == part.machine);
  CHECK(page == report_page(read));
  // What a page says of itself, and as a baseline.
  const ImportedFile told = import_text(page, "p.html");
  CHECK(told.kind == "page of reports (fabricast --html)");
  CHECK(told.value("report") == "bench");
  CHECK(Json::parse(report_in(page, "p.html", "bench")) == part.report);
  CHECK(report_in("{}", "x.json", "bench") == "{}");
  CHECK_THROWS_WITH_AS(report_in(page, "p.html", "check"),
                       "p.html: holds no report of check\nhint: --html of that command writes one",
                       Error);
}

TEST_CASE("what is no page is refused") {
  for (const char* data :
       {"", "{", "[]", "{}", R"({"parts": 1})", R"({"parts": []})", R"({"parts": [{}]})",
        R"({"parts": [{"command": 1, "report": {}, "machine": null}]})",
        R"({"parts": [{"command": "", "report": [], "machine": null}]})",
        R"({"parts": [{"command": "", "report": {}, "machine": null}]})",
        R"({"parts": [{"command": "", "report": {"study": 1}, "machine": 0}]})"}) {
    CAPTURE(data);
    CHECK(page_error(page_with(data)) == "p.html: no page of a report");
    CHECK_NOTHROW(import_text(page_with(data), "p.html"));
  }
  CHECK(page_error(R"(<script type="application/json" id="fabricast-data">{"parts": )") ==
        "p.html: no page of a report");
}

TEST_CASE("a machine that a report cannot name any more is left out") {
  for (const char* job : {"null", "[]", "{}", R"({"site": 1})", R"({"site": {"topology": 1}})",
                          R"({"site": {"topology": "no-such-preset"}})",
                          R"({"site": {"topology": "dgx-h100", "fabric": 7}})",
                          R"({"site": {"topology": "dgx-h100", "fabric": "", "nodes": ["x"]}})"}) {
    CAPTURE(job);
    CHECK(machine_json(Json::parse(job)).is_null());
  }
}

TEST_CASE("topo as a report: links, devices, and how many there are") {
  const PartsCatalogue parts = load_catalogue();
  const Topology topology("dgx-h100", {}, parts);
  const Report report = topo_report(topology.cluster({2, true}), "dgx-h100", "");
  CHECK(answer_of(report) ==
        "NVIDIA DGX H100: 8 x H100-SXM5, NVSwitch, 8 x NDR 400 Gb/s: 2 nodes, each with 8 GPUs, "
        "8 NICs and 2 CPUs.");
  CHECK(report.table("devices").rows().size() == 27);
  CHECK(report.table("rows").rows().size() == 66);
}
