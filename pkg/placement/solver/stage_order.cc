#include "pkg/placement/solver/stage_order.h"

#include <algorithm>

namespace yardmaster::placement {

namespace {

// Segment by unit; empty if a unit is split.
std::vector<int> SegmentsOfUnits(const GangModel& model,
                                 const std::vector<int>& segment_of_worker) {
  std::vector<int> segments(model.units.size.size(), -1);
  for (std::size_t w = 0; w < segment_of_worker.size(); ++w) {
    int& at = segments[static_cast<std::size_t>(model.units.of[w])];
    if (at >= 0 && at != segment_of_worker[w]) return {};
    at = segment_of_worker[w];
  }
  return segments;
}

}  // namespace

void OrderStages(const GangModel& model, std::vector<int>& segment_of_worker) {
  const bool alike = model.uniform && model.pod_rule != PodRule::kOther &&
                     (model.max_stages_per_segment == 0 || model.stages_per_component == 1);
  if (!alike || model.components.count() == 1) return;
  const std::vector<int> segments = SegmentsOfUnits(model, segment_of_worker);
  if (segments.empty()) return;
  std::vector<int> component_of(segments.size());
  for (std::size_t w = 0; w < segment_of_worker.size(); ++w) {
    component_of[static_cast<std::size_t>(model.units.of[w])] = model.components.of[w];
  }
  std::vector<std::vector<int>> places(model.components.size.size());
  for (std::size_t u = 0; u < segments.size(); ++u) {
    places[static_cast<std::size_t>(component_of[u])].push_back(segments[u]);
  }
  for (std::vector<int>& mine : places) std::sort(mine.begin(), mine.end());
  std::sort(places.begin(), places.end());
  std::vector<std::size_t> next(places.size(), 0);
  std::vector<int> ordered(segments.size());
  for (std::size_t u = 0; u < segments.size(); ++u) {
    const auto c = static_cast<std::size_t>(component_of[u]);
    ordered[u] = places[c][next[c]++];
  }
  for (std::size_t w = 0; w < segment_of_worker.size(); ++w) {
    segment_of_worker[w] = ordered[static_cast<std::size_t>(model.units.of[w])];
  }
}

}  // namespace yardmaster::placement
