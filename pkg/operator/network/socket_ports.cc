#include "pkg/operator/network/socket_ports.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/repac/path.h"

namespace yardmaster::op {

namespace {

using netplan::PathAssignment;
using Ports = std::vector<std::uint16_t>;

// The planned paths from one NIC to another, one for each NIC port of the source that has one: a
// bond may choose any of them.
using Paths = std::vector<const PathAssignment*>;

// The planned paths of all jobs, by the two NICs.
class PathsByPair {
 public:
  explicit PathsByPair(const netplan::NetworkPlan& plan) {
    for (const std::vector<PathAssignment>* paths : {&plan.paths, &plan.ack_paths}) {
      for (const PathAssignment& path : *paths) {
        if (path.source_port != 0) Add(path, paths_[KeyOf(path.job, path.src, path.dst)]);
      }
    }
  }
  const Paths& There(const PathAssignment& path) const {
    return paths_.at(KeyOf(path.job, path.src, path.dst));
  }
  // Of the acknowledgements; empty: any suit.
  Paths Back(const PathAssignment& path) const {
    const auto at = paths_.find(KeyOf(path.job, path.dst, path.src));
    return at == paths_.end() ? Paths() : at->second;
  }

 private:
  using Key = std::tuple<plan::JobId, fabric::HostId, int, fabric::HostId, int>;
  static Key KeyOf(plan::JobId job, const fabric::NicPort& from, const fabric::NicPort& to) {
    return {job, from.host, from.rail, to.host, to.rail};
  }
  static void Add(const PathAssignment& path, Paths& paths) {
    for (const PathAssignment* other : paths) {
      if (other->src.port == path.src.port) return;
    }
    paths.push_back(&path);
  }
  std::map<Key, Paths> paths_;
};

// Finds local ports for the connections from one NIC to another.
class PortFinder {
 public:
  PortFinder(const plan::Snapshot& snapshot, std::shared_ptr<const repac::SwitchHashes> hashes)
      : forwarding_(*snapshot.network, std::move(hashes), netplan::DownCables(snapshot)) {}

  // Ports that take a connection along `there` from whichever NIC port; first those whose
  // acknowledgements take `back`.
  Ports Find(const Paths& there, const Paths& back, int listen_port) const {
    std::vector<repac::HopTarget> targets;
    for (const PathAssignment* path : there) {
      if (path->links.size() < 2 || forwarding_.WhyUnknown(path->src, path->dst)) return {};
      const std::span<const fabric::LinkId> links(path->links.begin() + 1, path->links.end());
      auto hops = repac::TargetsOfPacket(forwarding_, path->src, path->dst, links,
                                         PacketTo(*path, listen_port, 0));
      if (!hops.ok()) return {};
      std::move(hops->begin(), hops->end(), std::back_inserter(targets));
    }
    Ports both, one_way;
    repac::UsedPorts used;
    while (static_cast<int>(both.size()) < kSocketPortsPerPath && used.size() < kTries) {
      const auto port = repac::FindPort(targets, used, static_cast<std::uint16_t>(listen_port));
      if (!port.ok()) break;
      used.insert(std::lower_bound(used.begin(), used.end(), *port), *port);
      (AcksTake(back, listen_port, *port) ? both : one_way).push_back(*port);
    }
    both.insert(both.end(), one_way.begin(), one_way.end());
    both.resize(std::min<std::size_t>(both.size(), kSocketPortsPerPath));
    return both;
  }

  // Whether connections from this port take `there`, and whether their acknowledgements take
  // `back`.
  bool Takes(const Paths& there, int listen_port, std::uint16_t port) const {
    return std::all_of(there.begin(), there.end(), [&](const PathAssignment* path) {
      return Leads(*path, PacketTo(*path, listen_port, port));
    });
  }
  bool AcksTake(const Paths& back, int listen_port, std::uint16_t port) const {
    return std::all_of(back.begin(), back.end(), [&](const PathAssignment* path) {
      repac::Packet packet = PacketTo(*path, port, static_cast<std::uint16_t>(listen_port));
      return Leads(*path, packet);
    });
  }

 private:
  // Ports that are looked at for one whose acknowledgements suit, too.
  static constexpr std::size_t kTries = 256;

  repac::Packet PacketTo(const PathAssignment& path, int destination_port,
                         std::uint16_t source_port) const {
    repac::Packet packet = forwarding_.PacketOf(path.src, path.dst, source_port);
    packet.protocol = repac::kProtocolTcp;
    packet.dport = static_cast<std::uint16_t>(destination_port);
    return packet;
  }
  bool Leads(const PathAssignment& path, const repac::Packet& packet) const {
    const auto taken = repac::PredictPacket(forwarding_, path.src, path.dst, packet);
    return taken.ok() && taken->predictable && taken->links == path.links;
  }

  const repac::ForwardingModel forwarding_;
};

// The first entry of a plan for the peer, const or not as the plan; null: there is none.
template <typename Plan>
auto PeerOf(Plan& plan, int rail, int rank, const std::string& address)
    -> decltype(&plan.rails[0].peers[0]) {
  for (auto& of_rail : plan.rails) {
    if (of_rail.rail != rail) continue;
    for (auto& peer : of_rail.peers) {
      if (peer.rank == rank && peer.address == address) return &peer;
    }
  }
  return nullptr;
}

// The ports of all entries for the peer.
Ports SourcePorts(const api::PodPathPlan& plan, int rail, int rank) {
  Ports ports;
  for (const api::RailPaths& of_rail : plan.rails) {
    if (of_rail.rail != rail) continue;
    for (const api::PeerPaths& peer : of_rail.peers) {
      if (peer.rank != rank) continue;
      ports.insert(ports.end(), peer.source_ports.begin(), peer.source_ports.end());
    }
  }
  return ports;
}

// Plans the TCP ports of one job after the other.
class SocketPlanner {
 public:
  SocketPlanner(const netplan::NetworkPlan& plan, const plan::Snapshot& snapshot,
                std::shared_ptr<const repac::SwitchHashes> hashes)
      : snapshot_(snapshot), paths_(plan), finder_(snapshot, std::move(hashes)) {}

  // For the peer that `path` leads to, once.
  void Add(const PathAssignment& path, const SocketJob& job, GangNetwork& network) const {
    api::PodPathPlan& plan = network.paths_of_rank[static_cast<std::size_t>(path.from_rank)];
    const std::string address =
        snapshot_.network->nic_address(path.dst.host, path.dst.rail).ToString();
    api::PeerPaths* peer = PeerOf(plan, path.src.rail, path.to_rank, address);
    if (peer == nullptr || !peer->tcp.empty()) return;
    for (int listen_port : job.listen_ports) {
      const Ports* standing = StandingPorts(path, job, address, listen_port);
      Ports ports = standing != nullptr && Holds(path, job, network, listen_port, *standing)
                        ? *standing
                        : finder_.Find(paths_.There(path), paths_.Back(path), listen_port);
      if (!ports.empty()) peer->tcp.push_back({listen_port, std::move(ports)});
    }
  }

 private:
  static const Ports* StandingPorts(const PathAssignment& path, const SocketJob& job,
                                    const std::string& address, int listen_port) {
    const auto plan = job.standing.find(path.from_rank);
    if (plan == job.standing.end()) return nullptr;
    const auto* peer = PeerOf(plan->second, path.src.rail, path.to_rank, address);
    if (peer == nullptr) return nullptr;
    for (const api::TcpPaths& tcp : peer->tcp) {
      if (tcp.listen_port == listen_port) return &tcp.source_ports;
    }
    return nullptr;
  }

  // Whether a search would not find better ones.
  bool Holds(const PathAssignment& path, const SocketJob& job, const GangNetwork& network,
             int listen_port, const Ports& ports) const {
    const Paths& there = paths_.There(path);
    for (std::uint16_t port : ports) {
      if (!finder_.Takes(there, listen_port, port)) return false;
    }
    // It would begin with what it began with before.
    if (SamePorts(path.from_rank, path.to_rank, path.src.rail, job, network) &&
        SamePorts(path.to_rank, path.from_rank, path.dst.rail, job, network)) {
      return true;
    }
    const Paths back = paths_.Back(path);
    return static_cast<int>(ports.size()) == kSocketPortsPerPath &&
           std::all_of(ports.begin(), ports.end(), [&](std::uint16_t port) {
             return finder_.AcksTake(back, listen_port, port);
           });
  }
  static bool SamePorts(int from_rank, int to_rank, int rail, const SocketJob& job,
                        const GangNetwork& network) {
    const auto plan = job.standing.find(from_rank);
    return plan != job.standing.end() &&
           SourcePorts(plan->second, rail, to_rank) ==
               SourcePorts(network.paths_of_rank[static_cast<std::size_t>(from_rank)], rail,
                           to_rank);
  }

  const plan::Snapshot& snapshot_;
  const PathsByPair paths_;
  const PortFinder finder_;
};

}  // namespace

SocketJob SocketJobOf(const std::map<int, std::shared_ptr<const api::Pod>>& members,
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
  SocketJob job{{all.begin(), all.end()}, {}};
  if (all.empty()) return job;
  for (const auto& [rank, pod] : members) {
    const auto text = api::Find(pod->metadata.annotations, api::kPathPlanAnnotation);
    if (!text) continue;
    if (auto plan = api::DecodePathPlan(*text); plan.ok()) job.standing[rank] = *std::move(plan);
  }
  return job;
}

std::vector<std::string> AddSocketPorts(const netplan::NetworkPlan& plan,
                                        const plan::Snapshot& snapshot, const SocketJobs& jobs,
                                        const std::map<std::string, std::string>& mistrusted,
                                        std::vector<GangNetwork>& networks) {
  if (jobs.empty()) return {};
  const auto hashes = repac::SwitchHashes::Compile(*snapshot.network, mistrusted);
  if (!hashes.ok()) return {MessageOf(hashes.status())};
  const SocketPlanner planner(plan, snapshot, *hashes);
  std::map<plan::JobId, GangNetwork*> by_job;
  for (GangNetwork& network : networks) by_job[network.job] = &network;
  for (const std::vector<PathAssignment>* paths : {&plan.paths, &plan.ack_paths}) {
    for (const PathAssignment& path : *paths) {
      const auto job = jobs.find(path.job);
      const auto network = by_job.find(path.job);
      if (path.source_port == 0 || job == jobs.end() || network == by_job.end()) continue;
      planner.Add(path, job->second, *network->second);
    }
  }
  return {};
}

}  // namespace yardmaster::op
