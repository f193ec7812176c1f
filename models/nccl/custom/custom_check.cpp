// What makes an algorithm right: see check_algorithm().

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>

#include "models/nccl/custom/custom_algorithm.hpp"

namespace fabricast {

namespace {

/// What is added up in a chunk: (rank, chunk of its input), ascending. Empty: nothing was written.
using Sum = std::vector<std::pair<int, int>>;
/// How many steps of each block happened before.
using Clock = std::vector<std::uint32_t>;

constexpr std::int64_t kPlacesMax = 1 << 18, kBlocksMax = 4096, kMovesMax = 1 << 20,
                       kClocksMax = 1 << 26;

std::string listed(const Sum& sum) {
  if (sum.empty()) return "nothing";
  std::string ranks;
  for (const auto& [rank, chunk] : sum)
    ranks += fmt::format("{}{}", ranks.empty() ? "" : " ", rank);
  return fmt::format("input {} of rank{} {}", sum.front().second, sum.size() > 1 ? "s" : "", ranks);
}

/// From one block to another of another rank, on one channel.
struct Link {
  std::uint32_t from = 0, to = 0;
  struct Message {
    Sum sum;
    Clock clock;
  };
  std::deque<Message> messages;
};

class Check {
 public:
  Check(const CustomAlgorithm& algorithm, bool in_place)
      : algorithm_(algorithm),
        in_place_(in_place),
        slots_(static_cast<std::size_t>(messages_in_flight(algorithm.protocol))) {}

  void run() {
    check_size();
    check_shape();
    connect();
    match();
    prepare();
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t block = 0; block < blocks(); ++block)
        while (advance(block)) moved = true;
    }
    check_done();
    check_outputs();
  }

 private:
  struct State {
    std::uint32_t step = 0;
    int chunk = 0;  ///< of the step
    Clock clock;
    std::map<std::uint32_t, Clock> after;  ///< by step that somebody waits for
    int in = -1, out = -1;                 ///< links
  };
  struct Chunk {
    Sum sum;
    std::pair<std::uint32_t, std::uint32_t> written{};  ///< block, time (0 = never)
    std::map<std::uint32_t, std::uint32_t> read;        ///< times by block
  };

  /// What would take more memory or time than any real algorithm needs.
  void check_size() const {
    std::int64_t moves = 0, waits = 0;
    for (const CustomBlock& one : algorithm_.blocks) {
      for (const CustomStep& s : one.steps) {
        moves += s.count;
        waits += std::ssize(s.waits);
      }
    }
    const std::int64_t places = std::int64_t{algorithm_.ranks} *
                                (algorithm_.inputs() + algorithm_.outputs() + algorithm_.scratch);
    const auto bounded = [&](std::int64_t value, std::int64_t most, const char* what) {
      if (value > most)
        throw Error(Place{algorithm_.file, 0, {}},
                    fmt::format("{} {}: at most {} are checked", value, what, most));
    };
    bounded(places, kPlacesMax, "chunks on all ranks");
    bounded(std::ssize(algorithm_.blocks), kBlocksMax, "thread blocks");
    bounded(moves, kMovesMax, "chunks moved");
    bounded(waits * std::ssize(algorithm_.blocks), kClocksMax, "dependencies times thread blocks");
  }

  std::uint32_t blocks() const { return static_cast<std::uint32_t>(algorithm_.blocks.size()); }
  const CustomBlock& block(std::uint32_t i) const { return algorithm_.blocks[i]; }
  const CustomStep& step(std::uint32_t b) const { return block(b).steps[states_[b].step]; }
  [[noreturn]] void fail(std::uint32_t b, std::uint32_t at, const std::string& what,
                         const std::string& hint = {}) const {
    throw Error(algorithm_.place(b, at), what, hint);
  }

  int limit(ChunkBuffer buffer) const {
    switch (buffer) {
      case ChunkBuffer::input:
        return algorithm_.inputs();
      case ChunkBuffer::output:
        return algorithm_.outputs();
      case ChunkBuffer::scratch:
        return algorithm_.scratch;
    }
    return 0;
  }

  void check_place(std::uint32_t b, std::uint32_t at, const ChunkPlace& place, int count) const {
    const int most = limit(place.buffer);
    if (place.chunk >= 0 && place.chunk + count <= most) return;
    fail(b, at,
         fmt::format("{} {} is not there: {} has {}", to_text(place.buffer),
                     place.chunk < 0 ? place.chunk : place.chunk + count - 1, to_text(place.buffer),
                     most == 1 ? "1 chunk" : fmt::format("{} chunks", most)));
  }

  void check_shape() const {
    for (std::uint32_t b = 0; b < blocks(); ++b) {
      for (std::uint32_t at = 0; at < block(b).steps.size(); ++at) {
        const CustomStep& s = block(b).steps[at];
        if (sends(s.kind) && block(b).send < 0)
          fail(b, at, fmt::format("{}, but its threadblock sends to nobody", to_text(s.kind)));
        if (receives(s.kind) && block(b).recv < 0)
          fail(b, at, fmt::format("{}, but its threadblock receives from nobody", to_text(s.kind)));
        if (reads_source(s.kind)) check_place(b, at, s.source, s.count);
        if (writes_target(s.kind)) check_place(b, at, s.target, s.count);
        for (const CustomStep::Wait& wait : s.waits) {
          if (wait.block == b && wait.step >= at)
            fail(b, at,
                 fmt::format("waits for step {} of its own threadblock, which comes later",
                             wait.step));
        }
      }
    }
  }

  /// A rank has one block for each peer and channel that it sends to, and one for each that it
  /// receives from.
  void connect() {
    states_.resize(blocks());
    std::map<std::tuple<int, int, int>, std::uint32_t> receivers;  // rank, peer, channel
    std::set<std::tuple<int, int, int>> senders;
    const auto twice = [&](std::uint32_t b, const char* what, int peer) {
      throw Error(Place{algorithm_.file, block(b).line,
                        fmt::format("rank {}, threadblock {}", block(b).rank, block(b).id)},
                  fmt::format("another threadblock {} rank {} on channel {} already", what, peer,
                              block(b).channel));
    };
    for (std::uint32_t b = 0; b < blocks(); ++b) {
      const CustomBlock& one = block(b);
      if (one.recv >= 0 && !receivers.insert({{one.rank, one.recv, one.channel}, b}).second)
        twice(b, "receives from", one.recv);
      if (one.send >= 0 && !senders.insert({one.rank, one.send, one.channel}).second)
        twice(b, "sends to", one.send);
    }
    for (std::uint32_t b = 0; b < blocks(); ++b) {
      const CustomBlock& one = block(b);
      if (one.send < 0) continue;
      const auto other = receivers.find({one.send, one.rank, one.channel});
      if (other == receivers.end()) continue;
      states_[b].out = states_[other->second].in = static_cast<int>(links_.size());
      links_.push_back({b, other->second, {}});
    }
  }

  std::vector<std::uint32_t> steps_of(std::uint32_t b, bool (*does)(CustomKind)) const {
    std::vector<std::uint32_t> out;
    for (std::uint32_t at = 0; at < block(b).steps.size(); ++at)
      if (does(block(b).steps[at].kind)) out.push_back(at);
    return out;
  }

  /// Each send has its receive, of as many chunks.
  void match() const {
    for (std::uint32_t b = 0; b < blocks(); ++b) {
      const auto sent = steps_of(b, sends), received = steps_of(b, receives);
      if (!sent.empty() && states_[b].out < 0)
        fail(b, sent.front(),
             fmt::format("sends to rank {}, which has no threadblock that receives from rank {} on "
                         "channel {}",
                         block(b).send, block(b).rank, block(b).channel));
      if (!received.empty() && states_[b].in < 0)
        fail(b, received.front(),
             fmt::format("receives from rank {}, which has no threadblock that sends to rank {} on "
                         "channel {}",
                         block(b).recv, block(b).rank, block(b).channel));
    }
    for (const Link& link : links_) {
      const auto sent = steps_of(link.from, sends), received = steps_of(link.to, receives);
      const std::size_t both = std::min(sent.size(), received.size());
      for (std::size_t i = 0; i < both; ++i) {
        const int gives = block(link.from).steps[sent[i]].count;
        const int takes = block(link.to).steps[received[i]].count;
        if (gives == takes) continue;
        fail(link.to, received[i],
             fmt::format("receives {} chunks where step {} of threadblock {} of rank {} sends {}",
                         takes, sent[i], block(link.from).id, block(link.from).rank, gives));
      }
      if (sent.size() > both)
        fail(link.from, sent[both],
             fmt::format("sends message {} to rank {}, which receives {} from it on channel {}",
                         both + 1, block(link.from).send, both, block(link.from).channel));
      if (received.size() > both)
        fail(link.to, received[both],
             fmt::format("waits for message {} of rank {}, which sends {} to it on channel {}",
                         both + 1, block(link.to).recv, both, block(link.to).channel));
    }
  }

  void prepare() {
    const int per_rank = algorithm_.inputs() + algorithm_.outputs() + algorithm_.scratch;
    chunks_.resize(static_cast<std::size_t>(algorithm_.ranks * per_rank));
    for (State& state : states_) state.clock.resize(blocks());
    for (std::uint32_t b = 0; b < blocks(); ++b) {
      for (const CustomStep& s : block(b).steps)
        for (const CustomStep::Wait& wait : s.waits) states_[wait.block].after[wait.step] = {};
    }
    const bool one_has_it = algorithm_.collective == Collective::broadcast;
    for (int rank = 0; rank < algorithm_.ranks; ++rank) {
      if (one_has_it && rank != algorithm_.root) continue;
      for (int i = 0; i < algorithm_.inputs(); ++i)
        chunk(rank, {ChunkBuffer::input, i}).sum = {{rank, i}};
    }
  }

  /// In place, input and output are the same memory where they overlap.
  Chunk& chunk(int rank, ChunkPlace place) {
    const int inputs = algorithm_.inputs(), outputs = algorithm_.outputs();
    int at = place.chunk;
    if (in_place_ && place.buffer != ChunkBuffer::scratch) {
      // The smaller buffer lies in the larger, at the rank's share.
      if (place.buffer == ChunkBuffer::input && inputs < outputs) at += rank * inputs;
      if (place.buffer == ChunkBuffer::output && outputs < inputs) at += rank * outputs;
    } else if (place.buffer == ChunkBuffer::output) {
      at += inputs;
    } else if (place.buffer == ChunkBuffer::scratch) {
      at += inputs + outputs;
    }
    return chunks_[static_cast<std::size_t>(rank * (inputs + outputs + algorithm_.scratch) + at)];
  }

  /// Does one chunk of the block's step, if it can be done.
  bool advance(std::uint32_t b) {
    State& state = states_[b];
    if (state.step == block(b).steps.size() || !waits_for(b).empty()) return false;
    const CustomStep& s = step(b);
    if (state.chunk == 0) {
      for (const CustomStep::Wait& wait : s.waits)
        if (wait.block != b) join(state.clock, states_[wait.block].after.at(wait.step));
    }
    state.clock[b] = state.step + 1;
    Sum sum;
    if (receives(s.kind)) {
      Link::Message& message = links_[static_cast<std::size_t>(state.in)].messages.front();
      join(state.clock, message.clock);
      sum = std::move(message.sum);
      links_[static_cast<std::size_t>(state.in)].messages.pop_front();
    }
    if (reads_source(s.kind)) sum = added(b, std::move(sum), read(b, moved(s.source, state.chunk)));
    if (s.kind == CustomKind::reduce)
      sum = added(b, std::move(sum), read(b, moved(s.target, state.chunk)));
    if (writes_target(s.kind)) write(b, moved(s.target, state.chunk), sum);
    if (sends(s.kind))
      links_[static_cast<std::size_t>(state.out)].messages.push_back({std::move(sum), state.clock});
    if (++state.chunk < s.count && s.kind != CustomKind::nop) return true;
    const auto waited = state.after.find(state.step);
    if (waited != state.after.end()) waited->second = state.clock;
    state.chunk = 0;
    ++state.step;
    return true;
  }

  static ChunkPlace moved(ChunkPlace place, int by) { return {place.buffer, place.chunk + by}; }
  static void join(Clock& clock, const Clock& other) {
    for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
  }

  bool is_before(std::uint32_t other, std::uint32_t time, std::uint32_t b) const {
    return time == 0 || other == b || states_[b].clock[other] >= time;
  }

  Sum read(std::uint32_t b, ChunkPlace place) {
    Chunk& c = chunk(block(b).rank, place);
    const auto [writer, time] = c.written;
    if (!is_before(writer, time, b)) race(b, "reads", place, writer, time, "write");
    c.read[b] = states_[b].step + 1;
    if (c.sum.empty())
      fail(b, states_[b].step,
           fmt::format("reads {} {}, which nothing has written", to_text(place.buffer),
                       place.chunk));
    return c.sum;
  }

  void write(std::uint32_t b, ChunkPlace place, const Sum& sum) {
    Chunk& c = chunk(block(b).rank, place);
    const auto [writer, time] = c.written;
    if (!is_before(writer, time, b)) race(b, "writes", place, writer, time, "write");
    for (const auto& [reader, at] : c.read)
      if (!is_before(reader, at, b)) race(b, "writes", place, reader, at, "read");
    c = {sum, {b, states_[b].step + 1}, {}};
  }

  [[noreturn]] void race(std::uint32_t b, const char* does, ChunkPlace place, std::uint32_t other,
                         std::uint32_t time, const char* may) const {
    fail(b, states_[b].step,
         fmt::format("{} {} {} while step {} of threadblock {} may still {} it", does,
                     to_text(place.buffer), place.chunk, time - 1, block(other).id, may),
         "no dependency says which comes first: depid and deps do");
  }

  Sum added(std::uint32_t b, Sum one, const Sum& other) const {
    for (const auto& [rank, input] : other) {
      if (!one.empty() && one.front().second != input)
        fail(b, states_[b].step, fmt::format("adds {} to {}", listed(other), listed(one)));
      const auto at = std::ranges::lower_bound(one, std::pair(rank, input));
      if (at != one.end() && *at == std::pair(rank, input))
        fail(b, states_[b].step,
             fmt::format("adds {} to {}: rank {} counts twice", listed(other), listed(one), rank));
      one.insert(at, {rank, input});
    }
    return one;
  }

  struct Wait {
    std::string text;  ///< "" = can go on
    std::uint32_t on = 0;
    bool empty() const { return text.empty(); }
  };

  Wait waits_for(std::uint32_t b) const {
    const State& state = states_[b];
    const CustomStep& s = step(b);
    for (const CustomStep::Wait& wait : s.waits) {
      if (states_[wait.block].step <= wait.step)
        return {fmt::format("step {} of threadblock {}", wait.step, block(wait.block).id),
                wait.block};
    }
    if (receives(s.kind)) {
      const Link& link = links_[static_cast<std::size_t>(state.in)];
      if (link.messages.empty())
        return {fmt::format("a chunk of rank {}", block(b).recv), link.from};
    }
    if (sends(s.kind)) {
      const Link& link = links_[static_cast<std::size_t>(state.out)];
      if (link.messages.size() == slots_)
        return {fmt::format("a free slot at rank {}", block(b).send), link.to};
    }
    return {};
  }

  /// Who does not get to the end waits for somebody who does not either: round to a cycle.
  void check_done() const {
    std::uint32_t at = 0;
    while (at < blocks() && states_[at].step == block(at).steps.size()) ++at;
    if (at == blocks()) return;
    std::vector<std::uint32_t> way;
    for (; std::ranges::find(way, at) == way.end(); at = waits_for(at).on) way.push_back(at);
    way.erase(way.begin(), std::ranges::find(way, at));
    std::string cycle;
    for (const std::uint32_t b : way)
      cycle +=
          fmt::format("{}rank {}, threadblock {}, step {} waits for {}", cycle.empty() ? "" : "; ",
                      block(b).rank, block(b).id, states_[b].step, waits_for(b).text);
    fail(at, states_[at].step, "deadlock: " + cycle);
  }

  Sum expected(int rank, int output) const {
    const int inputs = algorithm_.inputs(), share = algorithm_.chunks / algorithm_.ranks;
    const auto all = [&](int input) {
      Sum sum;
      for (int other = 0; other < algorithm_.ranks; ++other) sum.emplace_back(other, input);
      return sum;
    };
    switch (algorithm_.collective) {
      case Collective::all_reduce:
        return all(output);
      case Collective::reduce:
        return rank == algorithm_.root ? all(output) : Sum{};
      case Collective::reduce_scatter:
        return all(rank * share + output);
      case Collective::all_gather:
        return {{output / inputs, output % inputs}};
      case Collective::alltoall:
        return {{output / share, rank * share + output % share}};
      case Collective::broadcast:
        return {{algorithm_.root, output}};
      default:
        return {};
    }
  }

  void check_outputs() {
    for (int rank = 0; rank < algorithm_.ranks; ++rank) {
      for (int i = 0; i < algorithm_.outputs(); ++i) {
        const Sum right = expected(rank, i);
        const Sum& found = chunk(rank, {ChunkBuffer::output, i}).sum;
        if (right.empty() || found == right) continue;
        throw Error(Place{algorithm_.file, 0, {}},
                    fmt::format("rank {} ends with {} in output {}{}; {} makes it {}", rank,
                                listed(found), i, in_place_ ? " (in place)" : "",
                                to_text(algorithm_.collective), listed(right)));
      }
    }
  }

  const CustomAlgorithm& algorithm_;
  bool in_place_;
  std::size_t slots_;
  std::vector<State> states_;
  std::vector<Link> links_;
  std::vector<Chunk> chunks_;
};

}  // namespace

void check_algorithm(const CustomAlgorithm& algorithm) {
  if (algorithm.out_of_place) Check(algorithm, false).run();
  if (algorithm.in_place) Check(algorithm, true).run();
}

}  // namespace fabricast
