#pragma once
// workloads/experts.yaml to typed costs of the kernels of expert parallelism; files of how likely
// experts are taken.

#include <string>
#include <string_view>
#include <vector>

#include "models/experts/expert_wish.hpp"
#include "models/experts/kernel_costs.hpp"
#include "models/io/formats/yaml_tree.hpp"

namespace fabricast {

class Reader;

/// workloads/experts.yaml, as it travels in the program, or a file like it. Throws Error.
ExpertKernels load_expert_kernels(const std::string& own_file = {});
/// The same from text, without what is of workloads/engines.yaml: hops, gaps, calls of a host.
/// `file` is used in messages only. Throws Error.
ExpertKernels parse_expert_kernels(const YamlText& text, const std::string& file);

/// `key: MODE`, or `key: {mode, sms, dtype, load, groups, top_groups}`, of a file about a model
/// with so many experts (0 = none), of which a token takes so many. A file of weights lies beside
/// `file`. Throws Error.
ExpertWish read_expert_wish(Reader& in, std::string_view key, const std::string& file, int experts,
                            int top_k);

/// "uniform": alike (empty). "zipf:1.2": expert e is as likely as (e + 1)^-1.2. Else the name of a
/// file. Throws Error.
std::vector<double> load_expert_weights(const std::string& text, int experts);
/// A number for each expert in order, apart by blanks, commas or lines; # begins a comment.
/// Throws Error.
std::vector<double> parse_expert_weights(std::string_view text, const std::string& file,
                                         int experts);

}  // namespace fabricast
