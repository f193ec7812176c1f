#include "models/studies/judge/inspected_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/io/formats/text_file.hpp"
#include "models/io/records/record_files.hpp"
#include "models/nccl/base/nccl_names.hpp"
#include "models/studies/shared/quantile.hpp"
#include "sim/base/error.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"

namespace fabricast {

double InspectedRun::share(const InspectedRow& row) const {
  double all = 0;
  for (const InspectedRow& one : rows) all += one.total_us;
  const double of = seconds ? *seconds * 1e6 : all;
  return of > 0 ? row.total_us / of : 0;
}

void InspectorFold::add(InspectorCall call) {
  const Key key{call.job,        call.communicator, call.name,      call.ranks,
                call.collective, call.bytes_low,    call.bytes_high};
  const auto [at, is_new] = rows_.try_emplace(key);
  Row& row = at->second;
  ++calls_;
  const std::string who = call.rank >= 0 ? std::to_string(call.rank)
                                         : call.host + (call.gpu.empty() ? "" : " " + call.gpu);
  row.hosts[who] = call.host;
  ++row.choices[{call.algorithm, call.protocol}];
  row.off_gpu = row.off_gpu || !call.on_gpu;
  if (!call.labels.empty()) row.labels.push_back(call.labels);
  if (call.dumped_us > 0) {
    first_us_ = first_us_ == 0 ? call.dumped_us : std::min(first_us_, call.dumped_us);
    last_us_ = std::max(last_us_, call.dumped_us);
  }
  rank_us_[fmt::format("{} {} {}", call.host, call.pid, call.gpu)] += call.time_us;
  // Means have no number: those of one interval are one call. Else each is one of its own.
  std::int64_t sequence = call.sequence;
  if (sequence < 0) sequence = call.is_mean ? 0 : row.unnumbered++;
  Call& one = row.calls[sequence];
  if (one.count == 0 || call.time_us < one.least) {
    one.least = call.time_us;
    one.last = who;
  }
  one.sum += call.time_us;
  ++one.count;
  if (one.count == 1 && call.sequence >= 0) {
    Numbers& numbers = numbers_[{call.communicator + call.job, call.collective}];
    numbers.low = numbers.recorded == 0 ? call.sequence : std::min(numbers.low, call.sequence);
    numbers.high = std::max(numbers.high, call.sequence);
    ++numbers.recorded;
  }
  if (is_new) row.first = std::move(call);
}

void InspectorFold::add(const InspectorNotes& notes, const std::string& file) {
  ++files_;
  messages_ += notes.messages;
  if (!notes.version.empty()) version_ = std::max(version_, notes.version);
  if (notes.dropped > 0)
    notes_.push_back(
        fmt::format("{}: the plugin says it lost {}", file, counted(notes.dropped, "record")));
  if (notes.broken > 0)
    notes_.push_back(fmt::format("{}:{}: {}; {} passed over", file, notes.first_broken,
                                 notes.trouble, counted(notes.broken, "record")));
}

InspectedRow InspectorFold::row_of(const Row& row, const Numbers& numbers) const {
  const InspectorCall& first = row.first;
  InspectedRow out;
  out.communicator = first.communicator;
  out.name = first.name;
  out.job = first.job;
  out.word = first.collective;
  out.collective = collective_from_nccl_name(first.collective);
  out.ranks = first.ranks;
  out.nodes = std::max(first.nodes, 1);
  out.ranks_seen = static_cast<int>(row.hosts.size());
  const int times = out.collective && counts_per_rank(*out.collective) ? first.ranks : 1;
  out.size = Bytes{static_cast<std::int64_t>((first.bytes_low + first.bytes_high) / 2) * times};
  out.size_doubt = (first.bytes_high - first.bytes_low) / (first.bytes_high + first.bytes_low);
  const auto choice =
      std::ranges::max_element(row.choices, {}, [](const auto& one) { return one.second; });
  std::tie(out.algorithm, out.protocol) = choice->first;
  out.calls = std::ssize(row.calls);
  out.is_mean = first.is_mean;
  out.off_gpu = row.off_gpu;
  out.labels = row.labels;
  // Calls that all ranks of whom anything is known recorded.
  std::vector<double> means, leasts;
  double waits = 0, mean_us = 0;
  std::map<std::string, long long> last;
  for (const auto& [sequence, call] : row.calls) {
    const double mean = call.sum / call.count;
    means.push_back(mean);
    mean_us += mean / static_cast<double>(row.calls.size());
    if (call.count < 2 || call.count != out.ranks_seen || out.ranks_seen > out.ranks) continue;
    leasts.push_back(call.least);
    waits += mean - call.least;
    ++last[call.last];
  }
  out.time_us = upper_median(means);
  out.transfer_us = leasts.empty() ? out.time_us : upper_median(leasts);
  if (!leasts.empty()) {
    const auto often =
        std::ranges::max_element(last, {}, [](const auto& one) { return one.second; });
    ArrivalSkew& skew = out.skew.emplace();
    skew.calls = std::ssize(leasts);
    skew.wait_us = waits / static_cast<double>(leasts.size());
    skew.last_rank = to_number<int>(often->first).value_or(-1);
    skew.last = skew.last_rank >= 0 ? row.hosts.at(often->first) : often->first;
    skew.last_share = static_cast<double>(often->second) / static_cast<double>(leasts.size());
  }
  const double unrecorded = numbers.recorded > 0
                                ? static_cast<double>(numbers.high - numbers.low + 1) /
                                      static_cast<double>(numbers.recorded)
                                : 1;
  out.total_us = mean_us * static_cast<double>(out.calls) * std::max(unrecorded, 1.0);
  return out;
}

InspectedRun InspectorFold::finish() {
  InspectedRun out;
  out.version = version_;
  out.calls = calls_;
  out.messages = messages_;
  out.files = files_;
  out.notes = notes_;
  std::map<std::string, double> of_communicator;
  for (const auto& [key, row] : rows_) {
    const auto numbers =
        numbers_.find({row.first.communicator + row.first.job, row.first.collective});
    out.rows.push_back(row_of(row, numbers == numbers_.end() ? Numbers{} : numbers->second));
  }
  std::ranges::stable_sort(out.rows, std::greater{}, &InspectedRow::total_us);
  for (const auto& [who, time] : rank_us_) out.total_us = std::max(out.total_us, time);
  const double seconds = static_cast<double>(last_us_ - first_us_) / 1e6;
  if (first_us_ > 0 && seconds * 1e6 > out.total_us) out.seconds = seconds;
  if (messages_ > 0)
    out.notes.push_back(
        fmt::format("{} not judged: sends and receives", counted(messages_, "record")));
  return out;
}

InspectedRun read_inspected_run(const std::string& path) {
  InspectorFold fold;
  const TakeInspectorCall take = [&](InspectorCall call) { fold.add(std::move(call)); };
  int others = 0;
  std::string other;
  for (const std::string& file : record_files({path})) {
    is_large_file(file);  // refuses what is too large
    const std::string head = head_of_file(file);
    if (begins_as_inspector_json(head)) {
      fold.add(read_inspector_file(file, take), file);
    } else if (begins_as_inspector_metrics(head)) {
      fold.add(read_inspector_metrics(read_text_file(file, {}, kRecordSizeMax), take), file);
    } else if (others++ == 0) {
      other = file;
    }
  }
  if (fold.is_empty())
    throw Error(Place{path, 0, {}}, "nothing of NCCL's Inspector is in it",
                "NCCL_INSPECTOR_DUMP_DIR of the job; files that are packed (.gz) have to be "
                "unpacked");
  if (others > 0)
    fold.note(others == 1 ? fmt::format("{}: not of the Inspector, passed over", other)
                          : fmt::format("{} and {} more: not of the Inspector, passed over", other,
                                        others - 1));
  return fold.finish();
}

}  // namespace fabricast
