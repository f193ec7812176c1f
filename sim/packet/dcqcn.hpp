#pragma once
// DCQCN, the rate control of RoCE: a sender cuts its rate when the receiver has seen marked
// packets, and creeps back. Zhu et al., Congestion Control for Large-Scale RDMA Deployments,
// SIGCOMM 2015; parameters under the names of NVIDIA's "DCQCN CC parameters".
//
// A machine of its own: it is told of notifications (CNPs), bytes and its own timers, and says its
// rate. Rates are IEEE doubles with + - * / only: the same on every machine.

#include <cstdint>
#include <optional>

#include "sim/base/units.hpp"

namespace fabricast {

/// Defaults: ConnectX-4 and later (DOCA documentation; mlxconfig dumps for the increase).
struct DcqcnSpec {
  double gain = 5.0 / 1024;                      ///< g: 1 - dce_tcp_g / 1024
  Duration alpha_period = microseconds(1);       ///< dce_tcp_rtt
  double alpha_at_first = 1023.0 / 1024;         ///< initial_alpha_value
  Duration reduce_period = microseconds(4);      ///< rate_reduce_monitor_period
  Duration notify_interval = microseconds(4);    ///< min_time_between_cnps, at the receiver
  double cut_max = 0.5;                          ///< 1 - rpg_min_dec_fac
  Bandwidth rate_min{125'000};                   ///< rpg_min_rate: 1 Mb/s
  Duration increase_period = microseconds(300);  ///< rpg_time_reset
  Bytes increase_bytes{32'767 * 64};             ///< rpg_byte_reset; 0 = no byte counter
  int fast_stages = 1;                           ///< F, rpg_threshold
  Bandwidth additive{625'000};                   ///< R_AI, rpg_ai_rate: 5 Mb/s
  Bandwidth hyper{6'250'000};                    ///< R_HAI, rpg_hai_rate: 50 Mb/s
  bool clamp_target = false;                     ///< clamp_tgt_rate: every cut lowers the target
};

class Dcqcn {
 public:
  Dcqcn(const DcqcnSpec& spec, Bandwidth line);

  /// A notification came. Returns the end of the running reduce period when the cut has to wait
  /// for it: reduce() is due then. Otherwise the cut was made.
  std::optional<Instant> notify(Instant now);
  void reduce(Instant now);
  void increase_by_time();
  /// `sent` bytes more left the sender; increases the rate when enough came together.
  void count(Bytes sent);
  /// A rate other than the line's, e.g. of a flow that is already under way.
  void set_rate(double bytes_per_s);

  double rate() const { return rate_; }  ///< B/s
  double target() const { return target_; }
  double alpha() const { return alpha_; }
  Instant last_cut() const { return last_cut_; }
  /// Back at line rate: nothing to do until the next notification.
  bool at_rest() const { return rate_ >= line_ && target_ >= line_; }

 private:
  void decay(Instant now);
  void cut(Instant now);
  void increase();

  DcqcnSpec spec_;
  double line_, rate_, target_;
  double alpha_;
  bool seen_ = false;      ///< a notification, ever
  bool notified_ = false;  ///< since the alpha period began
  bool cut_waits_ = false;
  Instant alpha_since_;  ///< the alpha period that runs
  Instant last_cut_{-(std::int64_t{1} << 62)};
  int time_stage_ = 0, byte_stage_ = 0;  ///< increases since the last cut
  Bytes counted_;
};

}  // namespace fabricast
