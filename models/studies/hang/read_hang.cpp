#include <filesystem>

#include "models/io/formats/reader.hpp"
#include "models/studies/hang/hang_layout.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

HangScenario parse_hang_scenario(const std::string& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  in.choice("kind", {"hang"});
  HangScenario out;
  out.name = in.text("name");
  out.question = in.prose("question");
  out.layout = (std::filesystem::path(file).parent_path() / in.text("layout")).string();
  const std::string fault = in.text("fault");
  out.fault = placed(in.place("fault"), [&] { return parse_hang_fault(fault); });
  if (in.has("timeout")) out.timeout_s = static_cast<double>(in.duration("timeout").ps) / 1e12;
  const std::vector<std::string> kinds = {"ended", "mismatch", "cycle"};
  if (in.has("expect")) out.expect = kinds[in.choice("expect", kinds)];
  in.finish();
  return out;
}

}  // namespace fabricast
