// nccl-tests' own JSON (src/util.cu of nccl-tests 2.18 and later).

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/io/formats/log_lines.hpp"
#include "models/io/imports/nccl_tests_log.hpp"
#include "models/nccl/environment/env_values.hpp"
#include "sim/base/error.hpp"
#include "text/numbers.hpp"

namespace fabricast {

namespace {

using InputJson = nlohmann::json;

std::string text_of(const InputJson& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// A number, or nothing where it is null or the word "nan".
std::optional<double> number_of(const InputJson& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::int64_t whole_of(const InputJson& object, const char* key, std::int64_t otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>()
                                                             : otherwise;
}

const InputJson& child_of(const InputJson& object, const char* key) {
  static const InputJson none = InputJson::object();
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

/// Of two decimals, which the text has; JSON may have more.
constexpr double kHalfDigit = 0.005;

std::optional<NcclTestsTiming> timing_of(const InputJson& row, const char* key) {
  const InputJson& half = child_of(row, key);
  if (!half.is_object()) return std::nullopt;
  auto time = number_of(half, "time");
  if (!time) time = number_of(half, "cpu_time");
  if (!time) return std::nullopt;
  NcclTestsTiming out{*time, number_of(half, "alg_bw"), number_of(half, "bus_bw"),
                      number_of(half, "nwrong")};
  out.checked = out.wrong.has_value();
  out.time_half = out.algbw_half = out.busbw_half = kHalfDigit;
  return out;
}

NcclTestsRow row_of(const InputJson& json) {
  NcclTestsRow row;
  row.size = whole_of(json, "size", 0);
  row.count = whole_of(json, "count", 0);
  row.type = text_of(json, "type");
  row.redop = text_of(json, "redop");
  const std::vector<std::string_view> root = split_words(
      json.value("root", InputJson()).is_string() ? json["root"].get_ref<const std::string&>()
                                                  : std::string_view());
  if (const auto number = to_number<std::int64_t>(root.empty() ? "" : root.front()))
    row.root = static_cast<int>(std::clamp<std::int64_t>(*number, -1, 1 << 24));
  row.says_root = !root.empty();
  row.out_of_place = timing_of(json, "out_of_place");
  row.in_place = timing_of(json, "in_place");
  return row;
}

/// "./build/all_reduce_perf"
std::optional<Collective> collective_of(std::string program) {
  program = program.substr(program.find_last_of('/') + 1);
  return collective_from_text(program.substr(0, program.find("_perf")));
}

void read_devices(const InputJson& list, NcclTestsTable& table) {
  if (!list.is_array()) return;
  for (const InputJson& json : list) {
    if (!json.is_object()) continue;
    table.devices.push_back(
        {static_cast<int>(std::clamp<std::int64_t>(whole_of(json, "rank", 0), 0, 1 << 24)),
         static_cast<int>(std::clamp<std::int64_t>(whole_of(json, "group", 0), 0, 1 << 24)),
         text_of(json, "hostname"), text_of(json, "device_info"),
         static_cast<int>(std::clamp<std::int64_t>(whole_of(json, "device", 0), 0, 1 << 24)),
         text_of(json, "device_hex")});
  }
}

}  // namespace

bool is_nccl_tests_json(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && text[begin] == '{' &&
         text.find("\"results\"") != std::string_view::npos &&
         text.find("_perf") != std::string_view::npos;
}

NcclTestsLog parse_nccl_tests_json(std::string_view text, const std::string& file) {
  const InputJson json = InputJson::parse(text, nullptr, false);
  if (!json.is_object())
    throw Error(Place{file, 0, {}}, "this JSON of nccl-tests is cut off or broken",
                "a run that is killed does not finish its file: use the text output");
  NcclTestsLog log;
  NcclTestsTable& table = log.tables.emplace_back();
  if (const std::int64_t code = whole_of(json, "nccl_version", 0); code > 0)
    log.nccl_version = nccl_version_of_code(code);
  const InputJson& args = child_of(json, "args");
  if (args.is_array() && !args.empty() && args[0].is_string())
    table.collective = collective_of(args[0].get<std::string>());
  if (const InputJson& env = child_of(json, "env"); env.is_array()) {
    for (const InputJson& entry : env) {
      if (!entry.is_string()) continue;
      const std::string& setting = entry.get_ref<const std::string&>();
      const std::size_t equals = setting.find('=');
      if (setting.starts_with("NCCL_") && equals != std::string::npos &&
          is_settable(setting.substr(0, equals), setting.substr(equals + 1)))
        log.environment.set(setting);
    }
  }
  const InputJson& config = child_of(json, "config");
  table.threads =
      static_cast<int>(std::clamp<std::int64_t>(whole_of(config, "nthreads", 1), 1, 1024));
  table.gpus = static_cast<int>(std::clamp<std::int64_t>(whole_of(config, "ngpus", 1), 1, 1024));
  table.cuda_graph = whole_of(config, "graph", 0) > 0;
  read_devices(child_of(config, "devices"), table);  // where they stand has moved between releases
  if (table.devices.empty()) read_devices(child_of(json, "devices"), table);
  if (const InputJson& results = child_of(json, "results"); results.is_array()) {
    for (const InputJson& row : results) {
      if (!row.is_object()) continue;
      NcclTestsRow& read = table.rows.emplace_back(row_of(row));
      if (!read.out_of_place || !read.in_place) ++log.unread;
    }
  }
  const InputJson& average = child_of(json, "average_bus_bandwidth");
  if (average.is_object()) table.average_busbw = number_of(average, "bandwidth");
  const InputJson& bounds = child_of(json, "out_of_bounds");
  if (bounds.is_object()) {
    table.out_of_bounds = number_of(bounds, "count");
    table.failed_check = text_of(bounds, "okay") == "false";
  }
  if (table.failed_check)
    log.remarks.emplace_back("values were wrong: the times of such a run mean nothing");
  if (const InputJson& errors = child_of(json, "errors"); errors.is_array() && !errors.empty()) {
    log.failed = true;
    log.remarks.push_back(fmt::format(
        "the run failed: {}", errors[0].is_string() ? errors[0].get<std::string>() : "errors"));
  } else if (!json.contains("end_time")) {
    log.remarks.emplace_back("the run did not end: there is no end_time");
  }
  if (log.unread > 0)
    log.remarks.push_back(fmt::format("{} of {} rows lack a time", log.unread, table.rows.size()));
  return log;
}

}  // namespace fabricast
