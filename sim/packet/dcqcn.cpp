#include "sim/packet/dcqcn.hpp"

#include <algorithm>
#include <cassert>

namespace fabricast {

Dcqcn::Dcqcn(const DcqcnSpec& spec, Bandwidth line)
    : spec_(spec),
      line_(static_cast<double>(line.bytes_per_s)),
      rate_(line_),
      target_(line_),
      alpha_(spec.alpha_at_first) {
  assert(spec.alpha_period.ps > 0 && spec.reduce_period.ps > 0);
}

void Dcqcn::set_rate(double bytes_per_s) { rate_ = target_ = bytes_per_s; }

/// Closes the alpha periods that have passed; the first saw a notification or not, the rest none.
void Dcqcn::decay(Instant now) {
  while (alpha_since_ + spec_.alpha_period <= now) {
    alpha_ = (1 - spec_.gain) * alpha_ + (notified_ ? spec_.gain : 0);
    notified_ = false;
    alpha_since_ = alpha_since_ + spec_.alpha_period;
    constexpr double nothing = 1e-12;
    if (alpha_ < nothing) {
      const Duration idle = now - alpha_since_;
      alpha_since_ = alpha_since_ + Duration{idle.ps - idle.ps % spec_.alpha_period.ps};
      break;
    }
  }
}

std::optional<Instant> Dcqcn::notify(Instant now) {
  if (!seen_) {
    seen_ = true;
    alpha_since_ = now;
  }
  decay(now);
  notified_ = true;
  if (cut_waits_) return std::nullopt;
  if (now - last_cut_ < spec_.reduce_period) {
    cut_waits_ = true;
    return last_cut_ + spec_.reduce_period;
  }
  cut(now);
  return std::nullopt;
}

void Dcqcn::reduce(Instant now) {
  cut_waits_ = false;
  decay(now);
  cut(now);
}

void Dcqcn::cut(Instant now) {
  const bool first_stage = time_stage_ == 0 && byte_stage_ == 0;
  if (spec_.clamp_target || !first_stage) target_ = rate_;
  rate_ = std::max(rate_ * (1 - std::min(alpha_ / 2, spec_.cut_max)),
                   static_cast<double>(spec_.rate_min.bytes_per_s));
  last_cut_ = now;
  time_stage_ = byte_stage_ = 0;
  counted_ = {};
}

/// Fast recovery until either counter has made F steps, then additive; hyper once both are past it
/// (the only one, where bytes are not counted).
void Dcqcn::increase() {
  const int most = std::max(time_stage_, byte_stage_);
  const int least =
      spec_.increase_bytes.count == 0 ? time_stage_ : std::min(time_stage_, byte_stage_);
  if (most > spec_.fast_stages) {
    const Bandwidth step = least > spec_.fast_stages + 1 ? spec_.hyper : spec_.additive;
    target_ = std::min(line_, target_ + static_cast<double>(step.bytes_per_s));
  }
  rate_ = std::min(line_, (rate_ + target_) / 2);
}

void Dcqcn::increase_by_time() {
  ++time_stage_;
  increase();
}

void Dcqcn::count(Bytes sent) {
  if (spec_.increase_bytes.count == 0) return;
  counted_ += sent;
  if (counted_ < spec_.increase_bytes) return;
  counted_ = counted_ - spec_.increase_bytes;
  ++byte_stage_;
  increase();
}

}  // namespace fabricast
