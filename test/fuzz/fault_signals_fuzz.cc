// What people and agents say is broken: the operator's table of fault rules, a Fabric's down links,
// and the annotations of Nodes. For all bytes, reading ends in values within the fabric or in an
// error, and annotations that were read are written and read back the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "pkg/api/checkpoint_mark.h"
#include "pkg/api/connection_report.h"
#include "pkg/api/host_record.h"
#include "pkg/api/names.h"
#include "pkg/api/nic_annotations.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/operator/hosts/node_faults.h"
#include "pkg/operator/telemetry/network_faults.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

fabric::Network SmallNetwork() {
  const fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 4);
  const auto places = std::make_shared<const fabric::Places>(fabric::PlacesOf(spec));
  return *fabric::Network::Build(spec, places);
}

template <typename Decode, typename Encode>
void CheckRoundTrip(std::string_view text, Decode decode, Encode encode) {
  const auto value = decode(text);
  if (!value.ok()) {
    if (value.status().message().empty()) std::abort();
    return;
  }
  const auto back = decode(encode(*value));
  if (!back.ok() || !(*back == *value)) std::abort();
}

void CheckDownPorts(std::string_view text) {
  const api::DownPorts down = api::DecodeDownPorts(text, 8, 2);
  for (const auto& [rail, port] : down.ports) {
    if (rail < 0 || rail >= 8 || port < 0 || port >= 2) std::abort();
  }
  const api::DownPorts again = api::DecodeDownPorts(api::EncodeDownPorts(down.ports), 8, 2);
  if (again.ports != down.ports || again.unreadable.count != 0) std::abort();
}

void CheckLossyPorts(std::string_view text) {
  const api::LossyPorts lossy = api::DecodeLossyPorts(text, 8, 2);
  for (const api::LossyPort& port : lossy.ports) {
    if (port.key.first < 0 || port.key.first >= 8 || port.key.second < 0 || port.key.second >= 2 ||
        port.per_million < 1 || port.per_million > 1'000'000) {
      std::abort();
    }
  }
  const api::LossyPorts again = api::DecodeLossyPorts(api::EncodeLossyPorts(lossy.ports), 8, 2);
  if (again.ports != lossy.ports || again.unreadable.count != 0) std::abort();
}

void CheckDownLinks(const fabric::Network& network, std::string_view text) {
  const auto links = op::ReadDownLinks(network, text);
  if (!links.ok()) return;
  for (const fabric::CableId cable : links->cables) {
    if (!cable.valid() || cable.value >= network.num_cables()) std::abort();
  }
}

// The rules, or else the default ones, on a Node with the text in its annotation.
void CheckRules(const std::string& text) {
  const auto rules = op::ParseFaultRules(text, "rules");
  if (!rules.ok() && rules.status().message().empty()) std::abort();
  api::Node node;
  node.metadata.annotations[api::kDownPortsAnnotation] = text;
  for (const op::NodeFault& fault :
       op::FaultsOf(node, 2, rules.ok() ? *rules : op::DefaultFaultRules())) {
    if (fault.action == op::FaultAction::kIgnore || fault.after_ms < 0) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fabric::Network network = SmallNetwork();
  const std::string text(reinterpret_cast<const char*>(data), size);
  CheckRules(text);
  CheckDownLinks(network, text);
  CheckDownPorts(text);
  CheckLossyPorts(text);
  CheckRoundTrip(text, api::DecodeConnectionReport, api::EncodeConnectionReport);
  CheckRoundTrip(text, api::DecodeHostRecord, api::EncodeHostRecord);
  CheckRoundTrip(text, api::DecodeCheckpointMark, api::EncodeCheckpointMark);
  CheckRoundTrip(
      text, [](std::string_view t) { return api::DecodeNicAddresses(t, 2); },
      api::EncodeNicAddresses);
  return 0;
}
