#include "models/studies/accuracy/read_recipe.hpp"

#include <filesystem>

#include "models/io/formats/reader.hpp"
#include "models/io/formats/text_file.hpp"

namespace fabricast {
namespace {

constexpr int kPointsMax = 1000;
constexpr double kShareMin = 0.001, kShareMax = 10;

CalibrationParameter read_parameter(const std::string& name, Reader& in) {
  CalibrationParameter out;
  out.place = in.place();
  out.name = name;
  out.paths = in.texts("figures");
  if (out.paths.empty())
    in.fail("figures", "\"figures\" is missing", "the dotted paths of figures: [a.b, c.d]");
  out.low = in.text("low");
  out.high = in.text("high");
  out.width = in.number("width", kShareMin, kShareMax);
  in.prose("why", "");
  in.finish();
  return out;
}

}  // namespace

CalibrationRecipe load_recipe(const std::string& file) {
  return parse_recipe(read_text_file(file, "a recipe of fabricast calibrate"), file);
}

CalibrationRecipe parse_recipe(const std::string& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  in.choice("kind", {"calibration"});
  CalibrationRecipe out;
  out.file = file;
  out.name = in.text("name");
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  Reader measured = in.child("measured");
  out.runs = (folder / measured.text("runs")).string();
  out.points = (folder / measured.text("points")).string();
  measured.finish();
  if (in.has("unseen")) {
    Reader unseen = in.child("unseen");
    out.unseen_runs = (folder / unseen.text("runs")).string();
    out.unseen_points = (folder / unseen.text("points")).string();
    unseen.finish();
  }
  Reader fit = in.child("fit");
  out.points_per_range = fit.whole("points_per_range", 1, kPointsMax);
  out.noise = fit.number("noise", kShareMin, kShareMax);
  out.huber = fit.number("huber", kShareMin, kShareMax);
  fit.finish();
  for (auto& [name, parameter] : in.table("parameters"))
    out.parameters.push_back(read_parameter(name, parameter));
  if (out.parameters.empty()) in.fail("parameters", "there is none to fit");
  in.finish();
  return out;
}

}  // namespace fabricast
