#include "pkg/placement/reasons/relaxations.h"

#include <algorithm>
#include <string>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/fabric/places.h"
#include "pkg/placement/solver/gang_solver.h"

namespace yardmaster::placement {

namespace {

using workload::Enforcement;
using workload::GroupPolicy;
using workload::PlacementPolicy;
using workload::TopologyLevel;

constexpr std::size_t kMaxCombinations = 24;

// One limit of the job and the ways to loosen it, the smallest first.
struct Knob {
  struct Choice {
    std::string change;      // of the object `placement`, as YAML
    PlacementPolicy policy;  // of which only this limit's part counts
    int distance = 1;        // levels given up
  };
  GroupPolicy PlacementPolicy::*family = nullptr;  // null: max_stages_per_segment
  std::vector<Choice> choices;
};

// By knob: 0 for as it is, else 1 + the choice.
using Combination = std::vector<std::size_t>;

// Whether `less` changes nothing that `more` does not change at least as far.
bool IsPart(const Combination& less, const Combination& more) {
  for (std::size_t i = 0; i < less.size(); ++i) {
    if (less[i] > more[i]) return false;
  }
  return true;
}

class Finder {
 public:
  Finder(const Cluster& cluster, const GangRequest& request, const GangModel& model,
         const Capacity& now, const Capacity& empty, const PlannerOptions& options, GangPlan& plan)
      : cluster_(cluster),
        places_(*cluster.places),
        request_(request),
        model_(model),
        now_(now),
        empty_(empty),
        max_steps_(RelaxationSteps(options)),
        own_(plan.outcome),
        plan_(plan) {}

  void Run() {
    ListKnobs();
    TryCombinations();
    TryFurtherChange();
    TryCluster();
  }

 private:
  struct Found {
    Combination combination;
    Outcome outcome;
    PlacementPolicy policy;
    std::string change;
  };

  static std::int64_t RelaxationSteps(const PlannerOptions& options) {
    return std::min<std::int64_t>(options.max_steps, 2'000);
  }

  bool Fits(const GangModel& model, const Capacity& capacity) const {
    return TryToFit(places_, model, *request_.groups, capacity, max_steps_) == Fit::kYes;
  }

  Outcome OutcomeOf(const GangModel& model) const {
    auto capacity = [&](const Capacity& same, bool empty) {
      if (model.domain_sets.of == model_.domain_sets.of &&
          model.host_sets.of == model_.host_sets.of) {
        return Fits(model, same);
      }
      return Fits(model, CapacityFor(cluster_, request_, model, {empty, false}));
    };
    if (capacity(now_, false)) return Outcome::kPlaced;
    // A wish that is less than a possible one stays possible.
    if (own_ == Outcome::kNotNow) return Outcome::kNotNow;
    return capacity(empty_, true) ? Outcome::kNotNow : Outcome::kNever;
  }

  GangModel Changed(const PlacementPolicy& policy) const {
    workload::Job job = *request_.job;
    job.placement = policy;
    return ModelFor(cluster_, job, *request_.groups);
  }

  void ListKnobs() {
    const PlacementPolicy& policy = request_.job->placement;
    const workload::WorkerGroups& groups = *request_.groups;
    auto add = [&](GroupPolicy PlacementPolicy::*family, bool exists, std::string_view axis) {
      const GroupPolicy& limit = policy.*family;
      if (!exists || limit.mode != Enforcement::kRequired || limit.within == TopologyLevel::kFabric)
        return;
      Knob knob{family, {}};
      PlacementPolicy to = policy;
      const std::pair<TopologyLevel, std::string_view> wider[] = {
          {TopologyLevel::kDomain, "Domain"},
          {TopologyLevel::kSegment, "Segment"},
          {TopologyLevel::kFabricPod, "FabricPod"}};
      for (const auto& [level, name] : wider) {
        if (NumberOf(level) <= NumberOf(limit.within)) continue;
        (to.*family).within = level;
        knob.choices.push_back(
            {StrCat(axis, ": {within: ", name, "}"), to, NumberOf(level) - NumberOf(limit.within)});
      }
      to.*family = {limit.within, Enforcement::kPreferred};
      knob.choices.push_back({StrCat(axis, ": {mode: Preferred}"), to,
                              NumberOf(TopologyLevel::kFabric) - NumberOf(limit.within)});
      knobs_.push_back(std::move(knob));
    };
    add(&PlacementPolicy::data, !groups.data.empty(), "data");
    add(&PlacementPolicy::expert, !groups.expert.empty(), "expert");
    add(&PlacementPolicy::context, !groups.context.empty(), "context");
    add(&PlacementPolicy::tensor, !groups.tensor.empty(), "tensor");
    const bool pipeline = policy.pipeline.mode == Enforcement::kRequired &&
                          policy.pipeline.within != TopologyLevel::kFabric &&
                          !PipelineGroups(*request_.job).empty();
    add(&PlacementPolicy::pipeline, pipeline, "pipeline");
    if (policy.max_stages_per_segment > 0) {
      Knob knob{nullptr, {}};
      PlacementPolicy to = policy;
      ++to.max_stages_per_segment;
      if (to.max_stages_per_segment < static_cast<int>(groups.workers_of_stage.size())) {
        knob.choices.push_back({StrCat("maxStagesPerSegment: ", to.max_stages_per_segment), to, 1});
      }
      to.max_stages_per_segment = 0;
      knob.choices.push_back({"maxStagesPerSegment: 0", to, 2});
      knobs_.push_back(std::move(knob));
    }
  }

  // From the host on; without domains every host is one.
  int NumberOf(TopologyLevel level) const {
    const int number = static_cast<int>(level);
    return level == TopologyLevel::kHost || model_.has_domains ? number : number - 1;
  }

  Found Apply(const Combination& combination) const {
    Found out{combination, own_, request_.job->placement, ""};
    for (std::size_t i = 0; i < knobs_.size(); ++i) {
      if (combination[i] == 0) continue;
      const Knob::Choice& choice = knobs_[i].choices[combination[i] - 1];
      if (knobs_[i].family != nullptr) {
        out.policy.*knobs_[i].family = choice.policy.*knobs_[i].family;
      } else {
        out.policy.max_stages_per_segment = choice.policy.max_stages_per_segment;
      }
      out.change += StrCat(out.change.empty() ? "placement: {" : ", ", choice.change);
    }
    if (!out.change.empty()) out.change += "}";
    return out;
  }

  // Every combination, nearest first.
  std::vector<Combination> Combinations() const {
    std::vector<Combination> all = {Combination(knobs_.size(), 0)};
    for (std::size_t i = 0; i < knobs_.size(); ++i) {
      const std::size_t before = all.size();
      for (std::size_t c = 0; c < before; ++c) {
        for (std::size_t choice = 1; choice <= knobs_[i].choices.size(); ++choice) {
          all.push_back(all[c]);
          all.back()[i] = choice;
        }
      }
    }
    all.erase(all.begin());  // nothing changed
    auto key = [&](const Combination& c) {
      std::pair<int, int> changes_and_distance;
      for (std::size_t i = 0; i < c.size(); ++i) {
        if (c[i] == 0) continue;
        ++changes_and_distance.first;
        changes_and_distance.second += knobs_[i].choices[c[i] - 1].distance;
      }
      return changes_and_distance;
    };
    // Earlier limits first among equals.
    std::sort(all.begin(), all.end(), [&](const Combination& a, const Combination& b) {
      const auto a_key = key(a), b_key = key(b);
      return a_key != b_key ? a_key < b_key : a > b;
    });
    return all;
  }

  void TryCombinations() {
    if (knobs_.empty()) return;
    // Looser limits cannot help where not even single workers all fit.
    const Capacity single = CapacityFor(cluster_, request_, 1, {own_ == Outcome::kNever, false});
    if (single.total < model_.workers) return;
    Combination loosest;
    for (const Knob& knob : knobs_) loosest.push_back(knob.choices.size());
    const Outcome best = OutcomeOf(Changed(Apply(loosest).policy));
    if (best >= own_) return;
    std::size_t tried = 0;
    for (const Combination& combination : Combinations()) {
      if (IsKnown(combination, best)) continue;
      if (++tried > kMaxCombinations) break;
      Found found = Apply(combination);
      found.outcome = combination == loosest ? best : OutcomeOf(Changed(found.policy));
      if (found.outcome >= own_ || IsKnown(combination, found.outcome)) continue;
      plan_.relaxations.push_back({found.change, found.outcome});
      found_.push_back(std::move(found));
    }
  }

  // Whether part of this comes to that outcome or a better one, so that it need not be said.
  bool IsKnown(const Combination& combination, Outcome outcome) const {
    const auto changed = combination.size() - static_cast<std::size_t>(std::count(
                                                  combination.begin(), combination.end(), 0U));
    for (const Found& found : found_) {
      if (found.outcome > outcome || !IsPart(found.combination, combination)) continue;
      // One limit dropped is said beside the same limit widened.
      if (changed == 1 && IsLoosest(combination)) continue;
      return true;
    }
    return false;
  }

  bool IsLoosest(const Combination& combination) const {
    for (std::size_t i = 0; i < combination.size(); ++i) {
      if (combination[i] != 0 && combination[i] != knobs_[i].choices.size()) return false;
    }
    return true;
  }

  // A change that makes the impossible possible, but not now: what more it takes to be placed.
  void TryFurtherChange() {
    const auto first = std::find_if(found_.begin(), found_.end(), [](const Found& found) {
      return found.outcome == Outcome::kNotNow;
    });
    if (first == found_.end()) return;
    const GangModel model = Changed(first->policy);
    plan_.relaxations.push_back({StrCat(first->change, "; ", kWait), Outcome::kPlaced});
    // As many hosts as are short in all, in one segment.
    const std::int64_t short_by = model.workers - now_.total;
    if (short_by > 0 && model.host_set_size == model_.host_set_size) {
      TryMoreHosts(model, now_, empty_.HostsFor(short_by), StrCat(first->change, "; "),
                   Outcome::kPlaced);
    }
  }

  bool TryMoreHosts(const GangModel& model, const Capacity& view, std::int64_t hosts,
                    const std::string& before, Outcome outcome) {
    if (empty_.max_on_host == 0) return false;  // no host is large enough
    Capacity more = view;
    const auto widest = std::max_element(more.of_segment.begin(), more.of_segment.end());
    const auto segment = static_cast<std::int32_t>(widest - more.of_segment.begin());
    const std::int32_t workers = static_cast<std::int32_t>(hosts) * empty_.max_on_host;
    *widest += workers;
    more.total += workers;
    more.classes.AddForAll(static_cast<std::size_t>(segment), workers);
    if (!Fits(model, more)) return false;
    plan_.relaxations.push_back({StrCat(before, "hosts: ", hosts, " more in segment ",
                                        DistinctName(places_, fabric::SegmentId(segment))),
                                 outcome});
    return true;
  }

  void TryCluster() {
    const Capacity with_backup = CapacityFor(cluster_, request_, model_, {false, true});
    if (with_backup.total > now_.total) {
      if (Fits(model_, with_backup)) {
        plan_.relaxations.push_back({"backup hosts: used", Outcome::kPlaced});
      } else if (own_ == Outcome::kNever &&
                 Fits(model_, CapacityFor(cluster_, request_, model_, {true, true}))) {
        plan_.relaxations.push_back({"backup hosts: used", Outcome::kNotNow});
      }
    }
    if (own_ == Outcome::kNotNow) {
      plan_.relaxations.emplace_back().change = kWait;  // Placed then
      return;
    }
    for (const Reason& reason : plan_.reasons) {
      if (reason.code != ReasonCode::kNotEnoughHosts && reason.code != ReasonCode::kGroupTooLarge) {
        continue;
      }
      if (reason.count == 0) continue;
      if (TryMoreHosts(model_, now_, reason.count, "", Outcome::kPlaced)) return;
      if (TryMoreHosts(model_, empty_, reason.count, "", Outcome::kNotNow)) return;
    }
  }

  static constexpr std::string_view kWait =
      "wait: until hosts are free, back in service or no longer reserved";

  const Cluster& cluster_;
  const fabric::Places& places_;
  const GangRequest& request_;
  const GangModel& model_;
  const Capacity& now_;
  const Capacity& empty_;
  const std::int64_t max_steps_;
  const Outcome own_;
  GangPlan& plan_;
  std::vector<Knob> knobs_;
  std::vector<Found> found_;
};

}  // namespace

void FindRelaxations(const Cluster& cluster, const GangRequest& request, const GangModel& model,
                     const Capacity& now, const Capacity& empty, const PlannerOptions& options,
                     GangPlan& plan) {
  Finder(cluster, request, model, now, empty, options, plan).Run();
}

}  // namespace yardmaster::placement
