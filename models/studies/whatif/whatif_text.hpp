#pragma once
// The texts of `fabricast whatif`.

#include <string>

#include "models/studies/whatif/whatif.hpp"

namespace fabricast {

std::string whatif_text(const WhatifResult& result);
/// One line for each factor of each row.
std::string whatif_csv(const WhatifResult& result);
std::string whatif_json(const WhatifResult& result);

std::string whatif_text(const WhatifTable& table);
/// One line for each row of each setup.
std::string whatif_csv(const WhatifTable& table);
std::string whatif_json(const WhatifTable& table);

}  // namespace fabricast
