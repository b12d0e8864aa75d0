#include "pkg/workload/traffic.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace yardmaster::workload {

namespace {

using fabric::DomainId;
using fabric::HostId;

constexpr double kFlopPerSecond = 2e14;

class Traffic {
 public:
  Traffic(const Job& job, const std::vector<HostId>& host_of_rank, int rails,
          const fabric::Places* places)
      : p_(job.parallelism),
        layout_(job.parallelism),
        profile_(CompleteProfile(job)),
        numbers_(job.numbers()),
        host_of_(host_of_rank),
        places_(places) {
    std::map<HostId, int> used;
    for (HostId host : host_of_) {
      const int gpus = job.GpusOf(static_cast<int>(first_gpu_.size()));
      first_gpu_.push_back(used[host]);
      used[host] += gpus;
    }
    rails_ = std::max(1, rails);
  }

  std::vector<TrafficDemand> Run() {
    if (p_.data * p_.context > 1) {
      Rings(profile_.data_bytes, [](Coordinates& c) { c.data = c.context = 0; });
      Rings(profile_.expert_data_bytes, [expert = p_.expert](Coordinates& c) {
        c.data %= expert;
        c.context = 0;
      });
    }
    if (p_.tensor > 1) Rings(profile_.tensor_bytes, [](Coordinates& c) { c.tensor = 0; });
    if (p_.context > 1) Context();
    if (p_.expert > 1) AllToAll();
    if (p_.pipeline > 1) Pipeline();
    std::vector<TrafficDemand> out;
    for (auto& [key, connection] : connections_) out.push_back(connection);
    return out;
  }

 private:
  int WorkerOf(std::int64_t gpu) const { return numbers_.WorkerOf(gpu); }
  HostId HostOf(std::int64_t gpu) const {
    return host_of_[static_cast<std::size_t>(WorkerOf(gpu))];
  }
  // Hosts that reach each other without a NIC are in one domain.
  DomainId DomainOf(HostId host) const {
    if (!host.valid() || places_ == nullptr) return DomainId(host.value);
    return places_->domain_of(host);
  }
  int RailOf(std::int64_t gpu) const {
    return (first_gpu_[static_cast<std::size_t>(WorkerOf(gpu))] + numbers_.PlaceOnWorker(gpu)) %
           rails_;
  }

  void Send(std::int64_t from, std::int64_t to, int to_rail, double bytes) {
    const HostId source = HostOf(from);
    const HostId target = HostOf(to);
    if (!source.valid() || !target.valid() || bytes <= 0) return;
    if (DomainOf(source) == DomainOf(target)) return;
    const int rail = RailOf(from);
    auto [at, is_new] = connections_.emplace(
        std::tuple{source, rail, target, to_rail},
        TrafficDemand{WorkerOf(from), WorkerOf(to), source, target, rail, to_rail, 0});
    at->second.bytes += bytes;
  }

  // Members by group; a group's key is the rank of its first member.
  template <typename Zero>
  std::map<std::int64_t, std::vector<std::int64_t>> GroupsBy(Zero zero) const {
    std::map<std::int64_t, std::vector<std::int64_t>> groups;
    for (std::int64_t gpu = 0; gpu < p_.world(); ++gpu) {
      Coordinates c = layout_.At(gpu);
      zero(c);
      groups[layout_.RankOf(c)].push_back(gpu);
    }
    return groups;
  }

  template <typename Zero>
  void Rings(double bytes, Zero zero) {
    if (bytes <= 0) return;
    for (const auto& [key, members] : GroupsBy(zero)) Ring(members, bytes);
  }

  // Domains in the order of their first member; between two of them as many NICs as both have GPUs
  // in the group, paired by rail where they share rails.
  void Ring(const std::vector<std::int64_t>& members, double bytes) {
    std::vector<DomainId> domains;
    std::map<DomainId, std::vector<std::int64_t>> gpus;
    for (std::int64_t gpu : members) {
      const DomainId domain = DomainOf(HostOf(gpu));
      std::vector<std::int64_t>& mine = gpus[domain];
      if (mine.empty()) domains.push_back(domain);
      mine.push_back(gpu);
    }
    if (domains.size() < 2) return;
    for (auto& [domain, mine] : gpus) {
      std::sort(mine.begin(), mine.end(),
                [&](auto a, auto b) { return std::pair(RailOf(a), a) < std::pair(RailOf(b), b); });
    }
    for (std::size_t i = 0; i < domains.size(); ++i) {
      const auto& here = gpus[domains[i]];
      const auto& next = gpus[domains[(i + 1) % domains.size()]];
      const std::size_t width = std::min(here.size(), next.size());
      for (std::size_t k = 0; k < width; ++k) {
        Send(here[k], next[k], RailOf(next[k]), bytes / static_cast<double>(width));
      }
    }
  }

  void Context() {
    for (std::int64_t gpu = 0; gpu < p_.world(); ++gpu) {
      Coordinates c = layout_.At(gpu);
      c.context = (c.context + 1) % p_.context;
      const std::int64_t next = layout_.RankOf(c);
      Send(gpu, next, RailOf(next), profile_.context_bytes);
    }
  }

  void AllToAll() {
    const double bytes = profile_.expert_bytes;
    if (bytes <= 0) return;
    const int expert = p_.expert;
    for (const auto& [key, members] :
         GroupsBy([expert](Coordinates& c) { c.data -= c.data % expert; })) {
      const double part = bytes / static_cast<double>(members.size() - 1);
      for (std::int64_t from : members) {
        for (std::int64_t to : members) {
          if (from != to) Send(from, to, RailOf(from), part);
        }
      }
    }
  }

  // Chunks lie on the stages in turn, so the way from the last stage to the first is taken between
  // chunks: once less than there are chunks.
  void Pipeline() {
    const double half = profile_.pipeline_bytes / 2;
    const double turn = half * (p_.virtual_pipeline - 1) / p_.virtual_pipeline;
    const int last = p_.pipeline - 1;
    for (std::int64_t gpu = 0; gpu < p_.world(); ++gpu) {
      Coordinates c = layout_.At(gpu);
      const double bytes = c.pipeline == last ? turn : half;
      c.pipeline = c.pipeline == last ? 0 : c.pipeline + 1;
      const std::int64_t next = layout_.RankOf(c);
      Send(gpu, next, RailOf(next), bytes);
      Send(next, gpu, RailOf(gpu), bytes);
    }
  }

  const Parallelism& p_;
  const RankLayout layout_;
  const Profile profile_;
  const GpuNumbers numbers_;
  const std::vector<HostId>& host_of_;
  const fabric::Places* const places_;
  std::vector<int> first_gpu_;  // by worker: its first GPU of the host
  int rails_ = 1;
  std::map<std::tuple<HostId, int, HostId, int>, TrafficDemand> connections_;
};

void Fill(double& value, double estimate) {
  if (value <= 0) value = estimate;
}

}  // namespace

Profile CompleteProfile(const Job& job) {
  const Parallelism& p = job.parallelism;
  Profile profile = job.profile;
  const ModelTraffic traffic = TrafficOfModel(job.model ? *job.model : UsualModel(p), p);
  Fill(profile.flop_per_iteration, traffic.flop_per_iteration);
  Fill(profile.compute_seconds, profile.flop_per_iteration /
                                    (static_cast<double>(p.world()) * kFlopPerSecond) *
                                    (1 + traffic.bubble));
  if (profile.measured) return profile;
  Fill(profile.data_bytes, traffic.data_bytes);
  Fill(profile.expert_data_bytes, traffic.expert_data_bytes);
  Fill(profile.pipeline_bytes, traffic.pipeline_bytes);
  Fill(profile.tensor_bytes, traffic.tensor_bytes);
  Fill(profile.context_bytes, traffic.context_bytes);
  Fill(profile.expert_bytes, traffic.expert_bytes);
  return profile;
}

std::vector<TrafficDemand> ConnectionsOf(const Job& job, const std::vector<HostId>& host_of_rank,
                                         int rails, const fabric::Places* places) {
  return Traffic(job, host_of_rank, rails, places).Run();
}

}  // namespace yardmaster::workload
