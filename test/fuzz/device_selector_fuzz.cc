// Selectors of devices as a cluster has them, in CEL: for all bytes, a selector is parsed and
// evaluated, and parentheses around one change nothing unless they are too many.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "pkg/devices/device_selector.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace yardmaster::devices;  // NOLINT: a program of one file
  static const DeviceTraits kDevice{
      "gpu.nvidia.com",
      {{"gpu.nvidia.com/type", {std::string("gpu")}}, {"gpu.nvidia.com/index", {std::int64_t{3}}}},
      {{"gpu.nvidia.com/memory", std::int64_t{80} << 30}}};
  const std::string text(reinterpret_cast<const char*>(data), size);
  const DeviceMatch match = DeviceSelector::Parse(text).Evaluate(kDevice);
  const DeviceMatch inside = DeviceSelector::Parse("(" + text + ")").Evaluate(kDevice);
  if (match != inside && match != DeviceMatch::kUnknown && inside != DeviceMatch::kUnknown)
    std::abort();
  DeviceSelector::Parse(text).Evaluate({});
  return 0;
}
