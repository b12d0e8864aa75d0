#include "pkg/placement/solver/gang_solver.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "pkg/placement/solver/equal_components.h"
#include "pkg/placement/solver/first_fit.h"
#include "pkg/placement/solver/fit_counter.h"
#include "pkg/placement/solver/gang_search.h"
#include "pkg/placement/solver/piece_problem.h"
#include "pkg/placement/solver/pod_set_split.h"

namespace yardmaster::placement {

namespace {

// With a placement at hand, the general search is asked to better it for gangs up to this size.
constexpr int kMaxSearchedPieces = 96;
// A fabric pod's search has at least as many steps.
constexpr std::int64_t kMinSteps = 500;

class GangSolver {
 public:
  GangSolver(const SegmentProblem& problem, std::int64_t max_steps, bool any)
      : problem_(problem),
        places_(problem.places),
        model_(problem.model),
        any_(any),
        counter_(problem.places, problem.model, problem.groups),
        steps_left_(max_steps) {}

  SegmentPlan Run(const Capacity& capacity) {
    if (model_.pod_rule != PodRule::kGang) return Solve(capacity, model_.pod_rule);
    SegmentPlan best = SolvePodByPod(capacity);
    if (!best.found && !model_.rule_is_limit) return Solve(capacity, PodRule::kOther);
    return best;
  }

 private:
  // From the cheapest method to the dearest, until one settles the question.
  SegmentPlan Solve(const Capacity& capacity, PodRule rule) {
    if (counter_.CannotFit(capacity)) return {};
    if (capacity.classes.any()) return SolveClasses(capacity, rule);
    if (auto whole = KeepWhole(capacity, rule)) return *std::move(whole);
    SegmentPlan best = SplitUniform(capacity, rule);
    if (!IsFinal(best)) best = SearchCoarsePieces(capacity, rule, std::move(best));
    if (!IsFinal(best)) best = SearchAtoms(capacity, std::move(best));
    if (!best.found && !best.exact) best = FindAny(capacity, rule, std::move(best));
    return best;
  }

  // Workers that may use different hosts: the closed forms do not know of them, and say what it
  // costs at least, as if each might use every host that some may use.
  SegmentPlan SolveClasses(const Capacity& capacity, PodRule rule) {
    if (!ClassesMayFit(capacity)) return {};
    Capacity for_any = capacity;
    for_any.classes = {};
    const SegmentPlan least = Solve(for_any, rule);
    if (!least.found && least.exact) return least;
    SegmentPlan best = SearchCoarsePieces(capacity, rule, NothingKnown());
    if (!IsFinal(best)) best = SearchAtoms(capacity, std::move(best));
    best.bound = std::max(best.bound, least.bound);
    if (best.found && best.objective <= best.bound) best.exact = true;
    return best;
  }

  // Necessary, not sufficient: hosts for all of them together, and a segment for each atom alone.
  bool ClassesMayFit(const Capacity& capacity) const {
    const ClassCapacities& classes = capacity.classes;
    const std::vector<int> one(classes.class_of_worker.size(), 0);
    if (!Fits(CountClasses(classes, one, 1).front(), classes.Total())) return false;
    std::set<ClassCounts> seen;
    for (ClassCounts& atom : CountClasses(classes, model_.atoms.of, model_.atoms.count())) {
      if (!seen.insert(atom).second) continue;
      if (std::none_of(classes.of_segment.begin(), classes.of_segment.end(),
                       [&](const auto& capacities) { return Fits(atom, capacities); })) {
        return false;
      }
    }
    return true;
  }

  // The whole gang in one fabric pod: the best of those, each solved by itself.
  SegmentPlan SolvePodByPod(const Capacity& capacity) {
    SegmentPlan best;
    bool exact = true;
    std::optional<Objective> bound;  // of all pods that are not ruled out
    std::optional<SegmentScore> best_score;
    // What one pod does not use of its share of the steps is left to the next ones.
    std::int64_t pods_left = places_.num_fabric_pods();
    std::int64_t after = steps_left_;
    for (fabric::FabricPodId pod : places_.fabric_pods()) {
      const std::int64_t share = std::max(after / pods_left--, kMinSteps);
      steps_left_ = share;
      SegmentPlan plan = Solve(Only(capacity, pod), PodRule::kNone);
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
      if (any_) break;
    }
    // What was cut elsewhere may still not be better.
    best.exact = exact || (best.found && best.objective <= *bound);
    if (bound) best.bound = best.exact && best.found ? best.objective : *bound;
    steps_left_ = after;
    return best;
  }

  Capacity Only(const Capacity& capacity, fabric::FabricPodId pod) const {
    Capacity here;
    here.of_segment.assign(capacity.of_segment.size(), 0);
    here.classes = capacity.classes;
    for (std::vector<ClassCapacity>& capacities : here.classes.of_segment) capacities.clear();
    for (fabric::SegmentId s : places_.segments_of(pod)) {
      here.of_segment[s.index()] = capacity.of_segment[s.index()];
      if (here.classes.any()) {
        here.classes.of_segment[s.index()] = capacity.classes.of_segment[s.index()];
      }
      here.total += here.of_segment[s.index()];
    }
    return here;
  }

  SegmentScore ScoreOf(const SegmentPlan& plan) const {
    std::vector<std::uint8_t> used(problem_.scores.size(), 0);
    for (int s : plan.segment_of_worker) used[s] = 1;
    SegmentScore score;
    for (std::size_t s = 0; s < used.size(); ++s) {
      if (used[s]) score += problem_.scores[s];
    }
    if (plan.objective.segments == 1) score.load = 0;
    return score;
  }

  bool IsFinal(const SegmentPlan& plan) const { return plan.exact || (plan.found && any_); }

  static SegmentPlan NothingKnown() {
    SegmentPlan plan;
    plan.exact = false;
    return plan;
  }

  // Several components in one pod set want more than the closed forms know.
  static bool ClosedFormsApply(PodRule rule) { return rule != PodRule::kOther; }

  std::optional<SegmentPlan> KeepWhole(const Capacity& capacity, PodRule rule) const {
    if (!ClosedFormsApply(rule) || !model_.equal_components) return std::nullopt;
    return KeepComponentsWhole(problem_, capacity);
  }

  SegmentPlan SplitUniform(const Capacity& capacity, PodRule rule) const {
    if (!ClosedFormsApply(rule) || !model_.uniform) return NothingKnown();
    const auto per_segment = ComponentsPerSegment(model_, capacity);
    if (!per_segment) return NothingKnown();
    return SplitComponents(problem_, capacity, rule, model_.units, *per_segment);
  }

  // Pieces coarser than atoms, coarsest first: they are searched fast and give what atoms have to
  // better.
  SegmentPlan SearchCoarsePieces(const Capacity& capacity, PodRule rule, SegmentPlan best) {
    for (const Partition& pieces : CoarserPieces(rule, capacity.classes.any())) {
      // A search over many pieces would only spend its steps; the bound says what is left.
      if (best.found && pieces.count() > kMaxSearchedPieces) break;
      SegmentPlan plan = SearchCoarse(capacity, pieces, best);
      if (!plan.found) continue;
      best = std::move(plan);
      if (IsFinal(best)) break;
    }
    return best;
  }

  std::vector<Partition> CoarserPieces(PodRule rule, bool with_classes) const {
    std::vector<Partition> all;
    auto add = [&](const Partition& pieces) {
      const int before = all.empty() ? 0 : all.back().count();
      if (pieces.count() > before && pieces.count() < model_.atoms.count()) all.push_back(pieces);
    };
    const workload::WorkerGroups& groups = problem_.groups;
    const bool tried = model_.equal_components && !with_classes;  // KeepWhole
    if (!tried && ClosedFormsApply(rule)) add(model_.components);
    add(model_.units);
    add(Joined(model_.atoms, {&groups.tensor, &groups.context}));
    add(Joined(model_.atoms, {&groups.tensor}));
    return all;
  }

  // Better than `best`, or nothing. Exact where every plan that splits a piece is worse.
  SegmentPlan SearchCoarse(const Capacity& capacity, const Partition& pieces,
                           const SegmentPlan& best) {
    SegmentPlan plan = Search(capacity, pieces, best, steps_left_ / 4);
    const bool no_price =
        plan.objective.tensor_split_fabric_pods == 0 && plan.objective.data_split_fabric_pods == 0;
    const bool whole = pieces.count() == model_.components.count() ||
                       (pieces.count() == model_.units.count() && no_price);
    plan.exact = plan.found && plan.exact && whole;
    plan.bound = plan.exact ? plan.objective : best.bound;
    return plan;
  }

  // Better than `best`, or `best` with what the search has proved of it.
  SegmentPlan SearchAtoms(const Capacity& capacity, SegmentPlan best) {
    const bool searchable = !best.found || model_.atoms.count() <= kMaxSearchedPieces;
    SegmentPlan searched =
        Search(capacity, model_.atoms, best, searchable ? steps_left_ : std::int64_t{1});
    if (searched.found || !best.found) return searched;
    best.exact = searched.exact;
    best.bound = best.exact ? best.objective : std::max(best.bound, searched.bound);
    return best;
  }

  SegmentPlan Search(const Capacity& capacity, const Partition& pieces, const SegmentPlan& best,
                     std::int64_t max_steps) {
    const auto incumbent = best.found ? std::optional(best.objective) : std::nullopt;
    const SearchProblem problem = ProblemOf(places_, model_, problem_.groups, capacity, pieces);
    const SearchResult found = SearchPlaces(problem, {max_steps, incumbent, any_});
    steps_left_ = std::max<std::int64_t>(0, steps_left_ - found.steps);
    SegmentPlan plan;
    plan.exact = found.exact;
    plan.bound = found.bound;
    if (found.place.empty()) return plan;
    for (int piece : pieces.of) plan.segment_of_worker.push_back(found.place[piece]);
    Finish(problem_, capacity, false, plan);
    return plan;
  }

  // Where the search was cut without a placement: any placement, or the proof that there is none.
  SegmentPlan FindAny(const Capacity& capacity, PodRule rule, SegmentPlan searched) const {
    SegmentPlan split = SplitAtoms(capacity, rule, searched.bound);
    if (split.found || split.exact) return split;
    // Without limits of stages and with equal groups this finds a place whenever there is one.
    SegmentPlan packed = FirstFit(capacity, searched.bound);
    return packed.found ? packed : searched;
  }

  SegmentPlan SplitAtoms(const Capacity& capacity, PodRule rule, const Objective& bound) const {
    const auto per_segment = ComponentsPerSegment(model_, capacity);
    if (!per_segment) return NothingKnown();
    if (ClosedFormsApply(rule) && model_.equal_components) {
      SegmentPlan split = SplitComponents(problem_, capacity, rule, model_.atoms, *per_segment);
      if (split.found) split.bound = bound;
      return split;
    }
    if (model_.max_stages_per_segment > 0 && model_.stages_per_component > 1) return NothingKnown();
    return ByPodSets(capacity, *per_segment, bound);
  }

  // Whether pod sets that run through all components find room.
  SegmentPlan ByPodSets(const Capacity& capacity, int per_segment, const Objective& bound) const {
    SegmentPlan plan =
        SplitPodSets(places_, model_, capacity.of_segment, per_segment, problem_.scores);
    plan.bound = bound;
    if (plan.found) Finish(problem_, capacity, false, plan);
    return plan;
  }

  SegmentPlan FirstFit(const Capacity& capacity, const Objective& bound) const {
    SegmentPlan plan;
    plan.exact = false;
    plan.bound = bound;
    plan.segment_of_worker = FitFirst(
        places_, model_, StagesOf(model_, problem_.groups, model_.atoms), capacity.of_segment);
    if (!plan.segment_of_worker.empty()) Finish(problem_, capacity, false, plan);
    return plan;
  }

  const SegmentProblem& problem_;
  const fabric::Places& places_;
  const GangModel& model_;
  const bool any_;
  const FitCounter counter_;
  std::int64_t steps_left_;  // of all searches together
};

}  // namespace

Fit TryToFit(const fabric::Places& places, const GangModel& model,
             const workload::WorkerGroups& groups, const Capacity& capacity,
             std::int64_t max_steps) {
  const std::vector<SegmentScore> scores(static_cast<std::size_t>(places.num_segments()));
  const SegmentPlan found =
      ChooseSegments({places, model, groups, scores}, capacity, max_steps, /*any=*/true);
  if (found.found) return Fit::kYes;
  return found.exact ? Fit::kNo : Fit::kUnknown;
}

SegmentPlan ChooseSegments(const SegmentProblem& problem, const Capacity& capacity,
                           std::int64_t max_steps, bool any) {
  return GangSolver(problem, max_steps, any).Run(capacity);
}

}  // namespace yardmaster::placement
