#include "models/nccl/environment/ib_hca.hpp"

#include <algorithm>

#include "text/numbers.hpp"

namespace fabricast {

IbHcaFilter::IbHcaFilter(std::string_view value) {
  if (value.starts_with('^')) {
    exclude_ = true;
    value.remove_prefix(1);
  }
  if (value.starts_with('=')) {
    exact_ = true;
    value.remove_prefix(1);
  }
  constexpr std::size_t kEntriesMax = 32;  // MAX_IB_DEVS
  while (!value.empty() && entries_.size() < kEntriesMax) {
    const std::string_view entry = value.substr(0, value.find(','));
    value.remove_prefix(std::min(entry.size() + 1, value.size()));
    add(entry);
  }
}

void IbHcaFilter::add(std::string_view text) {
  const std::size_t colon = text.find(':');
  Entry entry{std::string(text.substr(0, colon)), -1};
  if (entry.name.empty()) return;  // NCCL skips it
  const std::string quoted = "NCCL_IB_HCA: \"" + std::string(text) + "\"";
  if (colon != std::string_view::npos) {
    // 0 is what atoi makes of no number: no device has such a port.
    entry.port = leading_number<int>(text.substr(colon + 1)).value_or(0);
    if (entry.port < 1) warnings_.push_back(quoted + " names no port, so it matches nothing");
  }
  if (entry.name.find_first_of(" \t") != std::string::npos) {
    warnings_.push_back(quoted + " holds blanks, so it matches nothing");
  } else if (entry.name.front() == '^' || entry.name.front() == '=') {
    warnings_.push_back(quoted + ": ^ and = count only at the start of the list, ^ before =");
  }
  entries_.push_back(std::move(entry));
}

bool IbHcaFilter::selects(std::string_view name, int port) const {
  if (entries_.empty()) return !exclude_;
  const bool listed = std::ranges::any_of(entries_, [&](const Entry& e) {
    const bool named = exact_ ? name == e.name : name.starts_with(e.name);
    return named && (e.port == -1 || e.port == port);
  });
  return listed != exclude_;
}

}  // namespace fabricast
