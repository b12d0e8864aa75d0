#include "pkg/state/subject.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::state {

NamespacedName Subject::key() const {
  return {namespace_name, gang != nullptr ? gang->metadata.name : api::GangName(kind, name)};
}

std::vector<Subject> SubjectsOf(const ClusterState& cluster) {
  std::vector<Subject> out;
  std::set<NamespacedName> seen;
  for (const auto& gang : cluster.gangs) {
    Subject subject{gang->metadata.namespace_name, gang->owner.kind, gang->owner.name, nullptr,
                    gang.get()};
    if (subject.kind == api::kTrainingJobKind) {
      seen.insert({subject.namespace_name, subject.name});
      subject.job = cluster.jobs.Find({subject.namespace_name, subject.name}).get();
    }
    out.push_back(std::move(subject));
  }
  for (const auto& job : cluster.jobs) {
    if (seen.count(KeyOf(job->metadata)) != 0) continue;
    out.push_back({job->metadata.namespace_name, api::kTrainingJobKind, job->metadata.name,
                   job.get(), nullptr});
  }
  std::sort(out.begin(), out.end(), [](const Subject& a, const Subject& b) {
    return std::tie(a.namespace_name, a.name, a.kind) < std::tie(b.namespace_name, b.name, b.kind);
  });
  return out;
}

std::map<std::string, int> SegmentsOf(const api::Gang& gang) {
  std::map<std::string, int> out;
  for (const api::AssignmentEntry& entry : gang.status.assignments) {
    ++out[StrCat(entry.fabric_pod, "/", entry.segment)];
  }
  return out;
}

std::string StateOf(const Subject& subject) {
  if (subject.job != nullptr) {
    for (const char* type : {"Failed", "Succeeded", "Suspended", "Running"}) {
      if (api::IsTrue(subject.job->status.conditions, type)) return type;
    }
  }
  if (subject.gang == nullptr) return "Pending";
  if (api::IsTrue(subject.gang->status.conditions, kFinishedCondition)) return "Finished";
  if (subject.gang->status.committed()) {
    return subject.gang->placed_workers() == subject.gang->job.workers ? "Placed" : "Resizing";
  }
  if (subject.gang->status.outcome == placement::Outcome::kNever) return "Never";
  return "Waiting";
}

}  // namespace yardmaster::state
