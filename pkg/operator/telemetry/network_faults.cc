#include "pkg/operator/telemetry/network_faults.h"

#include <algorithm>
#include <set>

#include "pkg/api/annotation.h"
#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

using fabric::CableId;
using fabric::Network;
using fabric::SwitchId;

namespace {

// Every cable that ends at the switch.
void AddCablesOf(const Network& network, SwitchId id, std::set<CableId>& cables) {
  for (int c = 0; c < network.num_cables(); ++c) {
    const CableId cable(c);
    const bool below = !network.is_host_cable(cable) && network.switch_port_of(cable).id == id;
    if (below || network.far_end(Network::up(cable)) == id) cables.insert(cable);
  }
}

}  // namespace

int DropFabricWideLoss(const Network& network, std::vector<std::uint8_t>& down) {
  constexpr int kFewest = 8;  // of a smaller fabric a switch may be half
  const auto ports = static_cast<std::size_t>(network.num_host_cables());
  int lost = 0;
  for (std::size_t c = 0; c < std::min(ports, down.size()); ++c) lost += down[c] != 0;
  if (lost < kFewest || 2 * lost <= network.num_host_cables()) return 0;
  down.clear();
  return lost;
}

absl::StatusOr<DownLinks> ReadDownLinks(const Network& network, std::string_view text) {
  YM_ASSIGN_OR_RETURN(const nlohmann::json object, api::ParseAnnotation(text, 1));
  api::FieldErrors errors;
  api::FieldReader in(&object, "", api::UnknownFields::kReject, &errors);
  in.Int("version", 1, 1, 1);
  const std::vector<std::string> links = in.Strings("links");
  const std::vector<std::string> switches = in.Strings("switches");
  in.Close();
  if (!errors.empty()) return errors.status();
  DownLinks out;
  std::set<CableId> cables;
  for (const std::string& name : links) {
    const CableId cable = network.FindCable(name);
    if (cable.valid()) {
      cables.insert(cable);
    } else {
      out.unknown.push_back(name);
    }
  }
  for (const std::string& name : switches) {
    const SwitchId id = network.FindSwitch(name);
    if (id.valid()) {
      AddCablesOf(network, id, cables);
    } else {
      out.unknown.push_back(name);
    }
  }
  out.cables.assign(cables.begin(), cables.end());
  return out;
}

std::string MarkDownLinks(const api::Fabric& fabric, const Network& network,
                          std::vector<std::uint8_t>& down) {
  down.resize(static_cast<std::size_t>(network.num_cables()), 0);
  const auto text = api::Find(fabric.metadata.annotations, api::kDownLinksAnnotation);
  if (!text) return "";
  const auto links = ReadDownLinks(network, *text);
  if (!links.ok()) return StrCat(api::kDownLinksAnnotation, ": ", MessageOf(links.status()));
  for (CableId cable : links->cables) down[cable.index()] = 1;
  if (links->unknown.empty()) return "";
  return StrCat(api::kDownLinksAnnotation,
                " names what the fabric does not have: ", Join(links->unknown, ", "));
}

void FaultTracker::Reset() {
  damper_ = repac::FlapDamper(damping_);
  down_since_ms_.clear();
  begun_ = false;
}

CableStates FaultTracker::Observe(const std::vector<std::uint8_t>& reported, std::int64_t now_ms) {
  CableStates out;
  const std::int64_t noticed_ms = begun_ ? now_ms : now_ms - reconverge_ms_;
  begun_ = true;
  std::map<CableId, std::int64_t> down;
  for (std::size_t c = 0; c < reported.size(); ++c) {
    if (reported[c] == 0) continue;
    const CableId cable(static_cast<std::int32_t>(c));
    const auto known = down_since_ms_.find(cable);
    down[cable] = known == down_since_ms_.end() ? noticed_ms : known->second;
    damper_.Observe(cable, false, now_ms);
    out.reported.push_back(cable);
  }
  for (const auto& [cable, since] : down_since_ms_) {
    if (down.count(cable) == 0) damper_.Observe(cable, true, now_ms);
  }
  down_since_ms_ = std::move(down);
  const auto change_at = [&out](std::int64_t at_ms) {
    if (out.next_change_ms < 0 || at_ms < out.next_change_ms) out.next_change_ms = at_ms;
  };
  for (const auto& [cable, since] : down_since_ms_) {
    if (now_ms - since < reconverge_ms_) {
      out.avoid.push_back(cable);
      change_at(since + reconverge_ms_);
      continue;
    }
    out.down.resize(reported.size(), 0);
    out.down[cable.index()] = 1;
  }
  for (const CableId cable : damper_.Avoided(now_ms)) {
    if (down_since_ms_.count(cable) != 0) continue;
    out.avoid.push_back(cable);
    ++out.held;
  }
  std::sort(out.avoid.begin(), out.avoid.end());
  if (const std::int64_t next = damper_.NextChangeMs(now_ms); next >= 0) change_at(next);
  return out;
}

}  // namespace yardmaster::op
