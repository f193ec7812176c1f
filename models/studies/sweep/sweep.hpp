#pragma once
// A file of `kind: sweep`: a question and axes, each of which says other values of some of its
// keys. Every combination is a point: a question of its own, whose identity is a hash of what it
// says.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/io/formats/yaml_tree.hpp"
#include "models/io/formulas/formula.hpp"
#include "models/studies/questions/question.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

/// So many points of a sweep at most.
inline constexpr std::size_t kSweepPointsMax = 10'000'000;

struct SweepAxis {
  /// Dotted paths in the question; several change together. `nics`, `topology.gpu` and
  /// `fabric.oversubscription` change the name that stands there: "dgx-h100:nics=4"
  /// (topology_name.hpp). `site.` and `ask.`, which reports have, may stand before any.
  std::vector<std::string> keys;
  /// Each holds a node for each key; null: the key goes.
  std::vector<std::vector<YamlNode>> values;
  int line = 0;
};

struct Sweep {
  std::string name, title, file;
  std::string question_file;  ///< paths in the question start from its folder
  YamlNode question;
  std::vector<SweepAxis> axes;   ///< the last one changes fastest
  std::optional<Formula> where;  ///< what does not hold is no point
  Place where_place;
};

/// One question.
struct SweepPoint {
  std::int64_t place = 0;  ///< among all combinations, those that `where` drops included
  std::vector<std::pair<std::string, std::string>> axes;  ///< key and value, as text
  std::string question;                                   ///< JSON in one line, keys sorted
  std::string sha256;  ///< of the question, and of the files it names
};

/// Throws Error with file and line.
Sweep parse_sweep(const std::string& text, const std::string& file);
/// Of a question's file, without an axis: one point. Throws Error.
Sweep sweep_over(const std::string& question_file);
/// `values`: a list at commas, or a range. Throws Error.
void add_axis(Sweep& sweep, const std::string& key, const std::string& values);
/// What the question says where an axis of that key would change it; nullptr: nothing.
const YamlNode* value_at(const Sweep& sweep, const std::string& key);
/// Throws Error.
std::vector<SweepPoint> points_of(const Sweep& sweep);

/// Where the question says the key, or where it would have to: the line of an axis, or of the
/// question in its own file or in the sweep's.
Place place_in(const Sweep& sweep, const std::string& path);
/// What a point asks. Its mistakes, and those of its answer, stand in the sweep's files. The sweep
/// outlives it. Throws Error.
Question question_at(const Sweep& sweep, const SweepPoint& point);

/// What is wrong with a point, as the sweep's file has it.
struct WrongPoint {
  std::int64_t place = 0;
  Error error;
};
/// Reads each question and the topologies that it names.
std::vector<WrongPoint> wrong_points(const Sweep& sweep, const std::vector<SweepPoint>& points);

/// "nodes=4, topology=dgx-h100"
std::string point_text(const SweepPoint& point);

}  // namespace fabricast
