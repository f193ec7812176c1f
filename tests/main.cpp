// Paths in tests count from the root of the checkout, wherever they are started.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <filesystem>

int main(int count, char** words) {
  std::filesystem::current_path(FABRICAST_ROOT);
  return doctest::Context(count, words).run();
}
