#pragma once
// The table `networks` of a parts file, and the word for a kind of network.

#include "models/hardware/parts/parts.hpp"
#include "models/io/formats/reader.hpp"

namespace fabricast {

/// Throws Error when `whole` and a kind is missing.
void read_networks(Reader in, const Figures& figures, bool whole,
                   std::array<NetworkCosts, kNetKinds>& out);

/// `key: cxi`; absent = ib.
NetKind net_kind(Reader& in, const char* key);

}  // namespace fabricast
