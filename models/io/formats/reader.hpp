#pragma once
// One YAML mapping on its way to one struct. Every key is asked for once, by type; whatever nobody
// asked for is a mistake of the user. All failures are Errors with file, line and dotted path.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/hardware/parts/parts.hpp"
#include "models/io/formats/yaml_tree.hpp"
#include "sim/base/error.hpp"
#include "sim/base/units.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

/// A view: the YamlNode must outlive it.
class Reader {
 public:
  /// Throws when `node` is not a mapping. `path` is the dotted path of the mapping, "" at the top.
  Reader(const YamlNode& node, std::string file, std::string path = {});

  bool has(std::string_view key) const;
  bool is_mapping(std::string_view key) const;
  /// In the order of the file. Asked where the user chooses them; each is then read by its name.
  std::span<const std::string> keys() const;

  std::string text(std::string_view key);  ///< in one line: names, words, paths
  std::string text(std::string_view key, std::string_view otherwise);
  std::string any_text(std::string_view key);  ///< the same, also ""
  std::string prose(std::string_view key);     ///< line breaks are blanks: sentences for people
  std::string prose(std::string_view key, std::string_view otherwise);
  std::string paragraphs(std::string_view key);  ///< with line breaks
  bool flag(std::string_view key, bool otherwise);
  int whole(std::string_view key, int min, int max);
  int whole(std::string_view key, int min, int max, int otherwise);
  double number(std::string_view key, double min, double max);
  std::vector<std::string> texts(std::string_view key);  ///< key: [a, b]; absent = none
  Bandwidth bandwidth(std::string_view key);             ///< > 0
  Duration duration(std::string_view key);
  Bytes bytes(std::string_view key);
  double metres(std::string_view key);
  double watts(std::string_view key);
  double flop_rate(std::string_view key);  ///< FLOP/s, > 0
  /// One of `words`, as its index.
  std::size_t choice(std::string_view key, const std::vector<std::string>& words);
  template <class E, std::size_t n>
  E choice(std::string_view key, const EnumWords<E, n>& words) {
    return static_cast<E>(choice(key, words.list()));
  }

  /// The key `kind`, which says `wanted`; of another kind of file the error names its command.
  void kind(const std::string& wanted);
  Reader child(std::string_view key);                  ///< key: {...}
  std::vector<Reader> children(std::string_view key);  ///< key: [{...}, {...}]; absent = none
  /// key: {name: {...}, ...} where the names are the user's; absent = none.
  std::vector<std::pair<std::string, Reader>> table(std::string_view key);

  Place place() const;                      ///< of this mapping
  Place place(std::string_view key) const;  ///< of the key; of the mapping when it is missing
  [[noreturn]] void fail(std::string_view key, std::string what, std::string hint = {}) const;
  /// A key that has to be there. A key that nobody knows and is nearly called so is told, else the
  /// hint.
  [[noreturn]] void fail_missing(std::string_view key, std::string hint = {}) const;
  /// A key that others of this form have and this one must not: fail() where it is there, and no
  /// hint of finish() where it is not.
  void refuse(std::string_view key, std::string what, std::string hint);
  /// Keys that nobody asked for, in the order of the file.
  std::vector<std::string> unasked() const;
  bool knows(std::string_view key) const;  ///< somebody asked for it, whether it is there or not
  /// Throws on the first key nobody asked for; the hint is the nearest key somebody asked for.
  void finish() const;

 private:
  const YamlNode* value(std::string_view key);  ///< marks it as asked for; nullptr = absent
  const YamlNode& required(std::string_view key, YamlNode::Kind kind);
  const std::string& scalar(std::string_view key) {
    return required(key, YamlNode::Kind::scalar).text;
  }
  std::string path_of(std::string_view key) const;
  std::string one_line(std::string_view key, std::string text) const;
  /// Runs a parser of unit_text and adds the place to what it throws.
  template <class Parse>
  auto parsed(std::string_view key, std::string_view type, Parse parse);
  bool contains(std::string_view key) const;
  /// Tells a KeyRecord, where there is one, that the key is asked for.
  void note(std::string_view key, std::string_view type, double min = 0, double max = 0,
            const std::vector<std::string>& words = {}) const;
  /// The same, and whether it is there.
  bool asks(std::string_view key, std::string_view type, double min = 0, double max = 0) const;
  /// A mapping below this one, by the steps of AskedKey::mapping.
  Reader below(const YamlNode& node, std::string path, std::string_view step,
               std::string_view further = {}) const;

  const YamlNode* node_;
  std::string file_, path_;
  std::string mapping_;  ///< AskedKey::mapping, where there is a KeyRecord
  std::vector<std::string> asked_, refused_;
};

/// Reads physical figures. Each one is a mapping {value, source, status[, note]}: `source` is a key
/// of the table of sources, `status` says how far to trust it. Only an assumption may cite a source
/// without an address.
class Figures {
 public:
  explicit Figures(const std::map<std::string, Source>& sources) : sources_(sources) {}

  Bandwidth bandwidth(Reader& in, std::string_view key) const;
  Duration duration(Reader& in, std::string_view key) const;
  Bytes bytes(Reader& in, std::string_view key) const;
  double metres(Reader& in, std::string_view key) const;
  double watts(Reader& in, std::string_view key) const;
  double flop_rate(Reader& in, std::string_view key) const;
  double number(Reader& in, std::string_view key, double min, double max) const;
  int whole(Reader& in, std::string_view key, int min, int max) const;
  /// Checks `source`, `status` and `note` of any mapping that carries them.
  void check_source(Reader& in) const;

 private:
  template <class Get>
  auto figure(Reader& in, std::string_view key, Get get) const;

  const std::map<std::string, Source>& sources_;
};

/// Reads "sources: {key: {what, url}}" into `sources`.
void read_sources(Reader& in, std::map<std::string, Source>& sources);

}  // namespace fabricast
