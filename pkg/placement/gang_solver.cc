#include "pkg/placement/gang_solver.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "pkg/placement/first_fit.h"
#include "pkg/placement/gang_search.h"
#include "pkg/placement/no_room.h"
#include "pkg/placement/segment_exchange.h"
#include "pkg/placement/uniform_solver.h"
#include "pkg/placement/whole_choice.h"

namespace yardmaster::placement {

namespace {

using workload::WorkerGroup;

// With a placement at hand, the general search is asked to better it for gangs up to this size.
constexpr int kMostSearchedPieces = 96;
// A fabric pod's search has at least as many steps.
constexpr std::int64_t kLeastSteps = 500;

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

// The coarser class of every class of `fine`.
std::vector<int> HomeOf(const Partition& fine, const Partition& coarse) {
  std::vector<int> home(fine.size.size());
  for (std::size_t w = 0; w < fine.of.size(); ++w) home[fine.of[w]] = coarse.of[w];
  return home;
}

class Solver {
 public:
  Solver(const fabric::Places& places, const GangModel& model, const workload::WorkerGroups& groups,
         const std::vector<SegmentScore>& scores, const SolverOptions& options)
      : places_(places),
        model_(model),
        groups_(groups),
        scores_(scores),
        options_(options),
        counter_(places, model, groups),
        steps_left_(options.max_steps) {}

  SegmentPlan Run(const Capacity& capacity) {
    if (model_.pod_rule != PodRule::kGang) return Solve(capacity, model_.pod_rule);
    SegmentPlan best;
    bool exact = true;
    std::optional<SegmentScore> best_score;
    // What one pod does not use of its share of the steps is left to the next ones.
    std::int64_t pods_left = places_.num_fabric_pods();
    std::int64_t after = options_.max_steps;
    for (fabric::FabricPodId pod : places_.fabric_pods()) {
      const Capacity here = Only(capacity, pod);
      const std::int64_t share = std::max(after / pods_left--, kLeastSteps);
      steps_left_ = share;
      SegmentPlan plan = Solve(here, PodRule::kNone);
      after = std::max<std::int64_t>(0, after - (share - steps_left_));
      exact = exact && plan.exact;
      if (!plan.found) continue;
      const SegmentScore score = ScoreOf(plan);
      if (!best.found || plan.bound < best.bound) best.bound = plan.bound;
      if (best.found && std::tie(best.objective, *best_score) <= std::tie(plan.objective, score)) {
        continue;
      }
      plan.bound = std::min(best.found ? best.bound : plan.bound, plan.bound);
      best = std::move(plan);
      best_score = score;
      if (options_.any) break;
    }
    best.exact = exact;
    steps_left_ = after;
    if (!best.found && !model_.rule_is_limit) return Solve(capacity, PodRule::kOther);
    return best;
  }

 private:
  Capacity Only(const Capacity& capacity, fabric::FabricPodId pod) const {
    Capacity here;
    here.of_host = capacity.of_host;
    here.of_segment.assign(capacity.of_segment.size(), 0);
    for (fabric::SegmentId s : places_.segments_of(pod)) {
      here.of_segment[s.index()] = capacity.of_segment[s.index()];
      here.total += here.of_segment[s.index()];
    }
    return here;
  }

  SegmentScore ScoreOf(const SegmentPlan& plan) const {
    std::vector<std::uint8_t> used(scores_.size(), 0);
    for (int s : plan.segment_of_worker) used[s] = 1;
    SegmentScore score;
    for (std::size_t s = 0; s < used.size(); ++s) {
      if (used[s]) score += scores_[s];
    }
    if (plan.objective.segments == 1) score.load = 0;
    return score;
  }

  SegmentPlan Solve(const Capacity& capacity, PodRule rule) {
    if (capacity.total < model_.workers || counter_.NoRoom(capacity)) return {};
    // Several components in one pod set want more than the closed forms know.
    const bool closed = rule != PodRule::kOther;
    if (closed && model_.equal_components) {
      if (std::optional<SegmentPlan> whole = Whole(capacity)) return *whole;
    }
    SegmentPlan best;
    if (closed && model_.uniform && !LimitBinds(capacity)) {
      best = Uniform(capacity, rule);
      if (best.exact || (best.found && options_.any)) return best;
    }
    // A search over many pieces would only spend its steps; the bound says what is left.
    if (best.found && model_.atoms.count() > kMostSearchedPieces) return best;
    if (!model_.equal_components && rule != PodRule::kOther) {
      SegmentPlan whole = Search(capacity, model_.components, {}, steps_left_ / 4);
      if (whole.found && whole.exact) return whole;
      if (whole.found && (!best.found || whole.objective < best.objective)) best = std::move(whole);
      if (best.found && options_.any) return best;
    }
    SegmentPlan searched =
        Search(capacity, model_.atoms, best.found ? std::optional(best.objective) : std::nullopt,
               steps_left_);
    if (searched.found) return searched;
    if (!best.found && !searched.exact) {
      // Without limits of stages and with equal groups this finds a place whenever there is one.
      SegmentPlan packed = FirstFit(capacity, searched.bound);
      if (packed.found) return packed;
    }
    if (!best.found) return searched;
    best.exact = searched.exact;
    best.bound = best.exact ? best.objective : std::max(best.bound, searched.bound);
    return best;
  }

  SegmentPlan FirstFit(const Capacity& capacity, const Objective& bound) const {
    SegmentPlan plan;
    plan.exact = false;
    plan.bound = bound;
    plan.segment_of_worker = FitFirst(places_, model_, StagesOf(model_.atoms), capacity.of_segment);
    if (!plan.segment_of_worker.empty()) Finish(capacity, false, plan);
    return plan;
  }

  // Whether the limit of stages in a segment could matter to a gang that is split.
  bool LimitBinds(const Capacity& capacity) const {
    if (model_.max_stages_per_segment == 0) return false;
    int fullest = 0;
    for (int room : capacity.of_segment) fullest = std::max(fullest, room);
    const std::int64_t touched = fullest / model_.components.size[0] + 2;
    return touched * model_.stages_per_component > model_.max_stages_per_segment;
  }

  std::optional<SegmentPlan> Whole(const Capacity& capacity) {
    const int size = model_.components.size[0];
    int most = model_.components.count();
    if (model_.max_stages_per_segment > 0) {
      most = std::min(most, model_.max_stages_per_segment / model_.stages_per_component);
    }
    std::vector<int> slots;
    std::int64_t total = 0;
    for (int room : capacity.of_segment) {
      slots.push_back(std::min(most, room / size));
      total += slots.back();
    }
    if (total < model_.components.count()) return std::nullopt;
    const WholeChoice choice = ChooseWhole(places_, slots, model_.components.count(), scores_);
    std::vector<int> segment_of_component;
    for (const SegmentCount& c : choice.counts) {
      segment_of_component.insert(segment_of_component.end(), static_cast<std::size_t>(c.count),
                                  c.segment);
    }
    SegmentPlan plan;
    plan.exact = choice.exact;
    plan.bound.fabric_pods = choice.pods;
    plan.bound.segments = choice.pods;
    for (int component : model_.components.of) {
      plan.segment_of_worker.push_back(segment_of_component[component]);
    }
    Finish(capacity, choice.scored, plan);
    return plan;
  }

  SegmentPlan Uniform(const Capacity& capacity, PodRule rule) {
    UniformProblem problem;
    problem.places = &places_;
    const int unit = model_.units.size[0];
    for (int room : capacity.of_segment) problem.capacity.push_back(room / unit);
    problem.units = model_.components.size[0] / unit;
    problem.components = model_.components.count();
    problem.may_cross_pods = rule == PodRule::kNone;
    const UniformPlan uniform = SolveUniform(problem, scores_);
    const bool units_are_atoms = model_.units.count() == model_.atoms.count();
    SegmentPlan plan;
    if (!uniform.found) {
      plan.exact = uniform.exact && units_are_atoms && model_.rule_is_limit;
      return plan;
    }
    const std::vector<int> component_of_unit = HomeOf(model_.units, model_.components);
    std::vector<std::size_t> next_piece(uniform.pieces.size(), 0);
    std::vector<int> left(uniform.pieces.size(), 0);
    std::vector<int> segment_of_unit(model_.units.size.size());
    for (std::size_t u = 0; u < segment_of_unit.size(); ++u) {
      const auto c = static_cast<std::size_t>(component_of_unit[u]);
      if (left[c] == 0) left[c] = uniform.pieces[c][next_piece[c]++].units;
      --left[c];
      segment_of_unit[u] = uniform.pieces[c][next_piece[c] - 1].segment;
    }
    for (int unit_of_worker : model_.units.of) {
      plan.segment_of_worker.push_back(segment_of_unit[unit_of_worker]);
    }
    plan.bound.data_split_fabric_pods = uniform.pod_splits * model_.data_groups;
    plan.bound.data_split_segments = uniform.segment_splits * model_.data_groups;
    plan.bound.fabric_pods = uniform.pods;
    plan.bound.segments = uniform.segments;
    plan.exact = uniform.exact;
    Finish(capacity, uniform.scored, plan);
    // Splitting a unit over segments could keep data groups out of other pods.
    if (!units_are_atoms && plan.objective.data_split_fabric_pods > 0) {
      plan.exact = false;
      plan.bound = Objective{};
    }
    return plan;
  }

  SegmentPlan Search(const Capacity& capacity, const Partition& pieces,
                     const std::optional<Objective>& incumbent, std::int64_t max_steps) {
    SearchProblem problem;
    problem.piece_size = pieces.size;
    problem.component = HomeOf(pieces, model_.components);
    problem.pod_set = PodSetsOf(pieces);
    problem.stages = StagesOf(pieces);
    AddGroups(groups_.tensor, true, pieces, problem);
    AddGroups(groups_.context, true, pieces, problem);
    AddGroups(groups_.expert, true, pieces, problem);
    AddGroups(groups_.data, false, pieces, problem);
    problem.max_stages_per_segment = model_.max_stages_per_segment;
    problem.capacity = capacity.of_segment;
    for (fabric::SegmentId s : places_.segments()) {
      problem.pod_of_segment.push_back(places_.fabric_pod_of(s).value);
    }
    const SearchResult found = SearchSegments(problem, {max_steps, incumbent, options_.any});
    steps_left_ = std::max<std::int64_t>(0, steps_left_ - found.steps);
    SegmentPlan plan;
    plan.exact = found.exact;
    plan.bound = found.bound;
    if (found.segment.empty()) return plan;
    for (int piece : pieces.of) plan.segment_of_worker.push_back(found.segment[piece]);
    Finish(capacity, false, plan);
    return plan;
  }

  // Pod sets as unions of pieces, so that a piece larger than a set joins them.
  std::vector<int> PodSetsOf(const Partition& pieces) const {
    std::vector<int> set(pieces.size.size());
    std::iota(set.begin(), set.end(), 0);
    std::vector<int> first(model_.pod_sets.size.size(), -1);
    auto root = [&](int p) {
      while (set[p] != p) p = set[p] = set[set[p]];
      return p;
    };
    for (std::size_t w = 0; w < pieces.of.size(); ++w) {
      int& lowest = first[model_.pod_sets.of[w]];
      if (lowest < 0) lowest = pieces.of[w];
      const int a = root(lowest);
      const int b = root(pieces.of[w]);
      set[std::max(a, b)] = std::min(a, b);
    }
    for (std::size_t p = 0; p < set.size(); ++p) set[p] = root(static_cast<int>(p));
    return set;
  }

  std::vector<std::vector<int>> StagesOf(const Partition& pieces) const {
    std::vector<std::vector<int>> stages(pieces.size.size());
    if (model_.max_stages_per_segment == 0) return stages;
    for (std::size_t w = 0; w < pieces.of.size(); ++w) {
      std::vector<int>& mine = stages[pieces.of[w]];
      mine.insert(mine.end(), groups_.stages_of_worker[w].begin(),
                  groups_.stages_of_worker[w].end());
    }
    for (std::vector<int>& mine : stages) {
      std::sort(mine.begin(), mine.end());
      mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    }
    return stages;
  }

  // Groups over pieces; equal ones are added up.
  static void AddGroups(const std::vector<WorkerGroup>& groups, bool tensor,
                        const Partition& pieces, SearchProblem& problem) {
    std::map<std::vector<int>, std::int64_t> counts;
    for (const WorkerGroup& group : groups) {
      std::vector<int> mine;
      for (int worker : group.workers) mine.push_back(pieces.of[worker]);
      std::sort(mine.begin(), mine.end());
      mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
      if (mine.size() > 1) counts[std::move(mine)] += group.count;
    }
    for (auto& [mine, count] : counts) problem.groups.push_back({mine, count, tensor});
  }

  // Ties, then the objective as it stands.
  void Finish(const Capacity& capacity, bool scored, SegmentPlan& plan) const {
    plan.found = true;
    if (!scored) ExchangeSegments(places_, capacity, scores_, plan.segment_of_worker);
    plan.objective = EvaluateSegments(places_, groups_, plan.segment_of_worker);
    if (plan.objective <= plan.bound) plan.exact = true;
    if (plan.exact) plan.bound = plan.objective;
  }

  const fabric::Places& places_;
  const GangModel& model_;
  const workload::WorkerGroups& groups_;
  const std::vector<SegmentScore>& scores_;
  const SolverOptions& options_;
  const RoomCounter counter_;
  std::int64_t steps_left_;  // of all searches together
};

}  // namespace

Fit TryToFit(const fabric::Places& places, const GangModel& model,
             const workload::WorkerGroups& groups, const Capacity& capacity,
             std::int64_t max_steps) {
  const std::vector<SegmentScore> scores(static_cast<std::size_t>(places.num_segments()));
  const SegmentPlan found =
      ChooseSegments(places, model, groups, capacity, scores, {max_steps, true});
  if (found.found) return Fit::kYes;
  return found.exact ? Fit::kNo : Fit::kUnknown;
}

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

SegmentPlan ChooseSegments(const fabric::Places& places, const GangModel& model,
                           const workload::WorkerGroups& groups, const Capacity& capacity,
                           const std::vector<SegmentScore>& scores, const SolverOptions& options) {
  return Solver(places, model, groups, scores, options).Run(capacity);
}

}  // namespace yardmaster::placement
