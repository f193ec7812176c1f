#pragma once
// Columns that several studies have: one name and unit for one thing. docs/reports.md says what
// each is.

#include "models/io/report/report.hpp"

namespace fabricast::column {

constexpr ReportColumn text(std::string_view name) { return {name, ReportColumn::Type::text}; }
constexpr ReportColumn whole(std::string_view name, std::string_view unit = {}) {
  return {name, ReportColumn::Type::whole, unit};
}
constexpr ReportColumn number(std::string_view name, std::string_view unit = {},
                              std::string_view digits = {}) {
  return {name, ReportColumn::Type::number, unit, digits};
}
constexpr ReportColumn flag(std::string_view name, std::string_view words = {}) {
  return {name, ReportColumn::Type::flag, {}, words};
}
constexpr ReportColumn us(std::string_view name) { return number(name, "us", ".3f"); }
constexpr ReportColumn s(std::string_view name) { return number(name, "s", ".9g"); }

/// One of the parts of a whole, by that name.
constexpr ReportColumn part_of_whole(ReportColumn column, std::string_view name) {
  column.part = name;
  return column;
}

inline constexpr ReportColumn kTopology = text("topology");
inline constexpr ReportColumn kNccl = text("nccl");
inline constexpr ReportColumn kCollective = text("collective");
inline constexpr ReportColumn kNodes = whole("nodes");
inline constexpr ReportColumn kRanks = whole("ranks");
inline constexpr ReportColumn kSize = whole("size_bytes", "B");
inline constexpr ReportColumn kAlgorithm = text("algorithm");
inline constexpr ReportColumn kProtocol = text("protocol");
inline constexpr ReportColumn kChannels = whole("nchannels");
inline constexpr ReportColumn kTunedChannels = whole("nchannels_tuner");
inline constexpr ReportColumn kThreads = whole("nthreads");
inline constexpr ReportColumn kTime = us("time_us");
inline constexpr ReportColumn kLower = us("lower_us");
inline constexpr ReportColumn kUpper = us("upper_us");
inline constexpr ReportColumn kBandBasis = text("band_basis");
inline constexpr ReportColumn kAlgbw = number("algbw_GBps", "GB/s", ".4f");
inline constexpr ReportColumn kBusbw = number("busbw_GBps", "GB/s", ".4f");

}  // namespace fabricast::column
