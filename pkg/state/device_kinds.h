// What devices can be asked for, as names of resources. A DeviceClass is the resource
// "deviceclass.resource.kubernetes.io/<class>", as Kubernetes has it, and the extended resource
// that it names, too; of several classes that name one, that is the one created last, then the
// first by name. Requests with selectors of their own ask for a resource of ours besides, one for
// all requests of the same class with the same selectors; the first 64 by name are counted. Classes
// of ComputeDomains (api/compute_domain.h) are none of the kinds: their devices are no amounts.
//
// Determinism: depends on the objects alone. Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pkg/devices/host_devices.h"
#include "pkg/state/device_tables.h"

namespace yardmaster::state {

// The name of a request's selectors, where it has any; "" else.
std::string SelectionName(const devices::DeviceRequest& request);

class DeviceKinds {
 public:
  // Selections of requests that are there, by name, and how many requests have them.
  struct Selection {
    devices::DeviceRequest request;
    std::int64_t uses = 0;
  };
  using Selections = std::map<std::string, Selection>;

  DeviceKinds() = default;
  DeviceKinds(const ObjectTable<devices::DeviceClass>& classes, const Selections& selections);

  // What of a host counts as the resource of that name; its devices all match the kind.
  const std::map<std::string, devices::DeviceKind>& by_name() const { return kinds_; }
  bool HasClass(const std::string& name) const { return extended_.count(name) != 0; }
  // The class's other name, or "".
  const std::string& ExtendedNameOf(const std::string& device_class) const;
  // Every name that one device of the request counts as. Empty: there is no such class.
  std::vector<std::string> NamesOf(const devices::DeviceRequest& request) const;

 private:
  std::map<std::string, std::string> extended_;  // by class; "": none
  std::map<std::string, devices::DeviceKind> kinds_;
};

}  // namespace yardmaster::state
