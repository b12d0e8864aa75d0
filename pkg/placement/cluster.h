// The input of placement: one small record per host beside the immutable Places. A
// planner works on a copy; the records do not say which job holds what. Thread safety: values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pkg/fabric/places.h"

namespace yardmaster::placement {

// Why a host takes no new worker. kSegmentLost, kDomainLost: its segment, or its domain, is lost as
// a whole; it goes before what the Node says. The other values follow from the Node alone.
enum class Unavailability : std::uint8_t {
  kNo,
  kNotReady,
  kCordoned,
  kTainted,
  kSegmentLost,
  kDomainLost
};

struct HostState {
  std::int16_t gpus = 8;       // of the host
  std::int16_t free_gpus = 8;  // neither held nor promised
  Unavailability unavailable = Unavailability::kNo;
  bool backup = false;             // kept free to replace another host of its segment
  std::uint8_t degraded = 0;       // works, with so many ports of some NIC down or lossy
  std::uint8_t gpu_model = 0;      // index into Cluster::gpu_models; means nothing without GPUs
  std::int32_t reserved_for = -1;  // number of the waiting job this host is reserved for, or -1
  bool operator==(const HostState&) const = default;
};

// What hosts have besides GPUs, a column for each resource that some job asks for. A resource
// without a column is not counted.
struct HostResources {
  std::shared_ptr<const std::vector<std::string>> names;         // ascending; null: no columns
  std::shared_ptr<const std::vector<std::int64_t>> allocatable;  // [host * columns + column]
  std::vector<std::int64_t> free;  // likewise; below 0 where more is held than there is
  std::size_t columns() const { return names == nullptr ? 0 : names->size(); }
};

struct Cluster {
  std::shared_ptr<const fabric::Places> places;
  std::vector<HostState> hosts;  // by HostId
  HostResources resources;
  // The GPU models of the hosts, ascending; "": hosts that do not state one. Null: not known, all
  // alike.
  std::shared_ptr<const std::vector<std::string>> gpu_models;
  std::size_t num_gpu_models() const { return gpu_models == nullptr ? 0 : gpu_models->size(); }
  // What makes a segment less welcome than an equally good one, for example the predicted load of
  // its uplinks, in any unit: only the ratio to the highest value counts. Empty: all equal.
  std::vector<double> uplink_load;  // by SegmentId
};

}  // namespace yardmaster::placement
