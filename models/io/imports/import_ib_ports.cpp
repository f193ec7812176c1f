// ibstat, ibstatus, ibv_devinfo: the RDMA ports of a host.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "models/io/imports/import_readers.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast::import_readers {

namespace {

struct Port {
  std::string device, type, number, state, physical, layer, system_guid, transport;
  double rate = 0;  ///< Gb/s; 0 = not said
  bool has_port = false;

  bool is_active() const {
    return state.find("ctive") != std::string::npos || state.find("ACTIVE") != std::string::npos;
  }
  bool is_up() const {
    return is_active() && (physical.empty() || physical.find("LinkUp") != std::string::npos);
  }
  bool is_ethernet() const { return layer == "Ethernet"; }
};

/// ConnectX by PCI device (linux/drivers/net/ethernet/mellanox/mlx5/core/main.c, mlx4/main.c), and
/// the rate that a port of it can have, in Gb/s.
struct Part {
  std::string_view id, name;
  int rate;
};
constexpr Part kParts[] = {{"4099", "ConnectX-3", 56},     {"4115", "ConnectX-4", 100},
                           {"4117", "ConnectX-4 Lx", 50},  {"4118", "ConnectX-4 Lx VF", 50},
                           {"4119", "ConnectX-5", 100},    {"4121", "ConnectX-5 Ex", 100},
                           {"4123", "ConnectX-6", 200},    {"4124", "ConnectX-6 VF", 200},
                           {"4125", "ConnectX-6 Dx", 100}, {"4126", "ConnectX VF", 400},
                           {"4127", "ConnectX-6 Lx", 25},  {"4129", "ConnectX-7", 400},
                           {"4131", "ConnectX-8", 800}};

const Part* part_of(std::string_view type) {
  if (type.starts_with("MT")) type.remove_prefix(2);
  const auto* const at = std::ranges::find(kParts, type, &Part::id);
  return at == std::end(kParts) ? nullptr : at;
}

/// Between quotes, or the word.
std::string name_in(std::string_view text) {
  const std::size_t open = text.find('\'');
  if (open == std::string_view::npos) {
    const auto words = split_words(text);
    return words.empty() ? "" : std::string(words.front());
  }
  return std::string(text.substr(open + 1, text.find('\'', open + 1) - open - 1));
}

class PortReader {
 public:
  explicit PortReader(ImportedFile& out) : out_(out) {}

  bool read(const LogText& log) {
    for (const LogLine& line : log.lines) take(line.text);
    if (ports_.empty()) return false;
    out_.kind = tool_;
    tell();
    return true;
  }

 private:
  Port& port() { return ports_.back(); }

  void device(std::string_view tool, std::string name) {
    tool_ = tool;
    ports_.emplace_back();
    port().device = std::move(name);
  }

  void take(std::string_view text) {
    text = trimmed(text);
    while (text.starts_with('#')) text = trimmed(text.substr(1));
    while (text.starts_with("> ")) text = trimmed(text.substr(2));
    if (text.starts_with("CA '")) return device("ibstat", name_in(text));
    if (text.starts_with("hca_id:")) return device("ibv_devinfo", name_in(text.substr(7)));
    if (text.starts_with("Infiniband device '")) {
      device("ibstatus", name_in(text));
      const std::size_t at = text.find(" port ");
      if (at != std::string_view::npos) begin_port(name_in(text.substr(at + 6)));
      return;
    }
    died_ = died_ || text.find("ibpanic") != std::string_view::npos ||
            text.find("panic:") != std::string_view::npos;
    elided_ = elided_ || text.starts_with("...");
    if (ports_.empty()) return;
    if (text.starts_with("GID[")) return gid(text);
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view key = trimmed(text.substr(0, colon));
    set(key, trimmed(text.substr(colon + 1)));
  }

  /// A further port of a device repeats what is said of the device.
  void begin_port(std::string number) {
    if (port().has_port) {
      const Port first = port();
      Port& next = ports_.emplace_back();
      next.device = first.device;
      next.type = first.type;
      next.system_guid = first.system_guid;
      next.transport = first.transport;
    }
    port().number = std::move(number);
    port().has_port = true;
  }

  void set(std::string_view key, std::string_view value) {
    if (key.starts_with("Port ") && value.empty()) return begin_port(std::string(key.substr(5)));
    if (key == "port") return begin_port(std::string(value));
    if (key == "CA type" || key == "vendor_part_id") port().type = std::string(value);
    if (key == "System image GUID" || key == "sys_image_guid")
      port().system_guid = std::string(value);
    if (key == "State" || key == "state") port().state = std::string(value);
    if (key == "Physical state" || key == "phys state") port().physical = std::string(value);
    if (key == "Link layer" || key == "link_layer") port().layer = std::string(value);
    if (key == "transport") port().transport = std::string(value);
    if (key == "Rate" || key == "rate") {
      const auto words = split_words(value);
      if (const auto rate = finite_number(words.empty() ? "" : words.front())) port().rate = *rate;
    }
  }

  /// "GID[  3]:  fd02:0:0:58::1, RoCE v2": the index that routers pass.
  void gid(std::string_view text) {
    const std::size_t end = text.find("]:");
    if (end == std::string_view::npos || text.find("RoCE v2") == std::string_view::npos) return;
    const std::string_view address = trimmed(text.substr(end + 2));
    if (address.starts_with("fe80")) return;
    const std::string index(trimmed(text.substr(4, end - 4)));
    if (std::ranges::find(gids_, index) == gids_.end()) gids_.push_back(index);
  }

  static std::string label(const Port& port) {
    return port.number.empty() || port.number == "1" ? port.device
                                                     : port.device + ":" + port.number;
  }

  void tell() {
    find_bridges();
    std::vector<std::string> ib, ethernet, down, other;
    std::map<std::string, int> rates;
    std::map<std::string, int> types;
    for (const Port& port : ports_) {
      const Part* const part = part_of(port.type);
      const bool further = !port.number.empty() && port.number != "1";
      if (!port.type.empty() && !further)
        ++types[part != nullptr ? std::string(part->name) : port.type];
      if (!port.has_port || is_bridge(port)) continue;
      if (port.transport.find("iWARP") != std::string::npos) {
        other.push_back(label(port));
      } else if (!port.is_up()) {
        down.push_back(label(port));
      } else {
        (port.is_ethernet() ? ethernet : ib).push_back(label(port));
        if (port.rate > 0)
          ++rates[fmt::format("{} {:g} Gb/s", port.is_ethernet() ? "Ethernet" : "InfiniBand",
                              port.rate)];
      }
      judge(port, part);
    }
    std::vector<std::string> names;
    for (const Port& port : ports_) {
      if (std::ranges::find(names, port.device) == names.end()) names.push_back(port.device);
    }
    out_.add("devices", names.size());
    out_.add("names", joined(names, " "));
    out_.add("types", counts(types));
    out_.add("active", counts(rates));
    out_.add("infiniband ports up", joined(ib, " "));
    out_.add("ethernet ports up", joined(ethernet, " "));
    out_.add("iwarp", joined(other, " "));
    out_.add("not usable", joined(down, " "));
    out_.add("gid index of RoCE v2", joined(gids_, " "));
    if (std::ranges::none_of(ports_, &Port::has_port) && gids_.empty())
      out_.remark("names only, no ports and no rates: give the whole output of ibstat");
    if (!ethernet.empty() && ib.empty())
      out_.remark("Ethernet ports: RoCE; lid 0 and SM lid 0 are as they should be");
    if (!ethernet.empty() && !ib.empty())
      out_.remark("InfiniBand and Ethernet: as a rule only the InfiniBand ports are the fabric");
    if (!other.empty()) out_.remark("NCCL cannot use iWARP as it uses InfiniBand");
    tell_bridges();
    if (tool_ == "ibv_devinfo" && rates.empty())
      out_.remark("ibv_devinfo prints no rate: ibstat does");
    if (died_) out_.remark("the tool died: the list is incomplete");
    if (elided_) out_.remark("lines are left out (...): the list is incomplete");
  }

  static std::string counts(const std::map<std::string, int>& of) {
    std::vector<std::string> words;
    for (const auto& [name, count] : of) words.push_back(fmt::format("{} x{}", name, count));
    return joined(words);
  }

  void judge(const Port& port, const Part* part) {
    if (port.state.find("Initializing") != std::string::npos)
      out_.remark(fmt::format("{}: the link is up but not usable: no subnet manager has set it up",
                              label(port)));
    if (port.is_up() && part != nullptr && port.rate > 0 && 2 * port.rate <= part->rate &&
        !port.is_ethernet())
      out_.remark(
          fmt::format("{}: {:g} Gb/s on a {} of {}: a split port or a degraded link, ibstat "
                      "cannot tell which",
                      label(port), port.rate, part->name, part->rate));
  }

  /// More than two devices of one adapter, with a subnet of their own: to the NVSwitches.
  void find_bridges() {
    for (const Port& port : ports_) {
      const bool none = port.system_guid.find_first_not_of("0:x") == std::string::npos;
      auto& names = by_guid_[port.system_guid];
      if (!none && (names.empty() || names.back() != port.device)) names.push_back(port.device);
    }
    std::erase_if(by_guid_, [](const auto& entry) { return entry.second.size() < 3; });
  }

  bool is_bridge(const Port& port) const { return by_guid_.contains(port.system_guid); }

  void tell_bridges() {
    for (const auto& [guid, names] : by_guid_) {
      out_.add("bridges to NVSwitches", joined(names, " "));
      out_.remark(
          "several devices with one system image GUID are one adapter: the bridges to "
          "NVSwitches of HGX B200 and B300, no NICs of the fabric");
    }
  }

  ImportedFile& out_;
  std::string tool_;
  std::vector<Port> ports_;
  std::vector<std::string> gids_;
  std::map<std::string, std::vector<std::string>> by_guid_;
  bool died_ = false, elided_ = false;
};

}  // namespace

bool read_ib_ports(const LogText& log, ImportedFile& out) { return PortReader(out).read(log); }

}  // namespace fabricast::import_readers
