// A selector of devices, in the part of CEL that can be evaluated here:
//
//   device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"
//   device.attributes["gpu.nvidia.com"].productName in ["NVIDIA A100", "NVIDIA H100"]
//   device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0
//
// ==, !=, <, <=, >, >=, in, &&, ||, ! and parentheses; compareTo, isGreaterThan and isLessThan of
// capacities. Everything else is kUnknown where it decides. An attribute that a device does not
// have is an error of CEL, and kNo where it decides: kube-scheduler gives such a device to nobody.
//
// Complexity: linear in the text, which may have 10 KiB and 32 levels; what exceeds that is
// kUnknown. Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>

namespace yardmaster::devices {

// monostate: of a type that is not compared here, a version.
struct TraitValue {
  std::variant<std::monostate, bool, std::int64_t, std::string> value;
  bool operator==(const TraitValue&) const = default;
};

// What selectors see of a device. Names are qualified by their domain.
struct DeviceTraits {
  std::string driver;
  std::map<std::string, TraitValue> attributes;
  std::map<std::string, std::int64_t> capacity;
  bool operator==(const DeviceTraits&) const = default;
};

enum class DeviceMatch { kNo, kYes, kUnknown };

class DeviceSelector {
 public:
  static DeviceSelector Parse(std::string text);

  DeviceMatch Evaluate(const DeviceTraits& device) const;
  const std::string& text() const { return text_; }
  bool operator==(const DeviceSelector& other) const { return text_ == other.text_; }

  struct Term;

 private:
  std::string text_;
  std::shared_ptr<const Term> root_;  // never null
};

}  // namespace yardmaster::devices
