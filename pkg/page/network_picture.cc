#include "pkg/page/network_picture.h"

#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/crux/intensity.h"

namespace yardmaster::page {

namespace {

using fabric::LinkId;
using fabric::Network;

// Length of an iteration without contention; 0: unknown.
double IterationSecondsOf(const netplan::JobNetwork& network, const workload::Job& job) {
  crux::ContendingJob ideal;
  ideal.compute_seconds = network.compute_seconds;
  ideal.communication_start = job.profile.communication_start;
  return crux::IterationSeconds(ideal, network.communication_seconds);
}

class Painter {
 public:
  Painter(const netplan::NetworkPlan& plan, const plan::Snapshot& snapshot)
      : plan_(plan),
        snapshot_(snapshot),
        network_(*snapshot.network),
        gbps_(static_cast<std::size_t>(network_.num_links()), 0),
        last_job_(static_cast<std::size_t>(network_.num_links())),
        jobs_on_(static_cast<std::size_t>(network_.num_links()), 0),
        alike_(static_cast<std::size_t>(network_.num_links()), 1) {}

  NetworkPicture Paint() {
    picture_.places = snapshot_.places;
    // Job by job.
    auto load = plan_.sprayed.loads.begin();
    for (std::size_t p = 0; p < plan_.paths.size(); ++p) {
      const plan::JobId job = plan_.paths[p].job;
      AddPath(plan_.paths[p]);
      if (p + 1 < plan_.paths.size() && plan_.paths[p + 1].job == job) continue;
      for (; load != plan_.sprayed.loads.end() && load->job == job; ++load) AddSprayed(*load);
    }
    AddSegments();
    AddPlanes();
    AddClasses();
    AddBusiest();
    return std::move(picture_);
  }

 private:
  double GbpsOf(plan::JobId job, double bytes) const {
    const auto& network = plan_.jobs[job.index()];
    if (!network) return 0;
    const double seconds = IterationSecondsOf(*network, snapshot_.jobs[job.index()].job);
    return seconds > 0 ? bytes * 8 / 1e9 / seconds : 0;
  }
  double GbpsOf(const netplan::PathAssignment& path) const { return GbpsOf(path.job, path.bytes); }

  // Without a source port a flow goes where the hashes lead it; the path that Crux chose is the
  // best guess.
  static const fabric::LinkPath& LinksOf(const netplan::PathAssignment& path) {
    static const fabric::LinkPath kNone;
    if (path.sprayed) return kNone;  // AddSprayed
    return path.links.empty() ? path.wanted_links : path.links;
  }

  const NamespacedName& KeyOf(plan::JobId job) const { return snapshot_.jobs[job.index()].job.key; }

  void AddPath(const netplan::PathAssignment& path) {
    const double gbps = GbpsOf(path);
    JobPaths& job = picture_.jobs[KeyOf(path.job)];
    ++job.flows;
    job.gbps += gbps;
    if (plan_.jobs[path.job.index()]) job.share = plan_.jobs[path.job.index()]->share;
    if (path.source_port == 0) ++job.unplanned;
    const fabric::Places& places = *snapshot_.places;
    job.between[{places.segment_of(path.src.host).value, places.segment_of(path.dst.host).value}] +=
        gbps;
    for (LinkId link : LinksOf(path)) AddToLink(link, gbps, path.job);
    AddSample(path, job);
  }

  void AddToLink(LinkId link, double gbps, plan::JobId job) {
    gbps_[link.index()] += gbps;
    if (last_job_[link.index()] == job) return;
    last_job_[link.index()] = job;
    ++jobs_on_[link.index()];
  }

  const std::vector<LinkId>& LinksOf(const netplan::SprayedLoads::Load& load) const {
    return plan_.sprayed.bundles[static_cast<std::size_t>(load.bundle)];
  }

  void AddSprayed(const netplan::SprayedLoads::Load& load) {
    const std::vector<LinkId>& links = LinksOf(load);
    const double gbps = GbpsOf(load.job, load.bytes) / static_cast<double>(links.size());
    for (const LinkId link : links) {
      AddToLink(link, gbps, load.job);
      alike_[link.index()] = 0;
    }
    alike_[links.front().index()] = static_cast<int>(links.size());
  }

  // The first path of every rank, so that a large job shows all of its hosts.
  void AddSample(const netplan::PathAssignment& path, JobPaths& job) const {
    if (static_cast<int>(job.sample.size()) >= kMaxSample) return;
    if (!job.sample.empty() && job.sample.back().from_rank == path.from_rank) return;
    SamplePath sample{path.from_rank,   path.to_rank, path.src.rail,
                      path.source_port, {},           path.reason};
    for (LinkId link : LinksOf(path)) {
      if (path.source_port != 0) sample.links.push_back(network_.shown(link));
    }
    job.sample.push_back(std::move(sample));
  }

  void AddSegments() {
    // Fabrics whose ToRs serve more than a segment have no uplinks of a segment.
    if (network_.spec().tiers[0].scope != fabric::Scope::kSegment) return;
    picture_.segments.resize(static_cast<std::size_t>(snapshot_.places->num_segments()));
    for (std::size_t l = 0; l < gbps_.size(); ++l) {
      const LinkId link(static_cast<std::int32_t>(l));
      const fabric::CableId cable = Network::cable_of(link);
      if (gbps_[l] <= 0 || Network::is_down(link) || network_.is_host_cable(cable)) continue;
      const fabric::SwitchPlace place = network_.place_of(network_.switch_port_of(cable).id);
      if (place.tier != 0 || static_cast<std::size_t>(place.place) >= picture_.segments.size()) {
        continue;
      }
      SegmentLoad& segment = picture_.segments[static_cast<std::size_t>(place.place)];
      ++segment.uplinks;
      segment.shared_uplinks += jobs_on_[l] > 1 ? 1 : 0;
      segment.gbps += gbps_[l];
      segment.peak = std::max(segment.peak, gbps_[l] / network_.gbps(link));
    }
  }

  void AddPlanes() {
    const int planes = network_.spec().planes;
    if (planes < 2 || !network_.spec().tiers[0].per_plane) return;
    picture_.planes.resize(static_cast<std::size_t>(planes));
    for (std::size_t l = 0; l < gbps_.size(); ++l) {
      const LinkId link(static_cast<std::int32_t>(l));
      const fabric::CableId cable = Network::cable_of(link);
      if (gbps_[l] <= 0 || Network::is_down(link) || network_.is_host_cable(cable)) continue;
      const fabric::SwitchPlace place = network_.place_of(network_.switch_port_of(cable).id);
      if (place.tier != 0) continue;
      PlaneLoad& plane = picture_.planes[static_cast<std::size_t>(place.plane)];
      ++plane.uplinks;
      plane.shared_uplinks += jobs_on_[l] > 1 ? 1 : 0;
      plane.gbps += gbps_[l];
      plane.peak = std::max(plane.peak, gbps_[l] / network_.gbps(link));
    }
    for (const fabric::CableId cable : netplan::DownCables(snapshot_)) {
      const int plane = network_.is_host_cable(cable)
                            ? network_.plane_of(network_.nic_port_of(cable))
                            : network_.place_of(network_.switch_port_of(cable).id).plane;
      if (plane >= 0 && network_.exists(cable))
        ++picture_.planes[static_cast<std::size_t>(plane)].down;
    }
  }

  void AddClasses() {
    const std::vector<fabric::Tier>& tiers = network_.spec().tiers;
    std::vector<LinkClassLoad*> by_tier = {&picture_.classes["host-" + tiers[0].role]};
    for (std::size_t t = 0; t + 1 < tiers.size(); ++t) {
      by_tier.push_back(&picture_.classes[tiers[t].role + "-" + tiers[t + 1].role]);
    }
    for (std::size_t l = 0; l < gbps_.size(); ++l) {
      if (gbps_[l] <= 0) continue;
      const LinkId link(static_cast<std::int32_t>(l));
      const fabric::CableId cable = Network::cable_of(link);
      const int below = network_.is_host_cable(cable)
                            ? 0
                            : network_.tier_of(network_.switch_port_of(cable).id) + 1;
      LinkClassLoad& load = *by_tier[static_cast<std::size_t>(below)];
      ++load.loaded;
      load.shared += jobs_on_[l] > 1 ? 1 : 0;
      load.peak = std::max(load.peak, gbps_[l] / network_.gbps(link));
    }
  }

  void AddBusiest() {
    std::vector<std::pair<double, std::int32_t>> loads;
    for (std::size_t l = 0; l < gbps_.size(); ++l) {
      const LinkId link(static_cast<std::int32_t>(l));
      if (gbps_[l] <= 0 || network_.is_host_cable(Network::cable_of(link))) continue;
      if (alike_[l] == 0) continue;
      loads.emplace_back(-gbps_[l] / network_.gbps(link), link.value);
    }
    const std::size_t keep = std::min<std::size_t>(kMaxBusiest, loads.size());
    std::partial_sort(loads.begin(), loads.begin() + static_cast<std::ptrdiff_t>(keep),
                      loads.end());
    loads.resize(keep);
    std::map<std::int32_t, std::map<plan::JobId, double>> by_job;
    for (const auto& [load, link] : loads) by_job[link];
    for (const netplan::PathAssignment& path : plan_.paths) {
      for (LinkId link : LinksOf(path)) {
        const auto at = by_job.find(link.value);
        if (at != by_job.end()) at->second[path.job] += GbpsOf(path);
      }
    }
    for (const netplan::SprayedLoads::Load& sprayed : plan_.sprayed.loads) {
      const std::vector<LinkId>& links = LinksOf(sprayed);
      const auto at = by_job.find(links.front().value);
      if (at == by_job.end()) continue;
      at->second[sprayed.job] +=
          GbpsOf(sprayed.job, sprayed.bytes) / static_cast<double>(links.size());
    }
    for (const auto& [load, value] : loads) {
      const LinkId link(value);
      const int others = alike_[link.index()] - 1;
      const std::string alike = others > 0 ? StrCat(" and ", others, " alike") : "";
      LinkPicture out{StrCat(network_.name(link), alike),
                      gbps_[link.index()],
                      network_.gbps(link),
                      {},
                      StrCat(network_.shown(link), alike)};
      for (const auto& [job, gbps] : by_job[value]) {
        const auto& network = plan_.jobs[job.index()];
        out.jobs.push_back({KeyOf(job), network ? network->level : 0, gbps});
      }
      std::stable_sort(out.jobs.begin(), out.jobs.end(),
                       [](const JobOnLink& a, const JobOnLink& b) { return a.gbps > b.gbps; });
      picture_.busiest.push_back(std::move(out));
    }
  }

  const netplan::NetworkPlan& plan_;
  const plan::Snapshot& snapshot_;
  const Network& network_;
  std::vector<double> gbps_;           // by link
  std::vector<plan::JobId> last_job_;  // by link: the job counted last; paths come job by job
  std::vector<int> jobs_on_;           // by link
  std::vector<int> alike_;             // by link: how many it stands for; 0: another one does
  NetworkPicture picture_;
};

GpuUse UseOfGpus(const netplan::NetworkPlan& plan, const plan::Snapshot& snapshot) {
  GpuUse use;
  for (const placement::HostState& host : snapshot.cluster.hosts) {
    if (host.unavailable == placement::Unavailability::kNo) use.all += host.gpus;
  }
  for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
    if (!snapshot.jobs[j].assignment) continue;
    const workload::Job& job = snapshot.jobs[j].job;
    const auto gpus = static_cast<double>(job.gpus());
    use.placed += gpus;
    const auto& network = plan.jobs[j];
    if (!network) continue;
    const double seconds = IterationSecondsOf(*network, job);
    if (seconds <= 0) continue;
    use.computing += gpus * network->compute_seconds / seconds * network->share.value_or(1);
  }
  return use;
}

}  // namespace

NetworkPicture PictureOf(const netplan::NetworkPlan& plan, const plan::Snapshot& snapshot) {
  NetworkPicture picture;
  if (snapshot.network != nullptr) picture = Painter(plan, snapshot).Paint();
  picture.places = snapshot.places;
  picture.gpus = UseOfGpus(plan, snapshot);
  picture.problem = plan.report.problem;
  return picture;
}

}  // namespace yardmaster::page
