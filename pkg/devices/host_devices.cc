#include "pkg/devices/host_devices.h"

#include <algorithm>

namespace yardmaster::devices {

DeviceMatch MatchOf(const DeviceKind& kind, const DeviceTraits& device) {
  DeviceMatch out = DeviceMatch::kYes;
  for (const DeviceSelector& selector : kind.selectors) {
    const DeviceMatch match = selector.Evaluate(device);
    if (match == DeviceMatch::kNo) return match;
    if (match == DeviceMatch::kUnknown) out = match;
  }
  return out;
}

HostDevices::HostDevices(const std::vector<SlicePtr>& slices, const std::string& node) {
  std::map<PoolName, std::vector<SlicePtr>> pools;
  for (const SlicePtr& slice : slices) pools[{slice->driver, slice->pool}].push_back(slice);
  for (auto& [name, of_pool] : pools) {
    std::int64_t newest = 0;
    for (const SlicePtr& slice : of_pool) newest = std::max(newest, slice->generation);
    std::erase_if(of_pool, [newest](const SlicePtr& s) { return s->generation != newest; });
    if (static_cast<int>(of_pool.size()) < of_pool.front()->slices) continue;
    pools_.push_back(name);
    AddPool(of_pool, node);
  }
}

void HostDevices::AddPool(const std::vector<SlicePtr>& slices, const std::string& node) {
  const std::size_t pool = pools_.size() - 1;
  for (const SlicePtr& slice : slices) {
    slices_.push_back(slice);
    for (const CounterSet& set : slice->counters) {
      for (const auto& [counter, amount] : set.amounts) {
        counters_[{pool, {set.name, counter}}] += amount;
      }
    }
    for (const SliceDevice& device : slice->devices) {
      const std::string& of = device.node_name.empty() ? slice->node_name : device.node_name;
      if (of == node) devices_.push_back({&device, pool});
    }
  }
}

bool HostDevices::Has(const PoolName& pool, std::string_view device) const {
  return std::any_of(devices_.begin(), devices_.end(), [&](const Placed& placed) {
    return pools_[placed.pool] == pool && placed.device->name == device;
  });
}

bool HostDevices::IsHeld(const Placed& placed, const Held& held) const {
  const auto at = held.find(pools_[placed.pool]);
  return at != held.end() && at->second.count(placed.device->name) != 0;
}

void HostDevices::Take(const Placed& placed, Counters& left) {
  for (const CounterSet& set : placed.device->takes) {
    for (const auto& [counter, amount] : set.amounts) {
      left[{placed.pool, {set.name, counter}}] -= amount;
    }
  }
}

bool HostDevices::Fits(const Placed& placed, const Counters& left) {
  for (const CounterSet& set : placed.device->takes) {
    for (const auto& [counter, amount] : set.amounts) {
      const auto at = left.find({placed.pool, {set.name, counter}});
      if (amount > (at == left.end() ? 0 : at->second)) return false;
    }
  }
  return true;
}

DeviceAmounts HostDevices::Count(const DeviceKind& kind, const Held& held) const {
  DeviceAmounts out;
  Counters empty = counters_;
  Counters left = counters_;
  for (const Placed& placed : devices_) {
    if (IsHeld(placed, held)) Take(placed, left);
  }
  for (const Placed& placed : devices_) {
    const bool is_held = IsHeld(placed, held);
    if (placed.device->tainted && !is_held) continue;
    const DeviceMatch match = MatchOf(kind, placed.device->traits);
    if (match == DeviceMatch::kNo) continue;
    if (match == DeviceMatch::kUnknown) out.exact = false;
    if (Fits(placed, empty)) {
      Take(placed, empty);
      ++out.all;
    }
    if (!is_held && Fits(placed, left)) {
      Take(placed, left);
      ++out.free;
    }
  }
  return out;
}

}  // namespace yardmaster::devices
