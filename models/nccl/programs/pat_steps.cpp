#include "models/nccl/programs/pat_steps.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

namespace fabricast {
namespace {

int lowest_bit(int i) { return std::countr_zero(static_cast<unsigned>(i)); }
bool is_power_of_two(int i) { return std::has_single_bit(static_cast<unsigned>(i)); }

/// The i-th of `count` numbers when the farthest comes first and the order halves: 3, 1, 2, 0.
int far_first(int i, int count) {
  int out = 0;
  for (int bit = 1, mirrored = count / 2; bit < count; bit *= 2, mirrored /= 2)
    if ((i & bit) == 0) out += mirrored;
  return out;
}

class Round {
 public:
  explicit Round(const PatShape& shape) : shape_(shape), n_(shape.ranks), parts_(shape.parts) {}

  std::vector<PatPass> take() { return std::move(passes_); }

 protected:
  void begin() { passes_.emplace_back(); }
  void add(const PatStep& step) { passes_.back().push_back(step); }
  int part(int i) const { return i % parts_; }
  bool fills(int i) const { return i % parts_ == parts_ - 1; }

  /// The rank that is not there has nothing to send, but the share may still need this rank's own.
  void nothing_to_receive(PatStep& step, int parent) const {
    if (parent >= n_) {
      step.idle = true;
      return;
    }
    step.recv_dim = step.recv_part = -1;
    step.frees = false;
  }

  const PatShape shape_;
  const int n_, parts_;

 private:
  std::vector<PatPass> passes_;
};

/// Sums climb the trees from the leaves, the farthest first.
class ReduceScatterRound : public Round {
 public:
  explicit ReduceScatterRound(const PatShape& shape) : Round(shape) {
    for (int offset = shape.stride - 1; offset >= 1; --offset) {
      if (offset % 2 == 1) leaves(offset);
      if (offset > 1) inner(offset);
    }
    for (int scale = 1; scale < shape.width; scale *= 2) {
      last_leaves(scale);
      roots(scale);
    }
    own();
  }

 private:
  void leaves(int offset) {
    begin();
    for (int i = 0; i < shape_.width; ++i) {
      PatStep step;
      step.distance = far_first(i, shape_.width) * shape_.stride + offset;
      step.idle = step.distance >= n_;
      step.send_dim = 0;
      step.send_part = part(i);
      step.posts = fills(i) || i + 1 == shape_.width;
      add(step);
    }
  }

  /// Adds the children `offset` into a tree to their parents. A message is posted with the child
  /// of dimension 0, the last one.
  void inner(int offset) {
    begin();
    const int dim = lowest_bit(offset);
    const bool to_roots = is_power_of_two(offset);
    int first = 0, ahead = 0;  // of the messages to the present peer
    for (int i = 0; i < shape_.width; ++i) {
      const int child = far_first(i, shape_.width) * shape_.stride + offset;
      const int parent = child - (1 << dim);
      const bool is_end = fills(i) || i + 1 == shape_.width;
      PatStep step;
      step.distance = parent;
      step.recv_dim = dim;
      step.recv_part = part(i);
      step.frees = is_end;
      step.posts = dim == 0 && is_end;
      if (parent != 0) {
        if (to_roots && is_power_of_two(shape_.width - i)) {
          first = i;
          ahead = 0;
        }
        step.send_dim = lowest_bit(parent);
        step.send_part = part(i - first);
      }
      step.ahead = ahead;
      if (child >= n_) nothing_to_receive(step, parent);
      if (dim > 0 && fills(i - first) && !step.idle) ++ahead;
      add(step);
    }
  }

  int subtree(int i, int scale) const {
    return (2 * far_first(i, shape_.width / (2 * scale)) + 1) * scale * shape_.stride;
  }

  /// The leaves next to the roots of those subtrees that are sent now.
  void last_leaves(int scale) {
    begin();
    const int count = shape_.width / (2 * scale);
    for (int i = 0; i < count; ++i) {
      const int parent = subtree(i, scale);
      const int before = i + shape_.width - shape_.width / scale;
      PatStep step;
      step.distance = parent;
      step.recv_dim = 0;
      step.recv_part = part(before);
      step.frees = fills(before);
      step.send_dim = lowest_bit(parent);
      step.send_part = part(i);
      step.posts = fills(i) || i + 1 == count;
      if (parent + 1 >= n_) nothing_to_receive(step, parent);
      add(step);
    }
  }

  void roots(int scale) {
    begin();
    const int count = shape_.width / (2 * scale);
    int first = 0, ahead = 0;
    for (int i = 0; i < count; ++i) {
      const int child = subtree(i, scale);
      const int dim = lowest_bit(child);
      const int parent = child - (1 << dim);
      PatStep step;
      step.distance = parent;
      step.recv_dim = dim;
      step.recv_part = part(i);
      step.frees = fills(i) || i + 1 == count;
      if (is_power_of_two(count - i)) {
        first = i;
        ahead = 0;
      }
      step.ahead = ahead;
      if (parent != 0) {
        step.send_dim = lowest_bit(parent);
        step.send_part = part(i - first);
      }
      if (child >= n_) nothing_to_receive(step, parent);
      if (fills(i - first) && !step.idle) ++ahead;
      add(step);
    }
  }

  void own() {
    begin();
    PatStep step;
    step.recv_dim = 0;
    step.recv_part = part(shape_.width - 1);
    step.frees = true;
    add(step);
  }
};

/// Shares come down the trees, the longest way first.
class AllGatherRound : public Round {
 public:
  explicit AllGatherRound(const PatShape& shape) : Round(shape) {
    for (int scale = shape.width / 2; scale >= 1; scale /= 2) roots(scale);
    for (int offset = shape.stride / 2; offset != 0; offset = next(offset)) {
      inner(offset);
      if (offset % 2 == 1) leaves(offset);
    }
  }

 private:
  /// Numbers below the stride as a walk through the binomial tree, parents before children and
  /// large subtrees before small ones: 4, 6, 7, 5, 2, 3, 1.
  static int next(int offset) {
    const int low = 1 << lowest_bit(offset);
    if (low > 1) return offset + low / 2;
    offset -= 1;
    return offset == 0 ? 0 : offset - (1 << lowest_bit(offset)) / 2;
  }

  void roots(int scale) {
    begin();
    const int count = shape_.width / (2 * scale);
    for (int i = 0; i < count; ++i) {
      const int child = (2 * i + 1) * scale * shape_.stride;
      PatStep step;
      step.idle = child >= n_;
      step.send_dim = lowest_bit(child);
      step.send_part = part(i);
      step.posts = fills(i) || child + 2 * scale * shape_.stride >= n_;
      step.ahead = i / parts_;
      step.distance = child - (1 << step.send_dim);
      if (step.distance != 0) receive(step, 2 * i * scale * shape_.stride);
      add(step);
    }
  }

  void inner(int offset) {
    begin();
    const int dim = lowest_bit(offset);
    const bool from_roots = is_power_of_two(offset);
    for (int i = 0; i < shape_.width; ++i) {
      const int child = i * shape_.stride + offset;
      const int parent = child - (1 << dim);
      PatStep step;
      step.idle = child >= n_;
      step.distance = parent;
      step.send_dim = dim;
      step.send_part = part(i);
      step.posts = fills(i) || child + shape_.stride >= n_;
      step.ahead = dim == 0 ? 0 : i / parts_;
      if (parent != 0) {
        step.recv_dim = lowest_bit(parent);
        step.recv_part = part(i);
        step.frees = dim == 0 && (fills(i) || parent + shape_.stride >= n_);
        if (from_roots) {
          const int before = receive(step, i * shape_.stride);
          const bool is_last = (2 * (before + 1) + 1) << step.recv_dim >= n_;
          step.frees = dim == 0 && (fills(before) || is_last);
          if (dim == 0) step.ahead = 0;
        }
      }
      if (step.idle && parent < n_ && dim == 0) {
        // Nobody to send to, but the message has to be received once.
        step.idle = step.posts = false;
        step.send_dim = step.send_part = -1;
      }
      add(step);
    }
  }

  void leaves(int offset) {
    begin();
    for (int i = 0; i < shape_.width; ++i) {
      PatStep step;
      step.distance = i * shape_.stride + offset;
      step.idle = step.distance >= n_;
      step.recv_dim = 0;
      step.recv_part = part(i);
      step.frees = fills(i) || step.distance + shape_.stride >= n_;
      add(step);
    }
  }

  /// From the parent of the subtree `root`, whose messages come in order. Returns the place there.
  int receive(PatStep& step, int root) const {
    step.recv_dim = lowest_bit(step.distance);
    const int before = root >> (step.recv_dim + 1);
    step.recv_part = part(before);
    step.ahead = before / parts_;
    return before;
  }
};

/// Which messages have been looked at.
class Touched {
 public:
  /// Whether this step is the first to look at the message it receives.
  bool is_first(const PatStep& step, bool looks_ahead) {
    Dimension& dim = dims_[static_cast<std::size_t>(step.recv_dim)];
    const int message = dim.freed + (looks_ahead ? step.ahead : 0);
    const bool first = message >= dim.seen;
    if (first) dim.seen = message + 1;
    if (step.frees) ++dim.freed;
    return first;
  }

 private:
  struct Dimension {
    int freed = 0, seen = 0;
  };
  std::array<Dimension, 32> dims_;
};

}  // namespace

PatShape pat_shape(Bytes chunk, Bytes share, int ranks, int parallel_max) {
  assert(ranks >= 2 && share.count > 0);
  PatShape shape;
  shape.ranks = ranks;
  while (chunk.count / (share.count * shape.width) >= 2 && shape.width < ranks / 2)
    shape.width *= 2;
  shape.parts = shape.width;
  shape.parallel = std::min(parallel_max, shape.parts);
  for (int slots = kConnectionSlots; slots > 1 && shape.width < ranks / 2; slots /= 2)
    shape.width *= 2;
  shape.stride = (1 << pat_dimensions(ranks)) / shape.width;
  return shape;
}

int pat_dimensions(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
}

std::vector<PatPass> pat_round(Collective collective, const PatShape& shape) {
  if (collective == Collective::reduce_scatter) return ReduceScatterRound(shape).take();
  assert(collective == Collective::all_gather);
  return AllGatherRound(shape).take();
}

std::vector<PatRow> pat_rows(Collective collective, const PatShape& shape) {
  const bool looks_ahead = collective == Collective::all_gather;
  const auto parts = static_cast<std::size_t>(shape.parts);
  Touched touched;
  std::vector<PatRow> rows;
  for (const PatPass& pass : pat_round(collective, shape)) {
    for (std::size_t i = 0; i < pass.size(); i += parts) {
      PatRow row;
      int moved = 0, posted = 0;
      for (std::size_t k = i; k < std::min(i + parts, pass.size()); ++k) {
        const PatStep& step = pass[k];
        if (step.idle) continue;
        ++moved;
        if (step.recv_dim >= 0 && touched.is_first(step, looks_ahead))
          row.in |= 1u << step.recv_dim;
        if (!step.posts) continue;
        row.out |= 1u << step.send_dim;
        posted = step.send_part + 1;
      }
      row.parts = std::max(moved, posted);
      if (moved > 0) rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace fabricast
