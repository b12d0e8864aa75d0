// What it gains that placement knows domains (hosts that share a scale-up network): bytes over NICs
// and predicted utilisation with the level and without it. docs/evaluation/placement.md has the
// figures.
//
//   domain_mix [JOBS] [SEEDS] [FIRST_SEED]      default 150 jobs, 3 seeds from 1
//
// A fabric of 8 segments of 8 domains of 18 hosts with 4 GPUs, two hosts of each domain backup:
// 4,096 GPUs for jobs. The mix, drawn by seed: one job of three has 1 to 6 hosts; the others have 8
// to 512 GPUs in one to four stages and one to six copies, dense ones with tensor groups of 8 to 64
// GPUs, mixtures of experts with expert groups of 8 to 64. Jobs come one after the other; one that
// has no room makes jobs that are drawn by seed leave until it has. All ways get the same jobs.
//
//   level         placement knows the domains
//   by name       it does not, and hosts have the names of their racks, one after the other
//   any names     it does not, and names say nothing of racks
//
// Traffic is the same for all ways: what stays inside a domain uses no NIC. Reported for each way:
// domains of tensor, context and expert groups, minus one, summed over a job; GB that a GPU sends
// over its NICs in an iteration; how long the busiest NIC of a job sends, as a share of the time
// that it computes; both as means over jobs, weighted by GPUs; and the utilisation that is
// predicted for the jobs that run, once paths and levels are chosen (the mean of predictions after
// each tenth job): compute over iteration, weighted by GPUs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/crux/intensity.h"
#include "pkg/fabric/network.h"
#include "pkg/netplan/flow_problem.h"
#include "pkg/netplan/network_plan.h"
#include "pkg/placement/gang_planner.h"
#include "pkg/placement/objective.h"
#include "pkg/workload/traffic.h"

namespace {

using namespace yardmaster;  // NOLINT: a program

constexpr int kSegments = 8, kDomains = 8, kHostsOfDomain = 18, kBackupOfDomain = 2, kGpus = 4;
constexpr int kPredictEvery = 10;

enum class Way { kLevel, kByName, kAnyNames };
constexpr Way kWays[] = {Way::kLevel, Way::kByName, Way::kAnyNames};
constexpr const char* kNames[] = {"level", "by name", "any names"};

// As the preset nvl72.
fabric::FabricSpec Spec() {
  fabric::FabricSpec spec;
  spec.name = "nvl72";
  spec.gpus_per_host = spec.rails = kGpus;
  spec.planes = spec.nic_ports = 1;
  spec.nic_gbps = 400;
  spec.nvlink_gbps = 7200;
  spec.segments_per_fabric_pod = kSegments;
  spec.hosts_per_segment = kDomains * kHostsOfDomain;
  fabric::Tier leaf;
  leaf.role = "leaf";
  leaf.per_rail = true;
  leaf.per_plane = false;
  leaf.down_ports = 144;
  leaf.down_gbps = 400;
  leaf.up_ports = 36;
  leaf.up_gbps = 800;
  fabric::Tier spine;
  spine.role = "spine";
  spine.scope = fabric::Scope::kFabricPod;
  spine.switches = 36;
  spine.per_plane = false;
  spine.down_ports = 128;
  spine.down_gbps = 800;
  spec.tiers = {leaf, spine};
  return spec;
}

std::string Number(int value) { return std::to_string(1000 + value).substr(1); }

// The hosts of the fabric. `with_domains` false: placement does not know them. `number_of`: by
// host, the number in its name.
fabric::Places MakePlaces(bool with_domains, const std::vector<int>& number_of) {
  std::vector<fabric::HostPlace> hosts;
  for (int s = 0; s < kSegments; ++s) {
    for (int h = 0; h < kDomains * kHostsOfDomain; ++h) {
      const int at = s * kDomains * kHostsOfDomain + h;
      fabric::HostPlace host;
      host.fabric_pod = "p0";
      host.segment = StrCat("s", s);
      host.name = StrCat(host.segment, "h", Number(number_of[static_cast<std::size_t>(at)]));
      if (with_domains) host.domain = StrCat(host.segment, "d", h / kHostsOfDomain);
      hosts.push_back(std::move(host));
    }
  }
  return fabric::Places::Build(hosts).value();
}

workload::Job DrawJob(Random& random, int index) {
  workload::Job job;
  job.key = {"default", StrCat("job", Number(index))};
  job.gpus_per_worker = kGpus;
  job.parallelism_given = true;
  workload::Model model;
  model.sequence = 8192;
  const auto draw = [&random](int count) {
    return static_cast<int>(random.Below(static_cast<std::uint64_t>(count)));
  };
  const int group = 8 << draw(4);
  if (draw(3) == 0) {
    job.workers = 1 + draw(6);
    job.parallelism.tensor = kGpus;
    job.parallelism.data = job.workers;
  } else {
    job.parallelism.pipeline = 1 << draw(3);
    const int copies = 1 + draw(std::max(1, std::min(6, 512 / group / job.parallelism.pipeline)));
    job.workers = group * copies * job.parallelism.pipeline / kGpus;
    if (draw(2) == 0) {
      job.parallelism.tensor = group;
      job.parallelism.data = copies;
    } else {
      job.parallelism.expert = group;
      job.parallelism.data = group * copies;
      model.experts = group;
      model.experts_per_token = 2;
    }
  }
  model.parameters = 2e9 * model.experts_per_token * kGpus * job.workers;
  job.model = model;
  return job;
}

struct Placed {
  workload::Job job;
  std::shared_ptr<const workload::WorkerGroups> groups;
  std::vector<fabric::HostId> hosts;  // of the true places
};

struct Figures {
  double splits = 0;         // per job
  double gigabytes = 0;      // per GPU and iteration
  double communication = 0;  // of the busiest NIC, over compute
  double utilisation = 0;
};

class Replay {
 public:
  Replay(Way way, int jobs, std::uint64_t seed)
      : jobs_(jobs), random_(seed), departures_(seed + 2'000'000) {
    Random shuffle(seed + 1'000'000);
    constexpr int kHosts = kDomains * kHostsOfDomain;
    for (int s = 0; s < kSegments; ++s) {
      std::vector<int> numbers;
      for (int h = 0; h < kHosts; ++h) numbers.push_back(h);
      for (int h = kHosts - 1; h > 0 && way == Way::kAnyNames; --h) {
        std::swap(numbers[static_cast<std::size_t>(h)],
                  numbers[shuffle.Below(static_cast<std::uint64_t>(h) + 1)]);
      }
      number_of_.insert(number_of_.end(), numbers.begin(), numbers.end());
    }
    true_places_ = std::make_shared<const fabric::Places>(MakePlaces(true, number_of_));
    seen_.places =
        std::make_shared<const fabric::Places>(MakePlaces(way == Way::kLevel, number_of_));
    placement::HostState free;
    free.gpus = free.free_gpus = kGpus;
    seen_.hosts.assign(static_cast<std::size_t>(seen_.places->num_hosts()), free);
    for (fabric::DomainId domain : true_places_->domains()) {
      const auto hosts = true_places_->hosts_of(domain);
      for (int b = 1; b <= kBackupOfDomain; ++b) Seen(hosts[hosts.size() - b]).backup = true;
    }
  }

  Figures Run() {
    for (int i = 0; i < jobs_; ++i) {
      const workload::Job job = DrawJob(random_, i);
      Arrive(job);
      // Only those of the full cluster count.
      if (i >= jobs_ / 4) Count(running_.back());
      if (i >= jobs_ / 4 && i % kPredictEvery == 0) Predict();
    }
    Figures mean = sum_;
    mean.splits /= counted_;
    mean.gigabytes /= gpus_;
    mean.communication /= gpus_;
    mean.utilisation /= predicted_gpus_;
    return mean;
  }

 private:
  placement::HostState& Seen(fabric::HostId true_host) {
    return seen_.hosts[seen_.places->FindHost(true_places_->name(true_host)).index()];
  }
  void Hold(const Placed& placed, int free_gpus) {
    for (fabric::HostId host : placed.hosts) {
      Seen(host).free_gpus = static_cast<std::int16_t>(free_gpus);
    }
  }

  void Arrive(const workload::Job& job) {
    Placed placed;
    placed.job = job;
    placed.groups = std::make_shared<const workload::WorkerGroups>(workload::GroupsOf(job));
    placement::PlannerOptions options;
    options.explain = false;
    for (;;) {
      const placement::GangPlan plan =
          placement::PlanGang(seen_, {&placed.job, placed.groups.get(), nullptr, 0}, options);
      if (plan.outcome == placement::Outcome::kPlaced) {
        for (fabric::HostId host : plan.host_of_rank) {
          placed.hosts.push_back(true_places_->FindHost(seen_.places->name(host)));
        }
        break;
      }
      const std::size_t leaves = departures_.Below(running_.size());
      Hold(running_[leaves], kGpus);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(leaves));
    }
    Hold(placed, 0);
    running_.push_back(std::move(placed));
  }

  void Count(const Placed& placed) {
    const auto connections =
        workload::ConnectionsOf(placed.job, placed.hosts, kGpus, true_places_.get());
    double bytes = 0;
    for (const workload::TrafficDemand& demand : connections) bytes += demand.bytes;
    const auto gpus = static_cast<double>(placed.job.gpus());
    const workload::Profile profile = workload::CompleteProfile(placed.job);
    sum_.splits += static_cast<double>(
        placement::Evaluate(*true_places_, *placed.groups, placed.hosts).tensor_split_domains);
    sum_.gigabytes += bytes / 1e9;
    sum_.communication += gpus * netplan::LoneSeconds(connections, spec_) / profile.compute_seconds;
    gpus_ += gpus;
    ++counted_;
  }

  void Predict() {
    plan::Snapshot snapshot;
    snapshot.places = true_places_;
    snapshot.network = std::make_shared<const fabric::Network>(
        fabric::Network::Build(spec_, true_places_).value());
    snapshot.cluster.places = true_places_;
    snapshot.cluster.hosts.resize(static_cast<std::size_t>(true_places_->num_hosts()));
    std::vector<netplan::PlacedJob> jobs;
    for (const Placed& placed : running_) {
      jobs.push_back({plan::JobId(static_cast<std::int32_t>(snapshot.jobs.size())), placed.hosts});
      plan::JobState& state = snapshot.jobs.emplace_back();
      state.job = placed.job;
      state.groups = placed.groups;
      state.assignment = plan::Assignment{placed.hosts};
    }
    netplan::NetworkInput input;
    input.ports = false;
    input.predict_shares = true;
    const netplan::NetworkPlan plan = netplan::PlanNetwork(snapshot, jobs, input);
    for (std::size_t j = 0; j < plan.jobs.size(); ++j) {
      if (!plan.jobs[j]) continue;
      const netplan::JobNetwork& network = *plan.jobs[j];
      crux::ContendingJob iteration;
      iteration.compute_seconds = network.compute_seconds;
      iteration.communication_start = snapshot.jobs[j].job.profile.communication_start;
      const double alone = network.compute_seconds /
                           crux::IterationSeconds(iteration, network.communication_seconds);
      const auto gpus = static_cast<double>(snapshot.jobs[j].job.gpus());
      sum_.utilisation += gpus * network.share.value_or(1) * alone;
      predicted_gpus_ += gpus;
    }
  }

  const int jobs_;
  Random random_;      // of jobs
  Random departures_;  // of jobs that leave
  const fabric::FabricSpec spec_ = Spec();
  std::vector<int> number_of_;
  std::shared_ptr<const fabric::Places> true_places_;
  placement::Cluster seen_;
  std::vector<Placed> running_;
  Figures sum_;
  double counted_ = 0;
  double gpus_ = 0;
  double predicted_gpus_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? std::atoi(argv[1]) : 150;
  const int seeds = argc > 2 ? std::atoi(argv[2]) : 3;
  const int first = argc > 3 ? std::atoi(argv[3]) : 1;
  std::printf(
      "seed  way        splits a job  GB a GPU and iteration  busiest NIC over compute  "
      "utilisation\n");
  for (int seed = first; seed < first + seeds; ++seed) {
    for (std::size_t w = 0; w < std::size(kWays); ++w) {
      const Figures f = Replay(kWays[w], jobs, static_cast<std::uint64_t>(seed)).Run();
      std::printf("%4d  %-9s  %12.1f  %22.2f  %24.2f  %10.1f%%\n", seed, kNames[w], f.splits,
                  f.gigabytes, f.communication, 100 * f.utilisation);
      std::fflush(stdout);
    }
  }
  return 0;
}
