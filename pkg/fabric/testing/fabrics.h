// Small fabrics for tests of every layer. TESTONLY. Thread safety: pure functions.
#pragma once

#include "pkg/fabric/places.h"
#include "pkg/fabric/spec.h"

namespace yardmaster::fabric {

// HPN 7.0 in small: dual plane, rail-optimised ToRs, 8 rails, 4 Agg per plane, no core when there
// is one fabric pod and 4 cores per plane otherwise. One backup host a segment if there are more
// than two.
FabricSpec SmallHpn(int fabric_pods, int segments, int hosts_per_segment);
// The same with one plane: both ToRs of a rail hang under the same Agg switches.
FabricSpec SinglePlaneHpn(int fabric_pods, int segments, int hosts_per_segment);
// The k-ary fat tree: one NIC port per host, k/2 hosts per edge switch.
FabricSpec FatTree(int k);
// SmallHpn whose cores are striped: Agg i meets only cores of stripe i mod 2. REQUIRES: fabric_pods
// > 1.
FabricSpec StripedCore(int fabric_pods, int segments, int hosts_per_segment);
// SmallHpn with two rails on each ToR and four on each Agg.
FabricSpec RailGroups(int fabric_pods, int segments, int hosts_per_segment);

// As many hosts as the spec was built for, named like their place: "p0s1h002".
std::vector<HostPlace> HostsOf(const FabricSpec& spec);
Places PlacesOf(const FabricSpec& spec);

}  // namespace yardmaster::fabric
