#include "pkg/plan/contention_cost.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/crux/decide.h"
#include "pkg/crux/intensity.h"
#include "pkg/crux/starvation.h"
#include "pkg/fabric/places.h"
#include "pkg/plan/residual_bandwidth.h"
#include "pkg/workload/traffic.h"

namespace yardmaster::plan {

namespace {

using fabric::HostId;
using fabric::SegmentId;

double LoneRate(const crux::ContendingJob& job, const std::vector<crux::LinkSeconds>& loads) {
  return job.flop_per_iteration / crux::IterationSeconds(job, crux::CommunicationSeconds(loads));
}

std::set<SegmentId> SegmentsOf(const fabric::Places& places, const std::vector<HostId>& hosts) {
  std::set<SegmentId> segments;
  for (const HostId host : hosts) segments.insert(places.segment_of(host));
  return segments;
}

}  // namespace

ContentionCost::ContentionCost(const Snapshot& snapshot)
    : snapshot_(snapshot), of_segment_(static_cast<std::size_t>(snapshot.places->num_segments())) {
  // Flows that are sprayed lose what is down; hashed ones choose among the others.
  const bool sprayed = fabric::Sprays(snapshot.network->spec(), 0);
  const std::vector<std::uint8_t> all_up;
  for (const SegmentId segment : snapshot.places->segments()) {
    const double gbps =
        UplinkGbps(*snapshot.network, segment, sprayed ? snapshot.cable_down : all_up);
    links_.push_back({StrCat(segment.value, "out"), gbps});
    links_.push_back({StrCat(segment.value, "in"), gbps});
  }
  for (const JobId job : snapshot.job_ids()) {
    const auto& assignment = snapshot.jobs[job.index()].assignment;
    if (assignment) Add(job, assignment->host_of_rank);
  }
}

std::optional<ContentionCost::Placed> ContentionCost::TrafficOf(
    JobId job, const std::vector<HostId>& hosts) const {
  const workload::Job& spec = snapshot_.jobs[job.index()].job;
  const bool all_set =
      std::all_of(hosts.begin(), hosts.end(), [](HostId host) { return host.valid(); });
  if (!all_set || hosts.size() < 2) return std::nullopt;
  const fabric::Places& places = *snapshot_.places;
  if (SegmentsOf(places, hosts).size() < 2) return std::nullopt;
  const workload::Profile profile = workload::CompleteProfile(spec);
  if (profile.flop_per_iteration <= 0 || profile.compute_seconds <= 0) return std::nullopt;
  std::map<std::pair<SegmentId, SegmentId>, double> bytes;
  std::map<HostId, double> sent;  // by NICs
  double cut = 0;                 // the most from one host to one of another segment
  const auto send = [&](HostId from, HostId to, double amount) {
    const SegmentId a = places.segment_of(from);
    const SegmentId b = places.segment_of(to);
    if (places.domain_of(from) != places.domain_of(to)) sent[from] += amount;
    if (a == b || amount <= 0) return;
    bytes[{a, b}] += amount;
    cut = std::max(cut, amount);
  };
  const std::size_t stages =
      static_cast<std::size_t>(std::clamp(spec.parallelism.pipeline, 1, spec.workers));
  const std::size_t stage = hosts.size() / stages;
  const double ring = (profile.data_bytes + profile.expert_data_bytes) * spec.gpus_per_worker;
  const double pipeline = profile.pipeline_bytes / 2 * spec.gpus_per_worker;
  for (std::size_t rank = 0; rank < stage * stages; ++rank) {
    const std::size_t first = rank / stage * stage;
    send(hosts[rank], hosts[first + (rank - first + 1) % stage], ring);
    if (rank + stage >= stage * stages) continue;
    send(hosts[rank], hosts[rank + stage], pipeline);
    send(hosts[rank + stage], hosts[rank], pipeline);
  }
  Placed placed;
  placed.job = job;
  crux::ContendingJob& out = placed.traffic;
  out.id = spec.key.text();
  out.gpus = static_cast<int>(spec.gpus());
  out.flop_per_iteration = profile.flop_per_iteration;
  out.compute_seconds = profile.compute_seconds;
  out.communication_start = profile.communication_start;
  for (const auto& [pair, amount] : bytes) {
    const std::int32_t leaves = 2 * static_cast<std::int32_t>(pair.first.index());
    const std::int32_t enters = 2 * static_cast<std::int32_t>(pair.second.index()) + 1;
    if (links_[leaves].gbps <= 0 || links_[enters].gbps <= 0) continue;
    crux::Flow flow{StrCat(out.flows.size()), amount, {}};
    flow.paths.Add(std::vector{leaves, enters});
    flow.ring = 0;
    out.flows.push_back(std::move(flow));
  }
  if (out.flows.empty()) return std::nullopt;
  const fabric::FabricSpec& network = snapshot_.network->spec();
  const int ports = std::max(1, std::min(network.rails, spec.gpus_per_worker) * network.nic_ports);
  const auto seconds = [&](double amount, int gbps) {
    return gbps > 0 ? amount / ports / (gbps * 1e9 / 8) : 0;
  };
  for (const auto& [host, amount] : sent) {
    placed.nic_seconds = std::max(placed.nic_seconds, seconds(amount, network.nic_gbps));
  }
  if (!network.tiers.empty() && !fabric::Sprays(network, 0)) {
    placed.uplink_seconds = seconds(cut, network.tiers.front().up_gbps);
  }
  return placed;
}

void ContentionCost::Add(JobId job, const std::vector<HostId>& host_of_rank) {
  std::optional<Placed> placed = TrafficOf(job, host_of_rank);
  if (!placed) return;
  for (const SegmentId segment : SegmentsOf(*snapshot_.places, host_of_rank)) {
    of_segment_[segment.index()].push_back(static_cast<int>(placed_.size()));
  }
  placed_.push_back(*std::move(placed));
}

std::vector<double> ContentionCost::Weighted(bool by_flop) const {
  const crux::Problem problem{1, links_, {}};
  crux::LoadCounter counter(problem);
  std::vector<double> busy(links_.size(), 0);
  for (const Placed& placed : placed_) {
    const std::vector<std::int32_t> paths(placed.traffic.flows.size(), 0);
    const auto loads = counter.Count(placed.traffic, paths);
    const double rate = LoneRate(placed.traffic, loads);
    const double per_second = rate / placed.traffic.flop_per_iteration;
    for (const crux::LinkSeconds& load : loads) {
      busy[load.link] += load.seconds * per_second * (by_flop ? rate : 1);
    }
  }
  std::vector<double> segments;
  for (std::size_t link = 0; link + 1 < busy.size(); link += 2) {
    segments.push_back(std::max(busy[link], busy[link + 1]));
  }
  return segments;
}

std::vector<double> ContentionCost::BusyUplinks() const { return Weighted(false); }
std::vector<double> ContentionCost::FlopAtStake() const { return Weighted(true); }

std::vector<double> ContentionCost::Rates(
    const std::vector<const crux::ContendingJob*>& jobs) const {
  // Only the links these jobs use, since every link costs.
  std::map<std::int32_t, std::int32_t> number;
  crux::Problem problem;
  problem.levels = std::max(1, snapshot_.network->spec().levels.count);
  for (const crux::ContendingJob* job : jobs) {
    crux::ContendingJob copy = *job;
    for (crux::Flow& flow : copy.flows) {
      std::vector<std::int32_t> path;
      for (const std::int32_t link : flow.paths[0]) {
        const auto [at, fresh] =
            number.emplace(link, static_cast<std::int32_t>(problem.links.size()));
        if (fresh) problem.links.push_back(links_[link]);
        path.push_back(at->second);
      }
      flow.paths = {};
      flow.paths.Add(path);
    }
    problem.jobs.push_back(std::move(copy));
  }
  crux::Options options;
  options.search.event_budget = 0;
  const auto solution = crux::Decide(problem, options);
  std::vector<double> rates(jobs.size(), 0);
  if (!solution.ok()) return rates;
  const std::vector<double> shares = crux::PredictedShares(problem, *solution);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const double alone =
        crux::IterationSeconds(problem.jobs[j], solution->jobs[j].communication_seconds);
    rates[j] = shares[j] * problem.jobs[j].flop_per_iteration / alone;
  }
  return rates;
}

double ContentionCost::LostGpus() const {
  const crux::Problem problem{1, links_, {}};
  crux::LoadCounter counter(problem);
  std::vector<const crux::ContendingJob*> jobs;
  for (const Placed& placed : placed_) jobs.push_back(&placed.traffic);
  const std::vector<double> rates = Rates(jobs);
  double lost = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const crux::ContendingJob& job = *jobs[j];
    const std::vector<std::int32_t> paths(job.flows.size(), 0);
    const double alone_seconds = std::max({crux::CommunicationSeconds(counter.Count(job, paths)),
                                           placed_[j].nic_seconds, placed_[j].uplink_seconds});
    const double alone = job.flop_per_iteration / crux::IterationSeconds(job, alone_seconds);
    const double inside =
        job.flop_per_iteration / crux::IterationSeconds(job, placed_[j].nic_seconds);
    lost += job.gpus * std::max(0.0, 1 - std::min(alone, rates[j]) / inside);
  }
  return lost;
}

std::optional<PlaceCost> ContentionCost::Of(JobId job,
                                            const std::vector<HostId>& host_of_rank) const {
  const std::optional<Placed> fresh = TrafficOf(job, host_of_rank);
  if (!fresh) return std::nullopt;
  std::set<int> near;
  for (const SegmentId segment : SegmentsOf(*snapshot_.places, host_of_rank)) {
    near.insert(of_segment_[segment.index()].begin(), of_segment_[segment.index()].end());
  }
  std::vector<const crux::ContendingJob*> jobs;
  for (const int at : near) jobs.push_back(&placed_[static_cast<std::size_t>(at)].traffic);
  const std::vector<double> before = Rates(jobs);
  jobs.push_back(&fresh->traffic);
  const std::vector<double> after = Rates(jobs);
  PlaceCost cost;
  cost.lone_flop_rate = Rates({&fresh->traffic})[0];
  double most = 0;
  std::size_t i = 0;
  for (const int at : near) {
    cost.gained_flop_rate += after[i] - before[i];
    if (before[i] - after[i] > most) {
      most = before[i] - after[i];
      cost.worst_job = placed_[static_cast<std::size_t>(at)].job;
    }
    ++i;
  }
  cost.gained_flop_rate += after.back();
  if (!cost.worst_job.valid() && !near.empty() && after.back() < cost.lone_flop_rate) {
    cost.worst_job = placed_[static_cast<std::size_t>(*near.begin())].job;
  }
  return cost;
}

PlaceChoice ChoosePlace(const Snapshot& snapshot, const ContentionCost& cost, JobId job,
                        const std::vector<std::vector<HostId>>& candidates, double min_gain) {
  PlaceChoice choice;
  const std::optional<PlaceCost> first = cost.Of(job, candidates.front());
  if (!first) return choice;
  PlaceCost best = *first;
  for (std::size_t c = 1; c < candidates.size(); ++c) {
    const std::optional<PlaceCost> other = cost.Of(job, candidates[c]);
    // As much as alone where it would not leave its segment.
    const double gained = other ? other->gained_flop_rate : first->lone_flop_rate;
    const double needed = choice.chosen == 0 ? min_gain * first->lone_flop_rate : 0;
    if (gained <= best.gained_flop_rate + needed) continue;
    best.gained_flop_rate = gained;
    choice.chosen = c;
  }
  if (choice.chosen == 0) return choice;
  const fabric::Places& places = *snapshot.places;
  const auto before = SegmentsOf(places, candidates.front());
  const auto after = SegmentsOf(places, candidates[choice.chosen]);
  const auto names = [&](const std::set<SegmentId>& some, const std::set<SegmentId>& but) {
    std::vector<std::string> out;
    for (const SegmentId segment : some) {
      if (but.count(segment) == 0) out.push_back(DistinctName(places, segment));
    }
    return Join(out, ", ");
  };
  char percent[32];
  std::snprintf(percent, sizeof percent, "%.1f",
                100 * (best.gained_flop_rate - first->gained_flop_rate) / first->lone_flop_rate);
  const std::string other = first->worst_job.valid()
                                ? snapshot.jobs[first->worst_job.index()].job.key.text()
                                : "other jobs";
  choice.note = StrCat("segment ", names(after, before), " rather than ", names(before, after),
                       ": ", percent, " % less lost to contention with ", other);
  return choice;
}

}  // namespace yardmaster::plan
