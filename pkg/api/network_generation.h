// The pod annotation yardmaster.dev/network-generation: for which plan of its gang (Gang
// status.planGeneration) the pod's level, traffic class and paths were made. The operator writes it
// on pods behind the gate, together with those; the extender waits for it before it opens the gate.
// Thread safety: constants.
#pragma once

namespace yardmaster::api {

inline constexpr char kNetworkGenerationAnnotation[] = "yardmaster.dev/network-generation";

}  // namespace yardmaster::api
