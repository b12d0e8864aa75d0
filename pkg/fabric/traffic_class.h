// The IP traffic class of a network level. Thread safety: pure functions.
//
// Defaults. A level that the Fabric's table does not name has a class of its own that rises with
// the level, from CS0 to CS5:
//
//   up to 6 levels   CS0  CS1  CS2  CS3  CS4  CS5                    0  32  64  96 128 160
//   7 levels         CS0  CS1  AF11 CS2  CS3  CS4  CS5               0  32  40  64  96 128 160
//   8 and more       CS0  CS1  AF11 CS2  AF21 CS3  CS4  CS5          0  32  40  64  72  96 128 160
//
// CS6 and CS7 belong to the network itself (RFC 4594, section 3.1): routing protocols, and
// congestion notifications of RoCE. Six precedences remain, so with more levels two of them share
// one; the lower levels do, where a job has the least to lose. A switch that queues by precedence
// treats those alike, one that queues by DSCP does not.
#pragma once

#include "absl/status/statusor.h"

#include "pkg/fabric/spec.h"

namespace yardmaster::fabric {

// The traffic class byte (DSCP * 4) of `level`: the fabric's table, or the default where the table
// does not name it. Errors: InvalidArgument when the fabric has no such level, when its class does
// not fit into a byte, and for levels from 8 on that the table does not name.
absl::StatusOr<int> TrafficClassOf(const NetworkLevels& levels, int level);

}  // namespace yardmaster::fabric
