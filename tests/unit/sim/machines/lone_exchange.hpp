#pragma once
// An exchange with nothing beside it: the guest of an executor without workers.

#include <functional>

#include "sim/machines/exchange.hpp"
#include "sim/machines/executor.hpp"

namespace fabricast::testing {

template <class Stamp>
class LoneExchange {
 public:
  LoneExchange(const ExchangeSchedule& schedule, std::uint32_t blocks, std::uint32_t threads)
      : exchange_(schedule, blocks, threads, executor_.queue(), executor_.transit()) {
    executor_.host(exchange_);
  }
  std::uint32_t add_link(LinkSpec spec) { return executor_.add_link(spec); }
  std::uint32_t add_kind(const MessageKind& kind) { return exchange_.add_kind(kind); }
  void set_outage(std::uint32_t link, Bandwidth rate, const Outage& outage) {
    executor_.set_outage(link, rate, outage);
  }
  void set_retry(const Retry& retry) { executor_.set_retry(retry); }
  void run() { executor_.run(); }

  Stamp makespan() const { return exchange_.makespan(); }
  Stamp finished(std::uint32_t block) const { return exchange_.finished(block); }
  std::uint64_t events() const { return exchange_.events(); }
  std::uint64_t messages() const { return exchange_.messages(); }
  std::uint64_t chunks() const { return exchange_.chunks(); }
  std::uint64_t digest() const { return executor_.digest(); }
  Bytes carried(std::uint32_t link) const { return executor_.carried(link); }
  const Losses& losses() const { return executor_.losses(); }

 private:
  Executor<Stamp> executor_;
  Exchange<Stamp> exchange_;
};

}  // namespace fabricast::testing
