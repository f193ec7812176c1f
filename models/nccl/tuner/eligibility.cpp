#include "models/nccl/tuner/eligibility.hpp"

#include <fmt/format.h>

namespace fabricast {
namespace {

bool is_gather(Collective c) {
  return c == Collective::all_gather || c == Collective::reduce_scatter;
}

std::string why_not_for(Algorithm a, Collective c, NcclVersion version) {
  switch (a) {
    case Algorithm::pat:
      return version < kNccl2_23 ? "PAT exists since NCCL 2.23"
                                 : "PAT exists for all_gather and reduce_scatter only";
    case Algorithm::nvls:
    case Algorithm::collnet_direct:
      if (is_gather(c))
        return fmt::format("{} exists for {} since NCCL {}", to_text(a), to_text(c),
                           a == Algorithm::nvls ? "2.19" : "2.20");
      return fmt::format("{} exists for all_reduce, all_gather and reduce_scatter only",
                         to_text(a));
    default:
      return fmt::format("{} exists for all_reduce only", to_text(a));
  }
}

/// LL128 needs 128-byte stores to arrive whole: only some machines are known to keep them so.
std::string why_no_ll128(const TunerInput& in, const ChannelGraph& g) {
  const int low = in.compute_capability_min, high = in.compute_capability_max;
  const bool over_pxn = low >= 90 && (in.version < kNccl2_27 || in.settings.ll128_over_c2c);
  const PathType farthest = over_pxn ? PathType::pxn : PathType::pxb;
  if (g.type_inter > farthest) {
    return fmt::format("LL128 needs the NIC at {} or nearer, it is at {}", to_text(farthest),
                       to_text(g.type_inter));
  }
  if (g.type_intra > PathType::nvb) {
    return fmt::format("LL128 needs NVLink between GPUs (NVB or nearer), the path is {}",
                       to_text(g.type_intra));
  }
  if (low != high && (in.version < kNccl2_30 || low < 90)) {
    return fmt::format("LL128 needs GPUs of one compute capability, here are {} and {}", low, high);
  }
  const bool is_listed = low == 70 || low == 80 || low == 90 ||
                         (in.version >= kNccl2_25 && (low == 100 || low == 120));
  if (in.version < kNccl2_27 ? !is_listed : low < 70) {
    return fmt::format("LL128 is not enabled for compute capability {} ({})", low,
                       in.version >= kNccl2_27   ? "from 70 on it is"
                       : in.version >= kNccl2_25 ? "70, 80, 90, 100 and 120 are"
                                                 : "70, 80 and 90 are");
  }
  return {};
}

/// 2.21 gives Ring and Tree back when NCCL_ALGO leaves nothing that could run.
bool is_back(const TunerInput& in, Collective c, Algorithm a) {
  if (in.version >= kNccl2_24 || in.collnet) return false;
  if (a != Algorithm::ring && a != Algorithm::tree) return false;
  const auto listed = [&](Algorithm other) {
    return in.settings.algorithms.allows(c, index_of(other));
  };
  const bool nvls = listed(Algorithm::nvls) && in.nodes == 1;
  const bool nvls_tree = listed(Algorithm::nvls_tree) && in.nodes > 1;
  return !listed(Algorithm::ring) && !listed(Algorithm::tree) && !nvls && !nvls_tree;
}

std::string why_no_nvls(const TunerInput& in, Algorithm a) {
  if (!in.settings.nvls.enabled) return in.settings.nvls.why_off;
  if (!in.nvls) {
    return fmt::format(
        "{} needs GPUs of compute capability 90 or more, {} or more of a node, and "
        "NVSwitch",
        to_text(a), in.version < kNccl2_29 ? "three" : "two");
  }
  if (a == Algorithm::nvls_tree && in.version >= kNccl2_31)
    return "2.31.0a7 never offers NVLSTree: nothing fills the graph that its model looks at";
  if (a == Algorithm::nvls_tree && in.nodes == 1) return "NVLSTree is for several nodes";
  if (a == Algorithm::nvls && in.nodes > 1 && !in.collnet)
    return "NVLS over several nodes needs CollNet; NVLSTree does without";
  if (in.version >= kNccl2_28 && in.nvls_graph.channel_count() < 2)
    return fmt::format("{} needs two channels or more, the search found one", to_text(a));
  return {};
}

std::string why_no_collnet(const TunerInput& in, Algorithm a) {
  if (!in.collnet) return "CollNet is off: it takes NCCL_COLLNET_ENABLE=1, SHARP and several nodes";
  if (a == Algorithm::collnet_direct && !in.nvswitch) return "CollNetDirect needs NVSwitch";
  if (a == Algorithm::collnet_chain && !in.collnet_chain_ok)
    return "CollNetChain would start at GPUs that do not speak with CollNet";
  return {};
}

/// Every GPU must reach CollNet by itself when each has its own part.
std::string why_no_gather(const TunerInput& in) {
  if (in.nodes == 1 || in.ranks / in.nodes <= in.collnet_heads) return {};
  return fmt::format("only {} of the {} GPUs of a node have a NIC of their own for CollNet",
                     in.collnet_heads, in.ranks / in.nodes);
}

std::string why_no_pat(const TunerInput& in) {
  if (in.version >= kNccl2_26 && in.compute_capability_min < 60)
    return "PAT needs compute capability 60 or more";
  if (in.settings.pat == 0) return "NCCL_PAT_ENABLE=0 turns PAT off";
  if (in.settings.pat == 2 && in.nodes != in.ranks) return "PAT needs one GPU per node";
  return {};
}

std::string why_machine_lacks(const TunerInput& in, Collective c, Algorithm a) {
  const bool old = in.version < kNccl2_22;
  switch (a) {
    case Algorithm::ring:
    case Algorithm::tree:
      return {};
    case Algorithm::pat:
      return why_no_pat(in);
    case Algorithm::collnet_chain:
      return why_no_collnet(in, a);
    case Algorithm::collnet_direct: {
      const std::string why = why_no_collnet(in, a);
      return why.empty() && is_gather(c) ? why_no_gather(in) : why;
    }
    case Algorithm::nvls:
    case Algorithm::nvls_tree: {
      const std::string why = why_no_nvls(in, a);
      const bool as_collnet = is_gather(c) && !old && a == Algorithm::nvls;
      return why.empty() && as_collnet ? why_no_gather(in) : why;
    }
  }
  return {};
}

}  // namespace

bool exists(Algorithm a, Collective c, NcclVersion version) {
  switch (a) {
    case Algorithm::ring:
      return true;
    case Algorithm::nvls:
      return c == Collective::all_reduce || (is_gather(c) && version >= kNccl2_19);
    case Algorithm::collnet_direct:
      return c == Collective::all_reduce || (is_gather(c) && version >= kNccl2_20);
    case Algorithm::pat:
      return version >= kNccl2_23 && is_gather(c);
    default:
      return c == Collective::all_reduce;
  }
}

std::string why_not_in_model(const TunerInput& in, Collective c, Algorithm a, Protocol p) {
  if (!exists(a, c, in.version)) return why_not_for(a, c, in.version);
  // 2.18 takes no list for rings of anything but all_reduce.
  const bool is_always =
      in.version < kNccl2_19 && a == Algorithm::ring && c != Collective::all_reduce;
  if (!in.settings.algorithms.allows(c, index_of(a)) && !is_back(in, c, a) && !is_always) {
    return fmt::format("NCCL_ALGO leaves out {}", to_text(a));
  }
  if (!in.settings.protocols.allows(c, index_of(p))) return why_no_protocol(in, c, a, p);
  if (std::string why = why_machine_lacks(in, c, a); !why.empty()) return why;
  return why_no_protocol(in, c, a, p);
}

std::string why_no_protocol(const TunerInput& in, Collective c, Algorithm a, Protocol p) {
  if (!in.settings.protocols.allows(c, index_of(p)))
    return fmt::format("NCCL_PROTO leaves out {}", to_text(p));
  if (p != Protocol::ll128) return {};
  const bool by_user = in.settings.protocols.by_user[index_of(c)];
  // 2.31 asks the other way round: whether LL128 is safe only of who names anything.
  const bool is_checked =
      in.version < kNccl2_31 ? !by_user : by_user || in.settings.algorithms.by_user[index_of(c)];
  if (is_checked) return why_no_ll128(in, a == Algorithm::tree ? in.tree : in.ring);
  return {};
}

std::string why_passed_over(const TunerInput& in, Collective c, Algorithm a) {
  const int per_node = in.ranks / in.nodes;
  constexpr int kDirectMax = 8, kNvlsMax = 32;
  if (in.version < kNccl2_27 && a == Algorithm::nvls && is_gather(c) && in.nodes > 1)
    return fmt::format("NVLS does {} on one node only", to_text(c));
  if (in.version >= kNccl2_23 && a == Algorithm::collnet_direct && per_node > kDirectMax)
    return fmt::format("CollNetDirect serves at most {} GPUs of a node", kDirectMax);
  if (in.version >= kNccl2_25 && a == Algorithm::nvls && is_gather(c) && per_node > kNvlsMax)
    return fmt::format("NVLS does {} for at most {} GPUs of a node", to_text(c), kNvlsMax);
  return {};
}

std::string why_not_the_type(const TunerInput& in, Collective c, Algorithm a, int element_bytes) {
  if (!is_nvls(a)) return {};
  if (c == Collective::all_gather && in.version >= kNccl2_19) {
    // 2.20 and 2.21 turn it into bytes before they ask (src/misc/argcheck.cc, ArgsCheck).
    return in.version >= kNccl2_20 && in.version < kNccl2_22
               ? "in 2.20 and 2.21 an all_gather is one of bytes, which NVLS leaves out"
               : "";
  }
  return element_bytes > 1 ? "" : "NVLS does not sum elements of one byte";
}

}  // namespace fabricast
