#include "pkg/operator/socket_ports.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/repac/packet_path.h"

namespace yardmaster::op {

namespace {

using netplan::PathAssignment;
using Ports = std::vector<std::uint16_t>;

// Finds the ports of one path.
class PortFinder {
 public:
  PortFinder(const plan::Snapshot& snapshot, std::shared_ptr<const repac::SwitchHashes> hashes)
      : world_(*snapshot.network, std::move(hashes), DownCables(snapshot)) {}

  // `answer`: the links of the way back, source NIC's first; null: any.
  Ports Find(const PathAssignment& path, int listen_port, const fabric::LinkPath* answer) const {
    if (path.links.size() < 2 || world_.WhyUnknown(path.from, path.to)) return {};
    repac::Packet packet = world_.PacketOf(path.from, path.to, 0);
    packet.protocol = repac::kProtocolTcp;
    packet.dport = static_cast<std::uint16_t>(listen_port);
    const std::span<const fabric::LinkId> links(path.links.begin() + 1, path.links.end());
    const auto targets = repac::TargetsOfPacket(world_, path.from, path.to, links, packet);
    if (!targets.ok()) return {};
    Ports both, there;
    repac::UsedPorts used;
    while (static_cast<int>(both.size()) < kSocketPortsPerPath && used.size() < kTries) {
      const auto port = repac::FindPort(*targets, used, packet.dport);
      if (!port.ok()) break;
      used.insert(std::lower_bound(used.begin(), used.end(), *port), *port);
      const bool back = answer == nullptr || Answers(path, packet, *port, *answer);
      (back ? both : there).push_back(*port);
    }
    there.insert(there.begin(), both.begin(), both.end());
    there.resize(std::min<std::size_t>(there.size(), kSocketPortsPerPath));
    return there;
  }

 private:
  // Ports that are looked at for one whose answers suit, too.
  static constexpr std::size_t kTries = 256;

  static std::vector<fabric::CableId> DownCables(const plan::Snapshot& snapshot) {
    std::vector<fabric::CableId> down;
    for (std::size_t c = 0; c < snapshot.cable_down.size(); ++c) {
      if (snapshot.cable_down[c] != 0) down.emplace_back(static_cast<std::int32_t>(c));
    }
    return down;
  }

  bool Answers(const PathAssignment& path, repac::Packet packet, std::uint16_t port,
               const fabric::LinkPath& links) const {
    std::swap(packet.sip, packet.dip);
    packet.sport = packet.dport;
    packet.dport = port;
    const auto back = repac::PredictPacket(world_, path.to, path.from, packet);
    return back.ok() && back->predictable && back->links == links;
  }

  const repac::ForwardingModel world_;
};

// The links from one NIC port to another, by job.
class Ways {
 public:
  explicit Ways(const netplan::NetworkPlan& plan) {
    for (const std::vector<PathAssignment>* paths : {&plan.paths, &plan.answers}) {
      for (const PathAssignment& path : *paths) {
        if (path.source_port != 0) links_.try_emplace(KeyOf(path.job, path.from, path.to), &path);
      }
    }
  }
  const fabric::LinkPath* Back(const PathAssignment& path) const {
    const auto at = links_.find(KeyOf(path.job, path.to, path.from));
    return at == links_.end() ? nullptr : &at->second->links;
  }

 private:
  using Key = std::tuple<int, fabric::HostId, int, int, fabric::HostId, int, int>;
  static Key KeyOf(int job, const fabric::NicPort& from, const fabric::NicPort& to) {
    return {job, from.host, from.rail, from.port, to.host, to.rail, to.port};
  }
  std::map<Key, const PathAssignment*> links_;
};

api::PeerPaths* PeerOf(const PathAssignment& path, const plan::Snapshot& snapshot,
                       GangNetwork& network) {
  api::PathPlan& plan = network.paths_of_rank[static_cast<std::size_t>(path.from_rank)];
  const std::string address = snapshot.network->nic_address(path.to.host, path.to.rail).ToString();
  for (api::RailPaths& rail : plan.rails) {
    if (rail.rail != path.from.rail) continue;
    for (api::PeerPaths& peer : rail.peers) {
      if (peer.rank == path.to_rank && peer.address == address) return &peer;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<int> SocketPortsOf(const std::map<int, std::shared_ptr<const api::Pod>>& members,
                               std::vector<std::string>& problems) {
  std::set<int> all;
  for (const auto& [rank, pod] : members) {
    const auto text = api::Find(pod->metadata.annotations, api::kSocketPortsAnnotation);
    if (!text) continue;
    const auto ports = api::DecodeSocketPorts(*text);
    if (ports.ok()) {
      all.insert(ports->begin(), ports->end());
    } else {
      problems.push_back(StrCat("Pod ", pod->metadata.namespace_name, "/", pod->metadata.name, ": ",
                                MessageOf(ports.status())));
    }
  }
  if (all.size() > api::kMaxSocketPorts) {
    problems.push_back(StrCat("Pod ", members.begin()->second->metadata.namespace_name, "/",
                              members.begin()->second->metadata.name, ": ",
                              api::kSocketPortsAnnotation, ": its gang's pods name ", all.size(),
                              " ports together; give at most ", api::kMaxSocketPorts));
    return {};
  }
  return {all.begin(), all.end()};
}

std::vector<std::string> AddSocketPorts(const netplan::NetworkPlan& plan,
                                        const plan::Snapshot& snapshot, const SocketPorts& wanted,
                                        const std::map<std::string, std::string>& mistrusted,
                                        std::vector<GangNetwork>& networks) {
  if (wanted.empty()) return {};
  if (snapshot.network->spec().nic_ports > 1) {
    return {StrCat(api::kSocketPortsAnnotation, ": the Fabric's rails have ",
                   snapshot.network->spec().nic_ports,
                   " NIC ports, and a bond chooses among them itself: no TCP ports are planned")};
  }
  const auto hashes = repac::SwitchHashes::Compile(*snapshot.network, mistrusted);
  if (!hashes.ok()) return {MessageOf(hashes.status())};
  const PortFinder finder(snapshot, *hashes);
  const Ways ways(plan);
  std::map<int, GangNetwork*> by_job;
  for (GangNetwork& network : networks) by_job[network.job] = &network;
  for (const std::vector<PathAssignment>* paths : {&plan.paths, &plan.answers}) {
    for (const PathAssignment& path : *paths) {
      const auto listening = wanted.find(path.job);
      const auto network = by_job.find(path.job);
      if (path.source_port == 0 || listening == wanted.end() || network == by_job.end()) continue;
      api::PeerPaths* peer = PeerOf(path, snapshot, *network->second);
      if (peer == nullptr || !peer->tcp.empty()) continue;
      for (int listen_port : listening->second) {
        Ports ports = finder.Find(path, listen_port, ways.Back(path));
        if (!ports.empty()) peer->tcp.push_back({listen_port, std::move(ports)});
      }
    }
  }
  return {};
}

}  // namespace yardmaster::op
