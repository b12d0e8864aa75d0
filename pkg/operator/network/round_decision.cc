#include "pkg/operator/network/round_decision.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/crux/intensity.h"
#include "pkg/repac/path_trust.h"
#include "pkg/workload/traffic.h"

namespace yardmaster::op {

namespace {

SocketJobs SocketJobsOf(const std::vector<GangNetwork>& networks, const plan::Snapshot& snapshot,
                        const PodsByGang& pods, std::vector<std::string>& problems) {
  SocketJobs jobs;
  for (const GangNetwork& network : networks) {
    const auto members = pods.find(snapshot.jobs[network.job.index()].job.key.text());
    if (members == pods.end()) continue;
    SocketJob asks = SocketJobOf(members->second, problems);
    if (!asks.listen_ports.empty()) jobs[network.job] = std::move(asks);
  }
  return jobs;
}

// Of the gang's ideal rate, by the iterations that were measured.
double MeasuredShare(const workload::Job& job, double communication_seconds,
                     double iteration_seconds) {
  crux::ContendingJob ideal;
  ideal.compute_seconds = workload::CompleteProfile(job).compute_seconds;
  ideal.communication_start = job.profile.communication_start;
  return std::min(1.0, crux::IterationSeconds(ideal, communication_seconds) / iteration_seconds);
}

void AddMeasured(const plan::Snapshot& snapshot, const std::vector<MeasuredJob>& measured,
                 std::vector<GangNetwork>& networks) {
  for (GangNetwork& network : networks) {
    const MeasuredJob& of_job = measured[network.job.index()];
    network.status.source = of_job.source;
    if (!of_job.iteration_seconds) continue;
    network.share = MeasuredShare(snapshot.jobs[network.job.index()].job,
                                  network.status.communication_seconds, *of_job.iteration_seconds);
  }
}

}  // namespace

netplan::NetworkInput PlanInputOf(const NetworkFacts& facts) {
  const Evidence& evidence = facts.health.evidence;
  netplan::NetworkInput input;
  input.avoid = facts.cables.avoid;
  input.avoid.insert(input.avoid.end(), evidence.avoid.begin(), evidence.avoid.end());
  input.lossy = facts.health.lossy.cables;
  input.exclude = evidence.exclude;
  input.mistrusted = repac::Mistrusted(evidence.roles);
  input.predict_shares = true;
  return input;
}

std::vector<std::string> ProblemsOf(const netplan::NetworkReport& report,
                                    const std::string& fabric) {
  std::vector<std::string> problems;
  if (!report.hashes_problem.empty()) {
    problems.push_back(StrCat("Fabric ", fabric, ": ", report.hashes_problem));
  }
  if (!report.problem.empty()) problems.push_back(report.problem);
  return problems;
}

void AddPlanHealth(const netplan::NetworkPlan& plan, NetworkHealth& health) {
  health.hashes_problem = plan.report.hashes_problem;
  if (!plan.report.problem.empty()) return;
  health.unplanned_flows = plan.report.unplanned_flows;
  const auto unplanned = std::find_if(plan.paths.begin(), plan.paths.end(),
                                      [](const auto& path) { return path.source_port == 0; });
  if (unplanned != plan.paths.end()) health.unplanned_reason = unplanned->reason;
}

std::vector<GangNetwork> GangNetworksOf(const netplan::NetworkPlan& plan,
                                        const plan::Snapshot& snapshot, const NetworkFacts& facts,
                                        const std::map<std::string, std::string>& mistrusted,
                                        const NetworkOptions& options,
                                        std::vector<std::string>& problems) {
  std::vector<GangNetwork> networks = NetworksOf(plan, snapshot, options);
  const SocketJobs sockets = SocketJobsOf(networks, snapshot, facts.pods, problems);
  std::vector<std::string> left_out = AddSocketPorts(plan, snapshot, sockets, mistrusted, networks);
  std::move(left_out.begin(), left_out.end(), std::back_inserter(problems));
  AddMeasured(snapshot, facts.measured, networks);
  return networks;
}

int MeasuredGangs(const std::vector<GangNetwork>& networks) {
  return static_cast<int>(
      std::count_if(networks.begin(), networks.end(), [](const GangNetwork& network) {
        return network.status.source != api::NetworkSource::kAnalytic;
      }));
}

std::vector<StarvationView> StarvationViewsOf(const std::vector<GangNetwork>& networks,
                                              const plan::Snapshot& snapshot) {
  std::vector<StarvationView> views;
  views.reserve(networks.size());
  for (const GangNetwork& network : networks) {
    views.push_back(
        {snapshot.jobs[network.job.index()].job.key, network.status.level, network.share});
  }
  return views;
}

void ApplyLifts(const StarvationVerdict& verdict, const plan::Snapshot& snapshot,
                std::vector<GangNetwork>& networks) {
  for (GangNetwork& network : networks) {
    const auto lifted = verdict.lifted.find(snapshot.jobs[network.job.index()].job.key);
    if (lifted != verdict.lifted.end()) network.status.level = lifted->second;
  }
}

std::vector<NetworkNotice> LiftNotices(const StarvationVerdict& verdict,
                                       const state::ObjectTable<api::Gang>& gangs,
                                       const crux::StarvationOptions& options) {
  std::vector<NetworkNotice> notices;
  const auto add = [&](const NamespacedName& job, bool begun, std::string note) {
    const auto gang = gangs.Find(job);
    if (gang == nullptr) return;
    notices.push_back({api::kGangKind, job.namespace_name, job.name, gang->metadata.uid, begun,
                       begun ? "NetworkStarved" : "NetworkLiftEnded", std::move(note)});
  };
  for (const NamespacedName& job : verdict.begun) {
    const auto lifted = verdict.lifted.find(job);
    if (lifted == verdict.lifted.end()) continue;
    add(job, true,
        StrCat("got too little of the network for ", options.patience_seconds, " s; at level ",
               lifted->second, " for ", options.lift_seconds, " s"));
  }
  for (const NamespacedName& job : verdict.ended) add(job, false, "back at its planned level");
  return notices;
}

}  // namespace yardmaster::op
