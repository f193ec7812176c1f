#include "models/studies/sweep/question_identity.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>

#include "models/io/formats/text_file.hpp"
#include "models/io/report/report.hpp"
#include "text/quoting.hpp"

namespace fabricast {
namespace {

using Scalar = std::function<std::string(const std::string&)>;

Json json_of(const YamlNode& node, const Scalar& scalar) {
  Json out;
  switch (node.kind) {
    case YamlNode::Kind::null:
      break;
    case YamlNode::Kind::scalar:
      return scalar(node.text);
    case YamlNode::Kind::sequence:
      out = Json::array();
      for (const YamlNode& item : node.items) out.push_back(json_of(item, scalar));
      break;
    case YamlNode::Kind::mapping: {
      std::map<std::string, const YamlNode*> sorted;
      for (std::size_t i = 0; i < node.keys.size(); ++i) sorted[node.keys[i]] = &node.items[i];
      out = Json::object();
      for (const auto& [key, item] : sorted) out[key] = json_of(*item, scalar);
      break;
    }
  }
  return out;
}

std::string sha256_of(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string out;
  for (unsigned int i = 0; i < size; ++i) out += fmt::format("{:02x}", digest[i]);
  return out;
}

bool looks_like_path(const std::string& text) {
  return text.find_first_of("/.") != std::string::npos && text.find('\n') == std::string::npos;
}

std::string with_contents(const std::string& text, const std::string& folder) {
  std::error_code ignored;
  // Changes may follow a file's name: "node.yaml:nics=4".
  for (const std::size_t end : {text.size(), std::min(text.find(':'), text.size())}) {
    const std::filesystem::path path = std::filesystem::path(folder) / text.substr(0, end);
    if (std::filesystem::is_regular_file(path, ignored))
      return "file of SHA-256 " + sha256_of(read_text_file(path.string())) + text.substr(end);
  }
  return text;
}

}  // namespace

std::string canonical_question(const YamlNode& question) {
  return json_line(json_of(question, [](const std::string& text) { return text; }));
}

std::string QuestionIdentity::sha256(const YamlNode& question) {
  return sha256_of(json_line(json_of(question, [&](const std::string& text) {
    if (!looks_like_path(text)) return text;
    const auto [known, is_new] = meant_.try_emplace(text);
    if (is_new) known->second = with_contents(text, folder_);
    return known->second;
  })));
}

}  // namespace fabricast
