#pragma once
// The catalogue of environment variables: who reads each, in which releases, what it takes, what it
// changes. Data: models/nccl/environment/variables.yaml, embedded in the program; the linter,
// `--explain` and docs/variables.md all read it.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/nccl/base/types.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

/// Who calls getenv. `other` and plugins are named in Variable::who.
enum class VariableReader : std::uint8_t {
  libnccl,
  net_plugin,
  tuner_plugin,
  profiler_plugin,
  cuda,
  pytorch,
  nccl_tests,
  rccl,
  other,
  nobody
};

/// How the text of a value is read.
enum class VariableType : std::uint8_t {
  text,
  path,
  integer,     ///< strtoll, base 0; what follows the number is ignored
  boolean,     ///< as integer: 0 is off, anything else on
  torch_bool,  ///< PyTorch's: 1/true/yes/y, 0/false/no/n
  word,        ///< one of Variable::words
  words,       ///< a comma list of them
  list,
  algorithms,  ///< NCCL_ALGO
  protocols,   ///< NCCL_PROTO
  hcas,        ///< `[^][=]name[:port],...`
  interfaces,  ///< `[^][=]prefix,...`
  level        ///< a path type in upper case, or an old number
};

/// What must be there for a variable to have an effect.
enum class Need : std::uint8_t {
  nodes,  ///< more than one
  single_node,
  nic,           ///< an RDMA NIC that is used
  verbs,         ///< an RDMA NIC of NCCL's own InfiniBand network, which no plugin serves
  several_nics,  ///< of one node
  sockets,       ///< the Socket network carries the data
  nvlink,
  no_nvlink,
  nvls,   ///< compute capability 9.0+ and NVSwitches
  sm90,   ///< compute capability 9.0+
  sm100,  ///< compute capability 10.0+
  sharp,  ///< a CollNet plugin and switches that reduce
  mnnvl,  ///< NVLink between nodes
  c2c     ///< a CPU on NVLink-C2C (Grace)
};

/// What a variable changes in a run.
enum class ActsOn : std::uint8_t {
  none,
  algorithm,
  protocol,
  channels,
  topology,
  transport,
  chunking,
  fault,
  logging
};

/// A release range: any 2.x.y, also one that is not modelled. Patch 99: the series' last.
struct ReleaseDefault {
  NcclVersion since;
  std::string value;  ///< as the user would write it; "automatic" when NCCL decides
};

/// How the releases up to the next reading take a value.
struct VariableReading {
  std::optional<NcclVersion> since;      ///< nothing: the first release that reads the variable
  std::string text;                      ///< "1 to 32", "as before, with C2C ..."
  std::vector<std::string> words;        ///< that they know; empty: Variable::words
  std::optional<std::int64_t> min, max;  ///< nothing: those of the Variable
  std::string source;
};

struct Variable {
  std::string name;  ///< a '*' at its end: a family of names
  VariableReader reader{};
  std::string who;                          ///< reader in words, when the enum does not say it
  std::optional<NcclVersion> since, until;  ///< first and last release that reads it
  std::string releases;                     ///< of PyTorch, as text
  VariableType type{};
  std::vector<std::string> words;
  std::optional<std::int64_t> min, max;
  std::string unit;
  std::string default_text;               ///< of the newest release, for people
  std::vector<ReleaseDefault> defaults;   ///< oldest first; empty: always default_text
  std::vector<VariableReading> readings;  ///< oldest first; empty: all releases read it alike
  ActsOn acts_on{};
  std::vector<Need> needs;
  std::string instead;  ///< what to set in its place
  std::string effect, note, evidence;

  bool is_family() const { return name.ends_with('*'); }
  bool has_need(Need need) const { return std::ranges::find(needs, need) != needs.end(); }
  /// Is it read by NCCL of this release? False for what others read.
  bool read_in(NcclVersion version) const;
  /// The reader in words.
  std::string reader_text() const;
  /// Its default in this release as a value one could set; nothing when NCCL decides.
  std::optional<std::string> default_in(NcclVersion version) const;
  /// The same for people: "automatic", "512 (256 for ...)".
  std::string default_text_in(NcclVersion version) const;
  /// nullptr: no reading is given, or the release does not read it.
  const VariableReading* reading_in(NcclVersion version) const;
  /// The words that this release knows.
  const std::vector<std::string>& words_in(NcclVersion version) const;
  std::optional<std::int64_t> min_in(NcclVersion version) const;
  std::optional<std::int64_t> max_in(NcclVersion version) const;
};

/// The newest release whose names were searched: what later ones add or drop is not known.
inline constexpr NcclVersion kNewestSearched = kNccl2_30_7;

class VariableCatalogue {
 public:
  /// REQUIRES: unique names.
  explicit VariableCatalogue(std::vector<Variable> variables);

  /// In the order of their names.
  std::span<const Variable> all() const { return variables_; }
  /// The variable of exactly this name, else the longest family it belongs to, else nullptr.
  const Variable* find(std::string_view name) const;
  /// The nearest name that somebody reads, or "".
  std::string nearest_read(std::string_view name) const;

 private:
  std::vector<Variable> variables_;
  std::vector<std::string> read_names_;
};

/// What somebody should know who sets a name that NCCL of his release does not read.
struct UnreadName {
  std::string why;      ///< "not read by NCCL 2.21.5: NCCL 2.4.8 was the last", "read by nobody"
  std::string instead;  ///< "use NCCL_ALGO", "did you mean NCCL_ALGO?"; may be empty
};
/// Nothing when NCCL of the release reads it.
std::optional<UnreadName> unread_name(const VariableCatalogue& catalogue, std::string_view name,
                                      NcclVersion version);

/// What changes for a variable between two releases: new, gone, another default, another reading.
struct VariableChange {
  enum class Kind : std::uint8_t { appears, goes, default_changes, reading_changes };
  const Variable* variable = nullptr;
  Kind kind{};
  std::string text;   ///< "since NCCL 2.23.4: 20; before it: 18", without the name
  NcclVersion since;  ///< the release that brought it; of a variable's last release, that one
};
/// In the order of names. Of what libnccl reads alone. `to` may be older than `from`: what is new
/// then goes. The catalogue must outlive the result.
std::vector<VariableChange> variable_changes(const VariableCatalogue& catalogue, NcclVersion from,
                                             NcclVersion to);

/// "libnccl", "net plugin", "PyTorch", ...
std::string_view to_text(VariableReader reader);
/// Words of the data file.
inline constexpr auto kVariableReaderWords =
    enum_words<VariableReader>("libnccl", "net_plugin", "tuner_plugin", "profiler_plugin", "cuda",
                               "pytorch", "nccl_tests", "rccl", "other", "nobody");
inline constexpr auto kVariableTypeWords =
    enum_words<VariableType>("text", "path", "int", "bool", "torch_bool", "word", "words", "list",
                             "algorithms", "protocols", "hcas", "interfaces", "level");
inline constexpr auto kNeedWords =
    enum_words<Need>("nodes", "single_node", "nic", "verbs", "several_nics", "sockets", "nvlink",
                     "no_nvlink", "nvls", "sm90", "sm100", "sharp", "mnnvl", "c2c");
inline constexpr auto kActsOnWords =
    enum_words<ActsOn>("none", "algorithm", "protocol", "channels", "topology", "transport",
                       "chunking", "fault", "logging");
constexpr std::string_view to_text(ActsOn acts_on) { return kActsOnWords[acts_on]; }
constexpr std::string_view to_text(VariableType type) { return kVariableTypeWords[type]; }

}  // namespace fabricast
