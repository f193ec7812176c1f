#pragma once
// Links that go down at times, and what is lost on them.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "sim/base/stamp.hpp"
#include "sim/links/link_servers.hpp"
#include "sim/links/outage.hpp"

namespace fabricast {

template <class Stamp>
class FailingLinks {
 public:
  /// The link has this rate.
  void set_outage(std::uint32_t link, Bandwidth rate, const Outage& outage) {
    links_[link] = {outage, rate};
  }
  void set_retry(const Retry& retry) { retry_ = retry; }
  bool empty() const { return links_.empty(); }
  bool has(std::uint32_t link) const { return links_.contains(link); }
  Losses& losses() { return losses_; }
  const Losses& losses() const { return losses_; }

  /// A slice comes to the link as in LinkServers::cross(). If the link loses it, it is sent again
  /// until it passes, or never arrives; `head` and `last` become when it leaves the link. Returns
  /// when the link has carried it, nothing if it is not lost. What is sent again does not make
  /// others on the link wait, nor does what follows it and so has to wait until `after`.
  std::optional<Stamp> send_again(std::uint32_t id, typename LinkServers<Stamp>::Link& link,
                                  Stamp& head, Stamp& last, Bytes wire, const Stamp& after = {}) {
    const auto failing = links_.find(id);
    if (failing == links_.end()) return std::nullopt;
    const Stamp usual = wire.count == 0 ? head : later(head, link.free);
    const Stamp start = later(usual, after);
    const Duration busy = transfer_time(wire, failing->second.rate);
    const Instant sent{start.ps};
    Instant at = sent;
    int retries = 0;
    while (at < kNever && failing->second.outage.hits(at, busy)) {
      ++losses_.lost;
      if (retries == retry_.count || retry_.timeout.ps == 0) {
        give_up(id, sent);
        at = kNever;
      } else {
        at = at + retry_.timeout;
        ++retries;
      }
    }
    if (at.ps == usual.ps) return std::nullopt;
    if (at < kNever) losses_.retries_most = std::max(losses_.retries_most, retries);
    head = start.plus(at - sent, Cause::link);
    const Stamp through = head.plus(busy, Cause::link);
    last = later(last, through);
    link.carried += wire;
    return through;
  }

 private:
  struct FailingLink {
    Outage outage;
    Bandwidth rate;
  };

  void give_up(std::uint32_t id, Instant sent) {
    const Instant end = retry_.timeout.ps == 0 ? kNever : sent + retry_.patience();
    if (!losses_.gave_up || end < losses_.given_up || (end == kNever && sent < losses_.sent)) {
      losses_.link = id;
      losses_.sent = sent;
      losses_.given_up = end;
    }
    losses_.gave_up = true;
  }

  std::map<std::uint32_t, FailingLink> links_;
  Retry retry_;
  Losses losses_;
};

}  // namespace fabricast
