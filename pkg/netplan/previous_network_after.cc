#include "pkg/netplan/previous_network_after.h"

#include <set>
#include <vector>

namespace yardmaster::netplan {

namespace {

// Flows whose port is down now, or that were not planned for another reason, come back as they
// were.
void KeepAbsentFlows(const PreviousJob& before, const plan::Assignment& assignment,
                     PreviousJob& job) {
  const std::set<fabric::HostId> hosts(assignment.host_of_rank.begin(),
                                       assignment.host_of_rank.end());
  // Both ascend by key, and nearly every flow is planned again.
  auto at = job.flows.begin();
  for (const auto& [key, flow] : before.flows) {
    while (at != job.flows.end() && at->first < key) ++at;
    if (at != job.flows.end() && at->first == key) continue;
    if (hosts.count(key.from_host) != 0 && hosts.count(key.to_host) != 0) {
      at = job.flows.emplace_hint(at, key, flow);
    }
  }
}

}  // namespace

PreviousNetwork PreviousNetworkAfter(const NetworkPlan& plan, const plan::Snapshot& snapshot,
                                     const PreviousNetwork& before) {
  PreviousNetwork out;
  std::vector<PreviousJob*> of_job(snapshot.jobs.size(), nullptr);
  for (std::size_t j = 0; j < plan.jobs.size(); ++j) {
    if (!plan.jobs[j]) continue;
    PreviousJob& entry = out[snapshot.jobs[j].job.key];
    static_cast<JobNetwork&>(entry) = *plan.jobs[j];
    of_job[j] = &entry;
  }
  for (const std::vector<PathAssignment>* paths : {&plan.paths, &plan.ack_paths}) {
    for (const PathAssignment& path : *paths) {
      PreviousJob* job = of_job[path.job.index()];
      if (job == nullptr) continue;
      // There is nothing that it could keep.
      if (path.sprayed && !path.planned() && path.wanted_links.empty()) continue;
      // Mostly the last one by key.
      repac::FlowPath& flow = job->flows.insert_or_assign(job->flows.end(), path.key, path)->second;
      if (flow.links.empty()) flow.links = path.wanted_links;
    }
  }
  for (std::size_t j = 0; j < of_job.size(); ++j) {
    const plan::JobState& state = snapshot.jobs[j];
    if (of_job[j] == nullptr || !state.assignment) continue;
    const auto previous = before.find(state.job.key);
    if (previous != before.end()) KeepAbsentFlows(previous->second, *state.assignment, *of_job[j]);
  }
  return out;
}

}  // namespace yardmaster::netplan
