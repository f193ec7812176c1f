#pragma once
// The names that files and options may use, each with one line that says what it is.

#include <string>
#include <vector>

#include "models/hardware/parts/parts.hpp"
#include "models/io/report/report.hpp"

namespace fabricast {

struct KnownName {
  std::string name;
  std::string kind;  ///< "preset", "alias", "GPU", ...; who reads a variable
  std::string what;
};

/// "topologies", "fabrics", "models", "parts", "frameworks", "variables".
const std::vector<std::string>& subjects_with_names();

/// REQUIRES: one of subjects_with_names().
std::vector<KnownName> known_names(const std::string& subject, const PartsCatalogue& parts);

std::string known_names_text(const std::vector<KnownName>& names);
Report known_names_report(const std::string& subject, const std::vector<KnownName>& names);

}  // namespace fabricast
