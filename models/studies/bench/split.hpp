#pragma once
// nccl-tests' NCCL_TESTS_SPLIT: ranks of one colour form a communicator, and all of them run the
// same collective at the same time. README.md and src/common.cu of nccl-tests 2.19.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/nccl/base/members.hpp"
#include "models/nccl/environment/env.hpp"

namespace fabricast {

struct Split {
  enum class Operation : std::uint8_t { bit_and, bit_or, modulo, divide };
  Operation operation{};
  std::uint64_t value = 0;
  std::string text;

  std::uint64_t colour(std::uint64_t process) const;
};

/// "AND 0x7", "&7", "OR 0b111", "|7", "MOD 8", "%8", "DIV 8", "/8". Throws Error.
Split parse_split(std::string_view text);
/// NCCL_TESTS_SPLIT_MASK (hexadecimal), else NCCL_TESTS_SPLIT, if there is one. Throws Error.
std::optional<Split> split_of(const Environment& environment);

struct SplitGroup {
  std::uint64_t colour = 0;
  Members members;
};
/// By colour. A job has the first `gpus_per_node` GPUs of every node, `gpus_per_process` ranks in
/// each process. Throws Error where a group has not the same GPUs of each of its nodes.
std::vector<SplitGroup> split_groups(const Split& split, int nodes, int gpus_per_node,
                                     int gpus_per_process);

}  // namespace fabricast
