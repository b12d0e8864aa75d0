// Exports every function that libibverbs exports, and forwards it to the real library.
//
//   - A required function is one jump through a slot, so arguments and results of any type pass
//     unchanged.
//   - An optional function is an indirect function: if the real library does not have it, a look-up
//     with dlvsym returns null, as it would for the real library. A program that is linked with the
//     name is bound before any library can be opened; it gets the jump.
//   - Programs call ibv_post_send, ibv_poll_cq and similar functions through the device's function
//     table, which the real library fills. So the data path does not use the shim.
//
// Thread safety: BindVerbs is called once, from the library's constructor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <infiniband/verbs.h>

namespace yardmaster::shim {

// The functions of the real library that the shim calls; null: it does not have the function.
struct RealVerbs {
  int (*modify_qp)(ibv_qp*, ibv_qp_attr*, int) = nullptr;
  int (*query_qp)(ibv_qp*, ibv_qp_attr*, int, ibv_qp_init_attr*) = nullptr;
  int (*destroy_qp)(ibv_qp*) = nullptr;
  int (*query_gid)(ibv_context*, std::uint8_t, int, ibv_gid*) = nullptr;
  int (*query_gid_ex)(ibv_context*, std::uint32_t, std::uint32_t, ibv_gid_entry*, std::uint32_t,
                      std::size_t) = nullptr;
  ibv_device** (*get_device_list)(int*) = nullptr;
};

// Fills the slots from the library `handle`. If it is null, the exported functions fail as
// verbs_symbols.inc defines.
void BindVerbs(void* handle, RealVerbs* real);

}  // namespace yardmaster::shim
