#include "pkg/plan/alike_searches.h"

#include <algorithm>

namespace yardmaster::plan {

namespace {

template <typename T>
bool Same(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

bool MayUseTheSame(const JobState& a, const JobState& b) {
  return Same(a.eligible, b.eligible) && Same(a.preferred, b.preferred) &&
         Same(a.role_hosts, b.role_hosts);
}

workload::Job WithoutName(workload::Job job) {
  job.key = {};
  job.uid.clear();
  job.created_ms = 0;
  return job;
}

}  // namespace

AlikeSearches::AlikeSearches(const Snapshot& snapshot) : snapshot_(snapshot) {
  for (const placement::HostState& host : snapshot.cluster.hosts) {
    if (host.reserved_for >= 0) keep_hosts_.insert(host.reserved_for);
  }
}

const placement::GangPlan* AlikeSearches::Find(JobId job) const {
  if (searches_.empty() || keep_hosts_.count(job.value) != 0) return nullptr;
  const JobState& state = snapshot_.jobs[job.index()];
  const workload::Job nameless = WithoutName(state.job);
  const auto found = std::find_if(searches_.begin(), searches_.end(), [&](const Search& search) {
    return search.job == nameless && MayUseTheSame(snapshot_.jobs[search.of.index()], state);
  });
  return found == searches_.end() ? nullptr : &found->gang;
}

void AlikeSearches::Store(JobId job, const placement::GangPlan& gang) {
  if (keep_hosts_.count(job.value) != 0) return;
  searches_.push_front({job, WithoutName(snapshot_.jobs[job.index()].job), gang});
  if (searches_.size() > kMost) searches_.pop_back();
}

}  // namespace yardmaster::plan
