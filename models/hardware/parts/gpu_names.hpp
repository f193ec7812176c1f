#pragma once
// Names by which tools and people know a GPU of the catalogue.

#include <string>
#include <string_view>

#include "models/hardware/parts/parts.hpp"

namespace fabricast {

/// The part of the one GPU product that `text` names ("GPU 0: NVIDIA H200 (UUID: ...)"), "" for
/// none or several.
std::string gpu_named_in(std::string_view text, const PartsCatalogue& parts);

/// The part that is called so: by a model's name ("A100", in any case, with or without blanks and
/// dashes), which of a PCIe card may be another part, by the part's own or by that of a product.
/// Throws Error with the nearest name.
std::string gpu_called(std::string_view name, bool is_card, const PartsCatalogue& parts);

}  // namespace fabricast
