#pragma once
// Any bytes as a topology that is valid XML, so that what is behind the parser is reached, too.

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace fabricast::fuzz {

/// Each choice takes one byte; without bytes everything ends.
class GrownXml {
 public:
  explicit GrownXml(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::string text() {
    std::string out = "<system version=\"1\">";
    for (int numa = 0, cpus = 1 + pick(4); numa < cpus; ++numa) {
      out += fmt::format(R"(<cpu numaid="{}" arch="{}" vendor="{}" familyid="6" modelid="{}">)",
                         numa, of({"x86_64", "x86_64", "arm64", "ppc64", ""}),
                         of({"GenuineIntel", "AuthenticAMD", "CentaurHauls", ""}), pick(256));
      while (pick(4) != 0) out += child(0);
      if (pick(8) == 1) out += nic();
      out += "</cpu>";
    }
    return out + "</system>";
  }

 private:
  int pick(int choices) {
    if (bytes_.empty()) return 0;
    const int value = bytes_.front() % choices;
    bytes_ = bytes_.subspan(1);
    return value;
  }
  std::string_view of(std::initializer_list<std::string_view> words) {
    return words.begin()[pick(static_cast<int>(words.size()))];
  }
  std::string busid() { return fmt::format("0000:{:02x}:00.0", pick(16)); }

  std::string child(int depth) {
    std::string out =
        fmt::format(R"(<pci busid="{}" link_speed="{}" link_width="{}" class="{}" device="{}")",
                    busid(), of({"8.0 GT/s PCIe", "16 GT/s", "32.0 GT/s PCIe", "2.5 GT/s", ""}),
                    of({"16", "8", "4", "1", "0"}),
                    of({"0x060400", "0x030200", "0x020700", "0x068000", "0x068001", ""}),
                    of({"0xc010", "0xc030", "0x2330", "0x1021", ""}));
    out += fmt::format(R"( vendor="0x1000" subsystem_vendor="0x1000" subsystem_device="{}">)",
                       of({"0xa096", "0x0072", "0x1003", ""}));
    switch (pick(3)) {
      case 0:
        out += gpu();
        break;
      case 1:
        out += nic();
        break;
      default:
        while (depth < 6 && pick(4) != 0) out += child(depth + 1);
    }
    return out + "</pci>";
  }

  std::string gpu() {
    std::string out = fmt::format(R"(<gpu sm="{}" gdr="{}">)", of({"80", "90", "70", "86", "100"}),
                                  of({"1", "0"}));
    while (pick(3) != 0) {
      out += fmt::format(R"(<nvlink target="{}" count="{}" tclass="{}"/>)", busid(), pick(20),
                         of({"0x068000", "0x030200", "0x068001", ""}));
    }
    if (pick(16) == 1)
      out += fmt::format(R"(<c2c count="{}" bw="{}"/>)", pick(20), 100 * pick(256));
    return out + "</gpu>";
  }

  std::string nic() {
    std::string out = "<nic>";
    while (pick(3) != 0) {
      out += fmt::format(R"(<net name="n{}" speed="{}" port="{}" guid="{}" gdr="{}" coll="{}"/>)",
                         pick(8), of({"400000", "200000", "25000", "1", "0"}), pick(3), pick(4),
                         pick(2), pick(2));
    }
    return out + "</nic>";
  }

  std::span<const std::uint8_t> bytes_;
};

}  // namespace fabricast::fuzz
