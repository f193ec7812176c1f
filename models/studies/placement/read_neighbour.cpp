// The file of --neighbour.
#include "models/io/formats/reader.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/hosts/host_list.hpp"
#include "models/studies/placement/placement.hpp"
#include "models/studies/shared/read_job.hpp"

namespace fabricast {

Neighbour parse_neighbour(const std::string& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  in.choice("kind", {"neighbour"});
  Neighbour out;
  out.file = file;
  out.title = in.text("title", "");
  const std::string hosts = in.text("hosts");
  out.hosts_at = in.place("hosts");
  out.environment_at = in.place("environment");
  out.hosts = placed(out.hosts_at, [&] { return parse_host_list(hosts); });
  if (out.hosts.size() < 2) in.fail("hosts", "a neighbour on one host takes nothing from others");
  if (out.hosts.size() > static_cast<std::size_t>(kPlacedHostsMax))
    in.fail("hosts", "more hosts than are placed");
  read_environment(in, out.environment);
  if (const std::string layout = in.text("layout", ""); !layout.empty()) {
    if (in.has("collective") || in.has("size"))
      in.fail("layout", "stands beside a collective", "one of them: a layout, or a collective");
    out.step = placed(in.place("layout"), [&] { return load_step(resolved(layout, file)); });
    in.finish();
    return out;
  }
  std::vector<std::string> collectives;
  for (const Collective one : kAllCollectives) collectives.emplace_back(to_text(one));
  out.collective = kAllCollectives[in.choice("collective", collectives)];
  out.size = in.bytes("size");
  in.finish();
  return out;
}

}  // namespace fabricast
