#include "models/studies/hang/hang_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "models/io/formats/log_lines.hpp"
#include "text/numbers.hpp"

namespace fabricast {

namespace {

void number_lines(std::vector<RankCall>& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i) calls[i].line = static_cast<int>(i) + 1;
}

bool is_of_unit(const RankCall& call) { return call.group.starts_with("fsdp"); }

/// A gather of one unit beside a scatter of another.
bool is_unit_pair(const RankCall& a, const RankCall& b) {
  return is_of_unit(a) && is_of_unit(b) && a.op != b.op;
}

/// On two groups that both join the rank with somebody else.
bool shares_peer(const std::map<std::string, std::vector<int>>& groups, const RankCall& a,
                 const RankCall& b) {
  if (a.peer >= 0 || b.peer >= 0 || a.group == b.group) return false;
  const std::vector<int>&one = groups.at(a.group), &other = groups.at(b.group);
  return std::ranges::any_of(
      one, [&](int rank) { return rank != a.rank && std::ranges::binary_search(other, rank); });
}

using At = std::vector<RankCall>::iterator;

/// begin..middle and middle..end change places. Times stay.
void swap_runs(At begin, At middle, At end) {
  std::vector<std::optional<double>> times;
  for (At at = begin; at != end; ++at) times.push_back(at->at_s);
  std::rotate(begin, middle, end);
  for (const std::optional<double>& time : times) (begin++)->at_s = time;
}

/// The calls of one unit from `at` on: those of experts and others have groups of their own.
At end_of_unit(At at, At last) {
  return std::find_if_not(
      at, last, [&](const RankCall& call) { return is_of_unit(call) && call.op == at->op; });
}

}  // namespace

HangFault parse_hang_fault(std::string_view text) {
  HangFault out;
  out.text = text;
  const auto words = split_words(text);
  const auto whole = [](std::string_view word, int& value) {
    value = to_number<int>(word).value_or(-1);
    return value >= 0;
  };
  const bool at = words.size() == 6 && words[3] == "at";
  const std::string_view kind = words.size() > 2 ? words[2] : "";
  bool ok = words.size() >= 5 && words[0] == "rank" && whole(words[1], out.rank) &&
            words[words.size() - 2] == "call" && whole(words.back(), out.call) && out.call > 0;
  if (kind == "skips") {
    out.kind = HangFault::Kind::skips;
    ok = ok && words.size() == 5;
  } else {
    ok = ok && at && (kind == "dead" || kind == "interleaves" || kind == "reorders");
    out.kind = kind == "dead"       ? HangFault::Kind::dead
               : kind == "reorders" ? HangFault::Kind::reorders
                                    : HangFault::Kind::interleaves;
  }
  if (!ok)
    throw Error(fmt::format("\"{}\" is no fault of a rank", text),
                "\"rank 5 dead at call 12\", \"rank 5 skips call 12\", \"rank 5 interleaves at "
                "call 12\" (FSDP units), \"rank 5 reorders at call 12\" (communicators)");
  return out;
}

void inject(const HangFault& fault, std::vector<RankCall>& calls) {
  std::map<std::string, std::vector<int>> groups;
  for (const RankCall& call : calls)
    if (!call.members.empty()) groups[call.group] = call.members;
  const auto mine = [&](const RankCall& call) { return call.rank == fault.rank; };
  const auto first = std::ranges::find_if(calls, mine);
  const auto last = std::find_if_not(first, calls.end(), mine);
  if (last - first < fault.call)
    throw Error(
        first == calls.end()
            ? fmt::format("\"{}\": there is no rank {}", fault.text, fault.rank)
            : fmt::format("\"{}\": rank {} makes {} calls", fault.text, fault.rank, last - first));
  const At at = first + (fault.call - 1);
  /// Of the first two in a row that fit, the second.
  const auto find = [&](const auto& fits, const char* what) {
    const At found = std::adjacent_find(at, last, fits);
    if (found == last)
      throw Error(fmt::format("\"{}\": rank {} has no {} from call {} on", fault.text, fault.rank,
                              what, fault.call));
    return found + 1;
  };
  switch (fault.kind) {
    case HangFault::Kind::dead: {
      RankCall end;
      end.rank = fault.rank;
      end.end = fault.text;
      *at = end;
      calls.erase(at + 1, last);
      break;
    }
    case HangFault::Kind::skips:
      calls.erase(at);
      break;
    case HangFault::Kind::interleaves: {
      const At other =
          find(is_unit_pair, "two calls in a row that gather one unit and scatter another");
      At begin = other - 1;
      while (begin != at && end_of_unit(begin - 1, last) == other) --begin;
      swap_runs(begin, other, end_of_unit(other, last));
      break;
    }
    case HangFault::Kind::reorders: {
      const At other =
          find([&](const RankCall& a, const RankCall& b) { return shares_peer(groups, a, b); },
               "two calls in a row on communicators that share another rank");
      swap_runs(other - 1, other, other + 1);
      break;
    }
  }
  // Who is in a group is said by the first call on it, which may be gone.
  for (RankCall& call : calls)
    if (call.rank == fault.rank && call.peer < 0 && call.end.empty())
      call.members = groups.at(call.group);
  number_lines(calls);
}

std::string call_trace_text(const std::vector<RankCall>& calls) {
  std::string out;
  for (const RankCall& call : calls) {
    out += fmt::format("{{\"rank\": {}", call.rank);
    if (!call.end.empty()) {
      out += fmt::format(", \"end\": \"{}\"}}\n", call.end);
      continue;
    }
    out += fmt::format(", \"call\": \"{}\"", call.op);
    if (call.peer >= 0) {
      out += fmt::format(", \"peer\": {}", call.peer);
    } else {
      out += fmt::format(", \"group\": \"{}\"", call.group);
    }
    if (!call.members.empty())
      out += fmt::format(", \"ranks\": [{}]", fmt::join(call.members, ", "));
    if (call.elements) out += fmt::format(", \"elements\": {}", *call.elements);
    if (!call.dtype.empty()) out += fmt::format(", \"dtype\": \"{}\"", call.dtype);
    if (call.at_s) out += fmt::format(", \"at_s\": {:.6f}", *call.at_s);
    out += "}\n";
  }
  return out;
}

CallsOfLayout calls_of_layout(const std::string& layout, const HangFault* fault,
                              const PartsCatalogue& parts) {
  StepConfig config = load_step(layout);
  config.trace = true;
  const StepResult step = run_step(config, parts);
  CallsOfLayout out{
      fmt::format("one step of {}: {}", config.title, layout_line(step.config.layout)),
      calls_of(step),
      {}};
  if (step.config.layout.expert > 1 && !nccl_brings_tokens(step.framework, config.ep_kernels))
    out.notes.push_back(fmt::format(
        "{} stands for dispatch or combine of {} kernels. NCCL's watchdog and Flight Recorder do "
        "not see them: a rank that waits there spins in a kernel. DeepEP's give up after 2e11 "
        "cycles, about 100 s (NUM_TIMEOUT_CYCLES, csrc/kernels/configs.cuh); the watchdog names "
        "NCCL's next call",
        to_text(Collective::alltoall),
        config.ep_kernels ? kEpModeWords[config.ep_kernels->mode] : "DeepEP's or HybridEP's"));
  if (fault != nullptr) inject(*fault, out.calls);
  return out;
}

HangResult find_hang(const CallsOfLayout& made) {
  HangResult out = find_hang(made.calls);
  out.notes.insert(out.notes.end(), made.notes.begin(), made.notes.end());
  return out;
}

bool is_as_expected(const HangResult& result, const std::string& expect) {
  if (!result.hangs()) return false;
  if (expect == "ended") return !result.ended.empty() && result.mismatches.empty();
  if (expect == "mismatch") return !result.mismatches.empty();
  return !result.cycle.empty() && result.mismatches.empty() && result.ended.empty();
}

}  // namespace fabricast
