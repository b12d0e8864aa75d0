#include "pkg/placement/objective.h"

#include <numeric>

namespace yardmaster::placement {

namespace {

using workload::WorkerGroup;

// Counts distinct values of a small range, many times over.
class Distinct {
 public:
  explicit Distinct(std::size_t range) : seen_(range, -1) {}
  void Next() {
    ++stamp_;
    count_ = 0;
  }
  void Add(std::size_t value) {
    if (seen_[value] == stamp_) return;
    seen_[value] = stamp_;
    ++count_;
  }
  std::int64_t count() const { return count_; }

 private:
  std::vector<int> seen_;
  int stamp_ = -1;
  std::int64_t count_ = 0;
};

}  // namespace

Objective EvaluateSegments(const fabric::Places& places, const workload::WorkerGroups& groups,
                           const std::vector<int>& segment_of_worker) {
  Objective objective;
  Distinct segments(static_cast<std::size_t>(places.num_segments()));
  Distinct pods(static_cast<std::size_t>(places.num_fabric_pods()));
  auto count = [&](const auto& workers) {
    segments.Next();
    pods.Next();
    for (int worker : workers) {
      const fabric::SegmentId s(segment_of_worker[worker]);
      segments.Add(s.index());
      pods.Add(places.fabric_pod_of(s).index());
    }
  };
  auto add = [&](const std::vector<WorkerGroup>& family, std::int64_t& in_segments,
                 std::int64_t& in_pods) {
    for (const WorkerGroup& group : family) {
      count(group.workers);
      in_segments += (segments.count() - 1) * group.count;
      in_pods += (pods.count() - 1) * group.count;
    }
  };
  for (const auto* family : {&groups.tensor, &groups.context, &groups.expert}) {
    add(*family, objective.tensor_split_segments, objective.tensor_split_fabric_pods);
  }
  add(groups.data, objective.data_split_segments, objective.data_split_fabric_pods);
  std::vector<int> all(segment_of_worker.size());
  std::iota(all.begin(), all.end(), 0);
  count(all);
  objective.segments = segments.count();
  objective.fabric_pods = pods.count();
  return objective;
}

Objective EvaluateDomains(const fabric::Places& places, const workload::WorkerGroups& groups,
                          const std::vector<int>& domain_of_worker) {
  std::vector<int> segment_of_worker;
  segment_of_worker.reserve(domain_of_worker.size());
  for (int domain : domain_of_worker) {
    segment_of_worker.push_back(places.segment_of(fabric::DomainId(domain)).value);
  }
  Objective objective = EvaluateSegments(places, groups, segment_of_worker);
  Distinct domains(static_cast<std::size_t>(places.num_domains()));
  domains.Next();
  for (int domain : domain_of_worker) domains.Add(static_cast<std::size_t>(domain));
  objective.domains = domains.count();
  for (const auto* family : {&groups.tensor, &groups.context, &groups.expert}) {
    for (const WorkerGroup& group : *family) {
      domains.Next();
      for (int worker : group.workers) {
        domains.Add(static_cast<std::size_t>(domain_of_worker[static_cast<std::size_t>(worker)]));
      }
      objective.tensor_split_domains += (domains.count() - 1) * group.count;
    }
  }
  return objective;
}

Objective Evaluate(const fabric::Places& places, const workload::WorkerGroups& groups,
                   const std::vector<fabric::HostId>& host_of_rank) {
  if (places.has_domains()) {
    std::vector<int> domain_of_worker;
    domain_of_worker.reserve(host_of_rank.size());
    for (fabric::HostId host : host_of_rank) {
      domain_of_worker.push_back(places.domain_of(host).value);
    }
    return EvaluateDomains(places, groups, domain_of_worker);
  }
  std::vector<int> segment_of_worker;
  segment_of_worker.reserve(host_of_rank.size());
  for (fabric::HostId host : host_of_rank) {
    segment_of_worker.push_back(places.segment_of(host).value);
  }
  return EvaluateSegments(places, groups, segment_of_worker);
}

}  // namespace yardmaster::placement
