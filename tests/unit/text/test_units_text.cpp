// Goal: quantities are read exactly or refused with a message that says what to write.
// Method: values a reader can check by hand, each unit once, and both sides of every limit.

#include <doctest/doctest.h>

#include "tests/unit/error_text.hpp"
#include "text/unit_text.hpp"

using namespace fabricast;

TEST_CASE("bandwidth: bits and bytes, decimal and binary prefixes") {
  CHECK(parse_bandwidth("400 Gb/s").bytes_per_s == 50'000'000'000);
  CHECK(parse_bandwidth("400Gb/s").bytes_per_s == 50'000'000'000);
  CHECK(parse_bandwidth("  20.6 GB/s ").bytes_per_s == 20'600'000'000);
  CHECK(parse_bandwidth("14.0625 GB/s").bytes_per_s == 14'062'500'000);
  CHECK(parse_bandwidth("8 b/s").bytes_per_s == 1);
  CHECK(parse_bandwidth("1 kB/s").bytes_per_s == 1'000);
  CHECK(parse_bandwidth("1 Mb/s").bytes_per_s == 125'000);
  CHECK(parse_bandwidth("1.6 Tb/s").bytes_per_s == 200'000'000'000);
  CHECK(parse_bandwidth("1 KiB/s").bytes_per_s == 1'024);
  CHECK(parse_bandwidth("1 Gib/s").bytes_per_s == (1 << 27));
  CHECK(parse_bandwidth("2 TiB/s").bytes_per_s == (1LL << 41));
}

TEST_CASE("durations and sizes") {
  CHECK(parse_duration("450 ns").ps == 450'000);
  CHECK(parse_duration("1.17us").ps == 1'170'000);
  CHECK(parse_duration("0 ns").ps == 0);
  CHECK(parse_duration("7 ps").ps == 7);
  CHECK(parse_duration("2 ms").ps == 2'000'000'000);
  CHECK(to_text(parse_duration("30 min")) == "1800 s");
  CHECK(parse_duration("106 s").ps == 106'000'000'000'000);
  CHECK(parse_bytes("512 KiB").count == 524'288);
  CHECK(parse_bytes("0.5 KiB").count == 512);
  CHECK(parse_bytes("3MB").count == 3'000'000);
  CHECK(parse_bytes("16 GiB").count == (1LL << 34));
  CHECK(parse_bytes("1 TB").count == 1'000'000'000'000);
  CHECK(parse_metres("2.5 m") == 2.5);
  CHECK(parse_watts("2.5 W") == 2.5);
  CHECK(parse_watts("1.72 kW") == 1720);
}

TEST_CASE("a share has its sign once, and lies where it may") {
  CHECK(parse_percent("12.5 %") == 0.125);
  CHECK(parse_percent(" 5%") == 0.05);
  CHECK(parse_percent("100%", 0.001, 100) == 1);
  CHECK(error_text([] { parse_percent("10%%"); }) ==
        "\"10%%\" is no share\nhint: write it like 5%");
  CHECK(error_text([] { parse_percent("0.95"); }) ==
        "\"0.95\" is no share\nhint: write it like 95%");
  CHECK(error_text([] { parse_percent("101%", 0, 100); }) ==
        "\"101%\" is no share from 0 % to 100 %\nhint: write it like 5%");
  CHECK(error_text([] { parse_percent("inf %"); }).starts_with("\"inf %\" is no share"));
  CHECK(error_text([] { parse_percent(""); }).starts_with("\"\" is no share"));
}

TEST_CASE("digits are never rounded on the way") {
  // 2^53 + 1 does not fit a double.
  CHECK(parse_bytes("9007199254740993 B").count == 9'007'199'254'740'993);
  CHECK(parse_duration("9007199254.740993 ms").ps == 9'007'199'254'740'993'000);
  CHECK(parse_bytes("9223372036854775807 B").count == INT64_MAX);
  CHECK(parse_bytes("0000000000000000000000000000001.50000000000000000000000000 kB").count ==
        1'500);
}

TEST_CASE("sizes of which a thousandth overflows have a text") {
  CHECK(to_text(Bytes{std::int64_t{1} << 62}) == "4194304 TiB");
  CHECK(to_text(Bytes{(std::int64_t{1} << 62) + 1}) == "4611686018427387905 B");
}

TEST_CASE("what is wrong with a quantity, and what to write instead") {
  CHECK(error_text([] { parse_bandwidth("450 GBs"); }) ==
        "unknown unit \"GBs\"\nhint: did you mean \"GB/s\"?");
  CHECK(error_text([] { parse_bandwidth("400 Gbps"); }) ==
        "unknown unit \"Gbps\"\nhint: did you mean \"Gb/s\"?");
  CHECK(error_text([] { parse_bandwidth("400 Gb"); }) ==
        "unknown unit \"Gb\"\nhint: did you mean \"Gb/s\"?");
  CHECK(error_text([] { parse_bytes("4 KB"); }) ==
        "unknown unit \"KB\"\nhint: did you mean \"kB\"?");
  CHECK(error_text([] { parse_duration("3 fortnights"); }) ==
        "unknown unit \"fortnights\"\nhint: known: ps, ns, us, ms, s, min");
  CHECK(error_text([] { parse_bandwidth("400"); }) ==
        "400 has no unit\nhint: write a bandwidth with its unit, like 400 Gb/s");
  CHECK(error_text([] { parse_duration("1.5"); }) ==
        "1.5 has no unit\nhint: write a time with its unit, like 1.5 ns");
  CHECK(error_text([] { parse_bytes("-5 MiB"); }) ==
        "\"-5 MiB\" is negative\nhint: a size is zero or more");
  CHECK(error_text([] { parse_bytes("many"); }) ==
        "\"many\" is not a size\nhint: write a number and a unit, like 4 MiB");
  CHECK(error_text([] { parse_bytes("1. B"); }) ==
        "\"1. B\" is not a size\nhint: write a number and a unit, like 4 MiB");
  CHECK(error_text([] { parse_bytes(""); }) ==
        "\"\" is not a size\nhint: write a number and a unit, like 4 MiB");
}

TEST_CASE("values outside int64 or between two of its steps are refused") {
  CHECK(error_text([] { parse_bytes("9223372036854775808 B"); }) ==
        "\"9223372036854775808 B\" is too large");
  CHECK(error_text([] { parse_duration("9223373 s"); }) == "\"9223373 s\" is too large");
  CHECK(error_text([] { parse_bandwidth("99999999999999999999999999 TB/s"); }) ==
        "\"99999999999999999999999999 TB/s\" is too large");
  CHECK(error_text([] { parse_metres("99999999999 m"); }) == "\"99999999999 m\" is too large");
  CHECK(error_text([] { parse_watts("20 KW"); }) ==
        "unknown unit \"KW\"\nhint: did you mean \"kW\"?");
  CHECK(error_text([] { parse_watts("9 w"); }).starts_with("unknown unit \"w\""));
  CHECK(error_text([] { parse_bytes("0.3 B"); }) == "\"0.3 B\" is not a whole number of B");
  CHECK(error_text([] { parse_duration("0.1 ps"); }) == "\"0.1 ps\" is not a whole number of ps");
  CHECK(error_text([] { parse_bandwidth("1 b/s"); }) == "\"1 b/s\" is not a whole number of B/s");
}

TEST_CASE("sizes on nccl-tests' command line are powers of 1024") {
  CHECK(parse_nccl_tests_size("8").count == 8);
  CHECK(parse_nccl_tests_size("32K").count == 32 << 10);
  CHECK(parse_nccl_tests_size("128M").count == 128 << 20);
  CHECK(parse_nccl_tests_size("1g").count == 1 << 30);
  CHECK(error_text([] { parse_nccl_tests_size("1T"); }).starts_with("unknown unit \"T\""));
}

TEST_CASE("lists of sizes") {
  const auto counts = [](std::string_view text) {
    std::vector<std::int64_t> out;
    for (const Bytes size : parse_sizes(text)) out.push_back(size.count);
    return out;
  };
  using List = std::vector<std::int64_t>;
  CHECK(counts("8B..64B") == List{8, 16, 32, 64});
  CHECK(counts("8B..100B") == List{8, 16, 32, 64});
  CHECK(counts("1KiB..64KiB:x4") == List{1024, 4096, 16384, 65536});
  CHECK(counts("1MiB,3MB") == List{1'048'576, 3'000'000});
  CHECK(counts("5B") == List{5});
  CHECK(counts("8B..8B") == List{8});
  CHECK(counts("1B..9223372036854775807B").size() == 63);

  CHECK(error_text([] { parse_sizes("0B"); }) == "size must be at least 1 B");
  CHECK(error_text([] { parse_sizes("0B..8B"); }) == "size must be at least 1 B");
  CHECK(error_text([] { parse_sizes("16B..8B"); }) == "the range \"16B..8B\" runs backwards");
  CHECK(error_text([] { parse_sizes("8B..1KiB:x1"); }) ==
        "\"x1\" is no stride of a range\nhint: :x4 multiplies by 4, :+1 adds 1; without one it "
        "doubles");
  CHECK(counts("1MiB..3MiB:+1MiB") == List{1 << 20, 2 << 20, 3 << 20});
  CHECK(error_text([] { parse_sizes("1B..1TB:+1B"); }) == "more than 10000 sizes in one list");
  CHECK(error_text([] { parse_sizes("8B..1KiB:4"); }).starts_with("\"4\" is no stride"));
  CHECK(error_text([] { parse_sizes(" "); }) == "the list of sizes is empty");
  CHECK(error_text([] { parse_sizes("8B,,9B"); }).starts_with("\"\" is not a size"));
  std::string many = "1B";
  for (int i = 0; i < 10'000; ++i) many += ",1B";
  CHECK(error_text([&] { parse_sizes(many); }) == "more than 10000 sizes in one list");
}

TEST_CASE("lists of counts") {
  CHECK(parse_counts("1,2,4", "nodes", 100) == std::vector<int>{1, 2, 4});
  CHECK(parse_counts("1..64", "nodes", 100) == std::vector<int>{1, 2, 4, 8, 16, 32, 64});
  CHECK(error_text([] { parse_counts("0", "nodes", 100); }) == "nodes must be at least 1");
  CHECK(error_text([] { parse_counts("-3", "nodes", 100); }) ==
        "\"-3\" is negative: nodes must be at least 1");
  CHECK(error_text([] { parse_counts("two", "nodes", 100); }) ==
        "\"two\" is not a number of nodes");
  CHECK(error_text([] { parse_counts("4x", "nodes", 100); }) == "\"4x\" is not a number of nodes");
  CHECK(error_text([] { parse_counts("101", "nodes", 100); }) ==
        "101 nodes are too many: at most 100");
  CHECK(error_text([] { parse_counts("99999999999999999999", "nodes", 100); }) ==
        "99999999999999999999 nodes are too many: at most 100");
}

TEST_CASE("quantities as people write them") {
  CHECK(to_text(Bytes{0}) == "0 B");
  CHECK(to_text(Bytes{8}) == "8 B");
  CHECK(to_text(Bytes{524'288}) == "512 KiB");
  CHECK(to_text(Bytes{1 << 30}) == "1 GiB");
  CHECK(to_text(Bytes{3 << 19}) == "1.5 MiB");
  CHECK(to_text(Bytes{3'000'000}) == "3 MB");
  CHECK(to_text(Bytes{1'234'567}) == "1234567 B");
  CHECK(to_text(Bandwidth{48'000'000'000}) == "48 GB/s");
  CHECK(to_text(Bandwidth{370'800'000'000}) == "370.8 GB/s");
  CHECK(to_text(Bandwidth{49'684'619'117}) == "49.68 GB/s");
  CHECK(to_text(Bandwidth{0}) == "0 B/s");
  CHECK(to_bits_text(Bandwidth{50'000'000'000}) == "400 Gb/s");
  CHECK(to_bits_text(Bandwidth{200'000'000'000}) == "1600 Gb/s");
  CHECK(to_text(Duration{2'150'000}) == "2.15 us");
  CHECK(to_text(Duration{450'000}) == "450 ns");
  CHECK(to_text(Duration{-5}) == "-5 ps");
  CHECK(to_text(Duration{0}) == "0 ns");
}

TEST_CASE("text of a size reads back as the same size") {
  for (std::int64_t count = 1; count < (1LL << 50); count = count * 3 + 1) {
    CHECK(parse_bytes(to_text(Bytes{count})).count == count);
    CHECK(parse_bytes(to_text(Bytes{count << 10})).count == count << 10);
  }
}

TEST_CASE("the nearest known word") {
  const std::vector<std::string> known = {"dgx-a100", "dgx-h100", "pcie-2gpu"};
  CHECK(nearest("dgx-h10", known) == "dgx-h100");
  CHECK(nearest("DGX-H100", known) == "dgx-h100");
  CHECK(nearest("pcie", known) == "pcie-2gpu");
  CHECK(nearest("torus", known).empty());
  // Two letters that change places are one edit: HCA is nearer than TC, which takes two.
  CHECK(nearest("NCCL_IB_HAC", {"NCCL_IB_TC", "NCCL_IB_HCA"}) == "NCCL_IB_HCA");
  CHECK(nearest("x", known).empty());
  CHECK(nearest("", known).empty());
}
