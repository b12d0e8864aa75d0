// The two fabrics of the Crux paper's trace evaluation and the shape of the published topology,
// with hosts as in the paper's testbed: eight A100, four NICs of 200 Gbit/s. Thread safety: pure
// functions.
#pragma once

#include "pkg/fabric/network.h"
#include "pkg/fabric/spec.h"

namespace yardmaster::bench {

// 173 ToRs of five hosts, each wired to all of 16 Aggs (2.5 to 1 with uplinks of 100 Gbit/s; the
// paper does not give their speed).
fabric::FabricSpec TwoLayer(int uplink_gbps = 100);
// 6 ToRs in three pods of 4 Aggs under 32 cores (3 to 1 at the ToRs).
fabric::FabricSpec ThreeLayer();
// The shape of the published topo.csv: three pods (PSW groups) of 40 ToRs (ASW groups) of eight
// hosts; every ToR is wired to the 16 Aggs of its pod, those to 40 cores without oversubscription.
// Speeds and numbers of switches are not published.
fabric::FabricSpec RecordedShape(int uplink_gbps = 100);

// Ends the program where the spec cannot be built.
fabric::Network BuildNetwork(const fabric::FabricSpec& spec);

}  // namespace yardmaster::bench
