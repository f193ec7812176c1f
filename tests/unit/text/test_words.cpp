// Goal: words are compared as people mean them.
// Method: blanks, signs and capitals that do not matter; changes of a letter that do.

#include "text/cut.hpp"
#include "text/words.hpp"

#include <doctest/doctest.h>

using namespace fabricast;

TEST_CASE("words: letters and digits, small") {
  CHECK(plain_word("RTX 2080-Ti") == "rtx2080ti");
  CHECK(plain_word("CollNet+SHARP") == "collnetsharp");
  CHECK(plain_word("\xc3\x84 -") == "");  // only those of ASCII
}

TEST_CASE("words: a whole one, and a piece of a longer one") {
  CHECK(is_whole_word("an A10, 8x", 3, 3));
  CHECK(is_whole_word("A10", 0, 3));
  CHECK(!is_whole_word("A100", 0, 3));
  CHECK(!is_whole_word("GH200", 1, 4));
  CHECK(is_whole_word("\xc3\x84 H200_NVL", 3, 4));  // "_" is no letter
}

TEST_CASE("words: the nearest known one, if any is near") {
  CHECK(nearest("NVLSS", {"Ring", "Tree", "NVLS"}) == "NVLS");
  CHECK(nearest("kb", {"MB", "KB"}) == "KB");  // a change of case counts half
  CHECK(nearest("H100", {"B200_SXM", "H100_SXM5"}) == "H100_SXM5");
  CHECK(nearest("quaternion", {"Ring", "Tree"}) == "");
}

TEST_CASE("cut: a character of several bytes stays whole or goes") {
  CHECK(cut("mlx5_0,mlx5_1", 6) == "mlx5_0");
  CHECK(cut("mlx5_0", 6) == "mlx5_0");
  CHECK(cut("a\u00e9b", 2) == "a");
  CHECK(cut("a\u00e9b", 3) == "a\u00e9");
  CHECK(cut("\xa9\xa9\xa9", 2).empty());  // no character begins there
}
