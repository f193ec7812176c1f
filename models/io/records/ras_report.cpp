#include "models/io/records/ras_report.hpp"

#include <algorithm>
#include <array>

#include "models/io/records/plain_data.hpp"
#include "models/io/records/record_files.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

namespace {

constexpr std::int64_t kRasRankMax = 1 << 24;

/// With a comma before each key or text that follows a value without one. `added`: how many.
std::string with_commas(std::string_view text, int& added) {
  std::string out;
  char before = '{';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      if (std::string_view(",:{[").find(before) == std::string_view::npos) {
        out += ',';
        ++added;
      }
      const std::size_t begin = i;
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
      out += text.substr(begin, i + 1 - begin);
    } else {
      out += c;
    }
    if (std::string_view(" \t\r\n").find(c) == std::string_view::npos) before = c;
  }
  return out;
}

int rank_of(const PlainValue& value, const std::string& file) {
  const std::int64_t rank = value.whole(-1);
  if (rank < 0 || rank > kRasRankMax) throw Error(Place{file, 0, {}}, "a rank in it is none");
  return static_cast<int>(rank);
}

RasRank read_rank(const PlainData& data, const PlainValue& value, const std::string& file) {
  RasRank out;
  out.rank = rank_of(data.at(value, "rank"), file);
  out.host = data.at(value, "host").text();
  out.pid = data.at(value, "pid").whole(-1);
  out.device = data.at(value, "cuda_dev").whole(-1);
  const PlainValue status = data.at(value, "status");
  if (data.at(status, "abort_flag").truth()) out.trouble = "was aborted";
  if (data.at(status, "finalize_called").truth() || data.at(status, "destroy_flag").truth())
    out.trouble = "ends this communicator";
  if (const std::int64_t error = data.at(status, "async_error").whole(); error != 0)
    out.trouble = "has NCCL's error " + std::to_string(error);
  data.pairs(
      data.at(value, "collective_counts"), [&](std::string_view op, const PlainValue& count) {
        out.counts.insert_or_assign(std::string(op), std::max<std::int64_t>(count.whole(), 0));
      });
  return out;
}

RasRank read_missing(const PlainData& data, const PlainValue& value, const std::string& file) {
  RasRank out = read_rank(data, value, file);
  const PlainValue status = data.at(value, "status");
  out.answers = false;
  out.trouble = data.at(status, "considered_dead").truth() ? "is dead, as RAS says"
                : data.at(status, "unresponsive").truth()  ? "does not answer RAS"
                                                           : "did not report to RAS";
  return out;
}

}  // namespace

bool begins_as_ras(std::string_view text) { return begins_as_json_with(text, {"\"communicators"}); }

RasReport read_ras_report(std::string_view text, const std::string& file) {
  RasReport out;
  std::string mended;
  PlainData data;
  try {
    data = read_plain_json(text, file);
  } catch (const Error&) {
    mended = with_commas(text, out.commas_added);
    if (out.commas_added == 0) throw;
    data = read_plain_json(mended, file);
  }
  const PlainValue communicators = data.at(data.root, "communicators");
  if (!communicators.is(PlainValue::Kind::list))
    throw Error(Place{file, 0, "communicators"}, "is no list: no report of RAS",
                "ncclras -f json writes one");
  out.nccl = data.at(data.root, "nccl_version").text();
  out.timestamp = data.at(data.root, "timestamp").text();
  data.items(communicators, [&](const PlainValue& value) {
    RasCommunicator& one = out.communicators.emplace_back();
    one.hash = data.at(value, "hash").text();
    if (const std::string_view more = data.at(value, "secondary_hash").text(); !more.empty())
      one.hash += "/" + std::string(more);
    data.items(data.at(value, "ranks"),
               [&](const PlainValue& rank) { one.ranks.push_back(read_rank(data, rank, file)); });
    data.items(data.at(value, "missing_ranks"), [&](const PlainValue& rank) {
      one.ranks.push_back(read_missing(data, rank, file));
    });
    std::ranges::stable_sort(one.ranks, {}, &RasRank::rank);
    const auto same = [](const RasRank& a, const RasRank& b) { return a.rank == b.rank; };
    one.ranks.erase(std::unique(one.ranks.begin(), one.ranks.end(), same), one.ranks.end());
    one.size = static_cast<int>(std::clamp<std::int64_t>(data.at(value, "size").whole(),
                                                         std::ssize(one.ranks), kRasRankMax));
  });
  return out;
}

}  // namespace fabricast
