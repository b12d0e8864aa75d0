// The devices of one host: which there are, and how many of a kind can be held at once.
//
// Of a pool the slices of its newest generation count, once all of them are there. A tainted device
// counts while it is held, and no more. Devices that share counters (a GPU and its partitions) take
// from them while they are held: a device is free when it is not held and what is left of each of
// its counters is enough. Of devices that shut each other out as many count as fit in their order.
//
// Complexity: linear in the devices of the host, times its counters. Thread safety: values and pure
// functions. Lifetimes: a HostDevices shares the slices.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/devices/device_objects.h"

namespace yardmaster::devices {

struct PoolName {
  std::string driver;
  std::string pool;
  auto operator<=>(const PoolName&) const = default;
};

// What devices are of a kind: those of a class, and of them those that a request selects.
struct DeviceKind {
  std::vector<DeviceSelector> selectors;
  bool operator==(const DeviceKind&) const = default;
};
DeviceMatch MatchOf(const DeviceKind& kind, const DeviceTraits& device);

struct DeviceAmounts {
  std::int64_t all = 0;   // that can be held at once
  std::int64_t free = 0;  // that can be held besides those that are
  bool exact = true;      // false: devices count of which it is not known whether they match
};

class HostDevices {
 public:
  using SlicePtr = std::shared_ptr<const ResourceSlice>;
  // Devices by pool that claims hold.
  using Held = std::map<PoolName, std::set<std::string>>;

  HostDevices() = default;
  // `slices`: of any pools and generations. Devices that name a node are those of `node` alone.
  HostDevices(const std::vector<SlicePtr>& slices, const std::string& node);

  bool empty() const { return devices_.empty(); }
  bool Has(const PoolName& pool, std::string_view device) const;
  DeviceAmounts Count(const DeviceKind& kind, const Held& held) const;

 private:
  struct Placed {
    const SliceDevice* device;
    std::size_t pool;  // in pools_
  };
  // By pool, set and counter.
  using CounterName = std::pair<std::size_t, std::pair<std::string, std::string>>;
  using Counters = std::map<CounterName, std::int64_t>;

  void AddPool(const std::vector<SlicePtr>& slices, const std::string& node);
  bool IsHeld(const Placed& placed, const Held& held) const;
  static void Take(const Placed& placed, Counters& left);
  static bool Fits(const Placed& placed, const Counters& left);

  std::vector<SlicePtr> slices_;
  std::vector<PoolName> pools_;
  std::vector<Placed> devices_;
  Counters counters_;
};

}  // namespace yardmaster::devices
