#pragma once
// What a question is, apart from how it is written: equal questions are answered once.

#include <string>

#include "models/io/formats/yaml_tree.hpp"

namespace fabricast {

/// JSON in one line, keys sorted, scalars as text: YAML readers take it as the question.
std::string canonical_question(const YamlNode& question);

/// SHA-256, 64 hexadecimal digits, of the canonical text in which each scalar that names a file,
/// from `folder` on, is replaced by what the file holds.
std::string question_sha256(const YamlNode& question, const std::string& folder);

}  // namespace fabricast
