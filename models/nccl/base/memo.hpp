#pragma once
// Answers by question, each found once. For collectives: the key names what differs between the
// questions of one owner (communicator shape, collective, size); what is the same for all of them
// (environment, fabric, faults) need not stand in it.

#include <cstdint>
#include <map>
#include <utility>

namespace fabricast {

struct MemoCounts {
  std::uint64_t asked = 0;
  std::uint64_t simulated = 0;  ///< of these: not known yet

  MemoCounts& operator+=(const MemoCounts& more) {
    asked += more.asked;
    simulated += more.simulated;
    return *this;
  }
  bool operator==(const MemoCounts&) const = default;
};

template <class Key, class Answer>
class Memo {
 public:
  /// `simulate` gives the answer where it is not known.
  template <class Simulate>
  const Answer& at(const Key& key, const Simulate& simulate) {
    ++counts_.asked;
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    ++counts_.simulated;
    return known_.emplace(key, simulate()).first->second;
  }
  const MemoCounts& counts() const { return counts_; }

 private:
  std::map<Key, Answer> known_;
  MemoCounts counts_;
};

}  // namespace fabricast
