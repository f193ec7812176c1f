#include "models/io/tuners/ncclx_tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fabricast {

namespace {

bool matches(const NcclxRule& rule, const TunerCall& call) {
  const auto fits = [](int wanted, int is) { return wanted == -1 || wanted == is; };
  const int per_node = std::max(call.ranks / call.nodes, 1);
  return rule.collective == call.collective &&
         rule.bytes_per_rank.has(call.bytes / (std::int64_t{call.nodes} * per_node)) &&
         rule.nodes.has(call.nodes) && rule.ranks_per_node.has(per_node) &&
         fits(rule.operations, call.operations) && fits(rule.registered, call.registered ? 1 : 0);
}

class NcclxTuner final : public TunerPlugin {
 public:
  NcclxTuner(NcclxRules rules, std::string file)
      : rules_(std::move(rules)),
        file_(std::move(file)),
        name_(file_ + ", read as NCCLX reads it") {}

  std::string_view name() const override { return name_; }

  TunerAnswer ask(const TunerCall& call, const TunerOffers& is_there) const override {
    const auto found = std::ranges::find_if(rules_.rules, [&](const NcclxRule& rule) {
      return matches(rule, call) && is_there(rule.pair.algorithm, rule.pair.protocol);
    });
    if (found == rules_.rules.end()) return {{}, {}, fmt::format("no rule of {} matches", file_)};
    TunerAnswer out;
    out.pair = found->pair;
    if (found->channels > 0) out.channels = found->channels;
    out.because = fmt::format("line {} of {}", found->place.line, file_);
    return out;
  }

  std::vector<std::string> notes() const override { return rules_.notes; }

 private:
  NcclxRules rules_;
  std::string file_, name_;
};

}  // namespace

std::unique_ptr<const TunerPlugin> ncclx_tuner(NcclxRules rules, std::string file,
                                               const TunerSite& site) {
  if (site.release < kNccl2_22) {
    throw Error(fmt::format("NCCLX's tuner needs a table of costs, which NCCL {} gives to no tuner",
                            to_text(site.release)),
                "2.22 and later do; NCCLX has its tuner since 2.29");
  }
  return std::make_unique<NcclxTuner>(std::move(rules), std::move(file));
}

}  // namespace fabricast
