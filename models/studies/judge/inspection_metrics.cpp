// The exposition format of Prometheus 0.0.4, as node_exporter's textfile collector reads it
// (prometheus/docs, instrumenting/exposition_formats.md): HELP and TYPE once, samples of a metric
// together, no time stamps. Names as NCCL's Inspector has them, with "expected" in them.

#include <fmt/format.h>

#include <set>

#include "models/studies/judge/judge_inspector.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

std::string label_text(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

/// Of JSON, as near to those of the Inspector's own text as the record allows.
std::string labels_of(const InspectedRow& row) {
  return fmt::format(
      "slurm_job_id=\"{}\",comm_id=\"{}\",comm_name=\"{}\",n_nodes=\"{}\",nranks=\"{}\",collective="
      "\"{}\",message_bytes=\"{}\"",
      row.job.empty() ? "unknown" : label_text(row.job), label_text(row.communicator),
      row.name.empty() ? "unknown" : label_text(row.name), row.nodes, row.ranks,
      label_text(row.word),
      row.size.count / (row.collective && counts_per_rank(*row.collective) ? row.ranks : 1));
}

struct Metric {
  std::string_view name, help;
  bool of_json_only;  ///< the Inspector itself writes it
  double (*value)(const JudgedInspection&, std::size_t row);
};

double expected_us(const JudgedInspection& judged, std::size_t row) {
  return judged.judged(row)->expected_us;
}
double bandwidth(const JudgedInspection& judged, std::size_t row, double time_us) {
  return busbw_of(judged.run.rows[row], time_us);
}

constexpr Metric kMetrics[] = {
    {"nccl_bus_bandwidth_gbs", "Bus bandwidth without the wait for the last rank, GB/s", true,
     [](const JudgedInspection& judged, std::size_t row) {
       return bandwidth(judged, row, judged.run.rows[row].transfer_us);
     }},
    {"nccl_collective_exec_time_microseconds", "Time without the wait for the last rank, us", true,
     [](const JudgedInspection& judged, std::size_t row) {
       return judged.run.rows[row].transfer_us;
     }},
    {"nccl_expected_bus_bandwidth_gbs", "Bus bandwidth that fabricast expects, GB/s", false,
     [](const JudgedInspection& judged, std::size_t row) {
       return bandwidth(judged, row, expected_us(judged, row));
     }},
    {"nccl_expected_bus_bandwidth_lower_gbs",
     "Lower end of the band: 9 of 10 healthy runs are above, GB/s", false,
     [](const JudgedInspection& judged, std::size_t row) {
       return bandwidth(judged, row, judged.upper_us(row));
     }},
    {"nccl_expected_bus_bandwidth_upper_gbs",
     "Upper end of the band: 9 of 10 healthy runs are below, GB/s", false,
     [](const JudgedInspection& judged, std::size_t row) {
       return bandwidth(judged, row, judged.lower_us(row));
     }},
    {"nccl_expected_collective_exec_time_microseconds", "Time that fabricast expects, us", false,
     expected_us},
};

}  // namespace

std::string inspection_metrics(const JudgedInspection& judged) {
  std::string out;
  for (const Metric& metric : kMetrics) {
    std::string samples;
    std::set<std::string> written;
    for (std::size_t i = 0; i < judged.run.rows.size(); ++i) {
      const InspectedRow& row = judged.run.rows[i];
      if (judged.judged(i) == nullptr) continue;
      const auto sample = [&](const std::string& labels) {
        if (written.insert(labels).second)
          samples += fmt::format("{}{{{}}} {:.6g}\n", metric.name, labels, metric.value(judged, i));
      };
      for (const std::string& labels : row.labels) {
        if (!metric.of_json_only) sample(labels);
      }
      if (row.labels.empty()) sample(labels_of(row));
    }
    if (!samples.empty())
      out += fmt::format("# HELP {} {}\n# TYPE {} gauge\n{}", metric.name, metric.help, metric.name,
                         samples);
  }
  return out;
}

}  // namespace fabricast
