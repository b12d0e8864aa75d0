#include "pkg/placement/solver/gang_model.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace yardmaster::placement {

namespace {

using workload::Enforcement;
using workload::GroupPolicy;
using workload::TopologyLevel;
using workload::WorkerGroup;

// Union of workers, by halving paths.
class Union {
 public:
  explicit Union(int workers) : parent_(static_cast<std::size_t>(workers)) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  void Join(const std::vector<WorkerGroup>& groups) {
    for (const WorkerGroup& group : groups) {
      for (int worker : group.workers) JoinPair(group.workers[0], worker);
    }
  }
  void Join(const Partition& classes) {
    std::vector<int> first(classes.size.size(), -1);
    for (std::size_t w = 0; w < classes.of.size(); ++w) {
      int& lowest = first[static_cast<std::size_t>(classes.of[w])];
      if (lowest < 0) lowest = static_cast<int>(w);
      JoinPair(lowest, static_cast<int>(w));
    }
  }
  // Workers 0 to length - 1, and so on.
  void JoinRuns(int length) {
    for (int w = 0; w < static_cast<int>(parent_.size()); ++w) JoinPair(w - w % length, w);
  }
  Partition Classes() {
    Partition out;
    out.of.resize(parent_.size());
    std::vector<int> label(parent_.size(), -1);
    for (std::size_t w = 0; w < parent_.size(); ++w) {
      int& mine = label[static_cast<std::size_t>(Root(static_cast<int>(w)))];
      if (mine < 0) {
        mine = out.count();
        out.size.push_back(0);
      }
      out.of[w] = mine;
      ++out.size[static_cast<std::size_t>(mine)];
    }
    return out;
  }

 private:
  int Root(int w) {
    while (parent_[static_cast<std::size_t>(w)] != w) {
      int& up = parent_[static_cast<std::size_t>(w)];
      up = parent_[static_cast<std::size_t>(up)];
      w = up;
    }
    return w;
  }
  void JoinPair(int a, int b) {
    a = Root(a);
    b = Root(b);
    if (a != b) parent_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
  }

  std::vector<int> parent_;
};

bool AllEqual(const std::vector<int>& values) {
  return std::all_of(values.begin(), values.end(), [&](int v) { return v == values[0]; });
}

// Of domain sets.
int SetSize(const Partition& sets, int domain_unit) {
  return AllEqual(sets.size) ? sets.size[0] : domain_unit;
}

// True when every class of `fine` lies inside one class of `coarse`.
bool Refines(const Partition& fine, const Partition& coarse) {
  std::vector<int> home(fine.size.size(), -1);
  for (std::size_t w = 0; w < fine.of.size(); ++w) {
    int& at = home[static_cast<std::size_t>(fine.of[w])];
    if (at >= 0 && at != coarse.of[w]) return false;
    at = coarse.of[w];
  }
  return true;
}

// Sets `pod_rule` and `rule_is_limit`.
void FindPodRule(GangModel& model) {
  auto joined = [&](const Partition& other) {
    Union both(model.workers);
    both.Join(model.pod_sets);
    both.Join(other);
    return both.Classes();
  };
  if (Refines(model.pod_sets, model.units)) {
    model.pod_rule = PodRule::kNone;
  } else if (joined(model.units).of == model.components.of) {
    model.pod_rule = PodRule::kComponent;
    model.rule_is_limit = model.pod_sets.of == model.components.of;
  } else if (joined(model.components).count() == 1) {
    model.pod_rule = PodRule::kGang;
    model.rule_is_limit = model.pod_sets.count() == 1;
  } else {
    model.pod_rule = PodRule::kOther;
  }
}

void FindStages(const workload::WorkerGroups& groups, GangModel& model) {
  // A stage is connected, so its first worker tells its component.
  std::vector<int> stages(model.components.size.size(), 0);
  for (const std::vector<int>& workers : groups.workers_of_stage) {
    if (!workers.empty()) {
      ++stages[static_cast<std::size_t>(model.components.of[static_cast<std::size_t>(workers[0])])];
    }
  }
  model.equal_components = AllEqual(model.components.size) && AllEqual(stages);
  model.stages_per_component = stages.empty() ? 0 : stages[0];
}

// Sets `uniform` and `data_groups`.
void FindRegularity(const workload::WorkerGroups& groups, GangModel& model) {
  if (!model.equal_components || !AllEqual(model.units.size)) return;
  const int units_per_component = model.components.size[0] / model.units.size[0];
  std::vector<std::int64_t> data(model.components.size.size(), 0);
  std::vector<int> seen(model.units.size.size(), -1);
  int stamp = 0;
  for (const WorkerGroup& group : groups.data) {
    int distinct = 0;
    for (int worker : group.workers) {
      int& mark = seen[static_cast<std::size_t>(model.units.of[static_cast<std::size_t>(worker)])];
      if (mark == stamp) continue;
      mark = stamp;
      ++distinct;
    }
    ++stamp;
    if (distinct == 1) continue;
    if (distinct != units_per_component) return;
    const int component = model.components.of[static_cast<std::size_t>(group.workers[0])];
    data[static_cast<std::size_t>(component)] += group.count;
  }
  model.uniform = std::all_of(data.begin(), data.end(), [&](auto d) { return d == data[0]; });
  model.data_groups = data[0];
}

}  // namespace

int GangModel::RoomInDomain(int workers_free) const {
  if (domain_unit > 0) workers_free = workers_free >= domain_unit ? domain_unit : 0;
  return domain_set_size > 1 ? workers_free - workers_free % domain_set_size : workers_free;
}

Partition Joined(const Partition& base,
                 std::initializer_list<const std::vector<WorkerGroup>*> families) {
  Union join(static_cast<int>(base.of.size()));
  join.Join(base);
  for (const std::vector<WorkerGroup>* family : families) join.Join(*family);
  return join.Classes();
}

std::vector<WorkerGroup> PipelineGroups(const workload::Job& job) {
  const workload::RankLayout layout(job.parallelism);
  const workload::GpuNumbers numbers = job.numbers();
  std::map<std::vector<int>, std::int64_t> counts;
  for (std::int64_t rank = 0; rank < job.parallelism.world(); ++rank) {
    workload::Coordinates at = layout.At(rank);
    if (at.pipeline != 0) continue;
    std::vector<int> workers;
    for (int stage = 0; stage < job.parallelism.pipeline; ++stage) {
      at.pipeline = stage;
      workers.push_back(numbers.WorkerOf(layout.RankOf(at)));
    }
    std::sort(workers.begin(), workers.end());
    workers.erase(std::unique(workers.begin(), workers.end()), workers.end());
    if (workers.size() > 1) ++counts[std::move(workers)];
  }
  std::vector<WorkerGroup> groups;
  for (auto& [workers, count] : counts) groups.push_back({workers, count});
  return groups;
}

GangModel ModelOf(const workload::Job& job, const workload::WorkerGroups& groups,
                  const DomainLevel& domains) {
  GangModel model;
  model.workers = groups.workers;
  model.has_domains = domains.any;
  model.max_stages_per_segment = job.placement.max_stages_per_segment;
  const workload::PlacementPolicy& policy = job.placement;
  std::vector<WorkerGroup> pipeline;
  if (policy.pipeline.mode == Enforcement::kRequired &&
      policy.pipeline.within != TopologyLevel::kFabric) {
    pipeline = PipelineGroups(job);
  }
  const std::pair<const GroupPolicy*, const std::vector<WorkerGroup>*> families[] = {
      {&policy.tensor, &groups.tensor},
      {&policy.context, &groups.context},
      {&policy.expert, &groups.expert},
      {&policy.data, &groups.data},
      {&policy.pipeline, &pipeline}};
  auto required_within = [&](TopologyLevel limit, Union& join) {
    for (const auto& [group_policy, family] : families) {
      if (group_policy->mode == Enforcement::kRequired && group_policy->within <= limit) {
        join.Join(*family);
      }
    }
  };
  Union join(groups.workers);
  required_within(domains.any ? TopologyLevel::kHost : TopologyLevel::kDomain, join);
  model.host_sets = join.Classes();
  model.host_set_size = AllEqual(model.host_sets.size) ? model.host_sets.size[0] : 0;
  if (domains.any) {
    model.domain_unit = job.placement.domain_unit * domains.workers_per_host;
    required_within(TopologyLevel::kDomain, join);
    if (model.domain_unit > 0) join.JoinRuns(model.domain_unit);
    model.domain_sets = join.Classes();
    model.domain_set_size = SetSize(model.domain_sets, model.domain_unit);
  } else {
    model.domain_sets = model.host_sets;
    model.domain_set_size = model.host_set_size;
  }
  required_within(TopologyLevel::kSegment, join);
  model.atoms = join.Classes();
  Union pods(groups.workers);
  pods.Join(model.atoms);
  required_within(TopologyLevel::kFabricPod, pods);
  model.pod_sets = pods.Classes();

  join.Join(groups.tensor);
  join.Join(groups.context);
  join.Join(groups.expert);
  model.units = join.Classes();
  join.Join(groups.data);
  model.components = join.Classes();
  FindStages(groups, model);
  FindRegularity(groups, model);
  FindPodRule(model);
  return model;
}

GangModel WithDomainSets(const GangModel& model, const Partition& domain_sets) {
  GangModel out = model;
  out.domain_sets = domain_sets;
  out.domain_set_size = SetSize(domain_sets, model.domain_unit);
  Union atoms(model.workers);
  atoms.Join(model.atoms);
  atoms.Join(domain_sets);
  out.atoms = atoms.Classes();
  Union pods(model.workers);
  pods.Join(model.pod_sets);
  pods.Join(out.atoms);
  out.pod_sets = pods.Classes();
  FindPodRule(out);
  return out;
}

}  // namespace yardmaster::placement
