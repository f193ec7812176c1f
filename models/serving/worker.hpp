#pragma once
// One inference engine with its queue, as run_queue() drives it.

#include <deque>
#include <utility>
#include <vector>

#include "models/serving/queue.hpp"

namespace fabricast {

/// A request inside an engine.
struct ServeItem {
  int id = 0;
  int prompt = 0, output = 0;
  int cached = 0;        ///< of the prompt; they take no blocks of this request
  double left = 0;       ///< of the prompt, and of tokens lost in a preemption: to be computed
  double produced = 0;   ///< tokens
  double computing = 0;  ///< when its first chunk began
  std::int64_t blocks = 0;
  bool is_handed = false;  ///< its prompt was computed elsewhere, and no pass had it yet
  std::int64_t from = 0;   ///< the first pass of the engine that can have it

  bool decodes() const { return left == 0; }
  double context() const { return prompt + produced - left; }
};

class ServeWorker {
 public:
  /// A pass of decodes alone is planned together with the equal ones that follow it, up to so many.
  static constexpr int kTogetherMax = 128;

  /// `prompts_only`: a request leaves after its first token. REQUIRES: pool outlives it.
  ServeWorker(const ServePool& pool, bool prompts_only);

  int requests() const { return requests_; }
  bool is_idle() const { return !planned_; }
  double end() const { return end_; }
  int generation() const { return generation_; }

  /// A request, its prompt computed elsewhere where `left` is 0. May shorten what is planned.
  void deliver(ServeItem item, double now);
  /// REQUIRES: is_idle(). Plans what comes next, if anything.
  void begin(double now);
  /// What ends when the plan does: first tokens, and requests that are done. REQUIRES: planned.
  struct Ended {
    std::vector<ServeItem> first, done;
  };
  Ended finish();
  void add_to(QueueResult& out, bool prefill) const;

 private:
  struct Copy {
    std::vector<ServeItem> running;
    std::deque<ServeItem> waiting;
    std::deque<ServeItem> unseen;  ///< by the scheduler
    std::int64_t used = 0;
    std::int64_t growth = 0;  ///< blocks that decodes take in the next pass
    bool is_short = false;    ///< somebody had to give way: nobody enters in this pass
    int requests() const {
      return static_cast<int>(running.size() + waiting.size() + unseen.size());
    }
  };
  /// Tokens of a running request's prompt in this pass.
  struct Chunk {
    std::size_t copy = 0, item = 0;
    double tokens = 0;
  };

  bool fits(const Copy& copy, const ServeItem& item) const;
  bool has_room(const Copy& copy) const;
  bool can_enter(const Copy& copy) const;
  int pass_at(double now) const;
  bool has_prompts() const;
  bool holds_prompts() const;
  std::int64_t blocks_for(const ServeItem& item, double more) const;
  void receive();
  void make_room(Copy& copy);
  double add_chunks(std::size_t at, double budget, double now, ServeBatch& batch);
  void add_decodes(const Copy& copy, ServeBatch& batch) const;
  void plan_passes(double now, ServeBatch batch);
  int passes_together() const;
  double end_after(int passes) const;
  template <class Leaves>
  void sift(Copy& copy, Ended& out, Leaves leaves);
  void produce(Copy& copy, Ended& out);
  void end_prompts(Copy& copy, Ended& out);
  void note_gaps(double decodes);

  const ServePool& pool_;
  const BatchRules& rules_;
  bool prompts_only_;
  double step_;  ///< tokens of a pass and request
  std::vector<Copy> copies_;
  int requests_ = 0;

  bool planned_ = false, decoding_ = false;
  double start_ = 0, end_ = 0, first_ = 0, slope_ = 0;  ///< of passes planned together
  int passes_ = 0, generation_ = 0;
  int unread_ = 0;  ///< passes since the scheduler last looked for requests
  bool holds_ = false;
  int held_ = 0;  ///< passes that prompts have waited for others
  std::vector<Chunk> chunks_;

  double last_decode_ = -1;
  double busy_ = 0, computed_ = 0, decoded_ = 0;
  std::int64_t count_ = 0, decode_passes_ = 0, preemptions_ = 0, peak_ = 0;
  std::vector<std::pair<double, double>> gaps_;
};

}  // namespace fabricast
