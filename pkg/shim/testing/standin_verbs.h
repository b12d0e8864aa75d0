// Provides a verbs library for tests without NICs: two RoCE devices, mlx5_0 and mlx5_1, whose queue
// pairs record the calls. It is loaded by its path, like the real library, and exports some of the
// real functions under their versions, the newest 1.11 (standin_verbs.map).
//
//   - STANDIN_REFUSE_LABELS=1 rejects flow labels in the transition to RTR.
//   - STANDIN_GID_TYPE=1 makes all GIDs RoCEv1.
//   - STANDIN_DRIVER=<path> is loaded with the device list, like a driver.
//
// GID 3 of port 1 of device i is the address 10.0.0.(1 + i).
//
// Thread safety: calls for one queue pair come from one thread at a time, as verbs requires.
#pragma once

#include <cstdint>
#include <infiniband/verbs.h>

namespace yardmaster::shim {

// A queue pair of the stand-in. Tests may read the fields behind the ibv_qp.
struct StandinQp {
  ibv_qp qp;         // the first member: a pointer to it is a pointer to this
  ibv_qp_attr last;  // of the last successful ibv_modify_qp to RTR
  int modifications;
  int refused;
  std::uint32_t max_recv_wr;
};

}  // namespace yardmaster::shim
