// Computes the value of fabric::HashKind::kLinux: the flow hash of a Linux kernel that forwards. It
// is SipHash-2-4 over the dissected header with the lower address and the lower port first, so that
// both directions of a connection have the same value.
//
// Deterministic. Thread safety: pure function.
#pragma once

#include <cstdint>

#include "pkg/fabric/ecmp_hash.h"
#include "pkg/repac/packet.h"

namespace yardmaster::repac {

// REQUIRES: spec.kind is kLinux.
std::uint64_t LinuxValue(const fabric::HashSpec& spec, const Packet& packet);

}  // namespace yardmaster::repac
