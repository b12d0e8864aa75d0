#include "pkg/state/capacity_offers.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::state {
namespace {

using api::CapacityPool;
using workload::Enforcement;
using workload::TopologyLevel;

constexpr double kNanosPerHour = 1e9;

// Which workers must lie in one domain, and what a domain is. Where groups of several kinds are
// required at several levels, the largest group at the narrowest level: that satisfies all of them.
struct Grouping {
  TopologyLevel level = TopologyLevel::kFabric;
  int workers_per_group = 1;
  int workers_on_one_host = 1;  // that no two hosts may share
};

Grouping GroupingOf(const api::TrainingJob& job) {
  const workload::Job pure = ToJob(job.job, {job.metadata.namespace_name, job.metadata.name}, "", 0,
                                   job.job.gpus_per_worker);
  const workload::PlacementPolicy& policy = pure.placement;
  const int workers = job.job.workers;
  const int gpus = std::max(job.job.gpus_per_worker, 1);
  const workload::Parallelism& sizes = pure.parallelism;
  const int tensor = std::clamp((sizes.tensor * sizes.context + gpus - 1) / gpus, 1, workers);
  const int stage = workers % sizes.pipeline == 0 ? workers / sizes.pipeline : workers;
  Grouping grouping;
  // An axis of size 1 has groups of one GPU, which no limit can part.
  const auto axis = [](int size, int span) { return size > 1 ? span : 1; };
  const std::pair<const workload::GroupPolicy*, int> kinds[] = {
      {&policy.tensor, axis(sizes.tensor, tensor)},
      {&policy.context, axis(sizes.context, tensor)},
      {&policy.expert, axis(sizes.expert, stage)},
      {&policy.data, stage},
      {&policy.pipeline, axis(sizes.pipeline, workers)}};
  for (const auto& [kind, size] : kinds) {
    if (kind->mode != Enforcement::kRequired || kind->within == TopologyLevel::kFabric) continue;
    if (size <= 1) continue;
    if (kind->within == TopologyLevel::kHost) {
      grouping.workers_on_one_host = std::max(grouping.workers_on_one_host, size);
      continue;
    }
    grouping.level = std::min(grouping.level, kind->within);
    grouping.workers_per_group = std::max(grouping.workers_per_group, size);
  }
  if (workers % grouping.workers_per_group != 0) grouping.workers_per_group = workers;
  return grouping;
}

// The domain's name; absent where the pool does not say where its hosts stand.
std::optional<std::string> DomainOf(const CapacityPool& pool, TopologyLevel level) {
  if (level == TopologyLevel::kFabric) return "";
  if (pool.fabric_pod.empty()) return std::nullopt;
  if (level == TopologyLevel::kFabricPod) return pool.fabric_pod;
  if (pool.segment.empty()) return std::nullopt;
  return StrCat(pool.fabric_pod, "/", pool.segment);
}

api::Node NodeOf(const CapacityPool& pool) {
  api::Node node;
  node.metadata.name = pool.metadata.name;
  node.metadata.labels = pool.node_labels;
  node.metadata.labels.emplace(api::kInstanceTypeLabel, pool.instance_type);
  if (!pool.zone.empty()) node.metadata.labels.emplace(api::kZoneLabel, pool.zone);
  node.allocatable = pool.allocatable;
  return node;
}

// A job that asks for types is placed by the labels of Nodes, and a Node that does not say its type
// is treated as on demand. Hosts that exist already may have labels that the pool does not name.
bool IsPlacedByItsType(const CapacityPool& pool, const api::CapacityOffer& offer,
                       const std::vector<api::CapacityType>& types) {
  if (types.empty() || pool.scaling.kind() == api::ScalingKind::kNone) return true;
  api::Node node;
  node.metadata.labels = NodeLabelsOf(pool, offer);
  return std::find(types.begin(), types.end(), CapacityTypeOf(node)) != types.end();
}

int WholeGroupsPerHost(const CapacityPool& pool, const api::TrainingJob& job,
                       const Grouping& grouping) {
  const int workers = WorkersPerHost(pool, job.requests);
  return workers - workers % grouping.workers_on_one_host;
}

// Why no host of the pool can serve the job; empty: it can.
std::string Unfit(const CapacityPool& pool, const api::TrainingJob& job, const Grouping& grouping,
                  const RentalContext& context) {
  const api::CapacityPolicy& policy = job.capacity;
  if (pool.namespace_selector && context.namespace_labels &&
      !pool.namespace_selector->Selects(*context.namespace_labels)) {
    return StrCat("its namespaceSelector does not select the namespace ",
                  job.metadata.namespace_name);
  }
  if (!policy.instance_types.empty() &&
      std::find(policy.instance_types.begin(), policy.instance_types.end(), pool.instance_type) ==
          policy.instance_types.end()) {
    return StrCat("its instance type ", pool.instance_type, " is not in instanceTypes");
  }
  const std::string& currency = pool.offers.front().price_per_hour.currency;
  if (policy.has_cap() && currency != policy.currency()) {
    return StrCat("its prices are in ", currency, " and the cap is in ", policy.currency());
  }
  if (WholeGroupsPerHost(pool, job, grouping) == 0) {
    return StrCat("a host cannot carry ", Count(grouping.workers_on_one_host, "worker"));
  }
  if (!DomainOf(pool, grouping.level)) {
    return grouping.level == TopologyLevel::kFabricPod ? "it names no fabricPod"
                                                       : "it names no segment";
  }
  // The type is checked offer by offer.
  api::NodeConstraints constraints = job.own_constraints;
  constraints.capacity_types.clear();
  if (!Selects(constraints, NodeOf(pool))) return "the job's node selection leaves it out";
  return "";
}

int InUse(const HostsInUse& in_use, const CapacityPool& pool, api::CapacityType type) {
  const auto used = in_use.find({pool.metadata.name, type});
  return used == in_use.end() ? 0 : used->second;
}

// What the budget leaves, at the present prices; absent: it has none.
std::optional<capacity::Micros> LeftOfBudget(const CapacityPool& pool,
                                             const RentalContext& context) {
  std::optional<capacity::Micros> left;
  const std::pair<const std::optional<capacity::Money>*, const HostsInUse*> bounds[] = {
      {&pool.budget.max_cost_per_hour, &context.in_use},
      {&pool.budget.max_cost_per_hour_per_namespace, &context.in_use_of_namespace}};
  for (const auto& [most, in_use] : bounds) {
    if (!*most) continue;
    __int128 rest = (*most)->micros;
    for (const api::CapacityOffer& offer : pool.offers) {
      rest -= __int128{offer.price_per_hour.micros} * InUse(*in_use, pool, offer.type);
    }
    const auto own = static_cast<capacity::Micros>(std::max<__int128>(rest, 0));
    left = std::min(left.value_or(own), own);
  }
  return left;
}

int IdOf(std::map<std::string, int>& ids, const std::string& name) {
  return ids.try_emplace(name, static_cast<int>(ids.size())).first->second;
}

capacity::Need NeedOf(const api::TrainingJob& job, const Grouping& grouping,
                      capacity::Micros spent) {
  const api::CapacityPolicy& policy = job.capacity;
  capacity::Need need;
  need.workers_per_group = grouping.workers_per_group;
  need.groups = job.job.workers / grouping.workers_per_group;
  need.one_instance_type = !policy.mixed_instance_types;
  need.checkpoint.checkpoint_seconds = job.checkpoint_seconds();
  need.checkpoint.restart_seconds = policy.restart_seconds;
  need.checkpoint.interval_seconds = job.checkpoint.interval_seconds;
  if (policy.max_cost_per_hour) need.max_price = policy.max_cost_per_hour->micros;
  if (policy.max_total_cost) {
    const capacity::Micros most = capacity::MaxPriceForTotal(
        policy.max_total_cost->micros - spent, policy.min_runtime_seconds + StopSeconds(job));
    need.max_price = std::min(need.max_price.value_or(most), most);
  }
  return need;
}

std::string Price(capacity::Micros micros, const std::string& currency) {
  return StrCat(capacity::FormatMoney({micros, currency}), "/h");
}

// Gives the pool's offers, which begin at `first`, what the pool's budget leaves.
void ApplyBudget(const CapacityPool& pool, const RentalContext& context, std::size_t first,
                 CapacityQuestion& question) {
  const std::optional<capacity::Micros> left = LeftOfBudget(pool, context);
  if (!left || first == question.offers.size()) return;
  bool binds = false;
  for (std::size_t i = first; i < question.offers.size(); ++i) {
    capacity::Offer& offer = question.offers[i];
    offer.budget = static_cast<int>(question.need.budgets.size());
    binds = binds || *left / std::max<capacity::Micros>(offer.price, 1) < offer.hosts;
  }
  question.need.budgets.push_back(*left);
  if (!binds) return;
  question.left_out.push_back(
      StrCat("pool ", pool.metadata.name, ": its budget has ",
             Price(*left, pool.offers.front().price_per_hour.currency), " left",
             context.in_use.empty() ? std::string() : " beside what other jobs rent"));
}

}  // namespace

std::int64_t StopSeconds(const api::TrainingJob& job) {
  constexpr std::int64_t kSlackSeconds = 60;
  return 2 * std::int64_t{job.checkpoint.grace_seconds} + kSlackSeconds;
}

absl::StatusOr<CapacityQuestion> AskForCapacity(const api::TrainingJob& job,
                                                std::vector<CapacityPool> pools,
                                                const RentalContext& context,
                                                capacity::Micros spent) {
  if (job.job.workers > capacity::kMaxWorkers) {
    return FieldError("spec.workers",
                      StrCat("is ", job.job.workers, " and capacity is chosen for at most ",
                             capacity::kMaxWorkers),
                      "use fewer and larger workers, or leave the cost caps out");
  }
  std::sort(pools.begin(), pools.end(), [](const CapacityPool& a, const CapacityPool& b) {
    return a.metadata.name < b.metadata.name;
  });
  const Grouping grouping = GroupingOf(job);
  CapacityQuestion question;
  question.need = NeedOf(job, grouping, spent);
  std::map<std::string, int> domains, instance_types;
  for (const CapacityPool& pool : pools) {
    if (const std::string why = Unfit(pool, job, grouping, context); !why.empty()) {
      question.left_out.push_back(StrCat("pool ", pool.metadata.name, ": ", why));
      continue;
    }
    const std::size_t first = question.offers.size();
    for (const api::CapacityOffer& offered : pool.offers) {
      const auto& types = job.capacity.types;
      if (!types.empty() && std::find(types.begin(), types.end(), offered.type) == types.end()) {
        continue;
      }
      if (!IsPlacedByItsType(pool, offered, types)) {
        question.left_out.push_back(
            StrCat("pool ", pool.metadata.name, ": no label of its Nodes says ",
                   api::NameOf(offered.type), ", and the job asks for types; give the offer the ",
                   "nodeLabels by which its cloud says so"));
        continue;
      }
      capacity::Offer offer;
      offer.domain = IdOf(domains, *DomainOf(pool, grouping.level));
      offer.instance_type = IdOf(instance_types, pool.instance_type);
      offer.workers_per_host = WholeGroupsPerHost(pool, job, grouping);
      offer.hosts = std::clamp(offered.max_hosts - InUse(context.in_use, pool, offered.type), 0,
                               job.job.workers);
      offer.price = offered.price_per_hour.micros;
      offer.interruptions_nano =
          static_cast<std::int64_t>(std::llround(offered.interruptions_per_hour * kNanosPerHour));
      offer.noticed = offered.notice_seconds >= job.checkpoint_seconds();
      question.offers.push_back(offer);
      question.names.push_back({pool.metadata.name, offered.type});
    }
    ApplyBudget(pool, context, first, question);
  }
  return question;
}

std::string DescribeChoice(const capacity::Choice& choice, const CapacityQuestion& question,
                           const std::string& currency) {
  std::vector<std::string> parts;
  for (const capacity::Rented& rented : choice.rented) {
    const OfferName& name = question.names[static_cast<std::size_t>(rented.offer)];
    parts.push_back(
        StrCat(Count(rented.hosts, "host"), " of ", name.pool, " (", api::NameOf(name.type), ")"));
  }
  std::ostringstream lost;
  lost << std::fixed << std::setprecision(1) << 100 * choice.lost_share;
  return StrCat(Join(parts, ", "), " at ", Price(choice.price, currency), ", ", lost.str(),
                " % of the time expected to be lost to interruptions and checkpoints");
}

std::string DescribeRefusal(const capacity::ChoiceOutcome& outcome,
                            const CapacityQuestion& question, const std::string& currency) {
  std::string text;
  if (outcome.lowest_price && question.need.max_price) {
    text = StrCat("the cheapest hosts cost ", Price(*outcome.lowest_price, currency),
                  " and the caps allow ", Price(*question.need.max_price, currency),
                  "; raise the cap or wait for lower prices");
  } else if (outcome.lowest_price) {
    text = "every choice would be interrupted too often to make progress";
  } else {
    const int size = question.need.workers_per_group;
    text = StrCat("the pools have room for ", outcome.groups_with_room * size, " of ",
                  Count(std::int64_t{question.need.groups} * size, "worker"),
                  size > 1 ? StrCat(" in groups of ", size) : std::string(),
                  "; add pools or raise their maxHosts");
  }
  for (const std::string& line : question.left_out) text += StrCat("; ", line);
  return text;
}

}  // namespace yardmaster::state
