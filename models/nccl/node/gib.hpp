#pragma once
// What Google's net plugin gIB (A3 Ultra, A4) and the tuner that comes with it do to the choice.

#include <string>
#include <string_view>
#include <vector>

#include "models/nccl/environment/env.hpp"
#include "models/nccl/node/node_description.hpp"

namespace fabricast {

/// Whether NCCL_NET asks for it by this name; NCCL does not mind the case.
bool is_gib(std::string_view net_name);

/// `environment` and what the tuner does where NCCL_NET=gIB asks for the plugin: on Hopper (A3
/// Ultra) it does not take LL. The tuner's file is not published; two publishers' times say so, of
/// two H200 (google/dranet, AllReduce, 32 to 45 us up to 32 KiB) and sixteen
/// (GoogleCloudPlatform/cluster-toolkit, AllGather, 54 to 65 us up to 512 KiB): both are those of
/// LL128, 1.5 to 2 times those of LL. On Blackwell (A4) two B200 take 14 us, which is LL. The
/// user's NCCL_PROTO stands. One sentence in `warnings` says so.
Environment with_gib(const Environment& environment, const NodeDescription& node,
                     std::vector<std::string>& warnings);

}  // namespace fabricast
