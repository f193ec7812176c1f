#include "models/serving/worker.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace fabricast {

namespace {

constexpr double kFull = 0.9;     // of a pass's tokens: TensorRT-LLM's batch_wait_max_tokens_ratio
constexpr double kHasFirst = -1;  // ServeItem::left of who gets a token for its prompt

/// The copy that has most of each sets the pace.
void take_most(ServeBatch& most, const ServeBatch& one) {
  const double all = most.all_tokens + one.tokens();
  most.prompt_tokens = std::max(most.prompt_tokens, one.prompt_tokens);
  most.pairs = std::max(most.pairs, one.pairs);
  most.prompts = std::max(most.prompts, one.prompts);
  most.decodes = std::max(most.decodes, one.decodes);
  most.decode_tokens = std::max(most.decode_tokens, one.decode_tokens);
  most.context = std::max(most.context, one.context);
  most.all_tokens = all;
}

}  // namespace

ServeWorker::ServeWorker(const ServePool& pool, bool prompts_only)
    : pool_(pool),
      rules_(pool.rules),
      prompts_only_(prompts_only),
      step_(pool.rules.tokens_per_pass()),
      copies_(static_cast<std::size_t>(pool.copies)) {}

std::int64_t ServeWorker::blocks_for(const ServeItem& item, double more) const {
  return rules_.blocks_of(item.prompt + item.produced + more - item.cached);
}

bool ServeWorker::fits(const Copy& copy, const ServeItem& item) const {
  const std::int64_t blocks =
      blocks_for(item, rules_.reserves && !prompts_only_ ? item.output - item.produced : 1);
  return copy.used + copy.growth + blocks <= rules_.blocks;
}

/// For the first who waits.
bool ServeWorker::has_room(const Copy& copy) const {
  return !copy.waiting.empty() && !copy.is_short &&
         copy.running.size() < static_cast<std::size_t>(rules_.requests_max) &&
         fits(copy, copy.waiting.front());
}

bool ServeWorker::can_enter(const Copy& copy) const {
  return has_room(copy) && copy.waiting.front().from <= count_;
}

bool ServeWorker::has_prompts() const {
  return std::ranges::any_of(copies_, [&](const Copy& copy) {
    return can_enter(copy) ||
           std::ranges::any_of(copy.running, [](const ServeItem& item) { return !item.decodes(); });
  });
}

/// For others to come, as rules_.prompt_wait says.
bool ServeWorker::holds_prompts() const {
  if (held_ >= rules_.prompt_wait) return false;
  double tokens = 0;
  bool decodes = false, everywhere = true;
  for (const Copy& copy : copies_) {
    everywhere = everywhere && can_enter(copy);
    for (const ServeItem& item : copy.waiting) tokens += item.left;
    for (const ServeItem& item : copy.running) {
      if (!item.decodes()) return false;
      decodes = true;
    }
  }
  if (!decodes) return false;
  return copies_.size() > 1 ? !everywhere : tokens < kFull * rules_.token_budget;
}

void ServeWorker::deliver(ServeItem item, double now) {
  ++requests_;
  const auto copy = std::ranges::min_element(copies_, {}, &Copy::requests);
  const bool is_seen = item.decodes() || rules_.receive_interval <= 1;
  const int under_way = planned_ ? pass_at(now) : 0;
  item.from = count_ + under_way + (planned_ && rules_.ahead ? 1 : 0);
  (is_seen ? copy->waiting : copy->unseen).push_back(item);
  if (!planned_ || !chunks_.empty() || passes_ == 1) return;
  if (is_seen && !has_room(*copy)) return;
  // It enters after the pass that is under way, or when the scheduler looks for it.
  const int passes = is_seen ? static_cast<int>(item.from - count_)
                             : std::max(under_way, rules_.receive_interval - unread_);
  if (passes >= passes_) return;
  passes_ = passes;
  end_ = end_after(passes);
  ++generation_;
}

/// Of those planned together, counted from 1.
int ServeWorker::pass_at(double now) const {
  int out = 1;
  while (out < passes_ && end_after(out) < now) ++out;
  return out;
}

/// Requests that came while the scheduler did not look for any.
void ServeWorker::receive() {
  const bool is_idle =
      std::ranges::all_of(copies_, [](const Copy& copy) { return copy.running.empty(); });
  if (is_idle)  // no pass was formed ahead
    for (Copy& copy : copies_)
      for (ServeItem& item : copy.waiting) item.from = count_;
  if (unread_ < rules_.receive_interval && chunks_.empty() && !is_idle) return;
  unread_ = 0;
  for (Copy& copy : copies_) {
    for (ServeItem& item : copy.unseen) item.from = count_ + (rules_.ahead && !is_idle ? 1 : 0);
    copy.waiting.insert(copy.waiting.end(), copy.unseen.begin(), copy.unseen.end());
    copy.unseen.clear();
  }
}

double ServeWorker::end_after(int passes) const {
  return start_ + passes * first_ + slope_ * passes * (passes - 1) / 2.0;
}

/// Requests that came last give way, and are computed again.
void ServeWorker::make_room(Copy& copy) {
  copy.is_short = false;
  for (;;) {
    std::int64_t needed = 0;
    for (const ServeItem& item : copy.running)
      if (item.decodes())
        needed += std::max<std::int64_t>(blocks_for(item, step_), item.blocks);
      else
        needed += item.blocks;
    copy.growth = needed - copy.used;
    if (needed <= rules_.blocks || copy.running.size() <= 1) return;
    ServeItem item = copy.running.back();
    copy.running.pop_back();
    copy.used -= item.blocks;
    item.blocks = 0;
    item.left = item.prompt + item.produced - item.cached;
    copy.is_short = true;
    copy.waiting.push_front(item);
    ++preemptions_;
  }
}

/// What is left of the budget.
double ServeWorker::add_chunks(std::size_t at, double budget, double now, ServeBatch& batch) {
  Copy& copy = copies_[at];
  const auto add = [&](std::size_t index) {
    ServeItem& item = copy.running[index];
    const double tokens = rules_.chunks ? std::min(item.left, budget) : item.left;
    const double before = item.context();
    if (item.context() <= item.cached) item.computing = now;
    batch.prompt_tokens += tokens;
    batch.pairs += tokens * (before + tokens / 2);
    batch.prompts += 1;
    chunks_.push_back({at, index, tokens});
    budget -= tokens;
  };
  for (std::size_t i = 0; i < copy.running.size() && budget > 0; ++i)
    if (!copy.running[i].decodes()) add(i);
  while (budget > 0 && can_enter(copy)) {
    ServeItem item = copy.waiting.front();
    const bool whole = rules_.chunks || item.left <= budget || batch.prompt_tokens == 0;
    if (!whole) break;
    copy.waiting.pop_front();
    item.blocks =
        blocks_for(item, rules_.reserves && !prompts_only_ ? item.output - item.produced : 1);
    copy.used += item.blocks;
    copy.running.push_back(item);
    if (!item.decodes()) add(copy.running.size() - 1);
  }
  peak_ = std::max(peak_, copy.used);
  return budget;
}

void ServeWorker::add_decodes(const Copy& copy, ServeBatch& batch) const {
  for (const ServeItem& item : copy.running) {
    if (!item.decodes()) continue;
    batch.decodes += 1;
    batch.decode_tokens += 1 + rules_.drafts;
    batch.context += item.context();
  }
}

/// As many as nobody comes or goes in between, and blocks last.
int ServeWorker::passes_together() const {
  double out = holds_ ? std::min(kTogetherMax, rules_.prompt_wait - held_) : kTogetherMax;
  for (const Copy& copy : copies_) {
    if (!copy.waiting.empty() && copy.waiting.front().from > count_)
      out = std::min(out, static_cast<double>(copy.waiting.front().from - count_));
    if (!copy.unseen.empty()) out = std::min<double>(out, rules_.receive_interval - unread_);
    for (const ServeItem& item : copy.running)
      if (item.is_handed) return 1;
    for (const ServeItem& item : copy.running)
      out = std::min(out, std::ceil((item.output - item.produced) / step_ - 1e-9));
    if (copy.running.empty()) continue;
    const auto enough = [&](double passes) {
      std::int64_t needed = 0;
      for (const ServeItem& item : copy.running)
        needed += std::max<std::int64_t>(blocks_for(item, passes * step_), item.blocks);
      return needed <= rules_.blocks;
    };
    while (out > 1 && !enough(out)) out = std::floor(out / 2);
  }
  return std::max(1, static_cast<int>(out));
}

void ServeWorker::begin(double now) {
  assert(!planned_);
  receive();
  chunks_.clear();
  if (!prompts_only_)
    for (Copy& copy : copies_) make_room(copy);
  // Those whose prompts were computed elsewhere enter at once.
  for (Copy& copy : copies_)
    while (!copy.waiting.empty() && copy.waiting.front().decodes() && can_enter(copy)) {
      ServeItem item = copy.waiting.front();
      copy.waiting.pop_front();
      item.blocks = blocks_for(item, rules_.reserves ? item.output - item.produced : 1);
      copy.used += item.blocks;
      copy.running.push_back(item);
    }
  const bool any = has_prompts();
  holds_ = any && holds_prompts();
  const bool prompts = any && !holds_;
  if (prompts) held_ = 0;
  ServeBatch most;
  decoding_ = false;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    ServeBatch one;
    if (rules_.mixes || !prompts) add_decodes(copies_[i], one);
    decoding_ = decoding_ || one.decodes > 0;
    if (prompts) {
      const double budget = std::max(0.0, rules_.token_budget - one.decode_tokens);
      add_chunks(i, budget, now, one);
    }
    take_most(most, one);
  }
  if (most.tokens() > 0) plan_passes(now, most);
}

void ServeWorker::plan_passes(double now, ServeBatch batch) {
  planned_ = true;
  ++generation_;
  start_ = now;
  first_ = pool_.pass(batch);
  slope_ = 0;
  passes_ = chunks_.empty() ? passes_together() : 1;
  if (passes_ > 1) {
    // Contexts grow by as much in each pass, and time with them.
    batch.context += batch.decodes * step_ * (passes_ - 1);
    slope_ = (pool_.pass(batch) - first_) / (passes_ - 1);
  }
  end_ = end_after(passes_);
}

void ServeWorker::note_gaps(double decodes) {
  if (decodes == 0) return;
  const double since = last_decode_ >= 0 ? last_decode_ : start_;
  const double one = end_after(1);
  gaps_.emplace_back(one - since, decodes);
  if (passes_ > 1) gaps_.emplace_back((end_ - one) / (passes_ - 1), decodes * (passes_ - 1));
  last_decode_ = end_;
  decode_passes_ += passes_;
  decoded_ += decodes * passes_;
}

/// Visits who runs; of whom `leaves` says so goes, with its blocks.
template <class Leaves>
void ServeWorker::sift(Copy& copy, Ended& out, Leaves leaves) {
  std::size_t kept = 0;
  for (ServeItem& item : copy.running) {
    if (leaves(item)) {
      copy.used -= item.blocks;
      --requests_;
      out.done.push_back(item);
    } else {
      copy.running[kept++] = item;
    }
  }
  copy.running.resize(kept);
}

/// Tokens of decodes; who has all of them leaves.
void ServeWorker::produce(Copy& copy, Ended& out) {
  sift(copy, out, [&](ServeItem& item) {
    if (!item.decodes()) return false;
    if (std::exchange(item.is_handed, false)) out.first.push_back(item);
    item.produced = std::min<double>(item.output, item.produced + passes_ * step_);
    const std::int64_t blocks = blocks_for(item, 0);
    if (blocks > item.blocks) {
      copy.used += blocks - item.blocks;
      item.blocks = blocks;
    }
    peak_ = std::max(peak_, copy.used);
    return item.produced >= item.output - 1e-9;
  });
}

/// A token for each whose prompt is done.
void ServeWorker::end_prompts(Copy& copy, Ended& out) {
  sift(copy, out, [&](ServeItem& item) {
    if (item.left != kHasFirst) return false;
    item.left = 0;
    if (item.produced == 0) out.first.push_back(item);
    item.produced += 1;
    return prompts_only_ || item.produced >= item.output;
  });
}

ServeWorker::Ended ServeWorker::finish() {
  assert(planned_);
  Ended out;
  planned_ = false;
  busy_ += end_ - start_;
  count_ += passes_;
  unread_ += passes_;
  if (holds_) held_ += passes_;
  if (decoding_) {
    double decodes = 0;
    for (const Copy& copy : copies_)
      for (const ServeItem& item : copy.running) decodes += item.decodes() ? 1 : 0;
    note_gaps(decodes);
  }
  for (const Chunk& chunk : chunks_) {
    ServeItem& item = copies_[chunk.copy].running[chunk.item];
    computed_ += chunk.tokens;
    item.left -= chunk.tokens;
    if (item.left < 1e-9) item.left = kHasFirst;
  }
  if (decoding_)
    for (Copy& copy : copies_) produce(copy, out);
  if (!chunks_.empty())
    for (Copy& copy : copies_) end_prompts(copy, out);
  if (std::ranges::none_of(copies_, [](const Copy& copy) { return !copy.running.empty(); }))
    last_decode_ = -1;
  return out;
}

void ServeWorker::add_to(QueueResult& out, bool prefill) const {
  (prefill ? out.prefill_busy : out.busy) += busy_;
  out.passes += count_;
  out.preemptions += preemptions_;
  out.computed += computed_;
  if (prefill) return;
  out.peak_blocks = std::max(out.peak_blocks, peak_);
  out.gaps.insert(out.gaps.end(), gaps_.begin(), gaps_.end());
}

}  // namespace fabricast
