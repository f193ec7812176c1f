#include "models/io/records/flight_dump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>

#include "models/io/records/pickle.hpp"
#include "models/io/records/record_files.hpp"
#include "sim/base/error.hpp"
#include "text/numbers.hpp"

namespace fabricast {

namespace {

constexpr int kRankMax = 1 << 24;
constexpr std::size_t kMembersMax = std::size_t{1} << 20;
constexpr std::int64_t kMicrosMax = std::int64_t{1} << 53;

bool is_list(const PlainValue& value) { return value.is(PlainValue::Kind::list); }

/// "[0, 1, 2]", or a list of numbers. Nothing where it is neither.
std::optional<std::vector<int>> ranks_of(const PlainData& data, const PlainValue& value) {
  std::vector<int> out;
  bool good = true;
  const auto add = [&](std::int64_t rank) {
    good = good && rank >= 0 && rank <= kRankMax && out.size() < kMembersMax;
    if (good) out.push_back(static_cast<int>(rank));
  };
  if (is_list(value)) {
    data.items(value, [&](const PlainValue& rank) { add(rank.whole(-1)); });
  } else {
    std::string_view rest = value.text();
    while (true) {
      const std::size_t digit = rest.find_first_of("0123456789");
      good = good && rest.substr(0, digit).find_first_not_of("[](){}, ") == rest.npos;
      if (!good || digit == rest.npos) break;
      rest.remove_prefix(digit);
      add(take_number<int>(rest).value_or(-1));
    }
  }
  std::ranges::sort(out);
  const bool twice = std::ranges::adjacent_find(out) != out.end();
  return good && !twice ? std::optional(out) : std::nullopt;
}

/// Elements of all tensors of [[3, 4], [5]]; -1 where it is no such list.
std::int64_t elements_of(const PlainData& data, const PlainValue& sizes) {
  if (!is_list(sizes)) return -1;
  double sum = 0;
  data.items(sizes, [&](const PlainValue& tensor) {
    double product = is_list(tensor) ? 1 : 0;
    data.items(tensor, [&](const PlainValue& extent) { product *= extent.number(); });
    sum += product;
  });
  return sum >= 0 && sum < 9e18 ? static_cast<std::int64_t>(sum) : -1;
}

class DumpReader {
 public:
  explicit DumpReader(const PlainData& data) : data_(data) { word({}); }

  FlightDump read() {
    out_.version = data_.at(data_.root, "version").text();
    data_.pairs(
        data_.at(data_.root, "pg_config"), [&](std::string_view name, const PlainValue& group) {
          FlightGroup read;
          read.name = data_.at(group, "name").text();
          if (read.name.empty()) read.name = name;
          read.description = data_.at(group, "desc").text();
          read.ranks = ranks_of(data_, data_.at(group, "ranks")).value_or(std::vector<int>{});
          by_name_.try_emplace(read.name, out_.groups.size());
          out_.groups.push_back(std::move(read));
        });
    const PlainValue entries = data_.at(data_.root, "entries");
    out_.entries.reserve(data_.size(entries));
    data_.items(entries, [&](const PlainValue& value) { entry(value); });
    if (!out_.entries.empty() && out_.entries.back().where == 0)
      out_.entries.back().where = line_of(last_frames_);
    std::ranges::stable_sort(out_.entries, {}, &FlightEntry::record);
    settle_coalesced();
    return std::move(out_);
  }

 private:
  /// What is asked of an entry, by one walk over its keys.
  struct Fields {
    PlainValue name, group, pg_id, record, sequence, in, out, in_types, out_types, state, created,
        created_us, timeout, frames;
  };
  Fields fields_of(const PlainValue& value) const {
    Fields out;
    const std::array<std::pair<std::string_view, PlainValue*>, 16> wanted = {
        {{"profiling_name", &out.name},
         {"process_group", &out.group},
         {"pg_name", &out.group},
         {"pg_id", &out.pg_id},
         {"record_id", &out.record},
         {"collective_seq_id", &out.sequence},
         {"seq_id", &out.sequence},
         {"input_sizes", &out.in},
         {"output_sizes", &out.out},
         {"input_dtypes", &out.in_types},
         {"output_dtypes", &out.out_types},
         {"state", &out.state},
         {"time_created_ns", &out.created},
         {"time_created_us", &out.created_us},
         {"timeout_ms", &out.timeout},
         {"frames", &out.frames}}};
    data_.pairs(value, [&](std::string_view key, const PlainValue& field) {
      const auto at = std::ranges::find(wanted, key, &decltype(wanted)::value_type::first);
      if (at != wanted.end()) *at->second = field;
    });
    return out;
  }

  void entry(const PlainValue& value) {
    const Fields fields = fields_of(value);
    const std::string_view name = fields.name.text();
    if (name.empty()) {
      ++out_.passed_over;
      return;
    }
    FlightEntry read;
    read.record = fields.record.whole();
    read.sequence = fields.sequence.whole();
    read.created_ns =
        fields.created.is(PlainValue::Kind::none)
            ? std::clamp<std::int64_t>(fields.created_us.whole(), 0, kMicrosMax) * 1000
            : fields.created.whole();
    read.timeout_ms = fields.timeout.whole();
    read.group = group_of(fields);
    const std::string_view state = fields.state.text();
    if (state == "completed") read.state = FlightEntry::State::completed;
    if (state == "started") read.state = FlightEntry::State::started;
    const std::string op = name_and_ends(name, read);
    read.op = word(op);
    read.elements = elements_of(data_, op == "scatter" || op == "recv" ? fields.out : fields.in);
    if (op == "alltoall") read.elements = -1;  // each rank may send as it likes
    const PlainValue& types = op == "scatter" || op == "recv" ? fields.out_types : fields.in_types;
    read.dtype = word(is_list(types) ? data_.item(types, 0).text() : types.text());
    if (read.state != FlightEntry::State::completed) read.where = line_of(fields.frames);
    last_frames_ = fields.frames;
    out_.entries.push_back(read);
  }

  /// The op of "nccl:send 1->2"; a message's ends go into the entry.
  static std::string name_and_ends(std::string_view name, FlightEntry& read) {
    const std::size_t blank = name.find(' ');
    const std::string op = collective_of_torch(name.substr(0, blank));
    if (blank == name.npos || (op != "send" && op != "recv")) return op;
    std::string_view ends = name.substr(blank + 1);
    const int first = take_number<int>(ends).value_or(-1);
    const bool reads = ends.starts_with("->") || ends.starts_with("<-");
    const bool backwards = ends.starts_with("<-");
    ends.remove_prefix(std::min<std::size_t>(2, ends.size()));
    const int second = take_number<int>(ends).value_or(-1);
    if (!reads || first < 0 || second < 0) return op;
    read.from = backwards ? second : first;
    read.to = backwards ? first : second;
    return op;
  }

  std::uint32_t group_of(const Fields& fields) {
    std::string_view name = fields.group.text(), description;
    if (is_list(fields.group)) {
      name = data_.item(fields.group, 0).text();
      description = data_.item(fields.group, 1).text();
    }
    std::string key(name);
    if (key.empty()) key = fmt::format("group {}", fields.pg_id.whole());
    const auto [at, is_new] = by_name_.try_emplace(key, out_.groups.size());
    if (is_new) out_.groups.push_back({key, std::string(description), {}});
    FlightGroup& group = out_.groups[at->second];
    if (group.description.empty()) group.description = description;
    return static_cast<std::uint32_t>(at->second);
  }

  /// The innermost line that is not PyTorch's own: "train.py:44 in step".
  std::uint32_t line_of(const PlainValue& frames) {
    PlainValue found;
    bool own = false;
    data_.items(frames, [&](const PlainValue& frame) {
      if (own) return;
      const std::string_view file = data_.at(frame, "filename").text();
      own = file.find("/torch/") == file.npos && !file.empty();
      if (own || found.is(PlainValue::Kind::none)) found = frame;
    });
    const std::string_view path = data_.at(found, "filename").text();
    if (path.empty()) return 0;
    return word(fmt::format("{}:{} in {}", path.substr(path.rfind('/') + 1),
                            data_.at(found, "line").whole(), data_.at(found, "name").text()));
  }

  std::uint32_t word(std::string_view text) {
    const auto at = words_.find(text);
    if (at != words_.end()) return at->second;
    const auto number = static_cast<std::uint32_t>(out_.words.size());
    out_.words.emplace_back(text);
    words_.emplace(std::string(text), number);
    return number;
  }

  /// Calls inside a coalesced group have no events of their own: they are as far as the entry
  /// "coalesced" that follows them, which is none itself.
  void settle_coalesced() {
    const auto coalesced = words_.find(std::string_view("coalesced"));
    if (coalesced == words_.end()) return;
    std::vector<FlightEntry>& entries = out_.entries;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].op != coalesced->second) continue;
      for (std::size_t k = i; k-- > 0;) {
        FlightEntry& part = entries[k];
        if (part.group != entries[i].group) continue;
        if (part.op == coalesced->second || part.sequence != entries[i].sequence) break;
        part.state = entries[i].state;
      }
    }
    std::erase_if(entries, [&](const FlightEntry& one) { return one.op == coalesced->second; });
  }

  const PlainData& data_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::map<std::string, std::uint32_t, std::less<>> words_;
  PlainValue last_frames_;
  FlightDump out_;
};

}  // namespace

std::string collective_of_torch(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  if (colon != name.npos) name.remove_prefix(colon + 1);
  while (name.starts_with('_')) name.remove_prefix(1);
  while (name.ends_with('_')) name.remove_suffix(1);
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 19> kWords = {
      {{"allreduce", "all_reduce"},
       {"all_reduce_barrier", "all_reduce"},
       {"allreduce_coalesced", "all_reduce"},
       {"all_reduce_coalesced", "all_reduce"},
       {"allgather", "all_gather"},
       {"allgather_base", "all_gather"},
       {"all_gather_base", "all_gather"},
       {"allgather_into_tensor_coalesced", "all_gather"},
       {"all_gather_into_tensor_coalesced", "all_gather"},
       {"reduce_scatter_base", "reduce_scatter"},
       {"reduce_scatter_tensor_coalesced", "reduce_scatter"},
       {"broadcast_oop", "broadcast"},
       {"reduce_oop", "reduce"},
       {"all_to_all", "alltoall"},
       {"all_to_allv", "alltoall"},
       {"alltoall_base", "alltoall"},
       {"all_to_all_base", "alltoall"},
       {"all_to_all_single", "alltoall"},
       {"alltoallv", "alltoall"}}};
  const auto at = std::ranges::find(kWords, name, &decltype(kWords)::value_type::first);
  return std::string(at == kWords.end() ? name : at->second);
}

bool begins_as_flight_json(std::string_view text) {
  return begins_as_json_with(text, {"\"entries\"", "\"pg_config\"", "\"pg_status\"",
                                    "\"nccl_comm_state\"", "\"comm_lib_version\""});
}

FlightDump read_flight_dump(std::string_view bytes, const std::string& file) {
  const bool is_pickle = !bytes.empty() && static_cast<unsigned char>(bytes[0]) == 0x80;
  if (!is_pickle && !begins_as_flight_json(bytes))
    throw Error(Place{file, 0, {}},
                bytes.empty() ? "is empty" : "is no dump of the Flight Recorder");
  const PlainData data = is_pickle ? read_pickle(bytes, file) : read_plain_json(bytes, file);
  const bool is_dump = data.root.is(PlainValue::Kind::table) &&
                       (is_list(data.at(data.root, "entries")) ||
                        data.at(data.root, "pg_config").is(PlainValue::Kind::table));
  if (!is_dump)
    throw Error(Place{file, 0, {}},
                "has neither entries nor pg_config: no dump of the Flight "
                "Recorder");
  return DumpReader(data).read();
}

int rank_of_dump(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  const std::optional<int> rank = to_number<int>(last_digits(name));
  return rank && *rank <= kRankMax ? *rank : -1;
}

}  // namespace fabricast
