#include "models/io/workloads/load_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "models/io/formats/reader.hpp"
#include "models/io/shipped/embedded.hpp"
#include "text/numbers.hpp"

namespace fabricast {
namespace {

constexpr int kRowsMost = 1 << 24;
constexpr double kPicosecond = 1e-12;

/// "sm90" -> 90
int generation(Reader& in) {
  const std::string name = in.text("gpus");
  if (name.starts_with("sm")) {
    const std::optional<int> sm = to_number<int>(std::string_view(name).substr(2));
    if (sm && *sm >= 10 && *sm < 1000) return *sm;
  }
  in.fail("gpus", fmt::format("\"{}\" is no compute capability", name),
          "write one like sm90, for 9.0");
}

template <class Costs>
void read_costs(Costs& costs, Reader& in) {
  for (const auto& field : fields_of(costs)) {
    double value = 0;
    if (field.is_time) {
      value = static_cast<double>(in.duration(field.name).ps) * kPicosecond;
      if (value < field.least * 0.99 || value > field.most * 1.01)
        in.fail(field.name, "is out of range",
                fmt::format("it lies between {:.3g} and {:.3g} us", field.least * 1e6,
                            field.most * 1e6));
    } else {
      value = in.number(field.name, field.least * 0.99, field.most * 1.01);
    }
    costs.*field.value = value;
  }
}

KernelSet kernel_set(KernelFamily family, Reader& in) {
  KernelSet out;
  out.name.family = family;
  out.name.generation = generation(in);
  out.name.library = in.text("library");
  out.name.kernel = in.text("kernel");
  out.name.dtype = in.text("dtype");
  out.rows = in.whole("rows", 1, kRowsMost);
  out.costs = start_costs(family);
  std::visit([&](auto& costs) { read_costs(costs, in); }, out.costs);
  in.finish();
  return out;
}

/// With three digits, but whole picoseconds.
std::string time_text(double seconds) {
  if (seconds < 1e-9) return fmt::format("{:.0f} ps", std::max(1.0, seconds * 1e12));
  return seconds < 0.1e-6 ? fmt::format("{:.3g} ns", seconds * 1e9)
                          : fmt::format("{:.3g} us", seconds * 1e6);
}

std::string set_yaml(const KernelSet& set) {
  std::string out =
      fmt::format("  - {{gpus: sm{}, library: {}, kernel: \"{}\", dtype: \"{}\", rows: {},\n     ",
                  set.name.generation, set.name.library, set.name.kernel, set.name.dtype, set.rows);
  std::string figures;
  std::visit(
      [&](const auto& costs) {
        for (const auto& field : fields_of(costs)) {
          const double value = costs.*field.value;
          figures += fmt::format("{}{}: {}", figures.empty() ? "" : ", ", field.name,
                                 field.is_time ? time_text(value) : fmt::format("{:.3g}", value));
        }
      },
      set.costs);
  return out + figures + "}\n";
}

}  // namespace

const KernelCatalogue& load_kernels() {
  static const KernelCatalogue catalogue = parse_kernels(
      find_embedded(embedded_workloads(), "kernels")->yaml(), "workloads/kernels.yaml");
  return catalogue;
}

KernelCatalogue parse_kernels(const YamlText& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader root(tree, file);
  root.choice("kind", {"kernels"});
  std::map<std::string, Source> sources;
  read_sources(root, sources);
  KernelCatalogue out;
  std::set<KernelName> names;
  for (std::size_t i = 0; i < kKernelFamilyWords.words.size(); ++i) {
    const std::string_view word = kKernelFamilyWords.words[i];
    for (Reader& in : root.children(word)) {
      const KernelSet set = kernel_set(static_cast<KernelFamily>(i), in);
      if (!names.insert(set.name).second)
        in.fail("kernel", fmt::format("{} stands twice in {}", to_text(set.name), word));
      out.sets.push_back(set);
    }
  }
  root.finish();
  return out;
}

std::string kernels_yaml(const KernelCatalogue& catalogue) {
  std::string out;
  for (std::size_t i = 0; i < kKernelFamilyWords.words.size(); ++i) {
    std::string sets;
    for (const KernelSet& set : catalogue.sets)
      if (set.name.family == static_cast<KernelFamily>(i)) sets += set_yaml(set);
    if (!sets.empty()) out += fmt::format("{}:\n{}", kKernelFamilyWords.words[i], sets);
  }
  return out;
}

}  // namespace fabricast
