#pragma once
// Plain data, as pickle and JSON both write it: nothing, truth, numbers, text, lists and tables.
// What is nested lies in one arena, so that a dump of thousands of calls takes a few allocations.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// A value of a PlainData; small, and as short-lived as that.
class PlainValue {
 public:
  enum class Kind : std::uint8_t { none, truth, whole, number, text, list, table };

  PlainValue() = default;
  static PlainValue of_truth(bool value);
  static PlainValue of_whole(std::int64_t value);
  static PlainValue of_number(double value);
  static PlainValue of_text(std::string_view value);  ///< a view: the text must stay

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }

  /// "" of what is no text; 0 of what is no number; false of what is no truth.
  std::string_view text() const;
  std::int64_t whole(std::int64_t otherwise = 0) const;  ///< also of text that is digits
  double number() const;
  bool truth() const { return is(Kind::truth) && whole_ != 0; }

 private:
  friend class PlainData;
  Kind kind_ = Kind::none;
  std::uint32_t size_ = 0;  ///< of a text
  union {
    std::int64_t whole_ = 0;
    double number_;
    const char* text_;
    std::uint32_t node_;  ///< of a list or a table
  };
};

class PlainData {
 public:
  PlainValue root;

  PlainValue new_list() { return new_node(PlainValue::Kind::list); }
  PlainValue new_table() { return new_node(PlainValue::Kind::table); }
  /// To a list items, to a table keys and values in turn. REQUIRES: a list or a table of this.
  void append(const PlainValue& container, std::span<const PlainValue> items);
  /// A text that lives as long as this.
  PlainValue keep_text(std::string value) {
    return PlainValue::of_text(texts_.emplace_back(std::move(value)));
  }

  /// Items of a list; keys and values of a table, in turn. 0 of anything else.
  std::size_t size(const PlainValue& value) const;
  /// `each(item)` for each of a list, nothing of what is none.
  template <class Each>
  void items(const PlainValue& list, Each each) const {
    if (list.is(PlainValue::Kind::list))
      walk(list, 1, [&](const PlainValue* item) { each(*item); });
  }
  /// `each(key, value)` for each of a table whose key is a text; nothing of what is none.
  template <class Each>
  void pairs(const PlainValue& table, Each each) const {
    if (!table.is(PlainValue::Kind::table)) return;
    walk(table, 2, [&](const PlainValue* item) {
      if (item[0].is(PlainValue::Kind::text)) each(item[0].text(), item[1]);
    });
  }
  /// The last of that key; nothing without one, or of what is no table.
  PlainValue at(const PlainValue& table, std::string_view key) const;
  /// The item of a list; nothing beyond its end.
  PlainValue item(const PlainValue& list, std::size_t index) const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Block {
    std::size_t first = 0, items = 0;
    std::uint32_t next = kNone;
  };
  struct Node {
    std::uint32_t first = kNone, last = kNone;  ///< blocks
    std::size_t items = 0;
  };

  PlainValue new_node(PlainValue::Kind kind);
  template <class Each>
  void walk(const PlainValue& value, std::size_t step, Each each) const {
    for (std::uint32_t at = nodes_[value.node_].first; at != kNone; at = blocks_[at].next) {
      const Block& block = blocks_[at];
      for (std::size_t i = 0; i + step <= block.items; i += step) each(&items_[block.first + i]);
    }
  }

  std::vector<Node> nodes_;
  std::vector<Block> blocks_;
  std::vector<PlainValue> items_;
  std::deque<std::string> texts_;
};

/// JSON. Throws Error with the byte where it is none.
PlainData read_plain_json(std::string_view text, const std::string& file);

}  // namespace fabricast
