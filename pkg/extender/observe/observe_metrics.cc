#include "pkg/extender/observe/observe_metrics.h"

#include <cstdint>
#include <string>

namespace yardmaster::extender {

namespace {

struct Term {
  const char* name;
  std::int64_t placement::Objective::*value;
};
// As a plan report names them.
constexpr Term kTerms[] = {
    {"tensorSplitDomains", &placement::Objective::tensor_split_domains},
    {"tensorSplitFabricPods", &placement::Objective::tensor_split_fabric_pods},
    {"dataSplitFabricPods", &placement::Objective::data_split_fabric_pods},
    {"tensorSplitSegments", &placement::Objective::tensor_split_segments},
    {"dataSplitSegments", &placement::Objective::data_split_segments},
    {"fabricPods", &placement::Objective::fabric_pods},
    {"segments", &placement::Objective::segments},
    {"domains", &placement::Objective::domains}};

// Sums over the gangs that run and are compared.
struct Sums {
  placement::Objective objective;
  double contention_gpus = 0;
  void Add(const ObservedPlace& place, std::int64_t gpus) {
    for (const Term& term : kTerms) objective.*term.value += place.objective.*term.value;
    contention_gpus += place.contention.value_or(0) * static_cast<double>(gpus);
  }
};

void ReportSums(const std::string& place, const Sums& sums, metrics::Registry& registry) {
  for (const Term& term : kTerms) {
    registry
        .GetGauge("yardmaster_observe_objective",
                  "what placement minimises, over the gangs that run and are compared: where they "
                  "are, and where they would be",
                  {{"term", term.name}, {"place", place}})
        .Set(static_cast<double>(sums.objective.*term.value));
  }
  registry
      .GetGauge("yardmaster_observe_contention_gpus",
                "GPUs' worth of speed that these gangs are predicted to lose to each other's "
                "traffic, and cost others",
                {{"place", place}})
      .Set(sums.contention_gpus);
}

}  // namespace

void ReportObservation(const Observation& observation, metrics::Registry& registry) {
  Sums actual, planned;
  int running = 0, compared = 0, better = 0, waiting = 0, would_fit = 0, guessed = 0;
  int lost = 0, replaceable = 0;
  for (const ObservedGang& gang : observation.gangs) {
    guessed += gang.guessed ? 1 : 0;
    lost += gang.lost_ranks;
    replaceable += gang.replaceable_ranks;
    if (!gang.actual) {
      ++waiting;
      would_fit += gang.planned ? 1 : 0;
      continue;
    }
    ++running;
    if (!gang.planned) continue;
    ++compared;
    better += gang.is_better_planned() ? 1 : 0;
    actual.Add(*gang.actual, gang.gpus);
    planned.Add(*gang.planned, gang.gpus);
  }
  const auto gangs = [&](const char* state, int count) {
    registry
        .GetGauge("yardmaster_observe_gangs",
                  "gangs by what is seen of them; a gang may be in several states",
                  {{"state", state}})
        .Set(count);
  };
  gangs("running", running);
  gangs("compared", compared);
  gangs("betterPlanned", better);
  gangs("waiting", waiting);
  gangs("wouldFit", would_fit);
  gangs("guessed", guessed);
  ReportSums("actual", actual, registry);
  ReportSums("planned", planned, registry);
  const auto ranks = [&](const char* state, int count) {
    registry
        .GetGauge("yardmaster_observe_lost_ranks",
                  "ranks of running gangs whose host is lost, and those that would get another",
                  {{"state", state}})
        .Set(count);
  };
  ranks("lost", lost);
  ranks("replaceable", replaceable);
}

}  // namespace yardmaster::extender
