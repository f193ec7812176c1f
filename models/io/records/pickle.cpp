#include "models/io/records/pickle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "sim/base/error.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

enum Opcode : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kEmptyList = ']',
  kAppend = 'a',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kEmptyTuple = ')',
  kSetItems = 'u',
  kEmptyDict = '}',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kMemoize = 0x94,
  kFrame = 0x95,
};

/// Opcodes that are never followed: they call something, name an object, or make what no dump of
/// plain data has.
constexpr std::array<std::pair<std::uint8_t, std::string_view>, 18> kRefused = {
    {{'c', "GLOBAL"},
     {'R', "REDUCE"},
     {'b', "BUILD"},
     {'i', "INST"},
     {'o', "OBJ"},
     {'P', "PERSID"},
     {'Q', "BINPERSID"},
     {0x81, "NEWOBJ"},
     {0x82, "EXT1"},
     {0x83, "EXT2"},
     {0x84, "EXT4"},
     {0x8f, "EMPTY_SET"},
     {0x90, "ADDITEMS"},
     {0x91, "FROZENSET"},
     {0x92, "NEWOBJ_EX"},
     {0x93, "STACK_GLOBAL"},
     {0x97, "NEXT_BUFFER"},
     {0x98, "READONLY_BUFFER"}}};

class Unpickler {
 public:
  Unpickler(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  PlainData read() {
    if (!begins_as_pickle(bytes_))
      fail(0, "is no pickle of protocol 2 to 5", "PyTorch writes protocol 2");
    while (at_ < bytes_.size()) {
      opcode_at_ = at_;
      const auto opcode = static_cast<std::uint8_t>(bytes_[at_++]);
      if (opcode == kStop) {
        if (stack_.size() != 1 || !marks_.empty())
          broken("STOP leaves more or less than one value");
        out_.root = stack_.back();
        return std::move(out_);
      }
      if (!value(opcode) && !container(opcode) && !memo(opcode)) refuse(opcode);
    }
    cut();
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& what, std::string hint = {}) const {
    throw Error(Place{file_, 0, {}}, at == 0 ? what : fmt::format("byte {}: {}", at, what),
                std::move(hint));
  }
  [[noreturn]] void cut() const {
    fail(bytes_.size(), "this pickle ends in the middle: it was cut off");
  }
  [[noreturn]] void broken(const char* what) const {
    fail(opcode_at_, fmt::format("this pickle is broken: {}", what));
  }

  [[noreturn]] void refuse(std::uint8_t opcode) const {
    const auto known = std::ranges::find(kRefused, opcode, &decltype(kRefused)::value_type::first);
    if (known == kRefused.end())
      fail(opcode_at_,
           fmt::format("opcode 0x{:02x} is none of plain data of protocols 2 to 5", opcode));
    std::string name;  // GLOBAL and INST: module and name, a line each
    if (opcode == 'c' || opcode == 'i') {
      const std::string_view rest = bytes_.substr(at_, 200);
      const std::size_t first = rest.find('\n');
      const std::size_t second = first == rest.npos ? rest.npos : rest.find('\n', first + 1);
      if (second != rest.npos)
        name = fmt::format(" of {}.{}", line_text(rest.substr(0, first)),
                           line_text(rest.substr(first + 1, second - first - 1)));
    }
    fail(opcode_at_, fmt::format("{}{} is refused: plain data has none, and nothing is called",
                                 known->second, name));
  }

  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) cut();
    const std::string_view out = bytes_.substr(at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return out;
  }
  /// Little-endian, as all lengths and integers of these protocols.
  std::uint64_t number(std::size_t width) {
    std::uint64_t out = 0;
    const std::string_view bytes = take(width);
    for (std::size_t i = 0; i < width; ++i)
      out |= std::uint64_t{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
    return out;
  }

  bool push(const PlainValue& value) {
    stack_.push_back(value);
    return true;
  }
  bool text(std::size_t width) {
    const std::string_view value = take(number(width));
    if (value.size() > ~std::uint32_t{0}) broken("a text of more than 4 GiB");
    return push(PlainValue::of_text(value));
  }

  /// Two's complement of any length; beyond 64 bit it is no number that a dump has.
  bool long_integer(std::uint64_t size) {
    if (size > 8) broken("an integer of more than 64 bit");
    const auto width = static_cast<std::size_t>(size);
    std::uint64_t value = number(width);
    const bool negative = width > 0 && (value >> (8 * width - 1) & 1) != 0;
    if (negative && width < 8) value |= ~std::uint64_t{0} << (8 * width);
    return push(PlainValue::of_whole(static_cast<std::int64_t>(value)));
  }

  bool binary_float() {
    std::uint64_t bits = 0;  // big-endian
    for (const char byte : take(8)) bits = bits << 8 | static_cast<std::uint8_t>(byte);
    return push(PlainValue::of_number(std::bit_cast<double>(bits)));
  }

  bool value(std::uint8_t opcode) {
    switch (opcode) {
      case kNone:
        return push({});
      case kNewTrue:
      case kNewFalse:
        return push(PlainValue::of_truth(opcode == kNewTrue));
      case kBinInt:
        return push(PlainValue::of_whole(static_cast<std::int32_t>(number(4))));
      case kBinInt1:
        return push(PlainValue::of_whole(static_cast<std::int64_t>(number(1))));
      case kBinInt2:
        return push(PlainValue::of_whole(static_cast<std::int64_t>(number(2))));
      case kLong1:
        return long_integer(number(1));
      case kLong4:
        return long_integer(number(4));
      case kBinFloat:
        return binary_float();
      case kShortBinUnicode:
      case kShortBinString:
      case kShortBinBytes:
        return text(1);
      case kBinUnicode:
      case kBinString:
      case kBinBytes:
        return text(4);
      case kBinUnicode8:
      case kBinBytes8:
        return text(8);
      default:
        return false;
    }
  }

  /// Where the values of the open mark begin on the stack; the mark is taken off.
  std::size_t since_mark() {
    if (marks_.empty()) broken("no mark is open");
    const std::size_t out = marks_.back();
    marks_.pop_back();
    return out;
  }
  /// How many values the innermost mark leaves.
  void need(std::size_t count) const {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() < floor + count) broken("too few values are on its stack");
  }

  bool add_to(PlainValue::Kind kind, std::size_t first) {
    if (first == 0 || (!marks_.empty() && marks_.back() >= first) || !stack_[first - 1].is(kind))
      broken(kind == PlainValue::Kind::list ? "it appends to what is no list"
                                            : "it sets items of what is no dict");
    if (kind == PlainValue::Kind::table && (stack_.size() - first) % 2 != 0)
      broken("a key has no value");
    out_.append(stack_[first - 1], {stack_.data() + first, stack_.size() - first});
    stack_.resize(first);
    return true;
  }

  bool tuple(std::size_t first) {
    const PlainValue out = out_.new_list();
    out_.append(out, {stack_.data() + first, stack_.size() - first});
    stack_.resize(first);
    return push(out);
  }
  bool tuple_of(std::size_t count) {
    need(count);
    return tuple(stack_.size() - count);
  }

  bool container(std::uint8_t opcode) {
    switch (opcode) {
      case kMark:
        marks_.push_back(stack_.size());
        return true;
      case kEmptyList:
      case kEmptyTuple:
        return push(out_.new_list());
      case kEmptyDict:
        return push(out_.new_table());
      case kTuple:
        return tuple(since_mark());
      case kTuple1:
      case kTuple2:
      case kTuple3:
        return tuple_of(opcode - kTuple1 + std::size_t{1});
      case kAppend:
        need(2);
        return add_to(PlainValue::Kind::list, stack_.size() - 1);
      case kAppends:
        return add_to(PlainValue::Kind::list, since_mark());
      case kSetItem:
        need(3);
        return add_to(PlainValue::Kind::table, stack_.size() - 2);
      case kSetItems:
        return add_to(PlainValue::Kind::table, since_mark());
      case kPop:
        need(1);
        stack_.pop_back();
        return true;
      case kPopMark:
        stack_.resize(since_mark());
        return true;
      default:
        return false;
    }
  }

  bool put(std::uint64_t index) {
    need(1);
    // A pickle has no more objects than bytes.
    if (index >= bytes_.size()) broken("a memo beyond its size");
    if (index >= memo_.size()) {
      memo_.resize(static_cast<std::size_t>(index) + 1);
      is_put_.resize(memo_.size());
    }
    memo_[static_cast<std::size_t>(index)] = stack_.back();
    is_put_[static_cast<std::size_t>(index)] = true;
    return true;
  }
  bool get(std::uint64_t index) {
    if (index >= memo_.size() || !is_put_[static_cast<std::size_t>(index)])
      broken("a memo that was never put");
    return push(memo_[static_cast<std::size_t>(index)]);
  }

  bool memo(std::uint8_t opcode) {
    switch (opcode) {
      case kProto:
      case kFrame:
        take(opcode == kProto ? 1 : 8);
        return true;
      case kBinPut:
        return put(number(1));
      case kLongBinPut:
        return put(number(4));
      case kMemoize:
        return put(memo_.size());
      case kBinGet:
        return get(number(1));
      case kLongBinGet:
        return get(number(4));
      default:
        return false;
    }
  }

  std::string_view bytes_;
  const std::string& file_;
  std::size_t at_ = 0, opcode_at_ = 0;
  std::vector<PlainValue> stack_, memo_;
  std::vector<bool> is_put_;
  std::vector<std::size_t> marks_;  ///< sizes of the stack where they were set
  PlainData out_;
};

}  // namespace

bool begins_as_pickle(std::string_view bytes) {
  return bytes.size() >= 2 && static_cast<std::uint8_t>(bytes[0]) == kProto && bytes[1] >= 2 &&
         bytes[1] <= 5;
}

PlainData read_pickle(std::string_view bytes, const std::string& file) {
  return Unpickler(bytes, file).read();
}

}  // namespace fabricast
