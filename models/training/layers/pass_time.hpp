#pragma once
// Where the time of a GPU goes.

namespace fabricast {

/// Seconds, by what the compute stream does or waits for.
struct PassTime {
  double gemm = 0, attention = 0, elementwise = 0;
  double host = 0;                             ///< waiting for the host to issue kernels
  double tensor = 0, context = 0, expert = 0;  ///< exposed communication
  double contention = 0;                       ///< slower compute beside communication
  /// Communication beside compute; not in total().
  double tensor_hidden = 0, context_hidden = 0, expert_hidden = 0;

  double compute() const { return gemm + attention + elementwise; }
  double total() const { return compute() + host + tensor + context + expert + contention; }
  double hidden() const { return tensor_hidden + context_hidden + expert_hidden; }
  PassTime& operator+=(const PassTime& other);
};
PassTime operator*(double times, PassTime pass);
inline PassTime operator+(PassTime a, const PassTime& b) { return a += b; }

}  // namespace fabricast
