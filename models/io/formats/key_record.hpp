#pragma once
// What Readers ask of files, written down: the schemas of docs/schema.md are made of it, so that
// they say what the readers take, and nothing else.

#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// A key that a Reader was asked for.
struct AskedKey {
  std::string file;
  /// The mapping: the keys from the root, a line each; "[]" for an item of a list, "*" for what the
  /// user names in a table.
  std::string mapping;
  std::string key;
  /// "text", "whole", "bandwidth" ... as the functions of Reader are named. "lacking": refused, for
  /// the key is missing. "maybe": asked whether it is there. Of a whole mapping, with no key:
  /// "open": the user chooses the keys; "closed": others than those asked for are refused.
  std::string_view type;
  bool is_there = false;
  double min = 0, max = 0;         ///< "whole", "number"
  std::vector<std::string> words;  ///< "choice"
};

/// While one lives, all that Readers of this thread are asked goes into it.
class KeyRecord {
 public:
  KeyRecord();
  ~KeyRecord();
  KeyRecord(const KeyRecord&) = delete;
  KeyRecord& operator=(const KeyRecord&) = delete;

  /// Of this thread; nullptr where there is none.
  static KeyRecord* current();
  void add(AskedKey asked) { asked_.push_back(std::move(asked)); }
  const std::vector<AskedKey>& asked() const { return asked_; }

 private:
  KeyRecord* outer_;
  std::vector<AskedKey> asked_;
};

}  // namespace fabricast
