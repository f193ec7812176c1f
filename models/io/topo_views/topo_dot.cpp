#include <fmt/format.h>

#include "models/io/topo_views/topo_formats.hpp"
#include "text/unit_text.hpp"

namespace fabricast {
namespace {

std::string dot_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string_view style_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::gpu:
      return "shape=box, style=filled, fillcolor=palegreen";
    case VertexKind::nic:
      return "shape=box, style=filled, fillcolor=lightblue";
    case VertexKind::nvswitch:
      return "shape=octagon, style=filled, fillcolor=darkseagreen";
    case VertexKind::cpu:
      return "shape=box, style=\"rounded,filled\", fillcolor=lightgrey";
    case VertexKind::pcie_switch:
      return "shape=ellipse";
  }
  return {};
}

std::string_view style_of(LinkKind kind) {
  if (kind == LinkKind::nvlink || kind == LinkKind::c2c) return "color=green4, penwidth=2";
  return kind == LinkKind::socket ? "style=dashed, constraint=false" : "color=gray30";
}

class DotWriter {
 public:
  explicit DotWriter(const NodeGraph& node) : node_(node) {}

  std::string write() {
    out_ = fmt::format("graph {} {{\n  label={};\n  node [fontname=\"sans-serif\"];\n",
                       dot_text(node_.name()), dot_text(node_.title()));
    for (const CpuInfo& cpu : node_.cpus()) {
      out_ += fmt::format("  subgraph {} {{\n    label=\"NUMA node {}\";\n",
                          dot_text("cluster_" + node_.vertex(cpu.vertex).name), cpu.numa);
      write_tree(cpu.vertex);
      out_ += "  }\n";
    }
    for (std::size_t v = 0; v < node_.vertices().size(); ++v) {
      const VertexId id{static_cast<std::uint32_t>(v)};
      if (node_.vertex(id).kind == VertexKind::nvswitch) write_device("  ", id);
    }
    for (std::size_t l = 0; l < node_.links().size(); ++l) {
      write_link(LinkId{static_cast<std::uint32_t>(l)});
    }
    return out_ + "}\n";
  }

 private:
  void write_tree(VertexId id) {
    write_device("    ", id);
    for (const VertexId child : node_.children(id)) write_tree(child);
  }

  void write_device(std::string_view indent, VertexId id) {
    const Vertex& vertex = node_.vertex(id);
    out_ += fmt::format("{}{} [label={}, {}];\n", indent, dot_text(vertex.name),
                        dot_text(vertex.name + "\n" + vertex.part), style_of(vertex.kind));
  }

  /// Both directions of a link are one line; the label tells one direction.
  void write_link(LinkId id) {
    const NodeLink& link = node_.link(id);
    if (link.from == link.to) return;  // inside a CPU
    const Vertex &from = node_.vertex(link.from), &to = node_.vertex(link.to);
    const bool is_down = to.has_parent && to.parent == link.from;
    if (link.kind == LinkKind::pcie ? !is_down : index_of(link.from) > index_of(link.to)) return;
    const std::string name = node_.link_name(id);
    const std::string kind = name.substr(name.find('(') + 1, name.rfind(')') - name.find('(') - 1);
    out_ +=
        fmt::format("  {} -- {} [label={}, {}];\n", dot_text(from.name), dot_text(to.name),
                    dot_text(fmt::format("{}\n{}", kind, to_text(link.rate))), style_of(link.kind));
  }

  const NodeGraph& node_;
  std::string out_;
};

}  // namespace

std::string topo_dot(const NodeGraph& node) { return DotWriter(node).write(); }

}  // namespace fabricast
