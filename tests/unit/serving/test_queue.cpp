// Queues in front of engines: formulas of queueing, conservation, and what must equal what.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "models/serving/load.hpp"
#include "models/serving/pass_times.hpp"
#include "models/serving/queue.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

/// An engine whose passes take so long, whatever is in them.
ServeQueue engine(double pass_seconds, BatchRules rules = {}) {
  ServeQueue out;
  out.pool.rules = rules;
  out.pool.rules.blocks = 1 << 20;
  out.pool.pass = [=](const ServeBatch&) { return pass_seconds; };
  return out;
}

double tokens_out(const QueueResult& result) {
  return std::accumulate(
      result.gaps.begin(), result.gaps.end(), 0.0,
      [](double sum, const std::pair<double, double>& gap) { return sum + gap.second; });
}

}  // namespace

TEST_CASE("queue: one server of fixed service waits as M/D/1 does") {
  // One request a pass, one pass a request: rho = 0.7 of 10 ms. Pollaczek-Khinchine for fixed
  // service: mean wait rho / (2 (1 - rho)) services, here 11.667 ms, and the service on top.
  BatchRules rules;
  rules.requests_max = 1;
  OfferedLoad load;
  load.rate = 70;
  load.requests = 200'000;
  const ServeFigures figures = figures_of(run_queue(engine(0.010, rules), draw_requests(load)), {});
  CHECK(figures.first_token.mean == doctest::Approx(0.010 + 0.7 / 0.6 * 0.010).epsilon(0.02));
  CHECK(figures.requests_per_s == doctest::Approx(70).epsilon(0.01));
}

TEST_CASE("queue: a lone request is its prompt and its tokens") {
  // A prompt of 100 and 9 tokens: one pass of 0.1 ms a token computed, then 8 of one token each.
  ServeQueue queue = engine(0);
  queue.pool.pass = [](const ServeBatch& batch) { return 1e-4 * batch.tokens(); };
  queue.concurrency = 1;
  queue.front = 0.5;
  const QueueResult result = run_queue(queue, {{0, 100, 9, 0}, {0, 50, 1, 0}});
  CHECK(result.requests[0].to_first() == doctest::Approx(0.5 + 0.01));
  CHECK(result.requests[0].per_token() == doctest::Approx(1e-4));
  CHECK(result.requests[0].finish == doctest::Approx(0.51 + 8e-4));
  // The next arrives then, and has one token only.
  CHECK(result.requests[1].arrival == doctest::Approx(result.requests[0].finish));
  CHECK(result.requests[1].finish == result.requests[1].first_token);
  CHECK(result.passes == 10);
  CHECK(tokens_out(result) == 8);
}

TEST_CASE("queue: a front end takes one prompt after another, and requests leave it apart") {
  // Two requests at a time, 4 prompt tokens of 0.25 s each in front, then 0.5 s on the way; passes
  // of a second. The first is there at 1.5 and has its token at 2.5, the second at 2.5 and 3.5.
  // Each has two tokens: the first ends at 3.5, and its successor is there at 5.
  ServeQueue queue = engine(1);
  queue.concurrency = 2;
  queue.front = 0.5;
  queue.token = 0.25;
  const QueueResult result = run_queue(queue, {{0, 4, 2, 0}, {0, 4, 2, 0}, {0, 4, 1, 0}});
  CHECK(result.requests[0].first_token == 2.5);
  CHECK(result.requests[1].first_token == 3.5);
  CHECK(result.requests[0].finish == 3.5);
  CHECK(result.requests[2].arrival == 3.5);
  CHECK(result.requests[2].first_token == 6);
  // Of two engines for prompts each has a front end: 0.5 s apart, and each computes one prompt.
  ServeQueue pools = queue;
  pools.prefill = pools.pool;
  pools.prefill->workers = 2;
  const QueueResult apart = run_queue(pools, {{0, 4, 2, 0}, {0, 4, 2, 0}});
  CHECK(apart.requests[0].first_token == 3);  // prompts end at 2 and 2.5, decodes pass at 2 and 3
  CHECK(apart.requests[1].first_token == 4);
  // Without it both are there at 0.5: the first begins a pass, the second waits for the next.
  queue.token = 0;
  const QueueResult together = run_queue(queue, {{0, 4, 2, 0}, {0, 4, 2, 0}, {0, 4, 1, 0}});
  CHECK(together.requests[0].first_token == 1.5);
  CHECK(together.requests[1].first_token == 2.5);
}

TEST_CASE("queue: a scheduler that looks for requests every tenth pass sees them so late") {
  // Passes of a second. The first request's prompt is done at 1, then it decodes. The second comes
  // at 1.5: seen at 2 its first token is there at 3; seen after ten decodes, at 11, at 12.
  for (const auto& [interval, first] : {std::pair(1, 3.0), std::pair(10, 12.0)}) {
    BatchRules rules;
    rules.mixes = false;
    rules.receive_interval = interval;
    const QueueResult result = run_queue(engine(1, rules), {{0, 8, 100, 0}, {1.5, 8, 2, 0}});
    CHECK(result.requests[0].first_token == 1);
    CHECK(result.requests[1].first_token == first);
    // The second's prompt held the first up for a pass; they decode together.
    CHECK(result.requests[0].finish == 101);
  }
  // Nothing runs when it comes: it is seen at once.
  BatchRules rules;
  rules.receive_interval = 10;
  CHECK(run_queue(engine(1, rules), {{0, 8, 2, 0}, {5, 8, 2, 0}}).requests[1].first_token == 6);
}

TEST_CASE("queue: who comes while a pass is computed misses the one formed ahead") {
  // Passes of a second. The first request decodes from 1 on. The second comes at 1.5: its prompt is
  // in the pass from 2 on, or where that was formed at 1 in the one from 3 on.
  const auto second = [](bool ahead, double arrival, int interval) {
    BatchRules rules;
    rules.ahead = ahead;
    rules.receive_interval = interval;
    return run_queue(engine(1, rules), {{0, 8, 100, 0}, {arrival, 8, 2, 0}})
        .requests[1]
        .first_token;
  };
  CHECK(second(false, 1.5, 1) == 3);
  CHECK(second(true, 1.5, 1) == 4);
  CHECK(second(true, 40.5, 1) == 43);  // in the middle of decodes that are planned together
  CHECK(second(true, 0.5, 1) == 3);    // the prompt of the first is computed
  CHECK(second(false, 1.5, 10) == 12);
  CHECK(second(true, 1.5, 10) == 13);  // seen at 11, when the pass from 11 on is there
  // Nothing runs: no pass was formed ahead.
  CHECK(second(true, 200, 1) == 201);
  // All is computed as before: of many requests each has its tokens.
  BatchRules rules;
  rules.ahead = true;
  std::vector<ServeRequest> many;
  for (int i = 0; i < 40; ++i) many.push_back({0.3 * i, 8, 1 + i % 7, 0});
  const QueueResult result = run_queue(engine(1, rules), many);
  for (const ServedRequest& one : result.requests) {
    CHECK(one.first_token >= one.arrival + 1);
    CHECK(one.finish == doctest::Approx(one.first_token + one.output - 1));
  }
}

TEST_CASE("queue: beside decodes a prompt waits for others, but not for ever") {
  // Passes of a second. The first request decodes from 1 on; the second comes at 1.5.
  const auto second = [](int wait, int prompt, int copies) {
    BatchRules rules;
    rules.prompt_wait = wait;
    rules.token_budget = 100;
    ServeQueue queue = engine(1, rules);
    queue.pool.copies = copies;
    return run_queue(queue, {{0, 8, 100, 0}, {1.5, prompt, 2, 0}}).requests[1].first_token;
  };
  CHECK(second(0, 8, 1) == 3);
  CHECK(second(10, 8, 1) == 13);  // ten passes from 2 on, and its own
  CHECK(second(10, 90, 1) == 3);  // it fills a pass by itself
  CHECK(second(10, 8, 2) == 13);  // on the other copy: the first has no prompt
  BatchRules rules;
  rules.prompt_wait = 10;
  ServeQueue queue = engine(1, rules);
  queue.pool.copies = 2;
  // Each copy has one: nobody waits.
  const QueueResult both = run_queue(queue, {{0, 8, 100, 0}, {1.5, 8, 2, 0}, {1.6, 8, 2, 0}});
  CHECK(both.requests[1].first_token == 3);
  CHECK(both.requests[2].first_token == 3);
}

TEST_CASE("queue: a pass with prompts takes as long as its launches where the GPU is faster") {
  ServeTime kernels;
  kernels.gemm = 0.008;
  kernels.attention = 0.002;
  EngineHost host;
  host.pass = 0.001;
  host.kernel = 20e-6;
  CHECK(hosted(kernels, host, 1, 0).total() == doctest::Approx(0.011));
  CHECK(hosted(kernels, host, 1, 100).total() == doctest::Approx(0.011));
  CHECK(hosted(kernels, host, 1, 1000).total() == doctest::Approx(0.021));
  CHECK(hosted(kernels, host, 1, 1000).host == doctest::Approx(0.011));
  Transformer dense;
  dense.layers = 10;
  CHECK(launches_of(dense) == 100);
  dense.latent.emplace();
  CHECK(launches_of(dense) == 260);
  Transformer experts;  // a dense layer and nine of experts
  experts.layers = 10;
  experts.experts = Experts{};
  experts.experts->dense_layers = 1;
  CHECK(launches_of(experts) == 100 + 9 * 10);
  experts.experts->shared_ffn = 2048;
  CHECK(launches_of(experts) == 100 + 9 * 14);
  Transformer recurrent;  // of 12 layers nine keep a state
  recurrent.layers = 12;
  recurrent.local = {4, 2048, false};
  CHECK(launches_of(recurrent) == 120);
  recurrent.local->recurrent = true;
  CHECK(launches_of(recurrent) == 120 + 9 * 36);
}

TEST_CASE("queue: every token is generated once, and requests in flight follow Little's law") {
  for (const bool mixes : {true, false}) {
    for (const bool chunks : {true, false}) {
      for (const int copies : {1, 3}) {
        BatchRules rules;
        rules.mixes = mixes;
        rules.chunks = chunks;
        rules.token_budget = 512;
        rules.requests_max = 16;
        ServeQueue queue = engine(0, rules);
        queue.pool.copies = copies;
        queue.pool.workers = 2;
        queue.pool.rules.blocks = 200;  // about three requests
        queue.pool.pass = [](const ServeBatch& batch) {
          return 2e-3 + 1e-5 * batch.tokens() + 1e-7 * batch.context;
        };
        OfferedLoad load;
        load.rate = 20;
        load.prompt = 1000;
        load.output = 200;
        load.spread = 0.5;
        load.requests = 400;
        const std::vector<ServeRequest> asked = draw_requests(load);
        const QueueResult result = run_queue(queue, asked);
        double after_first = 0, prompts = 0, waiting = 0;
        for (std::size_t i = 0; i < asked.size(); ++i) {
          const ServedRequest& one = result.requests[i];
          CHECK(one.first_token > one.arrival);
          CHECK(one.finish >= one.first_token);
          after_first += one.output - 1;
          prompts += one.prompt;
          waiting += one.finish - one.arrival;
        }
        // A token that a preempted request gets from computing its prompt again is in no gap.
        CHECK(tokens_out(result) <= after_first);
        CHECK(tokens_out(result) >= after_first - static_cast<double>(result.preemptions));
        CHECK(result.computed >= prompts);
        if (result.preemptions == 0) CHECK(result.computed == doctest::Approx(prompts));
        CHECK(result.peak_blocks <= 200);
        const double span = result.end - asked.front().arrival;
        const double rate = static_cast<double>(asked.size()) / span;
        CHECK(result.in_flight ==
              doctest::Approx(rate * waiting / static_cast<double>(asked.size())));
      }
    }
  }
}

TEST_CASE("queue: passes planned together take as long as one by one") {
  // The first gets tokens alone until the second arrives in the middle of the 51st pass.
  ServeQueue queue = engine(0);
  queue.pool.pass = [](const ServeBatch& batch) {
    return 1e-3 + 1e-6 * batch.context + 1e-5 * batch.prompt_tokens;
  };
  std::vector<ServeRequest> asked = {{0, 10, 101, 0}, {0, 10, 1, 0}};
  // Prompt 1.1 ms, then 1.011, 1.012, ... ms.
  double now = 1.1e-3;
  for (int pass = 1; pass <= 50; ++pass) now += 1e-3 + 1e-6 * (10 + pass);
  asked[1].arrival = now + 0.5e-3;
  const QueueResult result = run_queue(queue, asked);
  const double begin = now + 1e-3 + 1e-6 * 61;
  CHECK(result.requests[1].first_token == doctest::Approx(begin + 1e-3 + 1e-6 * 62 + 1e-4));
}

TEST_CASE("queue: prompts are cut to the budget, and what is cached is not computed") {
  BatchRules rules;
  rules.token_budget = 300;
  const QueueResult cut = run_queue(engine(1, rules), {{0, 1000, 1, 0}});
  CHECK(cut.passes == 4);
  CHECK(cut.computed == 1000);
  const QueueResult cached = run_queue(engine(1, rules), {{0, 1000, 1, 900}});
  CHECK(cached.passes == 1);
  CHECK(cached.computed == 100);
  rules.chunks = false;
  CHECK(run_queue(engine(1, rules), {{0, 1000, 1, 0}}).passes == 1);
}

TEST_CASE("queue: drafts that are right shorten a request") {
  BatchRules rules;
  rules.drafts = 2;
  rules.acceptance = 0.5;
  CHECK(rules.tokens_per_pass() == 1.75);
  // 8 tokens: the prompt's, then 7 in passes of 1.75.
  const QueueResult result = run_queue(engine(1, rules), {{0, 10, 8, 0}});
  CHECK(result.requests[0].finish == doctest::Approx(5));
  rules.acceptance = 1;
  CHECK(rules.tokens_per_pass() == 3);
}

TEST_CASE("queue: two pools, and the way of keys and values between them") {
  ServeQueue queue = engine(0.010);
  queue.prefill = queue.pool;
  queue.sends = [](double tokens) { return 1e-4 * tokens; };
  queue.waits = [](double tokens, double) { return 1e-4 * tokens; };
  // 10 ms of prompt, 10 ms of transfer, then 4 passes. The first token comes with the first of
  // them.
  const QueueResult one = run_queue(queue, {{0, 100, 5, 0}});
  CHECK(one.requests[0].first_token == doctest::Approx(0.030));
  CHECK(one.requests[0].finish == doctest::Approx(0.060));
  // The second comes while the first is computed, and is computed after it.
  const QueueResult two = run_queue(queue, {{0, 100, 1, 0}, {0, 100, 1, 0}});
  CHECK(two.requests[0].first_token == doctest::Approx(0.020));
  CHECK(two.requests[1].first_token == doctest::Approx(0.030));
  const QueueResult at_once =
      run_queue(queue, {{0, 100, 1, 0}, {0.001, 100, 1, 0}, {0.001, 100, 1, 0}});
  CHECK(at_once.requests[1].first_token == doctest::Approx(0.030));
  CHECK(at_once.requests[2].first_token == doctest::Approx(0.040));
}

TEST_CASE("queue: a request that never fits is refused") {
  ServeQueue queue = engine(1);
  queue.pool.rules.blocks = 10;
  CHECK(error_text([&] {
          run_queue(queue, {{0, 150, 11, 0}});
        }) ==
        "a request of 150 + 11 tokens needs 11 blocks of keys and values, an engine has 10\n"
        "hint: more GPUs, smaller requests or 8-bit weights make room");
}

TEST_CASE("load: lengths and arrivals are drawn, always the same") {
  OfferedLoad load;
  load.rate = 5;
  load.prompt = 1000;
  load.output = 100;
  load.spread = 0.2;
  load.requests = 20'000;
  const std::vector<ServeRequest> a = draw_requests(load), b = draw_requests(load);
  double prompts = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].prompt >= 800);
    CHECK(a[i].prompt <= 1000);
    CHECK(a[i].prompt == b[i].prompt);
    CHECK(a[i].arrival == b[i].arrival);
    prompts += a[i].prompt;
  }
  CHECK(prompts / 20'000 == doctest::Approx(900).epsilon(0.005));
  CHECK(a.back().arrival == doctest::Approx(20'000 / 5.0).epsilon(0.03));
  load.seed = 2;
  CHECK(draw_requests(load).front().arrival != a.front().arrival);
}

TEST_CASE("load: percentiles of values that occur several times") {
  const auto spread = spread_of(std::vector<std::pair<double, double>>{{1, 98}, {5, 1}, {9, 1}});
  REQUIRE(spread);
  CHECK(spread->mean == doctest::Approx((98 + 5 + 9) / 100.0));
  CHECK(spread->p50 == 1);
  CHECK(spread->p99 == 5);
}

TEST_CASE("queue: it tells the share of requests that are done, and ends when that throws") {
  ServeQueue queue = engine(0.01);
  queue.concurrency = 4;
  OfferedLoad load;
  load.concurrency = 4;
  load.requests = 10'000;  // an arrival each, and a pass for four
  std::vector<double> shares;
  run_queue(queue, draw_requests(load), [&](double share) { shares.push_back(share); });
  REQUIRE(shares.size() > 40);
  CHECK(shares.front() == 0);
  CHECK(std::ranges::is_sorted(shares));
  CHECK(shares[shares.size() / 2] == doctest::Approx(0.5).epsilon(0.05));
  CHECK(shares.back() > 0.95);
  CHECK(shares.back() <= 1);
  int calls = 0;
  CHECK_THROWS_AS(run_queue(queue, draw_requests(load),
                            [&](double) {
                              if (++calls == 3) throw std::runtime_error("enough");
                            }),
                  std::runtime_error);
  CHECK(calls == 3);
}

TEST_CASE("load: requests of one token have no time per further token") {
  QueueResult result;
  result.requests = {{0, 0.1, 0.1, 10, 1}, {0, 0.3, 0.3, 10, 1}};
  result.end = 0.3;
  const ServeFigures figures = figures_of(result, {});
  CHECK(figures.first_token.mean == doctest::Approx(0.2));
  CHECK_FALSE(figures.per_token);
  CHECK_FALSE(figures.between_tokens);
}

TEST_CASE("load: goodput counts requests within both limits") {
  QueueResult result;
  result.requests = {
      {0, 0.1, 1.1, 10, 11}, {0, 0.6, 1.6, 10, 11}, {0, 0.1, 2.1, 10, 11}, {0, 0.2, 0.2, 10, 1}};
  result.end = 2.1;
  ServeLimits limits;
  limits.first_token = 0.5;
  limits.token = 0.15;
  const ServeFigures figures = figures_of(result, limits);
  CHECK(figures.within == 0.5);
  CHECK(figures.goodput == doctest::Approx(2 / 2.1));
  CHECK(figures.output_goodput == doctest::Approx(12 / 2.1));
}

TEST_CASE("queue: engines that are taken in turn let a request wait beside one that is free") {
  // Passes of a second, a place in each of two engines for decodes. Two requests have their prompts
  // at 1 and 2 and decode on one each, to 11 and to 4. The third's prompt is there at 5.
  const auto third = [](bool in_turn, int places) {
    ServeQueue queue = engine(1);
    queue.prefill = queue.pool;
    queue.pool.workers = 2;
    queue.in_turn = in_turn;
    queue.pool.rules.requests_max = places;
    const QueueResult result = run_queue(queue, {{0, 8, 11, 0}, {0, 8, 3, 0}, {4, 8, 3, 0}});
    CHECK(result.requests[0].first_token == 2);
    CHECK(result.requests[0].finish == 11);
    CHECK(result.requests[1].finish == 4);
    return result.requests[2].first_token;
  };
  CHECK(third(false, 1) == 6);  // on the second, which is free
  CHECK(third(true, 1) == 12);  // on the first: it waits for the place
  CHECK(third(true, 2) == 6);
}
