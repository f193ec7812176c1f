#pragma once
// What a question is, apart from how it is written: equal questions are answered once.

#include <map>
#include <string>
#include <utility>

#include "models/io/formats/yaml_tree.hpp"

namespace fabricast {

/// JSON in one line, keys sorted, scalars as text: YAML readers take it as the question.
std::string canonical_question(const YamlNode& question);

/// Of many questions, which often name the same files: each is read once.
class QuestionIdentity {
 public:
  /// Paths in the questions start from `folder`.
  explicit QuestionIdentity(std::string folder) : folder_(std::move(folder)) {}

  /// SHA-256, 64 hexadecimal digits, of the canonical text in which each scalar that names a file
  /// is replaced by what the file holds.
  std::string sha256(const YamlNode& question);

 private:
  std::string folder_;
  std::map<std::string, std::string> meant_;  ///< by scalar that looks like a path
};

}  // namespace fabricast
