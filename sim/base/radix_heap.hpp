#pragma once
// The event queue: a radix heap over integer time. Monotone: nothing is scheduled in the past.
// Ahuja, Mehlhorn, Orlin, Tarjan: Faster Algorithms for the Shortest Path Problem, JACM 37 (1990).

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/base/large_pages.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

/// Actor `actor` wants to act at `at`.
struct Event {
  Instant at;
  std::uint32_t actor = 0;
};

/// Total order of events: (time, round, actor). Round 0 of an instant is what was scheduled before
/// the instant began; what is scheduled for the running instant while it runs forms the next round.
/// The order never depends on insertion order, so equal parts of a symmetric system are served
/// equally wherever they stand.
///
/// Time is read as digits of kDigitBits bits. An event waits in the bucket (level, digit): level is
/// the highest digit in which its time differs from the running instant, digit its value there. It
/// only ever moves to lower levels. The earliest bucket, once it is small, is not spread any more
/// but sorted: those are the near events, and what is scheduled among them joins them. Actors that
/// are scheduled for one instant travel together, in batches behind the first of them: equal parts
/// of a system mostly act at equal times. Buckets are lists of small blocks from one stock, the one
/// given back last first: what waits takes no more memory than it needs, and that stays in the
/// caches. (As vectors, buckets of an all-to-all of 1,000 nodes took 165 MiB for 4.)
class RadixHeap {
 public:
  RadixHeap() = default;
  RadixHeap(RadixHeap&&) = default;  // not copied: it points into its own tables
  RadixHeap& operator=(RadixHeap&&) = default;

  bool empty() const { return between_instants() && near_.empty() && levels_ == 0; }
  /// The running instant: the time of the last event popped.
  Instant now() const { return {last_}; }

  /// The time of the next event: a search, not for hot paths. REQUIRES: !empty().
  Instant earliest() const {
    assert(!empty());
    if (!between_instants()) return {last_};
    if (!near_.empty()) return near_.back().at;
    const auto level = static_cast<unsigned>(std::countr_zero(levels_));
    const auto digit = digits_[level].first();
    Instant at{INT64_MAX};
    each_of(buckets_[level * kDigits + digit],
            [&](const Waiting& waiting) { at = std::min(at, waiting.at); });
    return at;
  }

  /// Nothing is left to do in the running round.
  bool round_ended() const { return round_next_ == round_end_; }
  /// Nor in the running instant.
  bool between_instants() const { return round_ended() && next_round_.empty(); }

  /// Forgets all events; the clock stands at `now`.
  void restart(Instant now) {
    *this = {};
    last_ = now.ps;
  }

  /// REQUIRES: at >= now(), at >= 0; an actor waits for at most one event.
  void push(Instant at, std::uint32_t actor) {
    assert(at.ps >= last_);
    if (at.ps == last_) return join(actor);
    Recent& recent = recent_of(at);
    if (recent.at != at || recent.count == kBatch) return push_apart(at, actor);
    Batch& batch = batches_[recent.batch];
    batch.actors[recent.count] = actor;
    batch.count = ++recent.count;
  }

  /// REQUIRES: !empty().
  Event pop() { return pop(Nobody{}); }
  /// The same. `soon(actor, depth)` hears of actors that come soon, with depths from 0 to 3 the
  /// nearer they are: what they need can be asked for in time, at each depth what the one before
  /// has brought the address of.
  template <class Soon>
  Event pop(Soon soon) {
    assert(!empty());
    if (round_ended()) begin_round(soon);
    if constexpr (!std::is_same_v<Soon, Nobody>) {
      if (round_next_ == told_) tell(soon);
    }
    return {{last_}, *round_next_++};
  }
  /// The same for all of a round, or of what is left of it, for `most` events at most: calls
  /// act(actor) for one after another; returns the last one.
  template <class Soon, class Act>
  [[gnu::always_inline]] std::uint32_t pop_round(std::uint64_t most, Soon soon, Act act) {
    assert(!empty());
    if (round_ended()) {
      begin_round(soon);
      if constexpr (!std::is_same_v<Soon, Nobody>) tell_of_first(soon);
    }
    const std::uint32_t* at = round_next_;
    const std::uint32_t* const end = at + std::min(most, std::uint64_t(round_end_ - at));
    round_next_ = end;
    const auto tell_of = [&, all = round_end_ ](auto depth) __attribute__((always_inline)) {
      if (all - at > kAhead<depth>) soon(at[kAhead<depth>], depth);
    };
    for (; at != end; ++at) {
      if constexpr (!std::is_same_v<Soon, Nobody>) {
        tell_of(Depth<0>{});
        tell_of(Depth<1>{});
        tell_of(Depth<2>{});
        tell_of(Depth<3>{});
      }
      act(*at);
    }
    return end[-1];
  }
  /// Who does not want to hear who comes soon.
  struct Nobody {
    void operator()(std::uint32_t, unsigned) const {}
  };

 private:
  static constexpr std::uint32_t kNoBlock = UINT32_MAX;
  static constexpr std::uint32_t kFull = 0;  ///< number of a batch that has no room for anybody

  /// All actors of an instant, or some of them: `actor`, and who is in the batches.
  struct Waiting {
    Instant at;
    std::uint32_t actor = 0;
    std::uint32_t batch = kFull;  ///< the last one; kFull: there is none
  };
  static constexpr std::uint32_t kBlock = 63;  ///< with what is before: 1 KiB
  struct alignas(64) Block {
    std::uint32_t before = kNoBlock;  ///< of the same bucket, or free, too
    std::array<Waiting, kBlock> waiting{};
  };
  /// A set of values of one digit.
  class Digits {
   public:
    bool empty() const { return (words_[0] | words_[1]) == 0; }
    void add(unsigned digit) { words_[digit / 64] |= std::uint64_t{1} << (digit % 64); }
    /// REQUIRES here and below: !empty().
    unsigned first() const {
      const unsigned word = words_[0] == 0 ? 1 : 0;
      return 64 * word + static_cast<unsigned>(std::countr_zero(words_[word]));
    }
    void drop_first() {
      std::uint64_t& word = words_[words_[0] == 0 ? 1 : 0];
      word &= word - 1;
    }

   private:
    std::array<std::uint64_t, 2> words_{};
  };
  struct Bucket {
    std::uint32_t last = kNoBlock;
    std::uint32_t size = 0;          ///< of all blocks: those before the last one are full
    std::uint32_t in_last = kBlock;  ///< an empty bucket has no room either
  };
  static constexpr std::uint32_t kBatch = 14;  ///< with what is before: a cache line
  struct alignas(64) Batch {
    std::uint32_t next = 0;  ///< behind the last one comes the first one
    std::uint32_t count = 0;
    std::array<std::uint32_t, kBatch> actors{};
  };
  /// Who was scheduled last for an instant, found by hash of the time: who is scheduled for the
  /// same one joins the batch. Instants that are pushed out of it are found no more, so that others
  /// of theirs wait apart, or are searched for, if they are near.
  struct Recent {
    Instant at{-1};
    std::uint32_t block = 0, place = 0;  ///< where they wait, if they are not near
    std::uint32_t batch = kFull;
    std::uint32_t count = kBatch;  ///< as that of the batch, whose cache line may be far
  };
  Recent& recent_of(Instant at) {
    return recent_[static_cast<std::uint64_t>(at.ps) * kGolden >> (64 - kRecentBits)];
  }

  // Out of line: what is rare would cost the rest its registers.

  [[gnu::noinline]] void join(std::uint32_t actor) { next_round_.push_back(actor); }

  /// Whose instant is not among the recent ones, or whose batch is full.
  [[gnu::noinline]] void push_apart(Instant at, std::uint32_t actor) {
    if (at.ps < near_end_) return push_near(at, actor);
    Recent& recent = recent_of(at);
    if (recent.at != at) return place({at, actor});
    std::uint32_t& last = blocks_[recent.block].waiting[recent.place].batch;
    last = recent.batch = add_batch(last);
    recent.count = add_to(last, actor);
  }
  /// Returns how many are in the batch then. REQUIRES: it has room.
  std::uint32_t add_to(std::uint32_t number, std::uint32_t actor) {
    Batch& batch = batches_[number];
    batch.actors[batch.count++] = actor;
    return batch.count;
  }

  /// Behind the last one.
  [[gnu::noinline]] std::uint32_t add_batch(std::uint32_t last) {
    if (free_batch_ == kFull) {
      free_batch_ = static_cast<std::uint32_t>(batches_.size());
      batches_.push_back({kFull, 0, {}});
    }
    const std::uint32_t number = free_batch_;
    Batch& batch = batches_[number];
    free_batch_ = batch.next;
    batch.count = 0;
    batch.next = number;
    if (last != kFull) std::swap(batch.next, batches_[last].next);
    return number;
  }

  /// REQUIRES: later than the running instant, before the end of the near events.
  [[gnu::noinline]] void push_near(Instant at, std::uint32_t actor) {
    const auto place =
        std::lower_bound(near_.begin(), near_.end(), at,
                         [](const Waiting& waiting, Instant time) { return waiting.at > time; });
    if (place != near_.end() && place->at == at) {
      if (batches_[place->batch].count == kBatch) place->batch = add_batch(place->batch);
      recent_of(at) = {at, 0, 0, place->batch, add_to(place->batch, actor)};
    } else {
      near_.insert(place, {at, actor});
      recent_of(at) = {at};
      if (near_.size() > kNearMost) drop_far();
    }
  }

  /// Too many are near: those stay that differ from the running instant in a lower digit.
  [[gnu::noinline]] void drop_far() {
    while (near_level_ > 0 && near_.size() > kNearMost) {
      set_near(--near_level_, {last_});
      std::size_t far = 0;
      for (; far < near_.size() && near_[far].at.ps >= near_end_; ++far) place(near_[far]);
      near_.erase(near_.begin(), near_.begin() + static_cast<std::ptrdiff_t>(far));
    }
  }

  /// Near is what differs from `at` in no digit from this one on.
  void set_near(unsigned level, Instant at) {
    near_level_ = level;
    near_end_ = ((at.ps >> (level * kDigitBits)) + 1) << (level * kDigitBits);
  }

  /// They act in the next round.
  void call(const Waiting& waiting) {
    next_round_.push_back(waiting.actor);
    if (waiting.batch == kFull) return;
    Batch& last = batches_[waiting.batch];
    for (std::uint32_t number = last.next;; number = batches_[number].next) {
      const Batch& batch = batches_[number];
      __builtin_prefetch(&batches_[batch.next]);
      next_round_.insert(next_round_.end(), batch.actors.begin(),
                         batch.actors.begin() + batch.count);
      if (number == waiting.batch) break;
    }
    std::swap(last.next, free_batch_);
  }

  void add_block(Bucket& bucket) {
    if (free_block_ == kNoBlock) {
      free_block_ = static_cast<std::uint32_t>(blocks_.size());
      blocks_.emplace_back();
    }
    const std::uint32_t number = free_block_;
    Block& block = blocks_[number];
    free_block_ = block.before;
    block.before = bucket.last;
    bucket.last = number;
    bucket.in_last = 0;
    if (free_block_ != kNoBlock) __builtin_prefetch(&blocks_[free_block_], 1);
  }
  /// Takes the last block out of the bucket; it stays as it is until another one is added.
  void drop_block(Bucket& bucket) {
    bucket.size -= bucket.in_last;
    bucket.in_last = kBlock;
    std::swap(blocks_[bucket.last].before, free_block_);
    std::swap(bucket.last, free_block_);
  }
  /// Calls visit(waiting) for all in the bucket.
  template <class Visit>
  [[gnu::always_inline]] void each_of(const Bucket& bucket, Visit visit) const {
    std::uint32_t count = bucket.in_last;
    for (std::uint32_t number = bucket.last; number != kNoBlock; number = blocks_[number].before) {
      const Block& block = blocks_[number];
      for (std::uint32_t i = 0; i < count; ++i) visit(block.waiting[i]);
      count = kBlock;
    }
  }

  /// REQUIRES: later than the running instant. What is rare it leaves to a call at its end: so it
  /// saves no registers.
  [[gnu::noinline]] void place(Waiting waiting) {
    const auto difference = static_cast<std::uint64_t>(waiting.at.ps ^ last_);
    const unsigned level = kLevelOfBit[static_cast<unsigned>(63 - std::countl_zero(difference))];
    const auto digit = static_cast<unsigned>(waiting.at.ps >> (level * kDigitBits)) % kDigits;
    digits_[level].add(digit);
    levels_ |= 1u << level;
    Bucket& bucket = buckets_[level * kDigits + digit];
    if (bucket.in_last == kBlock) return place_in_new_block(bucket, waiting);
    place_in(bucket, waiting);
  }
  [[gnu::noinline]] void place_in_new_block(Bucket& bucket, Waiting waiting) {
    add_block(bucket);
    place_in(bucket, waiting);
  }
  [[gnu::always_inline]] void place_in(Bucket& bucket, const Waiting& waiting) {
    recent_of(waiting.at) = {waiting.at, bucket.last, bucket.in_last, waiting.batch,
                             batches_[waiting.batch].count};
    blocks_[bucket.last].waiting[bucket.in_last++] = waiting;
    ++bucket.size;
  }

  template <class Soon>
  void begin_round(Soon soon) {
    if (next_round_.empty()) {
      if (near_.empty()) come_near(soon);
      if (near_.back().batch == kFull &&
          (near_.size() == 1 || near_[near_.size() - 2].at > near_.back().at))
        return begin_alone();
      advance();
    }
    round_.swap(next_round_);
    next_round_.clear();
    if (round_.size() > 1 && !std::is_sorted(round_.begin(), round_.end())) sort_round();
    round_next_ = told_ = round_.data();
    round_end_ = round_next_ + round_.size();
  }

  /// The earliest event has its instant to itself.
  void begin_alone() {
    last_ = near_.back().at.ps;
    if (round_.empty()) round_.resize(1);
    round_.front() = near_.back().actor;
    near_.pop_back();
    round_next_ = round_.data();
    round_end_ = told_ = round_next_ + 1;  // there is nobody to tell of
    prefetch_batches();
  }

  template <unsigned kDepth>
  using Depth = std::integral_constant<unsigned, kDepth>;

  /// Tells of the next actors of the round: in steps, each depth one step behind the one before.
  template <class Soon>
  [[gnu::noinline]] void tell(Soon soon) {
    const std::uint32_t* const begin = round_next_;
    const auto tell_of = [&](auto depth) __attribute__((always_inline)) {
      const std::uint32_t* const end = ahead((kDepths - depth) * kStep);
      const std::uint32_t* at =
          begin == round_.data() ? begin : ahead((kDepths - 1 - depth) * kStep);
      for (; at != end; ++at) soon(*at, depth);
    };
    if (round_.size() > 1) {
      tell_of(Depth<0>{});
      tell_of(Depth<1>{});
      tell_of(Depth<2>{});
      tell_of(Depth<3>{});
    }
    told_ = ahead(kStep);
  }
  /// Of a round that begins: of those who are told of before the first one acts; and of the next
  /// instant, whose batch has been asked for.
  template <class Soon>
  [[gnu::noinline]] void tell_of_first(Soon soon) const {
    if (round_.size() == 1) return;
    const auto tell_of = [&](auto depth) __attribute__((always_inline)) {
      const std::uint32_t* const end = ahead(kAhead<depth>);
      for (const std::uint32_t* at = round_next_; at != end; ++at) soon(*at, depth);
    };
    tell_of(Depth<0>{});
    tell_of(Depth<1>{});
    tell_of(Depth<2>{});
    tell_of(Depth<3>{});
    if (near_.empty()) return;
    soon(near_.back().actor, Depth<0>{});
    if (near_.back().batch == kFull) return;
    const Batch& next = batches_[batches_[near_.back().batch].next];
    for (std::uint32_t i = 0; i < next.count; ++i) soon(next.actors[i], Depth<0>{});
  }
  const std::uint32_t* ahead(std::size_t actors) const {
    return round_next_ +
           std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(actors), round_end_ - round_next_);
  }

  /// Moves the clock to the earliest events. REQUIRES: they are near.
  void advance() {
    last_ = near_.back().at.ps;
    do {
      call(near_.back());
      near_.pop_back();
    } while (!near_.empty() && near_.back().at.ps == last_);
    prefetch_batches();
  }

  /// Of the next two instants.
  [[gnu::always_inline]] void prefetch_batches() const {
    if (near_.empty()) return;
    __builtin_prefetch(&batches_[batches_[near_.back().batch].next], 1);
    __builtin_prefetch(&batches_[(near_.size() > 1 ? near_[near_.size() - 2] : near_[0]).batch], 1);
  }

  /// Sorts the earliest bucket, or spreads it over lower ones, if it is large, but for its earliest
  /// events.
  template <class Soon>
  void come_near(Soon soon) {
    assert(levels_ != 0);
    const auto level = static_cast<unsigned>(std::countr_zero(levels_));
    const auto digit = digits_[level].first();
    digits_[level].drop_first();
    if (digits_[level].empty()) levels_ &= levels_ - 1;
    Bucket bucket = std::exchange(buckets_[level * kDigits + digit], {});
    if (bucket.size <= kNextSpread) {
      tell_of_buckets(level, level * kDigits + digit, bucket, soon);
      sort_near(bucket, level);
      return set_near(level, near_.front().at);
    }
    last_ = INT64_MAX;
    each_of(
        bucket, [&](const Waiting& waiting) __attribute__((always_inline)) {
          last_ = std::min(last_, waiting.at.ps);
          if (bucket.size <= kFarSpread) soon(waiting.actor, Depth<0>{});
        });
    while (bucket.last != kNoBlock) {
      const Block block = blocks_[bucket.last];  // a copy: others are added
      const std::uint32_t count = bucket.in_last;
      drop_block(bucket);
      for (std::uint32_t i = 0; i < count; ++i) {
        const Waiting& waiting = block.waiting[i];
        waiting.at.ps == last_ ? near_.push_back(waiting) : place(waiting);
      }
    }
    set_near(0, {last_});
    near_end_ = last_ + 1;
  }

  // Inlined: GCC drops calls of a function that does nothing but prefetch.
  template <unsigned kDepth, class Soon>
  [[gnu::always_inline]] void tell_of_bucket(const Bucket& bucket, Soon soon) const {
    if (bucket.size > kNextSpread) return;
    each_of(
        bucket, [&](const Waiting& waiting)
                    __attribute__((always_inline)) { soon(waiting.actor, Depth<kDepth>{}); });
  }

  /// Of a bucket that comes near the last depth, of the next two of its level the ones before.
  template <class Soon>
  [[gnu::always_inline]] void tell_of_buckets(unsigned level, std::uint32_t number,
                                              const Bucket& bucket, Soon soon) {
    if (told_buckets_[0] != number && told_buckets_[1] != number) tell_of_bucket<1>(bucket, soon);
    if (told_buckets_[0] != number) tell_of_bucket<2>(bucket, soon);
    tell_of_bucket<3>(bucket, soon);
    Digits digits = digits_[level];
    const auto next = [&] {
      if (digits.empty()) return kNoBlock;
      const unsigned next_digit = digits.first();
      digits.drop_first();
      return level * kDigits + next_digit;
    };
    const std::uint32_t first = next(), second = next();
    if (first != kNoBlock) {
      if (told_buckets_[1] != first) tell_of_bucket<1>(buckets_[first], soon);
      tell_of_bucket<2>(buckets_[first], soon);
    }
    if (second != kNoBlock) tell_of_bucket<1>(buckets_[second], soon);
    told_buckets_ = {first, second};
  }

  /// Takes over a bucket of this level. Each one's place is the number of later ones, counted
  /// without a branch.
  void sort_near(Bucket bucket, unsigned level) {
    near_.clear();
    for (; bucket.last != kNoBlock; drop_block(bucket)) {
      const Block& block = blocks_[bucket.last];
      near_.insert(near_.end(), block.waiting.begin(), block.waiting.begin() + bucket.in_last);
    }
    if (level > kKeyLevels) {  // times that differ in too many digits
      std::sort(near_.begin(), near_.end(),
                [](const Waiting& a, const Waiting& b) { return a.at > b.at; });
      return;
    }
    const std::int64_t mask = (std::int64_t{1} << (level * kDigitBits)) - 1;
    std::array<std::int32_t, 1u << kPlaceBits> keys;
    const std::size_t all = (near_.size() + 7) / 8 * 8;
    std::fill(keys.begin() + static_cast<std::ptrdiff_t>(near_.size()),
              keys.begin() + static_cast<std::ptrdiff_t>(all), -1);  // later than nobody
    for (std::size_t i = 0; i < near_.size(); ++i)
      keys[i] = static_cast<std::int32_t>((near_[i].at.ps & mask) << kPlaceBits) |
                static_cast<std::int32_t>(i);
    sorted_.resize(near_.size());
    for (std::size_t i = 0; i < near_.size(); ++i) {
      std::int32_t later = 0;
      for (std::size_t j = 0; j < all; ++j) later += keys[j] > keys[i] ? 1 : 0;
      sorted_[static_cast<std::size_t>(later)] = near_[i];
    }
    near_.swap(sorted_);
  }

  /// Small rounds: each actor's place is the number of smaller ones, counted without a branch.
  /// Larger ones: a bit per number between the smallest and the largest actor, if that is not too
  /// sparse; else by one digit after the other.
  void sort_round() {
    if (round_.size() <= kRankSortMax) return rank_round();
    const auto [low, high] = std::minmax_element(round_.begin(), round_.end());
    const std::uint32_t first = *low / 64;
    const std::size_t words = *high / 64 - first + 1;
    if (words > kWordsPerActorMax * round_.size()) return sort_digits(*low, *high - *low);
    bits_.assign(words, 0);
    for (const std::uint32_t actor : round_)
      bits_[actor / 64 - first] |= std::uint64_t{1} << (actor % 64);
    std::size_t next = 0;
    for (std::size_t w = 0; w < words; ++w) {
      for (std::uint64_t word = bits_[w]; word != 0; word &= word - 1) {
        const auto bit = static_cast<std::uint32_t>(std::countr_zero(word));
        round_[next++] = (first + static_cast<std::uint32_t>(w)) * 64 + bit;
      }
    }
  }

  void rank_round() {
    next_round_.resize(round_.size());
    for (const std::uint32_t actor : round_) {
      std::uint32_t place = 0;
      for (const std::uint32_t other : round_) place += other < actor ? 1 : 0;
      next_round_[place] = actor;
    }
    round_.swap(next_round_);
    next_round_.clear();
  }

  /// The lowest digit first. They are from `low` to `low + span`.
  void sort_digits(std::uint32_t low, std::uint32_t span) {
    constexpr unsigned bits = 8;
    for (unsigned shift = 0; shift < 32 && span >> shift != 0; shift += bits) {
      const auto digit = [&](std::uint32_t actor) { return (actor - low) >> shift & 0xff; };
      std::array<std::uint32_t, (1u << bits) + 1> begin{};
      for (const std::uint32_t actor : round_) ++begin[digit(actor) + 1];
      for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
      next_round_.resize(round_.size());
      for (const std::uint32_t actor : round_) next_round_[begin[digit(actor)]++] = actor;
      round_.swap(next_round_);
    }
    next_round_.clear();
  }

  // What is soon, in events: of a round, and of a bucket that is spread. Measured on rings, trees
  // and all-to-alls of 64 to 2,048 ranks.
  static constexpr unsigned kDepths = 4;
  static constexpr std::size_t kStep = 4;
  template <unsigned kDepth>
  static constexpr std::ptrdiff_t kAhead = (kDepths - kDepth) * kStep;
  static constexpr std::size_t kFarSpread = 4096, kNextSpread = 128;
  static constexpr std::size_t kNearMost = 2 * kNextSpread;
  static constexpr unsigned kRecentBits = 7;
  static constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;  // Knuth's multiplicative hash
  static constexpr std::size_t kRankSortMax = 64, kWordsPerActorMax = 16;

  static constexpr unsigned kDigitBits = 7;
  static constexpr unsigned kDigits = 1u << kDigitBits;
  static constexpr unsigned kLevels = (64 + kDigitBits - 1) / kDigitBits;
  static constexpr auto kLevelOfBit = [] {
    std::array<std::uint8_t, 64> level{};
    for (unsigned bit = 0; bit < 64; ++bit)
      level[bit] = static_cast<std::uint8_t>(bit / kDigitBits);
    return level;
  }();
  /// What is left of a time below such a level, and a place among those near, are 28 bits.
  static constexpr unsigned kKeyLevels = 3, kPlaceBits = 7;
  static_assert(kNextSpread <= 1u << kPlaceBits);

  std::array<Bucket, kLevels * kDigits> buckets_{};
  std::array<Digits, kLevels> digits_{};  ///< of each level: whose buckets are not empty
  std::uint32_t levels_ = 0;              ///< bit l: digits_[l] is not empty
  HugePageVector<Block> blocks_;
  std::uint32_t free_block_ = kNoBlock;  ///< the one left last
  std::vector<Waiting> near_, sorted_;   ///< the last one is the earliest; scratch
  std::int64_t near_end_ = 0;            ///< they are before
  unsigned near_level_ = 0;              ///< and differ in no digit from this one on
  /// Buckets whose actors have been told of to depths 2 and 1, before they come near.
  std::array<std::uint32_t, 2> told_buckets_{kNoBlock, kNoBlock};
  std::vector<Batch> batches_ = {{kFull, kBatch, {}}};
  std::uint32_t free_batch_ = kFull;  ///< the one left last
  std::array<Recent, 1u << kRecentBits> recent_{};
  std::vector<std::uint32_t> round_, next_round_;
  std::vector<std::uint64_t> bits_;
  // In round_:
  const std::uint32_t* round_next_ = nullptr;
  const std::uint32_t* round_end_ = nullptr;
  const std::uint32_t* told_ = nullptr;  ///< who acts when more have to be told of
  std::int64_t last_ = 0;
};

}  // namespace fabricast
