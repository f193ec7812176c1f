#pragma once
// workloads/kernels.yaml -> KernelCatalogue, and back.

#include <string>

#include "models/io/formats/yaml_tree.hpp"
#include "models/kernels/kernel_catalogue.hpp"

namespace fabricast {

/// The file that travels in the program.
const KernelCatalogue& load_kernels();
/// The same from text; `file` is used in messages only. Throws Error.
KernelCatalogue parse_kernels(const YamlText& text, const std::string& file);
/// The families of a catalogue as that file has them, with three digits.
std::string kernels_yaml(const KernelCatalogue& catalogue);

}  // namespace fabricast
