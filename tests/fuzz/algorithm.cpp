// Any bytes as a custom algorithm: it is checked, or an Error.

#include "input.hpp"
#include "models/io/algorithms/read_algorithm.hpp"

using namespace fabricast;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  fuzz::runs([&] {
    const CustomAlgorithm read = parse_algorithm(text, "f");
    fuzz::require(read.ranks >= 2 && !read.blocks.empty());
  });
  return 0;
}
