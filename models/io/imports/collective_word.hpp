#pragma once
// PyTorch's words for collectives.

#include <string>

namespace fabricast {

/// nccl-tests' word: "_allgather_base" and "nccl:all_gather" are all_gather; what is no collective
/// of nccl-tests keeps its name.
std::string collective_word(std::string name);

}  // namespace fabricast
