#include "pkg/fabric/place_names.h"

#include "pkg/base/strings.h"

namespace yardmaster::fabric {

std::string DistinctName(const Places& places, SegmentId segment) {
  const std::string& name = places.name(segment);
  for (const SegmentId other : places.segments()) {
    if (other == segment || places.name(other) != name) continue;
    return StrCat(places.name(places.fabric_pod_of(segment)), "/", name);
  }
  return name;
}

}  // namespace yardmaster::fabric
