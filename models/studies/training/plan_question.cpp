#include "models/studies/training/plan_question.hpp"

#include "models/io/formats/reader.hpp"
#include "models/io/formats/text_file.hpp"

namespace fabricast {

namespace {

constexpr double kPriceMax = 1e6;
constexpr int kKeepMax = 1000;

}  // namespace

PlanQuestion parse_plan_question(const std::string& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  in.kind("plan");
  PlanQuestion out;
  out.configs = {{"", load_step(resolved(in.text("layout"), file), LayoutFile::open)}};
  if (in.has("price")) out.configs.front().config.price = in.number("price", 1e-6, kPriceMax);
  const std::string headroom = in.text("headroom", "8%");
  out.limits.headroom = placed(in.place("headroom"), [&] { return parse_headroom(headroom); });
  out.limits.keep = in.whole("keep", 1, kKeepMax, out.limits.keep);
  const auto each = [&](const char* key, const auto& take) {
    for (const std::string& one : in.texts(key)) placed(in.place(key), [&] { take(one); });
  };
  each("fix", [&](const std::string& one) { out.limits.wishes.fix(one); });
  each("within", [&](const std::string& one) { out.limits.wishes.keep_within(one); });
  each("vary", [&](const std::string& one) { out.configs = vary(out.configs, one); });
  in.finish();
  return out;
}

}  // namespace fabricast
