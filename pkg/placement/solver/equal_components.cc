#include "pkg/placement/solver/equal_components.h"

#include <algorithm>
#include <cstdint>

#include "pkg/placement/solver/piece_problem.h"
#include "pkg/placement/solver/uniform_solver.h"
#include "pkg/placement/solver/whole_choice.h"

namespace yardmaster::placement {

namespace {

// Segment by piece, as the parts of the components say.
std::vector<int> SegmentsOfPieces(const UniformPlan& plan,
                                  const std::vector<int>& component_of_piece) {
  std::vector<std::size_t> next_part(plan.parts.size(), 0);
  std::vector<int> left(plan.parts.size(), 0);  // of the part before the next one
  std::vector<int> segments(component_of_piece.size());
  for (std::size_t p = 0; p < segments.size(); ++p) {
    const auto c = static_cast<std::size_t>(component_of_piece[p]);
    if (left[c] == 0) left[c] = plan.parts[c][next_part[c]++].count;
    --left[c];
    segments[p] = plan.parts[c][next_part[c] - 1].segment;
  }
  return segments;
}

}  // namespace

std::optional<int> ComponentsPerSegment(const GangModel& model, const Capacity& capacity) {
  if (model.max_stages_per_segment == 0) return 0;
  int fullest = 0;
  for (int workers : capacity.of_segment) fullest = std::max(fullest, workers);
  const int stages = model.stages_per_component;
  const std::int64_t touched = fullest / model.components.size[0] + 2;
  if (touched * stages <= model.max_stages_per_segment) return 0;
  const int most = model.max_stages_per_segment / stages;
  if (most == 0) return std::nullopt;
  return most;
}

std::optional<SegmentPlan> KeepComponentsWhole(const SegmentProblem& problem,
                                               const Capacity& capacity) {
  const GangModel& model = problem.model;
  const int size = model.components.size[0];
  int most = model.components.count();
  if (model.max_stages_per_segment > 0) {
    most = std::min(most, model.max_stages_per_segment / model.stages_per_component);
  }
  std::vector<int> fit;  // components, by segment
  std::int64_t total = 0;
  for (int workers : capacity.of_segment) {
    fit.push_back(std::min(most, workers / size));
    total += fit.back();
  }
  if (total < model.components.count()) return std::nullopt;
  const WholeChoice choice =
      ChooseWhole(problem.places, fit, model.components.count(), problem.scores);
  std::vector<int> segment_of_component;
  for (const SegmentCount& c : choice.counts) {
    segment_of_component.insert(segment_of_component.end(), static_cast<std::size_t>(c.count),
                                c.segment);
  }
  SegmentPlan plan;
  plan.exact = choice.exact;
  plan.bound.fabric_pods = choice.pods;
  plan.bound.segments = choice.pods;
  for (int component : model.components.of) {
    plan.segment_of_worker.push_back(segment_of_component[component]);
  }
  Finish(problem, capacity, choice.scored, plan);
  return plan;
}

SegmentPlan SplitComponents(const SegmentProblem& problem, const Capacity& capacity, PodRule rule,
                            const Partition& pieces, int per_segment) {
  const GangModel& model = problem.model;
  UniformProblem uniform;
  uniform.places = &problem.places;
  const int size = pieces.size[0];
  for (int workers : capacity.of_segment) uniform.capacity.push_back(workers / size);
  uniform.pieces = model.components.size[0] / size;
  uniform.components = model.components.count();
  // A pod set may lie in a unit and be cut between its atoms.
  const bool cuts_units = pieces.count() > model.units.count();
  const bool any_pod = !cuts_units || model.pod_sets.count() == model.atoms.count();
  uniform.may_cross_pods = rule == PodRule::kNone && any_pod;
  uniform.max_components = per_segment;
  // Of a component with several stages a part may hold fewer of them.
  const bool strict = per_segment > 0 && model.stages_per_component > 1;
  const UniformPlan found = SolveUniform(uniform, problem.scores);
  const bool finest = pieces.count() == model.atoms.count();
  SegmentPlan plan;
  if (!found.found) {
    plan.exact = found.exact && finest && model.rule_is_limit && !strict &&
                 (rule != PodRule::kNone || any_pod);
    return plan;
  }
  const std::vector<int> segment_of_piece =
      SegmentsOfPieces(found, HomeOf(pieces, model.components));
  for (int piece : pieces.of) plan.segment_of_worker.push_back(segment_of_piece[piece]);
  plan.bound.data_split_fabric_pods = found.pod_splits * model.data_groups;
  plan.bound.data_split_segments = found.segment_splits * model.data_groups;
  plan.bound.fabric_pods = found.pods;
  plan.bound.segments = found.segments;
  plan.exact = found.exact;
  Finish(problem, capacity, found.scored, plan);
  // Splitting a unit over segments could keep data groups out of other pods.
  if (strict || cuts_units || (!finest && plan.objective.data_split_fabric_pods > 0)) {
    plan.exact = false;
    plan.bound = Objective{};
  }
  return plan;
}

}  // namespace yardmaster::placement
