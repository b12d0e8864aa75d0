// A SimAI topology file: for all bytes, the answer is an error or a Fabric that is valid,
// reads back to the same and has room for the GPUs of the file.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "nlohmann/json.hpp"

#include "simulation/formats/simai_fabric.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace yardmaster;  // NOLINT: a program of one function
  const auto topology =
      sim::ReadSimAiTopology({reinterpret_cast<const char*>(data), size}, "input");
  if (!topology.ok()) {
    if (topology.status().message().empty()) std::abort();
    return 0;
  }
  if (topology->nodes() > 20'000) return 0;  // valid and slow
  const auto imported = sim::ImportSimAi(*topology, "input");
  if (!imported.ok()) {
    if (imported.status().message().empty()) std::abort();
    return 0;
  }
  const fabric::FabricSpec& spec = imported->fabric.spec;
  const std::int64_t room = std::int64_t{spec.fabric_pods} * spec.segments_per_fabric_pod *
                            spec.hosts_per_segment * spec.gpus_per_host;
  if (!fabric::Problems(spec).empty() || room < topology->gpus) std::abort();
  const nlohmann::json written = api::EncodeFabric(imported->fabric);
  const auto again = api::DecodeFabric(written);
  if (!again.ok() || api::EncodeFabric(*again) != written) std::abort();
  return 0;
}
