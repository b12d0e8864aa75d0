// The `ecmpHash` block of a Fabric as it may be written by hand: YAML or JSON to a compiled hash.
// A block that is accepted must evaluate, agree with its definition and read back to the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pkg/api/ecmp_hash_json.h"
#include "pkg/base/random.h"
#include "pkg/cli/hash_command.h"
#include "pkg/config/yaml.h"
#include "pkg/repac/hash_model.h"
#include "pkg/repac/reference_hash.h"

namespace yardmaster {
namespace {

repac::Packet RandomPacket(Random& random) {
  repac::Packet packet;
  packet.sip.v6 = packet.dip.v6 = random.Below(2) == 0;
  for (std::size_t i = 0; i < packet.sip.size(); ++i) {
    packet.sip.bytes[i] = static_cast<std::uint8_t>(random.Below(256));
    packet.dip.bytes[i] = static_cast<std::uint8_t>(random.Below(256));
  }
  packet.protocol = static_cast<std::uint8_t>(random.Below(3) == 0 ? random.Below(256) : 17);
  packet.sport = static_cast<std::uint16_t>(random.Below(65536));
  packet.dport = random.Below(4) == 0 ? packet.sport : repac::kRoceDestinationPort;
  packet.ingress_port = static_cast<std::uint16_t>(random.Below(128));
  return packet;
}

void Check(bool good) {
  if (!good) std::abort();
}

void CheckModel(const fabric::HashSpec& spec) {
  const auto model = repac::HashModel::Compile(spec);
  Check(model.ok());
  if (!model->predictable()) return;
  Random random(1);
  for (int i = 0; i < 8; ++i) {
    const repac::Packet packet = RandomPacket(random);
    const std::uint64_t value = model->Hash(packet);
    Check(value == repac::ReferenceHash(repac::SpecFor(spec, packet), packet));
    Check(model->bits() == 64 || value >> model->bits() == 0);
  }
}

void CheckBlock(std::string_view text) {
  config::YamlLimits limits;
  limits.max_bytes = 1 << 16;
  limits.max_values = 1 << 12;
  const auto block = config::ParseYaml(text, "block", limits);
  if (!block.ok()) return;
  const auto spec = api::DecodeHashSpec(*block);
  if (!spec.ok()) return;
  const nlohmann::json written = api::EncodeHashSpec(*spec);
  const auto again = api::DecodeHashSpec(written);
  Check(again.ok() && api::EncodeHashSpec(*again) == written);
  CheckModel(*spec);
}

}  // namespace
}  // namespace yardmaster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  yardmaster::CheckBlock(text);
  // The command's packet lines are written by people, too.
  if (size < 200) (void)yardmaster::cli::ParsePacketLine(text);
  return 0;
}
