#include "models/io/environments/shell_arithmetic.hpp"

#include "text/numbers.hpp"

namespace fabricast {
namespace {

using Number = std::optional<std::int64_t>;

/// Recursive descent, one function a level of precedence.
class ArithmeticParser {
 public:
  explicit ArithmeticParser(std::string_view text) : text_(text) {}

  Number run() {
    const Number value = shift();
    skip_blanks();
    return text_.empty() ? value : std::nullopt;
  }

 private:
  static constexpr int kDepthMax = 64;

  void skip_blanks() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\t')) text_.remove_prefix(1);
  }
  bool take(std::string_view token) {
    skip_blanks();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }

  Number shift() {
    Number left = sum();
    while (left && take("<<")) {
      const Number right = sum();
      constexpr std::int64_t bits_max = 62;
      if (!right || *right < 0 || *right > bits_max || *left < 0) return std::nullopt;
      if (*left > INT64_MAX >> *right) return std::nullopt;
      left = *left << *right;
    }
    return left;
  }

  Number sum() {
    Number left = product();
    while (left) {
      std::int64_t result = 0;
      if (take("+")) {
        const Number right = product();
        if (!right || __builtin_add_overflow(*left, *right, &result)) return std::nullopt;
      } else if (take("-")) {
        const Number right = product();
        if (!right || __builtin_sub_overflow(*left, *right, &result)) return std::nullopt;
      } else {
        return left;
      }
      left = result;
    }
    return left;
  }

  Number product() {
    Number left = factor();
    while (left) {
      skip_blanks();
      if (text_.starts_with("**")) return std::nullopt;
      std::int64_t result = 0;
      if (take("*")) {
        const Number right = factor();
        if (!right || __builtin_mul_overflow(*left, *right, &result)) return std::nullopt;
      } else if (text_.starts_with('/') || text_.starts_with('%')) {
        const bool divides = text_.starts_with('/');
        text_.remove_prefix(1);
        const Number right = factor();
        if (!right || *right <= 0) return std::nullopt;
        result = divides ? *left / *right : *left % *right;
      } else {
        return left;
      }
      left = result;
    }
    return left;
  }

  Number factor() {
    if (++depth_ > kDepthMax) return std::nullopt;
    if (take("(")) {
      const Number inside = shift();
      return take(")") ? inside : std::nullopt;
    }
    skip_blanks();
    return take_number<std::int64_t>(text_);
  }

  std::string_view text_;
  int depth_ = 0;  ///< factors read so far: bounds the recursion
};

}  // namespace

std::optional<std::int64_t> shell_arithmetic(std::string_view text) {
  return ArithmeticParser(text).run();
}

}  // namespace fabricast
