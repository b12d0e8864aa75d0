#include "pkg/placement/solver/gang_solver.h"

#include <algorithm>
#include <optional>

#include "pkg/placement/solver/first_fit.h"
#include "pkg/placement/solver/gang_search.h"
#include "pkg/placement/solver/no_room.h"
#include "pkg/placement/solver/piece_problem.h"
#include "pkg/placement/solver/pod_set_split.h"
#include "pkg/placement/solver/segment_exchange.h"
#include "pkg/placement/solver/stage_order.h"
#include "pkg/placement/solver/uniform_solver.h"
#include "pkg/placement/solver/whole_choice.h"

namespace yardmaster::placement {

namespace {

// With a placement at hand, the general search is asked to better it for gangs up to this size.
constexpr int kMostSearchedPieces = 96;
// A fabric pod's search has at least as many steps.
constexpr std::int64_t kLeastSteps = 500;

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
    std::optional<Objective> bound;  // of all pods that are not ruled out
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
      if ((plan.found || !plan.exact) && (!bound || plan.bound < *bound)) bound = plan.bound;
      if (!plan.found) continue;
      const SegmentScore score = ScoreOf(plan);
      if (best.found && std::tie(best.objective, *best_score) <= std::tie(plan.objective, score)) {
        continue;
      }
      best = std::move(plan);
      best_score = score;
      if (options_.any) break;
    }
    // What was cut elsewhere may still not be better.
    best.exact = exact || (best.found && best.objective <= *bound);
    if (bound) best.bound = best.exact && best.found ? best.objective : *bound;
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
    if (closed && model_.uniform && MostComponents(capacity) >= 0) {
      best = Uniform(capacity, rule, model_.units);
      if (best.exact || (best.found && options_.any)) return best;
    }
    for (const Partition& pieces : CoarserPieces(rule)) {
      // A search over many pieces would only spend its steps; the bound says what is left.
      if (best.found && pieces.count() > kMostSearchedPieces) break;
      SegmentPlan plan = SearchCoarse(capacity, pieces, best);
      if (!plan.found) continue;
      best = std::move(plan);
      if (best.exact || options_.any) return best;
    }
    const bool searchable = !best.found || model_.atoms.count() <= kMostSearchedPieces;
    SegmentPlan searched = Search(capacity, model_.atoms, ObjectiveOf(best),
                                  searchable ? steps_left_ : std::int64_t{1});
    if (searched.found) return searched;
    if (!best.found && !searched.exact) {
      if (closed && model_.equal_components && MostComponents(capacity) >= 0) {
        SegmentPlan split = Uniform(capacity, rule, model_.atoms);
        if (split.found) split.bound = searched.bound;
        if (split.found || split.exact) return split;
      } else if (MostComponents(capacity) >= 0 &&
                 (model_.max_stages_per_segment == 0 || model_.stages_per_component == 1)) {
        SegmentPlan split = ByPodSets(capacity, searched.bound);
        if (split.found || split.exact) return split;
      }
      // Without limits of stages and with equal groups this finds a place whenever there is one.
      SegmentPlan packed = FirstFit(capacity, searched.bound);
      if (packed.found) return packed;
    }
    if (!best.found) return searched;
    best.exact = searched.exact;
    best.bound = best.exact ? best.objective : std::max(best.bound, searched.bound);
    return best;
  }

  static std::optional<Objective> ObjectiveOf(const SegmentPlan& plan) {
    return plan.found ? std::optional(plan.objective) : std::nullopt;
  }

  // Coarser than atoms, coarsest first: they are searched fast and give what atoms have to better.
  std::vector<Partition> CoarserPieces(PodRule rule) const {
    std::vector<Partition> all;
    auto add = [&](const Partition& pieces) {
      const int before = all.empty() ? 0 : all.back().count();
      if (pieces.count() > before && pieces.count() < model_.atoms.count()) all.push_back(pieces);
    };
    if (!model_.equal_components && rule != PodRule::kOther) add(model_.components);
    add(model_.units);
    add(Joined(model_.atoms, {&groups_.tensor, &groups_.context}));
    add(Joined(model_.atoms, {&groups_.tensor}));
    return all;
  }

  // Better than `best`, or nothing. Exact where every plan that splits a piece is worse.
  SegmentPlan SearchCoarse(const Capacity& capacity, const Partition& pieces,
                           const SegmentPlan& best) {
    SegmentPlan plan = Search(capacity, pieces, ObjectiveOf(best), steps_left_ / 4);
    const bool no_price =
        plan.objective.tensor_split_fabric_pods == 0 && plan.objective.data_split_fabric_pods == 0;
    const bool whole = pieces.count() == model_.components.count() ||
                       (pieces.count() == model_.units.count() && no_price);
    plan.exact = plan.found && plan.exact && whole;
    plan.bound = plan.exact ? plan.objective : best.bound;
    return plan;
  }

  // Whether pod sets that run through all components find room.
  SegmentPlan ByPodSets(const Capacity& capacity, const Objective& bound) const {
    PodSetSplit split =
        SplitPodSets(places_, model_, capacity.of_segment, MostComponents(capacity), scores_);
    SegmentPlan plan;
    plan.exact = split.proved;
    plan.bound = bound;
    plan.segment_of_worker = std::move(split.segment_of_worker);
    if (split.found) Finish(capacity, false, plan);
    return plan;
  }

  SegmentPlan FirstFit(const Capacity& capacity, const Objective& bound) const {
    SegmentPlan plan;
    plan.exact = false;
    plan.bound = bound;
    plan.segment_of_worker =
        FitFirst(places_, model_, StagesOf(model_, groups_, model_.atoms), capacity.of_segment);
    if (!plan.segment_of_worker.empty()) Finish(capacity, false, plan);
    return plan;
  }

  // Components of a split gang that may take part in one segment, by the limit of stages; 0: any
  // number, -1: not even one.
  int MostComponents(const Capacity& capacity) const {
    if (model_.max_stages_per_segment == 0) return 0;
    int fullest = 0;
    for (int room : capacity.of_segment) fullest = std::max(fullest, room);
    const int stages = model_.stages_per_component;
    const std::int64_t touched = fullest / model_.components.size[0] + 2;
    if (touched * stages <= model_.max_stages_per_segment) return 0;
    const int most = model_.max_stages_per_segment / stages;
    return most > 0 ? most : -1;
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

  // Splits components between `pieces`: units, which keeps tensor groups whole, or atoms, which
  // finds a placement wherever splitting does, but not the best.
  SegmentPlan Uniform(const Capacity& capacity, PodRule rule, const Partition& pieces) {
    UniformProblem problem;
    problem.places = &places_;
    const int size = pieces.size[0];
    for (int room : capacity.of_segment) problem.capacity.push_back(room / size);
    problem.units = model_.components.size[0] / size;
    problem.components = model_.components.count();
    // A pod set may lie in a unit and be cut between its atoms.
    const bool cuts_units = pieces.count() > model_.units.count();
    const bool any_pod = !cuts_units || model_.pod_sets.count() == model_.atoms.count();
    problem.may_cross_pods = rule == PodRule::kNone && any_pod;
    problem.max_components = MostComponents(capacity);
    // Of a component with several stages a part may hold fewer of them.
    const bool strict = problem.max_components > 0 && model_.stages_per_component > 1;
    const UniformPlan uniform = SolveUniform(problem, scores_);
    const bool finest = pieces.count() == model_.atoms.count();
    SegmentPlan plan;
    if (!uniform.found) {
      plan.exact = uniform.exact && finest && model_.rule_is_limit && !strict &&
                   (rule != PodRule::kNone || any_pod);
      return plan;
    }
    const std::vector<int> component_of_unit = HomeOf(pieces, model_.components);
    std::vector<std::size_t> next_piece(uniform.pieces.size(), 0);
    std::vector<int> left(uniform.pieces.size(), 0);
    std::vector<int> segment_of_unit(pieces.size.size());
    for (std::size_t u = 0; u < segment_of_unit.size(); ++u) {
      const auto c = static_cast<std::size_t>(component_of_unit[u]);
      if (left[c] == 0) left[c] = uniform.pieces[c][next_piece[c]++].units;
      --left[c];
      segment_of_unit[u] = uniform.pieces[c][next_piece[c] - 1].segment;
    }
    for (int unit_of_worker : pieces.of) {
      plan.segment_of_worker.push_back(segment_of_unit[unit_of_worker]);
    }
    plan.bound.data_split_fabric_pods = uniform.pod_splits * model_.data_groups;
    plan.bound.data_split_segments = uniform.segment_splits * model_.data_groups;
    plan.bound.fabric_pods = uniform.pods;
    plan.bound.segments = uniform.segments;
    plan.exact = uniform.exact;
    Finish(capacity, uniform.scored, plan);
    // Splitting a unit over segments could keep data groups out of other pods.
    if (strict || cuts_units || (!finest && plan.objective.data_split_fabric_pods > 0)) {
      plan.exact = false;
      plan.bound = Objective{};
    }
    return plan;
  }

  SegmentPlan Search(const Capacity& capacity, const Partition& pieces,
                     const std::optional<Objective>& incumbent, std::int64_t max_steps) {
    const SearchProblem problem = ProblemOf(places_, model_, groups_, capacity, pieces);
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

  // Breaks ties, then computes the objective.
  void Finish(const Capacity& capacity, bool scored, SegmentPlan& plan) const {
    plan.found = true;
    if (!scored) ExchangeSegments(places_, capacity, scores_, plan.segment_of_worker);
    OrderStages(model_, plan.segment_of_worker);
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

SegmentPlan ChooseSegments(const fabric::Places& places, const GangModel& model,
                           const workload::WorkerGroups& groups, const Capacity& capacity,
                           const std::vector<SegmentScore>& scores, const SolverOptions& options) {
  return Solver(places, model, groups, scores, options).Run(capacity);
}

}  // namespace yardmaster::placement
