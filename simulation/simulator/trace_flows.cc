#include "simulation/simulator/trace_flows.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "pkg/base/strings.h"
#include "simulation/simulator/fabric_paths.h"

namespace yardmaster::sim {
namespace {

constexpr double kGpusOfAProfile = 8;  // JobProfile speaks of hosts of so many

class FlowMaker {
 public:
  FlowMaker(const fabric::Network& network, const HostLinks& links, const JobProfile& profile,
            const FlowOptions& options)
      : network_(network), links_(links), profile_(profile), options_(options) {}

  TraceJobFlows Make(const std::vector<HostGpus>& places) {
    const std::size_t ring = places.size() / static_cast<std::size_t>(profile_.stages);
    if (ring >= 2 && profile_.ring_bytes_per_gpu > 0) {
      for (std::size_t begin = 0; begin + ring <= places.size(); begin += ring) {
        AddRing(std::span(places).subspan(begin, ring));
      }
    }
    if (profile_.host_ring_bytes_per_gpu > 0) {
      for (const HostGpus& place : places) AddHostRing(place);
    }
    return std::move(made_);
  }

 private:
  bool Whole(const HostGpus& place) const {
    return static_cast<std::int32_t>(place.gpus.size()) == links_.spec().gpus;
  }

  void AddRing(std::span<const HostGpus> hosts) {
    std::size_t channels = hosts.front().gpus.size();
    for (const HostGpus& host : hosts) channels = std::min(channels, host.gpus.size());
    const double bytes = options_.load * profile_.ring_bytes_per_gpu * kGpusOfAProfile /
                         static_cast<double>(channels);
    const auto first = static_cast<std::int32_t>(made_.bytes.size());
    made_.bytes.insert(made_.bytes.end(), channels, bytes);
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const HostGpus& from = hosts[i];
      const HostGpus& to = hosts[(i + 1) % hosts.size()];
      const bool below_tor = network_.tor({fabric::HostId(from.host), 0, 0}) ==
                             network_.tor({fabric::HostId(to.host), 0, 0});
      const bool alone = below_tor && Whole(from) && Whole(to);
      if (alone && std::exchange(hop_stands_, true)) continue;
      for (std::size_t c = 0; c < channels; ++c) {
        const std::int32_t nic = links_.NicOf(from.gpus[c]);
        if (alone && nic != links_.NicOf(from.gpus.front())) break;
        AddHop(from.host, from.gpus[c], to.host, to.gpus[c], first + static_cast<std::int32_t>(c));
      }
    }
  }

  void Add(const std::string& id, const crux::PathList& paths, std::int32_t ring) {
    const int parts = paths.size() > 1 ? options_.connections : 1;
    for (int part = 0; part < parts; ++part) {
      made_.flows.push_back({StrCat(id, "p", part), made_.bytes[ring] / parts, paths});
      made_.ring_of.push_back(ring);
    }
  }

  void AddHop(std::int32_t from, std::int32_t from_gpu, std::int32_t to, std::int32_t to_gpu,
              std::int32_t ring) {
    const Nic leaves{fabric::HostId(from), links_.NicOf(from_gpu)};
    Nic arrives{fabric::HostId(to), links_.NicOf(to_gpu)};
    crux::PathList middle = PathsBetween(network_, leaves, arrives, options_.max_paths);
    if (middle.empty()) {
      arrives.rail = leaves.rail;
      middle = PathsBetween(network_, leaves, arrives, options_.max_paths);
    }
    if (middle.empty()) return;
    std::vector<std::int32_t> path;
    links_.ToNic(from, from_gpu, leaves.rail, path);
    const std::size_t head = path.size();
    std::vector<std::int32_t> tail;
    links_.FromNic(to, arrives.rail, to_gpu, tail);
    crux::PathList paths;
    for (std::int32_t p = 0; p < middle.size(); ++p) {
      path.resize(head);
      path.insert(path.end(), middle[p].begin(), middle[p].end());
      path.insert(path.end(), tail.begin(), tail.end());
      paths.Add(path);
    }
    Add(StrCat(from, "g", from_gpu), paths, ring);
  }

  void AddHostRing(const HostGpus& place) {
    if (place.gpus.size() < 2) return;
    const bool nvlink = links_.spec().nvlink_gbps > 0;
    if (nvlink && std::exchange(host_hop_stands_, true)) return;
    const auto ring = static_cast<std::int32_t>(made_.bytes.size());
    made_.bytes.push_back(options_.load * profile_.host_ring_bytes_per_gpu);
    for (std::size_t i = 0; i < place.gpus.size(); ++i) {
      std::vector<std::int32_t> path;
      const std::int32_t next = place.gpus[(i + 1) % place.gpus.size()];
      links_.Between(place.host, place.gpus[i], next, path);
      crux::PathList paths;
      paths.Add(path);
      Add(StrCat(place.host, "h", place.gpus[i]), paths, ring);
      if (nvlink) break;
    }
  }

  const fabric::Network& network_;
  const HostLinks& links_;
  const JobProfile& profile_;
  const FlowOptions& options_;
  bool hop_stands_ = false;
  bool host_hop_stands_ = false;
  TraceJobFlows made_;
};

}  // namespace

TraceJobFlows FlowsOf(const fabric::Network& network, const HostLinks& links,
                      const std::vector<HostGpus>& places, const JobProfile& profile,
                      const FlowOptions& options) {
  return FlowMaker(network, links, profile, options).Make(places);
}

TraceJobFlows Hashed(const TraceJobFlows& job, std::int32_t connections, Random& random) {
  TraceJobFlows hashed;
  hashed.bytes = job.bytes;
  for (std::size_t f = 0; f < job.flows.size(); ++f) {
    const crux::Flow& flow = job.flows[f];
    const std::int32_t parts = flow.paths.size() > 1 ? connections : 1;
    for (std::int32_t part = 0; part < parts; ++part) {
      crux::PathList drawn;
      drawn.Add(flow.paths[static_cast<std::int32_t>(random.Below(flow.paths.size()))]);
      hashed.flows.push_back({StrCat(flow.id, "c", part), flow.bytes / parts, std::move(drawn)});
      hashed.ring_of.push_back(job.ring_of[f]);
    }
  }
  return hashed;
}

std::vector<RingSpec> RingsOf(const TraceJobFlows& job, const std::vector<std::int32_t>& paths) {
  std::vector<std::map<std::int32_t, double>> uses(job.bytes.size());
  for (std::size_t f = 0; f < job.flows.size(); ++f) {
    const std::int32_t ring = job.ring_of[f];
    for (const std::int32_t link : job.flows[f].paths[paths[f]]) {
      uses[ring][link] += job.flows[f].bytes / job.bytes[ring];
    }
  }
  std::vector<RingSpec> rings;
  for (std::size_t r = 0; r < uses.size(); ++r) {
    if (uses[r].empty()) continue;
    RingSpec ring{job.bytes[r], {}, {}};
    for (const auto& [link, use] : uses[r]) {
      ring.links.push_back(link);
      ring.uses.push_back(use);
    }
    rings.push_back(std::move(ring));
  }
  return rings;
}

}  // namespace yardmaster::sim
