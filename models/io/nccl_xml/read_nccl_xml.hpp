#pragma once
// NCCL's topology XML: what NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE reads. Read with NCCL's
// own answers to what is odd or missing (src/graph/xml.cc and topo.cc of NCCL 2.21 to 2.30); where
// NCCL would fail, or ask the machine it runs on, an Error says so.

#include <string>
#include <string_view>

#include "models/nccl/node/node_description.hpp"

namespace fabricast {

/// Whether the first thing in the text is an XML tag, comment or declaration.
bool is_xml(std::string_view text);

/// Net.dev counts in the order of the file. A GPU without dev gets the next free number in the
/// order of bus ids, as NVML counts. What a file written by hand leaves to NCCL's detection is
/// marked: a GPU known only by its PCI class has sm 0, such a NIC has no nets. Throws Error with
/// line and path: no XML, no topology, RCCL's, no GPU, attributes missing or out of range, ids
/// twice, too deep or too large. `file` is used in messages and as the name.
NodeDescription parse_nccl_xml(const std::string& text, const std::string& file);
NodeDescription read_nccl_xml(const std::string& path);

/// Throws Error when the file left GPUs to NCCL's detection: their compute capability and NVLinks
/// decide everything, and only the driver of that machine knows them.
void check_is_detected(const NodeDescription& node);

}  // namespace fabricast
