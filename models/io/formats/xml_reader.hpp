#pragma once
// An XML document whose elements know their place, and whose attributes are asked for by type. All
// failures are Errors with file, line and path.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "sim/base/error.hpp"

namespace fabricast {

/// A view: the text must outlive it.
class XmlReader {
 public:
  /// Throws when the text is no XML, too large or nested too deep. Entities of a DTD are not
  /// expanded.
  XmlReader(const std::string& text, std::string file);

  pugi::xml_node root() const { return document_.document_element(); }
  /// The path is like "system.cpu[1].pci[0].gpu": elements count among their namesakes.
  Place place(pugi::xml_node node) const;
  [[noreturn]] void fail(pugi::xml_node node, std::string what, std::string hint = {}) const;

  /// "" when there is no such attribute.
  std::string_view text(pugi::xml_node node, const char* name) const;
  /// Throws when the attribute is missing or empty.
  std::string_view required(pugi::xml_node node, const char* name) const;
  /// Decimal, or hexadecimal after 0x.
  int whole(pugi::xml_node node, const char* name, int min, int max) const;
  int whole(pugi::xml_node node, const char* name, int min, int max, int otherwise) const;
  /// Hexadecimal, with or without 0x; nothing when missing.
  std::optional<std::uint64_t> hex(pugi::xml_node node, const char* name) const;
  /// 0 to max; 0 when missing.
  float number(pugi::xml_node node, const char* name, float max) const;

 private:
  int line_of(std::ptrdiff_t offset) const;

  const std::string& text_;
  std::string file_;
  pugi::xml_document document_;
};

}  // namespace fabricast
