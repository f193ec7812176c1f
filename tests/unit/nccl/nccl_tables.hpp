#pragma once
// Reads the tables in tests/data/nccl: CSV without quotes, lists inside a field by blanks and ';'.

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "models/nccl/base/channel_graph.hpp"

namespace fabricast::testing {

inline std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::string item;
  std::istringstream stream(text);
  while (std::getline(stream, item, at)) out.push_back(item);
  if (!text.empty() && text.back() == at) out.emplace_back();
  return out;
}

inline std::vector<int> int_list(const std::string& text, char at = ' ') {
  std::vector<int> out;
  for (const std::string& item : split(text, at)) out.push_back(std::stoi(item));
  return out;
}

using Row = std::map<std::string, std::string>;

/// Rows of tests/data/nccl/`name` by column name.
inline std::vector<Row> read_table(const std::string& name) {
  std::ifstream file(FABRICAST_TEST_DATA "/nccl/" + name);
  REQUIRE_MESSAGE(file.good(), name);
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> columns = split(line, ',');
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = split(line, ',');
    REQUIRE_MESSAGE(fields.size() == columns.size(), line);
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < columns.size(); ++i) row[columns[i]] = fields[i];
  }
  return rows;
}

/// A row of graphs-*.csv. Its lists have one entry per search channel; nets are empty on one node.
inline ChannelGraph graph_of(const Row& row) {
  ChannelGraph g;
  g.pattern = static_cast<GraphPattern>(std::stoi(row.at("pattern")));
  g.cross_nic = std::stoi(row.at("cross_nic"));
  g.bw_intra = std::stof(row.at("bw_intra_GBps"));
  g.bw_inter = std::stof(row.at("bw_inter_GBps"));
  g.type_intra = kPathTypeWords.find(row.at("type_intra")).value();
  g.type_inter = kPathTypeWords.find(row.at("type_inter")).value();
  g.same_channels = row.at("same_channels") == "1";
  const std::vector<int> net_in = int_list(row.at("net_in"), ';');
  const std::vector<int> net_out = int_list(row.at("net_out"), ';');
  for (const std::string& order : split(row.at("gpu_order"), ';')) {
    const std::size_t c = g.channels.size();
    g.channels.push_back(
        {int_list(order), net_in.empty() ? -1 : net_in[c], net_out.empty() ? -1 : net_out[c]});
  }
  return g;
}

}  // namespace fabricast::testing
