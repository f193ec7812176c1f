// `nvidia-smi topo -m`: which way is between which devices, as people paste it.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "models/io/imports/import_readers.hpp"
#include "models/io/imports/smi_matrix.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"

namespace fabricast::import_readers {

namespace {

constexpr int kNumaMax = 65'535;
/// More than servers have (assumed): figures that touch.
constexpr int kCoresMax = 2048;

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_gpu(std::string_view word) { return word.starts_with("GPU") && is_number(word.substr(3)); }

bool is_nic(std::string_view word) {
  if (word.starts_with("NIC")) return is_number(word.substr(3));
  for (const std::string_view prefix : {"mlx4_", "mlx5_", "roce", "bnxt_re", "hfi1_", "irdma"}) {
    if (word.starts_with(prefix)) return word.size() > prefix.size();
  }
  return false;
}

bool is_device(std::string_view word) { return is_gpu(word) || is_nic(word); }

/// Words of a cell, longest first where one begins another.
constexpr std::array<std::string_view, 7> kPaths = {"NODE", "PIX", "PXB", "PHB", "SYS", "SOC", "X"};
constexpr std::array<std::string_view, 7> kStatus = {"OK", "NS", "CNS", "GNS", "TNS", "DR", "U"};

/// The cells that a word holds: one, or several that touch; nothing where it holds another thing.
std::vector<std::string> cells_of(std::string_view word) {
  std::vector<std::string> out;
  while (!word.empty()) {
    std::size_t length = 0;
    if (word.starts_with("NV")) {
      length = 2;
      while (length < word.size() && length < 4 && word[length] >= '0' && word[length] <= '9')
        ++length;
      if (length == 2) return {};
    } else {
      for (const std::string_view path : kPaths) {
        if (length == 0 && word.starts_with(path)) length = path.size();
      }
      if (length == 0) return {};
    }
    out.emplace_back(word.substr(0, length));
    word.remove_prefix(length);
  }
  return out;
}

struct Row {
  std::string device;
  std::vector<std::string> cells;
  std::vector<std::string> rest;  ///< CPU affinity, NUMA affinity, GPU NUMA id
};

/// Rank of a path, nearest first.
int distance(std::string_view path) {
  if (path == "X") return 0;
  if (path.starts_with("NV")) return 1;
  constexpr std::array<std::string_view, 6> order = {"PIX", "PXB", "PHB", "NODE", "SYS", "SOC"};
  return 2 + static_cast<int>(std::ranges::find(order, path) - order.begin());
}

/// Cores as "0-47,96-143".
bool is_core_list(std::string_view text) {
  bool digit = false;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      digit = true;
    } else if ((c == '-' || c == ',') && digit) {
      digit = false;
    } else {
      return false;
    }
  }
  return digit;
}

/// The largest core of a list, 0 where it is none.
int largest_core(std::string_view list) {
  int most = 0;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of("-,"), list.size());
    most = std::max(most, to_number<int>(list.substr(0, end)).value_or(kCoresMax));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return most;
}

/// A list of cores that a machine can have.
bool is_sound_core_list(std::string_view text) {
  return is_core_list(text) && largest_core(text) < kCoresMax;
}

class Matrix {
 public:
  std::vector<std::string> columns;
  std::vector<Row> rows;
  int glued = 0;
  int guessed_nics = 0;  ///< columns without a name, behind those of the GPUs

  /// By the header where it has enough columns, else as rows are named.
  void relate() {
    std::size_t widest = 0;
    for (const Row& row : rows) widest = std::max(widest, row.cells.size());
    std::vector<std::string> names;
    for (const Row& row : rows) names.push_back(row.device);
    if (columns.size() < widest && names.size() >= columns.size()) columns = names;
    const bool gpus_alone = std::ranges::all_of(columns, is_gpu);
    for (int nic = 0; gpus_alone && columns.size() < widest; ++nic) {
      columns.push_back(fmt::format("NIC{}", nic));
      ++guessed_nics;
    }
    for (const Row& row : rows) {
      for (std::size_t i = 0; i < row.cells.size() && i < columns.size(); ++i) {
        paths_[{row.device, columns[i]}] = row.cells[i];
        paths_.insert({{columns[i], row.device}, row.cells[i]});
      }
    }
    for (const std::vector<std::string>& list : {columns, names}) {
      for (const std::string& name : list) {
        auto& known = is_gpu(name) ? gpus_ : nics_;
        if (std::ranges::find(known, name) == known.end()) known.push_back(name);
      }
    }
  }

  /// What it says, without what it is called by.
  SmiMatrix plain() const {
    SmiMatrix out;
    out.gpus = gpus_;
    out.nics = nics_;
    out.paths = paths_;
    for (const Row& row : rows) {
      if (!is_gpu(row.device) || row.rest.empty() || !is_sound_core_list(row.rest[0])) continue;
      out.cores[row.device] = row.rest[0];
      const int numa = row.rest.size() > 1 ? to_number<int>(row.rest[1]).value_or(-1) : -1;
      if (numa >= 0 && numa < kNumaMax) out.numa[row.device] = numa;
      out.gpu_memory_numa |= row.rest.size() > 2 && is_number(row.rest.back());
    }
    return out;
  }

  const std::vector<std::string>& gpus() const { return gpus_; }
  const std::vector<std::string>& nics() const { return nics_; }

  std::string path(const std::string& a, const std::string& b) const {
    const auto at = paths_.find({a, b});
    return at == paths_.end() ? "" : at->second;
  }

  /// "NV18", or "NV1 8, SYS 12": how many pairs of GPUs have which path.
  std::string between_gpus() const {
    std::map<std::pair<int, std::string>, int> counts;
    for (std::size_t a = 0; a < gpus_.size(); ++a) {
      for (std::size_t b = a + 1; b < gpus_.size(); ++b) {
        const std::string way = path(gpus_[a], gpus_[b]);
        if (!way.empty()) ++counts[{distance(way), way}];
      }
    }
    if (counts.size() == 1) return counts.begin()->first.second;
    std::vector<std::string> words;
    for (const auto& [way, count] : counts)
      words.push_back(fmt::format("{} x{}", way.second, count));
    return joined(words);
  }

  /// The NICs nearest to each GPU: "GPU0 PIX NIC0 NIC1".
  std::string nearest_nics() const {
    std::vector<std::string> words;
    for (const std::string& gpu : gpus_) {
      std::vector<std::string> nearest;
      std::string best;
      for (const std::string& nic : nics_) {
        const std::string way = path(gpu, nic);
        if (way.empty() || (!best.empty() && distance(way) > distance(best))) continue;
        if (best.empty() || distance(way) < distance(best)) nearest.clear();
        best = way;
        nearest.push_back(nic);
      }
      if (!best.empty() && distance(best) < distance("SYS"))
        words.push_back(fmt::format("{} {} {}", gpu, best, joined(nearest, " ")));
    }
    return joined(words, "; ");
  }

  /// NICs that are no nearer than the other socket to any GPU.
  std::string far_nics() const {
    std::vector<std::string> words;
    for (const std::string& nic : nics_) {
      const bool far = std::ranges::all_of(gpus_, [&](const std::string& gpu) {
        const std::string way = path(gpu, nic);
        return way == "SYS" || way == "SOC";
      });
      if (far) words.push_back(nic);
    }
    return joined(words, " ");
  }

 private:
  std::vector<std::string> gpus_, nics_;
  std::map<std::pair<std::string, std::string>, std::string> paths_;
};

class TopoReader {
 public:
  explicit TopoReader(ImportedFile& out) : out_(out) {}

  /// The first matrix alone.
  std::optional<SmiMatrix> matrix(const LogText& log) {
    collect(log);
    if (matrices_.empty()) return std::nullopt;
    SmiMatrix out = matrices_.front().plain();
    for (const std::string& entry : nic_names_) {
      const std::size_t blank = entry.find(' ');
      out.nic_names.insert({entry.substr(0, blank), entry.substr(blank + 1)});
    }
    return out;
  }

  bool read(const LogText& log) {
    collect(log);
    if (matrices_.empty()) return status_rows_ > 0 && tell_status();
    out_.kind = "nvidia-smi topo -m";
    if (matrices_.size() > 1) {
      out_.add("matrices", matrices_.size());
      out_.remark("several matrices in one file: the first is told");
    }
    tell(matrices_.front());
    if (status_rows_ > 0)
      out_.remark("a matrix of topo -p2p (OK, NS, ...) follows: it says nothing of ways");
    return true;
  }

 private:
  void collect(const LogText& log) {
    for (const LogLine& line : log.lines) take(line.text);
    std::erase_if(matrices_, [](const Matrix& matrix) { return matrix.rows.empty(); });
    for (Matrix& matrix : matrices_) matrix.relate();
  }

  void take(std::string text) {
    const bool markdown = text.starts_with("|");
    if (markdown) std::ranges::replace(text, '|', '\t');
    legend(text);
    const std::vector<std::string_view> words = split_words(text);
    if (words.empty()) return;
    const auto label = std::ranges::find_if(words, is_device);
    if (label == words.end() || (!markdown && label - words.begin() > 2)) {
      if (words.front().starts_with("GPU0GPU1")) begin({});
      return;
    }
    if (is_header(words, label)) {
      std::vector<std::string> columns;
      for (const std::string_view word : words) {
        if (is_device(word)) columns.emplace_back(word);
      }
      return begin(std::move(columns));
    }
    row(words, label, markdown);
  }

  using Word = std::vector<std::string_view>::const_iterator;

  static bool is_header(const std::vector<std::string_view>& words, Word label) {
    if (!is_gpu(*label)) return false;
    const auto next = label + 1;
    if (next == words.end()) return false;
    return is_device(*next) || *next == "CPU";
  }

  void begin(std::vector<std::string> columns) {
    matrices_.emplace_back();
    matrices_.back().columns = std::move(columns);
  }

  void row(const std::vector<std::string_view>& words, Word label, bool markdown) {
    Row row;
    row.device = std::string(*label);
    for (auto word = words.begin(); markdown && word != label; ++word) row.rest.emplace_back(*word);
    bool status = false;
    for (auto word = label + 1; word != words.end(); ++word) {
      const std::vector<std::string> cells = cells_of(*word);
      status = status || std::ranges::find(kStatus, *word) != kStatus.end();
      if (const std::size_t number = word->find("N/A");
          !row.rest.empty() && number != 0 && word->ends_with("N/A") &&
          is_number(word->substr(0, number))) {  // "0N/A"
        row.rest.emplace_back(word->substr(0, number));
        row.rest.emplace_back("N/A");
      } else if (!row.rest.empty() && !markdown) {
        row.rest.emplace_back(*word);
      } else if (cells.empty()) {
        row.rest.emplace_back(*word);
      } else {
        if (cells.size() > 1 && !matrices_.empty()) ++matrices_.back().glued;
        row.cells.insert(row.cells.end(), cells.begin(), cells.end());
      }
    }
    if (status) {
      ++status_rows_;
      return;
    }
    if (row.cells.empty() || std::ranges::find(row.cells, "X") == row.cells.end()) {
      if (row.cells.size() < 2) return;
    }
    const auto same = [&](const Row& other) { return other.device == row.device; };
    if (matrices_.empty() || std::ranges::any_of(matrices_.back().rows, same)) begin({});
    matrices_.back().rows.push_back(std::move(row));
  }

  /// "NIC0: mlx5_0", "NIC0=mlx5_0/rdma0 (NUMA 0)"
  void legend(const std::string& text) {
    for (std::size_t at = text.find("NIC"); at != std::string::npos;
         at = text.find("NIC", at + 3)) {
      std::size_t end = at + 3;
      while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
      if (end == at + 3 || end >= text.size() || (text[end] != ':' && text[end] != '=')) continue;
      const auto words = split_words(std::string_view(text).substr(end + 1));
      if (words.empty()) continue;
      std::string_view name = words.front();
      name = name.substr(0, name.find_first_of("/,"));
      if (!name.empty())
        nic_names_.push_back(fmt::format("{} {}", text.substr(at, end - at), name));
    }
  }

  bool tell_status() {
    out_.kind = "nvidia-smi topo -p2p";
    out_.remark(
        "which pairs may use P2P (OK) or not (NS, CNS, ...), not which way is between them: "
        "give the output of nvidia-smi topo -m");
    return true;
  }

  void tell(const Matrix& matrix) {
    out_.add("gpus", matrix.gpus().size());
    out_.add("nics", matrix.nics().size());
    const std::string ways = matrix.between_gpus();
    out_.add("gpu-gpu", ways);
    out_.add("gpu-nic", matrix.nearest_nics());
    out_.add("nics far from all gpus", matrix.far_nics());
    out_.add("nic names", joined(nic_names_));
    numa(matrix);
    if (matrix.glued > 0)
      out_.remark(fmt::format("{} that touched were split", counted(matrix.glued, "cell")));
    if (matrix.guessed_nics > 0)
      out_.remark(fmt::format("no header: {} beyond the GPUs are taken for NICs",
                              counted(matrix.guessed_nics, "column")));
    if (matrix.nics().empty())
      out_.remark("no NIC is listed: it may still have a network that nvidia-smi does not see");
    if (matrix.gpus().size() >= 8 && ways.find("NV") == std::string::npos &&
        !matrix.nearest_nics().empty() && matrix.nics().size() >= matrix.gpus().size())
      out_.remark("no NVLink in it: topo -mp hides NVLink, so that it may be there");
    bool bonds = false;
    for (const std::string& name : nic_names_)
      bonds = bonds || name.find("bond") != std::string::npos;
    if (bonds) out_.remark("a bond of ports is among the NICs: as a rule the front end");
    if (matrix.nics().size() > 2 * matrix.gpus().size() && matrix.gpus().size() > 1)
      out_.remark(
          "many more NICs than GPUs: virtual functions of a card are not NICs of their own");
  }

  /// "0: 0-55,112-167 (GPU0 GPU1)" and what contradicts it.
  void numa(const Matrix& matrix) {
    std::map<std::string, std::set<std::string>> cores;
    std::map<std::string, std::vector<std::string>> members;
    std::vector<std::string> order, ids;
    std::set<std::string> impossible;
    int damaged = 0;
    for (const Row& row : matrix.rows) {
      if (!is_gpu(row.device) || row.rest.empty()) continue;
      const std::string& affinity = row.rest[0];
      if (!is_core_list(affinity)) {
        damaged += affinity.starts_with('-') ? 1 : 0;
        continue;
      }
      if (!is_sound_core_list(affinity)) {
        impossible.insert(affinity);
        continue;
      }
      const std::string node = row.rest.size() > 1 ? row.rest[1] : "?";
      const bool known = node != "N/A" && node != "?";
      const std::string key = known ? node : "cores " + affinity;
      if (members[key].empty()) order.push_back(key);
      members[key].push_back(row.device);
      cores[key].insert(affinity);
      if (row.rest.size() > 2 && is_number(row.rest.back())) ids.push_back(row.rest.back());
    }
    std::vector<std::string> words;
    for (const std::string& key : order) {
      const std::vector<std::string> lists(cores[key].begin(), cores[key].end());
      words.push_back(
          key.starts_with("cores")
              ? fmt::format("{} ({})", key, joined(members[key], " "))
              : fmt::format("{}: {} ({})", key, joined(lists, " or "), joined(members[key], " ")));
      if (lists.size() > 1)
        out_.remark(fmt::format("NUMA node {} has different core lists: one may be damaged", key));
    }
    out_.add("numa", joined(words, "; "));
    out_.add("gpu memory numa ids", joined(ids, " "));
    if (damaged > 0) out_.remark("CPU affinities that begin with \"-\" are cut: not read");
    for (const std::string& list : impossible)
      out_.remark(fmt::format(
          "CPU affinity \"{}\": there is no core {}, perhaps the list and the NUMA node behind it "
          "touch; not read",
          list, largest_core(list)));
    const std::vector<std::string> lone = without_nvlink(matrix);
    if (!lone.empty())
      out_.remark(fmt::format(
          "no NVLink of {}, where the other GPUs have NVLink: a fault, look at nvidia-smi nvlink "
          "--status",
          joined(lone, " ")));
    if (contradicts(matrix, members, lone))
      out_.remark(
          "GPUs of one NUMA node are SYS apart: the matrix contradicts the affinity, as in "
          "virtual machines");
    const bool all_far = matrix.nearest_nics().empty() && !matrix.nics().empty();
    if (all_far && (!ids.empty() || matrix.between_gpus() == "NV18"))
      out_.remark(
          "every NIC is SYS away: on superchips NVLink-C2C is not in this matrix, a NIC may "
          "still be local");
  }

  /// The fewer GPUs, where most have NVLink.
  static std::vector<std::string> without_nvlink(const Matrix& matrix) {
    std::vector<std::string> out;
    for (const std::string& gpu : matrix.gpus()) {
      if (std::ranges::none_of(matrix.gpus(), [&](const std::string& other) {
            return matrix.path(gpu, other).starts_with("NV");
          }))
        out.push_back(gpu);
    }
    return 2 * out.size() < matrix.gpus().size() ? out : std::vector<std::string>{};
  }

  /// `lone`: GPUs that are known to be amiss.
  static bool contradicts(const Matrix& matrix,
                          const std::map<std::string, std::vector<std::string>>& members,
                          const std::vector<std::string>& lone) {
    const auto is_lone = [&](const std::string& gpu) {
      return std::ranges::find(lone, gpu) != lone.end();
    };
    for (const auto& [node, gpus] : members) {
      if (node.starts_with("cores")) continue;
      for (const std::string& a : gpus) {
        for (const std::string& b : gpus) {
          if (matrix.path(a, b) == "SYS" && !is_lone(a) && !is_lone(b)) return true;
        }
      }
    }
    return false;
  }

  ImportedFile& out_;
  std::vector<Matrix> matrices_;
  std::vector<std::string> nic_names_;
  int status_rows_ = 0;
};

}  // namespace

bool read_topo_matrix(const LogText& log, ImportedFile& out) { return TopoReader(out).read(log); }

}  // namespace fabricast::import_readers

namespace fabricast {

int smi_distance(const std::string& path) {
  return path.empty() ? 9 : import_readers::distance(path);
}

std::string SmiMatrix::path(const std::string& a, const std::string& b) const {
  const auto at = paths.find({a, b});
  return at == paths.end() ? "" : at->second;
}

int SmiMatrix::nvlinks(const std::string& a, const std::string& b) const {
  const std::string way = path(a, b);
  if (!way.starts_with("NV")) return 0;
  return static_cast<int>(to_number<std::int64_t>(std::string_view(way).substr(2)).value_or(0));
}

std::optional<SmiMatrix> read_smi_matrix(const LogText& log) {
  ImportedFile unused;
  return import_readers::TopoReader(unused).matrix(log);
}

}  // namespace fabricast
