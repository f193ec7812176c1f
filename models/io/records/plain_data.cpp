#include "models/io/records/plain_data.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "sim/base/error.hpp"
#include "text/numbers.hpp"

namespace fabricast {

PlainValue PlainValue::of_truth(bool value) {
  PlainValue out;
  out.kind_ = Kind::truth;
  out.whole_ = value ? 1 : 0;
  return out;
}

PlainValue PlainValue::of_whole(std::int64_t value) {
  PlainValue out;
  out.kind_ = Kind::whole;
  out.whole_ = value;
  return out;
}

PlainValue PlainValue::of_number(double value) {
  PlainValue out;
  out.kind_ = Kind::number;
  out.number_ = value;
  return out;
}

PlainValue PlainValue::of_text(std::string_view value) {
  PlainValue out;
  out.kind_ = Kind::text;
  out.text_ = value.data();
  out.size_ = static_cast<std::uint32_t>(value.size());
  return out;
}

std::string_view PlainValue::text() const {
  return is(Kind::text) ? std::string_view(text_, size_) : std::string_view{};
}

std::int64_t PlainValue::whole(std::int64_t otherwise) const {
  if (is(Kind::whole)) return whole_;
  if (is(Kind::text)) return to_number<std::int64_t>(text()).value_or(otherwise);
  if (is(Kind::number) && std::abs(number_) < 9e18) return static_cast<std::int64_t>(number_);
  return otherwise;
}

double PlainValue::number() const {
  if (is(Kind::number)) return number_;
  return is(Kind::whole) ? static_cast<double>(whole_) : 0;
}

PlainValue PlainData::new_node(PlainValue::Kind kind) {
  PlainValue out;
  out.kind_ = kind;
  out.node_ = static_cast<std::uint32_t>(nodes_.size());
  nodes_.emplace_back();
  return out;
}

void PlainData::append(const PlainValue& container, std::span<const PlainValue> items) {
  if (items.empty()) return;
  Node& node = nodes_[container.node_];
  node.items += items.size();
  const bool at_end =
      node.last != kNone && blocks_[node.last].first + blocks_[node.last].items == items_.size();
  if (at_end) {
    blocks_[node.last].items += items.size();
  } else {
    const auto block = static_cast<std::uint32_t>(blocks_.size());
    blocks_.push_back({items_.size(), items.size(), kNone});
    (node.last == kNone ? node.first : blocks_[node.last].next) = block;
    node.last = block;
  }
  items_.insert(items_.end(), items.begin(), items.end());
}

std::size_t PlainData::size(const PlainValue& value) const {
  const bool nested = value.is(PlainValue::Kind::list) || value.is(PlainValue::Kind::table);
  return nested ? nodes_[value.node_].items : 0;
}

PlainValue PlainData::at(const PlainValue& table, std::string_view key) const {
  PlainValue out;
  pairs(table, [&](std::string_view name, const PlainValue& value) {
    if (name == key) out = value;
  });
  return out;
}

PlainValue PlainData::item(const PlainValue& list, std::size_t index) const {
  PlainValue out;
  std::size_t number = 0;
  items(list, [&](const PlainValue& value) {
    if (number++ == index) out = value;
  });
  return out;
}

namespace {

/// Builds what nlohmann's reader tells.
class JsonBuilder {
 public:
  explicit JsonBuilder(PlainData& out) : out_(out) {}

  bool null() { return add({}); }
  bool boolean(bool value) { return add(PlainValue::of_truth(value)); }
  bool number_integer(std::int64_t value) { return add(PlainValue::of_whole(value)); }
  bool number_unsigned(std::uint64_t value) {
    const bool fits = value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return add(fits ? PlainValue::of_whole(static_cast<std::int64_t>(value))
                    : PlainValue::of_number(static_cast<double>(value)));
  }
  bool number_float(double value, const std::string&) { return add(PlainValue::of_number(value)); }
  bool string(std::string& value) { return add(out_.keep_text(std::move(value))); }
  bool binary(nlohmann::json::binary_t&) { return add({}); }
  bool start_object(std::size_t) { return open(out_.new_table()); }
  bool key(std::string& value) {
    keys_.back() = out_.keep_text(std::move(value));
    return true;
  }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(out_.new_list()); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::json::exception&) {
    failed_at = at;
    return false;
  }

  std::size_t failed_at = 0;

 private:
  bool open(const PlainValue& value) {
    add(value);
    open_.push_back(value);
    keys_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }
  bool add(const PlainValue& value) {
    if (open_.empty()) {
      out_.root = value;
    } else if (open_.back().is(PlainValue::Kind::list)) {
      out_.append(open_.back(), {&value, 1});
    } else {
      const PlainValue pair[] = {keys_.back(), value};
      out_.append(open_.back(), pair);
    }
    return true;
  }

  PlainData& out_;
  std::vector<PlainValue> open_, keys_;
};

}  // namespace

PlainData read_plain_json(std::string_view text, const std::string& file) {
  PlainData out;
  JsonBuilder builder(out);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) {
    const bool is_cut = builder.failed_at >= text.size();
    throw Error(Place{file, 0, {}},
                is_cut ? fmt::format("this JSON ends in the middle, at byte {}", text.size())
                       : fmt::format("is no JSON from byte {} on", builder.failed_at));
  }
  return out;
}

}  // namespace fabricast
