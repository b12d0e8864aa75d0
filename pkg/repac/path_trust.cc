#include "pkg/repac/path_trust.h"

#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/repac/path.h"

namespace yardmaster::repac {

namespace {

using fabric::Network;

bool IsMember(const Group& group, LinkId link) {
  if (std::find(group.slots.begin(), group.slots.end(), link) != group.slots.end()) return true;
  return std::any_of(group.lags.begin(), group.lags.end(), [link](const std::vector<LinkId>& lag) {
    return std::find(lag.begin(), lag.end(), link) != lag.end();
  });
}

void CheckHop(const Network& network, const Group& group, SwitchId at, const Packet& packet,
              LinkId seen, RoleTrust& trust) {
  if (group.forced()) return;
  const LinkId predicted = Choose(group, packet);
  if (!predicted.valid()) return;
  ++trust.checked;
  if (predicted == seen) return;
  ++(IsMember(group, seen) ? trust.wrong : trust.foreign);
  if (!trust.example.empty()) return;
  trust.example = StrCat("at ", network.shown(at), " source port ", packet.sport, " was to take ",
                         network.shown(predicted), " and took ", network.shown(seen));
}

void CheckPath(const ForwardingModel& forwarding, const ObservedPath& path,
               std::vector<RoleTrust>& roles) {
  // The headers of such packets are not known.
  if (forwarding.WhyUnknown(path.src, path.dst)) return;
  const Network& network = forwarding.network();
  Packet packet = forwarding.PacketOf(path.src, path.dst, path.source_port);
  auto next = path.links.begin();
  fabric::Walk(network, Network::up(network.host_cable(path.src)),
               [&](SwitchId at, LinkId came_by) {
                 // An invalid link: how the packet went on from there is not known.
                 if (next == path.links.end() || !next->valid()) return LinkId();
                 const Group& group = forwarding.group(at, Network::is_down(came_by), path.dst);
                 packet.ingress_port = forwarding.ingress_port(came_by);
                 CheckHop(network, group, at, packet, *next,
                          roles[static_cast<std::size_t>(network.tier_of(at))]);
                 return *next++;
               });
}

}  // namespace

std::vector<RoleTrust> CheckPredictions(const ForwardingModel& forwarding,
                                        const std::vector<ObservedPath>& observed,
                                        const TrustOptions& options) {
  std::vector<RoleTrust> roles;
  for (const fabric::Tier& tier : forwarding.network().spec().tiers) {
    roles.emplace_back();
    roles.back().role = tier.role;
  }
  for (const ObservedPath& path : observed) CheckPath(forwarding, path, roles);
  for (RoleTrust& trust : roles) {
    if (trust.wrong + trust.foreign > 0) {
      trust.verdict = TrustVerdict::kMistrusted;
    } else if (trust.checked >= options.min_checked) {
      trust.verdict = TrustVerdict::kTrusted;
    }
  }
  return roles;
}

std::map<std::string, std::string> Mistrusted(const std::vector<RoleTrust>& verdicts) {
  std::map<std::string, std::string> out;
  for (const RoleTrust& trust : verdicts) {
    if (trust.verdict != TrustVerdict::kMistrusted) continue;
    out[trust.role] = StrCat("its hash was seen to differ from the Fabric's: ", trust.example);
  }
  return out;
}

}  // namespace yardmaster::repac
