#include "pkg/extender/ledger/pass_metrics.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace yardmaster::extender {

namespace {

// Bounds in seconds for what a queue makes people wait: from one second to a week.
std::vector<double> QueueBuckets() {
  return {1, 2, 5, 10, 30, 60, 300, 900, 3'600, 14'400, 43'200, 86'400, 259'200, 604'800};
}

void ReportFreePlaces(const PassReport& report, metrics::Registry& registry) {
  static constexpr std::string_view kLevels[] = {"host", "domain", "segment", "fabricPod",
                                                 "fabric"};
  for (const FreePlaces& places : report.free_places) {
    const std::string level(kLevels[static_cast<std::size_t>(places.level)]);
    const auto set = [&](const char* name, const char* help, const std::string& hosts, int count) {
      registry.GetGauge(name, help, {{"level", level}, {"hosts", hosts}}).Set(count);
    };
    const auto set_places = [&](const std::string& hosts, int count) {
      set("yardmaster_extender_free_places", "places with at least so many free ordinary hosts",
          hosts, count);
    };
    for (std::size_t s = 0; s < kFreePlaceSizes.size(); ++s) {
      const std::string hosts = std::to_string(kFreePlaceSizes[s]);
      set_places(hosts, places.at_least[s]);
      set("yardmaster_extender_free_slots",
          "gangs of so many hosts, each inside one place, that fit beside each other", hosts,
          places.slots[s]);
    }
    set_places("all", places.whole);
  }
}

}  // namespace

std::string PassMetrics::LabelOf(int priority) {
  constexpr std::size_t kOwnSeries = 16;
  if (priorities_.size() < kOwnSeries) priorities_.insert(priority);
  return priorities_.count(priority) != 0 ? std::to_string(priority) : "other";
}

void PassMetrics::ReportDecision(const GangDecision& decision) {
  registry_
      .GetHistogram(
          "yardmaster_extender_decision_seconds",
          "time from joining the queue to a place, or to the first answer that there is none",
          QueueBuckets(), {{"outcome", std::string(placement::Name(decision.outcome))}})
      .Observe(decision.seconds);
  if (decision.outcome != placement::Outcome::kPlaced) return;
  registry_
      .GetHistogram("yardmaster_extender_queue_wait_seconds",
                    "time from joining the queue to a place, by priority", QueueBuckets(),
                    {{"priority", LabelOf(decision.priority)}})
      .Observe(decision.seconds);
}

void PassMetrics::Report(const PassReport& report, double seconds) {
  metrics::Registry& registry = registry_;
  const auto count = [&](const char* name, const char* help, int by) {
    registry.GetCounter(name, help).Increment(by);
  };
  registry
      .GetHistogram("yardmaster_extender_pass_seconds", "length of a planning pass",
                    metrics::LatencyBuckets())
      .Observe(seconds);
  count("yardmaster_extender_commits_total", "plans committed", report.committed);
  count("yardmaster_extender_replaced_ranks_total", "ranks moved off lost hosts",
        report.replaced_ranks);
  count("yardmaster_extender_released_pods_total", "pods pinned and ungated", report.released_pods);
  count("yardmaster_extender_adopted_gangs_total", "plans rebuilt from running pods",
        report.adopted);
  count("yardmaster_extender_preemptions_total", "decisions to stop gangs for another",
        report.preemptions);
  count("yardmaster_extender_preemptions_given_up_total", "such decisions that were given up",
        report.preemptions_given_up);
  count("yardmaster_extender_evicted_pods_total", "pods of stopped gangs evicted",
        report.evicted_pods);
  count("yardmaster_extender_fenced_gangs_total", "gangs given the token of a new hold",
        report.fenced);
  count("yardmaster_extender_revoked_gangs_total", "gangs that lost hosts that were promised twice",
        report.revoked);
  count("yardmaster_extender_refused_hosts_total",
        "released pods replaced because kube-scheduler refused their host", report.refused_hosts);
  count("yardmaster_extender_recalled_pods_total",
        "pods replaced because they were released under a plan that no longer holds",
        report.recalled_pods);
  count("yardmaster_extender_gate_timeouts_total", "gangs that waited for longer than their limit",
        report.gate_timeouts);
  count("yardmaster_extender_late_networks_total",
        "gangs released without the network plan that they waited for", report.late_networks);
  count("yardmaster_extender_given_back_total", "gangs whose hosts were given back",
        report.given_back);
  count("yardmaster_extender_node_patches_total", "taints of promised hosts written or removed",
        report.taint_changes);
  count("yardmaster_extender_write_errors_total", "writes to be made again",
        static_cast<int>(report.errors.size()));
  registry.GetGauge("yardmaster_extender_waiting_gangs", "gangs without a place")
      .Set(report.waiting);
  registry.GetGauge("yardmaster_extender_waiting_gpus", "GPUs that gangs without a place ask for")
      .Set(report.waiting_gpus);
  ReportFreePlaces(report, registry);
  registry
      .GetGauge("yardmaster_extender_oldest_gated_pod_seconds",
                "age of the pod that has been behind the gate for longest")
      .Set(report.oldest_gated_seconds);
  for (const GangDecision& decision : report.decisions) ReportDecision(decision);
  registry.GetGauge("yardmaster_extender_quarantined_gangs", "gangs left alone as they are broken")
      .Set(report.isolated);
  registry.GetGauge("yardmaster_extender_degraded_gangs", "placed gangs with lost hosts")
      .Set(report.degraded);
  registry
      .GetGauge("yardmaster_extender_tainted_hosts",
                "hosts that should carry the taint of promised ones")
      .Set(report.tainted_hosts);
  registry.GetGauge("yardmaster_extender_input_problems", "objects that cannot be used")
      .Set(static_cast<double>(report.problems.size()));
}

}  // namespace yardmaster::extender
