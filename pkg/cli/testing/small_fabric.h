// Defines a Fabric that is small enough to follow a packet by hand. For tests only.
//
// Thread safety: a constant.
#pragma once

namespace yardmaster::cli {

// Two segments of two hosts, dual plane, four uplinks per ToR, addresses from 10.0.0.0.
inline constexpr char kSmallFabric[] = R"(apiVersion: yardmaster.dev/v1alpha1
kind: Fabric
metadata: {name: small}
spec:
  host: {gpus: 8, rails: 8, nicPorts: 2, nicGbps: 200}
  planes: 2
  addressing: {base: 10.0.0.0}
  size: {fabricPods: 1, segmentsPerFabricPod: 2, hostsPerSegment: 2}
  tiers:
  - {role: tor, scope: Segment, perRail: true, downPorts: 2, downGbps: 200, upPorts: 4, upGbps: 400}
  - {role: agg, scope: FabricPod, switches: 4, downPorts: 16, downGbps: 400}
  ecmpHash:
    tor:
      model: rtag7
      rtag7: {function: crc32c-lo, preMix: false}
      seed: 0x12345678
)";

}  // namespace yardmaster::cli
