#pragma once
// Quantities as text. Units are required ("450 GB/s", "400 Gb/s", "700 ns", "4 MiB"), parsed
// exactly (decimal digits, never through double). GB = 10^9, GiB = 2^30, b bits, B bytes.

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "text/words.hpp"  // IWYU pragma: export

namespace fabricast {

/// Each throws Error without a place (the caller adds it): the message names the text and what is
/// wrong with it, the hint the nearest known unit.
Bandwidth parse_bandwidth(std::string_view text);
Duration parse_duration(std::string_view text);
Bytes parse_bytes(std::string_view text);
double parse_metres(std::string_view text);
/// Electric power: "1.7 kW" is 1700.
double parse_watts(std::string_view text);
/// A share: "5 %" is 0.05. `least` and `most` in percent.
double parse_percent(std::string_view text, double least = 0,
                     double most = std::numeric_limits<double>::infinity());
/// FLOPs per second: "989 TFLOP/s".
double parse_flop_rate(std::string_view text);

/// A size as nccl-tests reads it on its command line: "8", "1G", "128M", "32K" are powers of 1024.
Bytes parse_nccl_tests_size(std::string_view text);
/// Values and ranges (range_text.hpp) between commas: "8B..16GiB:x4,1MiB". A factor is whole.
std::vector<Bytes> parse_sizes(std::string_view text);
/// The same: "1,2,4" or "1..64".
std::vector<int> parse_counts(std::string_view text, std::string_view what, int max);

/// Shortest text that a person expects: "1 GiB", "524288 B" never for 512 KiB, "48 GB/s", "2.15
/// us".
std::string to_text(Bytes size);
std::string to_text(Bandwidth rate);
std::string to_text(Duration time);
/// Ports are spoken of in bits: "400 Gb/s".
std::string to_bits_text(Bandwidth rate);

}  // namespace fabricast
