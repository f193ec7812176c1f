#include <fmt/format.h>

#include <algorithm>

#include "models/lint/rules.hpp"

namespace fabricast::lint_rules_detail {

namespace {

void channel_bounds(Sheet& sheet, const Setting& s) {
  const std::string_view upper = s.name() == "NCCL_MIN_CTAS"        ? "NCCL_MAX_CTAS"
                                 : s.name() == "NCCL_MIN_NCHANNELS" ? "NCCL_MAX_NCHANNELS"
                                                                    : "";
  if (upper.empty()) return;
  const std::optional<std::int64_t> max = sheet.number_beside(s, upper);
  const NumberText min = number_text(s.value());
  if (!max || *max <= 0 || min.value <= *max) return;
  Finding& f = sheet.add("FL042", Severity::warning, s,
                         fmt::format("{} is above {}={}", shown(s), upper, *max));
  f.reason = s.name() == "NCCL_MIN_CTAS"
                 ? "both become the upper bound"
                 : "channels are cut to the upper bound and then repeated up to the lower one";
  f.source = s.name() == "NCCL_MIN_CTAS" ? "NCCL 2.21.5 src/init.cc:1431"
                                         : "NCCL 2.21.5 src/graph/connect.cc:323";
}

Finding& no_effect(Sheet& sheet, const Setting& s, Severity severity, std::string why,
                   std::string_view source) {
  Finding& f = sheet.add("FL031", severity, s, fmt::format("{} has no effect: {}", shown(s), why));
  f.source = source;
  return f;
}

/// The settings of a libfabric net plugin: it carries the data then.
bool uses_libfabric(const Setting& s) {
  return std::ranges::any_of(s.file->assignments, [](const EnvAssignment& a) {
    return a.name.starts_with("FI_") || a.name.starts_with("EFA_") || a.name.starts_with("OFI_");
  });
}

void sockets(Sheet& sheet, const Setting& s) {
  if (s.name() != "NCCL_NSOCKS_PERTHREAD" && s.name() != "NCCL_SOCKET_NTHREADS") return;
  if (sheet.input.cluster == nullptr && uses_libfabric(s)) {
    no_effect(sheet, s, Severity::warning,
              "the file sets up libfabric (FI_*, EFA), which carries the data",
              "NCCL 2.21.5 src/net.cc (plugin before IB before Socket)");
    return;
  }
  if (s.name() != "NCCL_NSOCKS_PERTHREAD") return;
  constexpr std::string_view source = "NCCL 2.21.5 src/transport/net_socket.cc:246";
  const std::int64_t threads = sheet.number_beside(s, "NCCL_SOCKET_NTHREADS").value_or(0);
  if (threads <= 0) {
    no_effect(sheet, s, Severity::warning,
              "without helper threads there is one socket (AWS and GCP excepted)", source)
        .suggestion = "set NCCL_SOCKET_NTHREADS, too";
    return;
  }
  constexpr std::int64_t most = 64;  // MAX_SOCKETS
  const std::int64_t sockets = threads * number_text(s.value()).value;
  if (sockets <= most) return;
  Finding& f =
      sheet.add("FL012", Severity::warning, s,
                fmt::format("{} times {} threads is {} sockets: NCCL takes fewer, {} in all",
                            shown(s), threads, sockets, most));
  f.source = source;
}

void queue_pairs(Sheet& sheet, const Setting& s) {
  if (s.name() == "NCCL_IB_SPLIT_DATA_ON_QPS" && number_text(s.value()).value == 1 &&
      sheet.number_beside(s, "NCCL_IB_QPS_PER_CONNECTION").value_or(1) <= 1) {
    no_effect(sheet, s, Severity::warning, "one queue pair per connection leaves nothing to split",
              s.variable->evidence)
        .suggestion = "set NCCL_IB_QPS_PER_CONNECTION above 1, too";
  }
  if (s.name() == "NCCL_IB_QPS_PER_CONNECTION" && number_text(s.value()).value > 1) {
    const std::int64_t usual = sheet.input.version < NcclVersion{20, 0} ? 1 : 0;
    if (sheet.number_beside(s, "NCCL_IB_SPLIT_DATA_ON_QPS").value_or(usual) == 1) return;
    Finding& f =
        sheet.add("FL031", Severity::note, s,
                  fmt::format("{} makes no single message faster: messages take turns", shown(s)));
    f.source = "NCCL 2.21.5 src/transport/net_ib.cc:1514";
    f.suggestion = "it spreads messages over ECMP paths; NCCL_IB_SPLIT_DATA_ON_QPS=1 splits each";
  }
}

void send_chunks(Sheet& sheet, const Setting& s) {
  if (s.name() != "NCCL_P2P_NET_CHUNKSIZE") return;
  constexpr std::int64_t usual = 4194304;
  const std::int64_t buffer = sheet.number_beside(s, "NCCL_BUFFSIZE").value_or(usual);
  const std::int64_t chunk = number_text(s.value()).value;
  if (buffer <= 0 || chunk <= buffer / 8) return;
  Finding& f = sheet.add("FL031", Severity::warning, s,
                         fmt::format("{} is cut to {}", shown(s), buffer / 8));
  f.reason = fmt::format("a send/recv chunk is at most an eighth of NCCL_BUFFSIZE ({})", buffer);
  f.source = "NCCL 2.21.5 src/init.cc:549";
  f.suggestion =
      fmt::format("NCCL_BUFFSIZE={} if you mean it: it changes the ring's chunks, too", chunk * 8);
}

void switched_off(Sheet& sheet, const Setting& s) {
  const std::string& name = s.name();
  const auto is = [&](std::string_view other, std::int64_t value) {
    return sheet.number_beside(s, other).value_or(-1) == value;
  };
  if (name.starts_with("NCCL_IB_") && name != "NCCL_IB_DISABLE" && is("NCCL_IB_DISABLE", 1)) {
    no_effect(sheet, s, Severity::warning, "NCCL_IB_DISABLE=1",
              "NCCL 2.21.5 src/transport/net_ib.cc");
  } else if (name == "NCCL_P2P_LEVEL" && is("NCCL_P2P_DISABLE", 1)) {
    no_effect(sheet, s, Severity::warning, "NCCL_P2P_DISABLE=1 wins",
              "NCCL 2.21.5 src/graph/paths.cc:283");
  } else if (name == "NCCL_P2P_PXN_LEVEL" && is("NCCL_PXN_DISABLE", 1)) {
    no_effect(sheet, s, Severity::note, "NCCL_PXN_DISABLE=1",
              "NCCL 2.21.5 src/graph/search.cc:1112");
  } else if (name.starts_with("NCCL_GDRCOPY_") && name != "NCCL_GDRCOPY_ENABLE" &&
             !is("NCCL_GDRCOPY_ENABLE", 1)) {
    no_effect(sheet, s, Severity::note, "NCCL_GDRCOPY_ENABLE is not 1", s.variable->evidence);
  } else if (name == "NCCL_DEBUG_SUBSYS") {
    const Setting* debug = sheet.beside(s, "NCCL_DEBUG");
    const bool logs = debug == nullptr || debug->value().empty() ||
                      std::string_view("IiTt").find(debug->value()[0]) != std::string_view::npos;
    if (!logs)
      no_effect(sheet, s, Severity::note, fmt::format("{} logs no subsystem", shown(*debug)),
                s.variable->evidence);
  }
}

struct Contradiction {
  std::string_view name, value, other, other_value, why, source;
  Severity severity;
};

constexpr Contradiction kContradictions[] = {
    {"NCCL_NET", "IB", "NCCL_IB_DISABLE", "1",
     "the network asked for is switched off, and there is "
     "no fallback: NCCL does not start",
     "NCCL 2.21.5 src/init.cc:1628", Severity::error},
    {"NCCL_NVLS_ENABLE", "1", "NCCL_CUMEM_ENABLE", "0", "NVLS needs cuMem",
     "NCCL 2.21.5 src/transport/nvls.cc", Severity::warning},
    {"NCCL_MNNVL_ENABLE", "1", "NCCL_CUMEM_ENABLE", "0", "NVLink between nodes needs cuMem",
     "NCCL 2.21.5 src/init.cc:826", Severity::error},
    {"NCCL_COLLNET_ENABLE", "1", "NCCL_NET_PLUGIN", "none",
     "CollNet comes from a plugin, and none is loaded", "NCCL 2.21.5 src/init.cc:1034",
     Severity::warning},
    {"NCCL_COLLNET_ENABLE", "1", "NCCL_SHARP_DISABLE", "1", "the plugin then offers no CollNet",
     "nccl-rdma-sharp-plugins src/sharp_plugin.c", Severity::warning},
    {"NCCL_ALGO", "NVLS", "NCCL_NVLS_ENABLE", "0", "the only algorithm in the list is switched off",
     "NCCL 2.21.5 src/graph/tuning.cc", Severity::warning},
    {"NCCL_P2P_DISABLE", "1", "NCCL_SHM_DISABLE", "1",
     "GPUs of one node then talk over the network", "NCCL 2.21.5 src/transport.cc",
     Severity::warning},
};

void contradictions(Sheet& sheet, const Setting& s) {
  for (const Contradiction& c : kContradictions) {
    if (s.name() != c.name || s.value() != c.value) continue;
    const Setting* other = sheet.beside(s, c.other);
    if (other == nullptr || other->value() != c.other_value) continue;
    Finding& f =
        sheet.add("FL044", c.severity, s,
                  fmt::format("{} beside {}={}: {}", shown(s), c.other, c.other_value, c.why));
    f.source = c.source;
  }
  if (s.name() != "NCCL_ALGO" || s.value().starts_with('^')) return;
  if (s.value().find("CollNet") == std::string::npos) return;
  if (sheet.number_beside(s, "NCCL_COLLNET_ENABLE").value_or(0) == 1) return;
  Finding& f = sheet.add("FL044", Severity::warning, s,
                         fmt::format("{} without NCCL_COLLNET_ENABLE=1: CollNet is off", shown(s)));
  f.source = "NCCL 2.21.5 src/init.cc:1034";
}

/// PyTorch's blocking wait switches its asynchronous error handling off. New names win over old.
void blocking_wait(Sheet& sheet, const Setting& s) {
  constexpr std::string_view torch = "TORCH_";
  std::string_view name = s.name();
  if (name.starts_with(torch)) name.remove_prefix(torch.size());
  if (name != "NCCL_ASYNC_ERROR_HANDLING" || number_text(s.value()).value == 0) return;
  const Setting* wait = sheet.beside(s, "TORCH_NCCL_BLOCKING_WAIT");
  if (wait == nullptr) wait = sheet.beside(s, "NCCL_BLOCKING_WAIT");
  if (wait == nullptr || !is_torch_on(wait->value())) return;
  Finding& f =
      sheet.add("FL044", Severity::warning, s,
                fmt::format("{} beside {}: PyTorch then takes it for 0", shown(s), shown(*wait)));
  f.reason = "with blocking wait, wait() raises on a time-out and the watchdog tears nothing down";
  f.source = "PyTorch ProcessGroupNCCL.cpp, constructor";
  f.suggestion = fmt::format("leave {} out, unless the job handles the exception", wait->name());
}

/// Of CollNet the variable is only the switch.
void collnet_plugin(Sheet& sheet, const Setting& s) {
  const bool on = s.name() == "NCCL_COLLNET_ENABLE" && s.value() == "1";
  if (!on || sheet.input.sharp || sheet.input.cluster != nullptr) return;
  Finding& f = sheet.add(
      "FL031", Severity::note, s,
      fmt::format("{} counts only with a CollNet plugin and switches that reduce", shown(s)));
  f.reason = s.variable->note;
  f.source = s.variable->evidence;
}

/// InfiniBand needs no GID, and since 2.21 RoCE's is found.
void fixed_gid(Sheet& sheet, const Setting& s) {
  if (s.name() != "NCCL_IB_GID_INDEX" || sheet.input.version < kNccl2_21_5) return;
  if (number_text(s.value()).value < 0) return;
  Finding& f = sheet.add(
      "FL031", Severity::note, s,
      fmt::format("{}: on InfiniBand no GID index is needed, on RoCE it is found", shown(s)));
  f.reason = s.variable->note;
  f.source = s.variable->evidence;
  f.suggestion = "leave it out, unless show_gids says that this index is RoCEv2 on every port";
}

}  // namespace

void check_pairs(Sheet& sheet) {
  // Findings are added while settings are walked: both are in sheet, in different vectors.
  for (const Setting& s : sheet.settings) {
    if (!s.has_value() || s.value().empty() || s.at->has(EnvTrap::lost_after_run)) continue;
    if (s.variable != nullptr && s.variable->reader == VariableReader::pytorch)
      blocking_wait(sheet, s);
    if (!s.acts(sheet.input.version)) continue;
    if (sheet.lacks_verbs() && s.variable->has_need(Need::verbs)) continue;  // FL030
    for (const auto rule : {channel_bounds, sockets, queue_pairs, send_chunks, switched_off,
                            contradictions, fixed_gid, collnet_plugin})
      rule(sheet, s);
  }
}

}  // namespace fabricast::lint_rules_detail
