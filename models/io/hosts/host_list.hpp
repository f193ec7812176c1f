#pragma once
// Lists of hosts as Slurm writes them: "node[01-16,20],gpu7". Slurm's documentation calls them
// hostlist expressions (slurm.schedmd.com/topology.conf.html, scontrol show hostnames).

#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// The most hosts of a list.
inline constexpr std::size_t kHostsMax = 1 << 20;

/// The hosts in their order, each as often as it is named. Between commas, blanks or line breaks
/// stand names; brackets hold numbers and ranges, which keep their leading zeros; a name may have
/// several. Throws Error: a byte that is no printed ASCII, an open bracket, a range that runs
/// backwards, more than kHostsMax hosts.
std::vector<std::string> parse_host_list(std::string_view text);

/// Hosts a line, as `scontrol show hostnames` prints them and mpirun takes them: of each line the
/// first word counts; what follows "#" does not. A word may be a list. Throws Error with the line,
/// or where there is no host.
std::vector<std::string> parse_host_file(const std::string& text, const std::string& file);

/// The shortest list of these hosts, in their order: neighbours that count up are joined.
std::string to_host_list(const std::vector<std::string>& hosts);

}  // namespace fabricast
