// Names of places for people. Thread safety: pure functions.
#pragma once

#include <string>

#include "pkg/fabric/places.h"

namespace yardmaster::fabric {

// "p0s3", or "p0/s3" where another fabric pod has a segment s3, too. O(segments).
std::string DistinctName(const Places& places, SegmentId segment);

}  // namespace yardmaster::fabric
