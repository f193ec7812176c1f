#pragma once
// What NCCL does with registered buffers, by release. Facts, in public source of NCCL:
//
//   NVLS, peers, network  src/register/coll_reg.cc (2.23+; src/register.cc before): registration by
//                         algorithm and collective; src/transport/nvls.cc,
//                         ncclNvlsRegResourcesQuery (2.27+): channels of registered NVLS
//   windows               src/enqueue.cc, ncclPrepareTasks (2.27); src/scheduler/symmetric_sched.cc
//                         (2.28+); src/symmetric.cc (2.27), src/sym_kernels.cc (2.28+): which
//                         kernels there are for a call, and the cost model that chooses
//   copy engines          src/ce_coll.cc and src/enqueue.cc (2.28+)
//   since when            NCCL user guide, "User Buffer Registration" (2.19.3, 2.24.3, 2.26.5)

#include "models/nccl/environment/env.hpp"
#include "models/nccl/registered/registration.hpp"

namespace fabricast {

struct RegisteredQuestion {
  Registration asked = Registration::none;
  NcclVersion version = kDefaultNccl;
  Collective collective{};
  Bytes size;                                  ///< of the larger buffer, as message_size()
  std::string datatype = "float", op = "sum";  ///< nccl-tests' names
  int element_bytes = 4;
  int ranks = 2, nodes = 1;  ///< to NCCL: what NVLink joins is one
  int sm = 90;               ///< compute capability, the least
  bool nvls = false;         ///< the node and its GPUs offer it, and it is not switched off
  int nvls_heads = 1;
  bool all_nvlink = true;  ///< each GPU of a node reaches each over NVLink
  int ctas_min = 1, ctas_max = 64;
  /// What NCCL takes of unregistered buffers; none: sends and receives.
  std::optional<Algorithm> algorithm;
  Protocol protocol{};
};

/// Throws Error for values of variables that are no numbers where NCCL wants one.
RegisteredChoice choose_registered(const RegisteredQuestion& question,
                                   const Environment& environment);

/// Throws Error where nccl-tests could not be built so: -R 1 before 2.19, -R 2 before 2.27.
void check_registration(Registration registration, NcclVersion version);

}  // namespace fabricast
