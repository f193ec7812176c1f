// Python's pickle, read without calling anything. Bytes are written by hand, as
// Lib/pickletools.py of CPython explains them.

#include <doctest/doctest.h>

#include <limits>

#include "models/io/records/pickle.hpp"
#include "tests/unit/error_text.hpp"

namespace fabricast {
namespace {

using namespace std::string_literals;

std::string error(const std::string& bytes) {
  return error_text([&] { read_pickle(bytes, "f"); });
}

}  // namespace

TEST_CASE("pickle: plain data of protocols 2 to 5") {
  // {"a": [1, 300, -2, 2.5, None, True, "x"], "b": ("y", "x")} with the text "x" from the memo.
  const std::string bytes =
      "\x80\x02}q\0("s                  // dict, memo 0, mark
      "X\1\0\0\0a"s                     // "a"
      "](K\1M\x2c\1J\xfe\xff\xff\xff"s  // list: 1, 300, -2
      "G\x40\x04\0\0\0\0\0\0N\x88"s     // 2.5, None, True
      "X\1\0\0\0xq\1e"s                 // "x" into memo 1, appends
      "X\1\0\0\0b\x8c\1yh\1\x86u."s;    // "b", ("y", memo 1), setitems
  const PlainData data = read_pickle(bytes, "f");
  const PlainValue list = data.at(data.root, "a"), pair = data.at(data.root, "b");
  CHECK(data.size(list) == 7);
  CHECK(data.item(list, 0).whole() == 1);
  CHECK(data.item(list, 1).whole() == 300);
  CHECK(data.item(list, 2).whole() == -2);
  CHECK(data.item(list, 3).number() == 2.5);
  CHECK(data.item(list, 4).is(PlainValue::Kind::none));
  CHECK(data.item(list, 5).truth());
  CHECK(data.item(list, 6).text() == "x");
  CHECK(data.item(pair, 0).text() == "y");
  CHECK(data.item(pair, 1).text() == "x");
  CHECK(data.at(data.root, "c").is(PlainValue::Kind::none));
}

TEST_CASE("pickle: long integers are two's complement of any width up to 8 bytes") {
  const auto value = [](const std::string& bytes) { return read_pickle(bytes, "f").root.whole(7); };
  CHECK(value("\x80\x02\x8a\0."s) == 0);
  CHECK(value("\x80\x02\x8a\1\xff."s) == -1);
  CHECK(value("\x80\x02\x8a\2\xff\0."s) == 255);
  CHECK(value("\x80\x02\x8a\x08\0\0\0\0\0\0\0\x80."s) == std::numeric_limits<std::int64_t>::min());
  CHECK(value("\x80\x02\x8b\1\0\0\0\x05."s) == 5);
  CHECK(error("\x80\x02\x8a\x09\1\2\3\4\5\6\7\x08\x09."s) ==
        "f: byte 2: this pickle is broken: an integer of more than 64 bit");
}

TEST_CASE("pickle: what calls something is refused by its name, at its byte") {
  CHECK(error("\x80\x02"
              "cposix\nsystem\nX\2\0\0\0ls\x85R."s) ==
        "f: byte 2: GLOBAL of posix.system is refused: plain data has none, and nothing is called");
  CHECK(error("\x80\x02}R."s) ==
        "f: byte 3: REDUCE is refused: plain data has none, and nothing is called");
  CHECK(error("\x80\x04\x8c\2os\x8c\6system\x93."s).starts_with("f: byte 14: STACK_GLOBAL"));
  CHECK(error("\x80\x02}b."s).starts_with("f: byte 3: BUILD"));
  CHECK(error("\x80\x02)\x81."s).starts_with("f: byte 3: NEWOBJ"));
  CHECK(error("\x80\x02Px\n."s).starts_with("f: byte 2: PERSID"));
  CHECK(error("\x80\x02I1\n."s) ==
        "f: byte 2: opcode 0x49 is none of plain data of protocols 2 to 5");
}

TEST_CASE("pickle: cut and broken ones") {
  const std::string bytes = "\x80\x02](X\3\0\0\0abcK\1e."s;
  CHECK(read_pickle(bytes, "f").root.is(PlainValue::Kind::list));
  for (std::size_t size = 2; size < bytes.size(); ++size)
    CHECK(error(bytes.substr(0, size)) ==
          "f: byte " + std::to_string(size) + ": this pickle ends in the middle: it was cut off");
  CHECK(error("(dp0\n.") == "f: is no pickle of protocol 2 to 5\nhint: PyTorch writes protocol 2");
  CHECK(error("\x80\x02."s).ends_with("STOP leaves more or less than one value"));
  CHECK(error("\x80\x02NN."s).ends_with("STOP leaves more or less than one value"));
  CHECK(error("\x80\x02Na."s).ends_with("too few values are on its stack"));
  CHECK(error("\x80\x02NNa."s).ends_with("it appends to what is no list"));
  CHECK(error("\x80\x02}(Nu."s).ends_with("a key has no value"));
  CHECK(error("\x80\x02h\7."s).ends_with("a memo that was never put"));
  CHECK(error("\x80\x02Nr\xff\xff\xff\xff."s).ends_with("a memo beyond its size"));
  CHECK(error("\x80\x02t."s).ends_with("no mark is open"));
  CHECK(error("\x80\x02X\xff\xff\xff\xff"s).ends_with("it was cut off"));
}

TEST_CASE("plain JSON: the same values, and where it is none") {
  const PlainData data =
      read_plain_json(R"({"a": [1, 2.5, "x", null, true], "b": {"c": 18e18}})", "f");
  const PlainValue list = data.at(data.root, "a");
  CHECK(data.size(list) == 5);
  CHECK(data.item(list, 0).whole() == 1);
  CHECK(data.item(list, 2).text() == "x");
  CHECK(data.at(data.at(data.root, "b"), "c").number() == 18e18);
  CHECK(error_text([] {
          read_plain_json(R"({"a": [1, 2)", "f");
        }).starts_with("f: this JSON ends in the middle, at byte 11"));
  CHECK(error_text([] {
          read_plain_json(R"({"a" 1})", "f");
        }).starts_with("f: is no JSON from byte"));
}

}  // namespace fabricast
