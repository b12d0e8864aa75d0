// Computes the value of fabric::HashKind::kRtag7: the header's fields are folded into 16-bit bins,
// the bins are mixed if configured, and one function computes 16 bits from bins and seed.
//
// Deterministic. Thread safety: pure function.
#pragma once

#include <cstdint>

#include "pkg/fabric/ecmp_hash.h"
#include "pkg/repac/packet.h"

namespace yardmaster::repac {

// REQUIRES: spec.kind is kRtag7, without tables (SpecFor in reference_hash.h).
std::uint64_t Rtag7Value(const fabric::HashSpec& spec, const Packet& packet);

}  // namespace yardmaster::repac
