#include "models/studies/accuracy/map_kind.hpp"

#include <fmt/format.h>

#include <optional>

#include "models/hardware/parts/gpu_names.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

namespace {

/// NVLinks, no more is said. Boards with more GPUs than this have NVSwitches, where there are any.
constexpr std::string_view kByNvlink = "nvlink";
constexpr int kMeshGpusMost = 4;

/// Racks of 72 GPUs in two halves, on as many NVSwitches (GB200 NVL36x2).
constexpr std::string_view kHalves = "nvl36x2";

class KindMapper {
 public:
  KindMapper(std::string_view model, std::string_view said, NodeShape& shape,
             std::vector<std::string>& notes, const PartsCatalogue& parts)
      : model_(model), said_(said), shape_(shape), notes_(notes), parts_(parts) {}

  void map() {
    const std::string board = gpu_called(model_, false, parts_),
                      card = gpu_called(model_, true, parts_);
    const std::optional<NodeKind> kind = kNodeKindWords.find(said_);
    const bool are_cards = kind == NodeKind::pcie || kind == NodeKind::nvlink_pairs;
    shape_.gpu = are_cards ? card : board;
    if (!kind) return map_unsaid(board == card);
    shape_.kind = *kind;
    if (is_nvlink(*kind) && part().nvlink_links == 0) return instead(NodeKind::pcie, kNoNvlink);
    map_racks();
    map_pairs();
  }

 private:
  static constexpr std::string_view kNoNvlink = "this GPU has no NVLink";

  static bool is_nvlink(NodeKind kind) {
    return kind != NodeKind::pcie && kind != NodeKind::single;
  }

  void instead(NodeKind kind, std::string_view why) {
    shape_.kind = kind;
    notes_.push_back(fmt::format("node_kind {}: {}: {}",
                                 said_.empty() ? std::string_view("is blank") : said_, why,
                                 to_text(kind)));
  }

  const GpuPart& part() const { return parts_.gpus.at(shape_.gpu); }
  bool has_nvswitches() const {
    const auto found = parts_.platforms.find(shape_.gpu);
    return found != parts_.platforms.end() && found->second.nvswitches > 0;
  }
  bool is_superchip() const { return part().c2c_links > 0; }
  bool is_in_racks() const { return has_nvswitches() && is_superchip(); }
  /// For slots: what joins them are bridges. P100 are on boards without NVSwitches.
  bool is_card() const {
    const bool is_module = shape_.gpu.find("SXM") != std::string::npos;
    return !has_nvswitches() && !is_superchip() && !is_module;
  }

  /// A blank, or a word that leaves something open.
  void map_unsaid(bool has_one_form) {
    if (said_ == kHalves) {
      instead(NodeKind::nvl72, "two halves of a rack as one");
      return map_racks();
    }
    if (!said_.empty() && said_ != kByNvlink) {
      kNodeKindWords.parse("kind of node", said_);
      return;
    }
    if (shape_.gpus == 1) return instead(NodeKind::single, "one GPU");
    if (has_one_form && part().nvlink_links == 0) return instead(NodeKind::pcie, kNoNvlink);
    if (said_.empty()) throw Error("node_kind is not known");
    const bool has_board = has_nvswitches() && shape_.gpus > kMeshGpusMost;
    instead(is_in_racks() ? NodeKind::nvl72
            : is_card()   ? NodeKind::nvlink_pairs
            : has_board   ? NodeKind::nvswitch
                          : NodeKind::nvlink_mesh,
            "as servers with this GPU are");
    map_pairs();
  }

  /// Superchips with NVSwitches are in racks, and racks hold superchips, whose GPUs people call by
  /// the chip's name.
  void map_racks() {
    if (shape_.kind == NodeKind::nvswitch && is_in_racks())
      return instead(NodeKind::nvl72, "this GPU is in racks");
    if (shape_.kind != NodeKind::nvl72 || is_in_racks()) return;
    const std::string superchip = "G" + shape_.gpu.substr(0, shape_.gpu.find('_'));
    const auto server = parts_.platforms.find(superchip);
    if (server == parts_.platforms.end() || server->second.nvswitches == 0) return;
    notes_.push_back(fmt::format("{} in an NVL72 rack: {}", shape_.gpu, superchip));
    shape_.gpu = superchip;
  }

  void map_pairs() {
    const bool is_mesh = shape_.kind == NodeKind::nvlink_mesh;
    if (!is_mesh && shape_.kind != NodeKind::nvlink_pairs) return;
    if (shape_.gpus == 1) return instead(NodeKind::single, "one GPU");
    if (is_mesh && is_card() && part().nvlink_links < shape_.gpus - 1)
      instead(NodeKind::nvlink_pairs, "bridges join two cards");
    if (shape_.kind != NodeKind::nvlink_pairs || shape_.gpus % 2 == 0) return;
    ++shape_.gpus;
    notes_.emplace_back("cards in pairs: one more than said, which takes no part");
  }

  std::string_view model_, said_;
  NodeShape& shape_;
  std::vector<std::string>& notes_;
  const PartsCatalogue& parts_;
};

}  // namespace

void map_kind(std::string_view gpu_model, std::string_view node_kind, NodeShape& shape,
              std::vector<std::string>& notes, const PartsCatalogue& parts) {
  KindMapper(gpu_model, node_kind, shape, notes, parts).map();
}

}  // namespace fabricast
