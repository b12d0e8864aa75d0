#include "pkg/plan/host_holders.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "pkg/base/strings.h"

namespace yardmaster::plan {

namespace {

using fabric::HostId;

constexpr std::size_t kMaxHolders = 4;  // that are named
constexpr std::size_t kMaxPods = 2;

const char* PhaseOf(const JobState& state) {
  if (!state.assignment) return "placed before it";
  if (state.leaving) return "being stopped";
  return state.released ? "running" : "starting";
}

std::string JobText(const JobState& state) {
  return StrCat(state.owner.empty() ? state.job.key.text() : state.owner, " (", PhaseOf(state),
                ", priority ", state.job.priority, ")");
}

// Pods of no placed job on the occupied hosts.
struct LoosePods {
  std::set<std::string> names;
  int lowest = INT32_MAX;
  int highest = INT32_MIN;

  void Add(const std::vector<OrdinaryPod>& pods) {
    for (const OrdinaryPod& pod : pods) {
      names.insert(pod.name);
      lowest = std::min(lowest, pod.priority);
      highest = std::max(highest, pod.priority);
    }
  }
  std::string text() const {
    std::vector<std::string> some;
    for (const std::string& name : names) {
      if (some.size() < kMaxPods) some.push_back(name);
    }
    const std::size_t more = names.size() - some.size();
    std::string list = Join(some, ", ");
    if (more > 0) list += StrCat(" and ", more, " more");
    return StrCat(Count(static_cast<std::int64_t>(names.size()), "ordinary pod"), " (",
                  lowest == highest ? StrCat("priority ", lowest)
                                    : StrCat("priorities ", lowest, " to ", highest),
                  ": ", list, "), which no gang stops");
  }
};

std::string HoldersText(std::vector<std::pair<std::int64_t, std::string>> parts) {
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  if (parts.size() > kMaxHolders) {
    const auto others = static_cast<std::int64_t>(parts.size() - kMaxHolders + 1);
    std::int64_t hosts = 0;
    while (parts.size() >= kMaxHolders) {
      hosts += parts.back().first;
      parts.pop_back();
    }
    parts.emplace_back(hosts, Count(others, "other holder"));
  }
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [count, who] = parts[i];
    if (i == 0) {
      text = StrCat(Count(count, "host"), " held by ", who);
    } else {
      text += StrCat(i + 1 == parts.size() ? " and " : ", ", count, " by ", who);
    }
  }
  return text;
}

const std::vector<OrdinaryPod>* PodsOn(const Snapshot& snapshot, HostId host) {
  return host.index() < snapshot.ordinary_pods.size() ? snapshot.ordinary_pods[host.index()].get()
                                                      : nullptr;
}

}  // namespace

HostHolders::HostHolders(const Snapshot& snapshot)
    : snapshot_(&snapshot), main_(snapshot.cluster.hosts.size()) {}

void HostHolders::Add(const HoldingJob& holding) {
  const workload::Job& job = snapshot_->jobs[holding.job.index()].job;
  std::map<HostId, std::int64_t> gpus;
  int rank = 0;
  for (const HostId host : *holding.host_of_rank) {
    if (host.valid()) gpus[host] += std::max(1, job.HostGpusOf(rank));
    ++rank;
  }
  for (const auto& [host, count] : gpus) {
    Share& share = main_[host.index()];
    if (count > share.gpus) share = {holding.job, count};
  }
}

std::string HostHolders::TextOf(const std::vector<HostId>& hosts) const {
  std::map<JobId, std::int64_t> of_job;
  LoosePods pods;
  std::int64_t of_pods = 0, of_others = 0;
  for (const HostId host : hosts) {
    const std::vector<OrdinaryPod>* loose = PodsOn(*snapshot_, host);
    std::int64_t gpus = 0;
    if (loose != nullptr) {
      for (const OrdinaryPod& pod : *loose) gpus += pod.gpus;
    }
    const Share& share = main_[host.index()];
    if (share.gpus > 0 && share.gpus >= gpus) {
      ++of_job[share.job];
    } else if (gpus > 0) {
      ++of_pods;
      pods.Add(*loose);
    } else {
      ++of_others;
    }
  }
  std::vector<std::pair<std::int64_t, std::string>> parts;
  for (const auto& [job, count] : of_job) {
    parts.emplace_back(count, JobText(snapshot_->jobs[job.index()]));
  }
  if (of_pods > 0) parts.emplace_back(of_pods, pods.text());
  if (of_others > 0) {
    parts.emplace_back(of_others, "pods or promises of gangs that are not planned now");
  }
  return HoldersText(std::move(parts));
}

void HostHolders::Name(placement::GangPlan& gang) const {
  if (gang.occupied.empty()) return;
  const std::vector<HostId> hosts = std::exchange(gang.occupied, {});
  for (placement::Reason& reason : gang.reasons) {
    if (reason.code == placement::ReasonCode::kHostsOccupied) reason.message = TextOf(hosts);
  }
}

std::vector<HoldingJob> HoldingJobs(const Snapshot& snapshot) {
  std::vector<HoldingJob> jobs;
  for (const JobId id : snapshot.job_ids()) {
    const JobState& state = snapshot.jobs[id.index()];
    if (state.assignment) jobs.push_back({id, &state.assignment->host_of_rank});
    if (state.next) jobs.push_back({id, &state.next->host_of_rank});
  }
  return jobs;
}

void NameHolders(const Snapshot& snapshot, const std::vector<HoldingJob>& jobs,
                 placement::GangPlan& gang) {
  if (gang.occupied.empty()) return;
  HostHolders holders(snapshot);
  for (const HoldingJob& job : jobs) holders.Add(job);
  holders.Name(gang);
}

}  // namespace yardmaster::plan
