#include "models/training/layers/pass_time.hpp"

namespace fabricast {

namespace {

constexpr double PassTime::*kParts[] = {
    &PassTime::gemm,           &PassTime::attention,    &PassTime::elementwise,
    &PassTime::host,           &PassTime::tensor,       &PassTime::context,
    &PassTime::expert,         &PassTime::contention,   &PassTime::tensor_hidden,
    &PassTime::context_hidden, &PassTime::expert_hidden};

}  // namespace

PassTime& PassTime::operator+=(const PassTime& other) {
  for (double PassTime::*part : kParts) this->*part += other.*part;
  return *this;
}

PassTime operator*(double times, PassTime pass) {
  for (double PassTime::*part : kParts) pass.*part *= times;
  return pass;
}

}  // namespace fabricast
