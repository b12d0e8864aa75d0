#include "pkg/agent/plans/applier.h"

#include <algorithm>
#include <utility>

#include "pkg/agent/plans/plan_file.h"
#include "pkg/base/backoff.h"
#include "pkg/base/run_once.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {

namespace {

constexpr BackoffLimits kRetries = {.first_ms = 1'000, .max_ms = 60'000};

}  // namespace

void Applier::Put(PodInput pod) {
  Entry& entry = entries_[pod.uid];
  if (entry.wanted == pod) return;
  entry.node = pod.node;
  entry.wanted = std::move(pod);
  entry.dirty = true;
  entry.retry_at_steady_ms = 0;
}

void Applier::Remove(const std::string& uid) {
  const auto at = entries_.find(uid);
  if (at == entries_.end() || !at->second.wanted.has_value()) return;
  at->second.wanted = std::nullopt;
  at->second.dirty = true;
  at->second.retry_at_steady_ms = 0;
}

void Applier::SetFabric(std::optional<FabricView> fabric) {
  if (fabric == fabric_) return;
  fabric_ = std::move(fabric);
  for (auto& [uid, entry] : entries_) entry.dirty = true;
}

absl::Status Applier::AdoptFiles() {
  YM_ASSIGN_OR_RETURN(const std::vector<PlanFileId> files, sink_.List());
  for (const PlanFileId& file : files) {
    const auto [at, unknown] = entries_.try_emplace(file.pod_uid);
    if (unknown) at->second.node = file.node;
  }
  return absl::OkStatus();
}

std::vector<PodNotice> Applier::Step(Now now) {
  std::vector<PodNotice> notices;
  for (auto it = entries_.begin(); it != entries_.end();) {
    Entry& entry = it->second;
    const std::int64_t until = entry.plan.paths.expires_ms;
    if (entry.wanted && until > 0 && until <= now.wall_ms) entry.dirty = true;
    if (entry.dirty && entry.retry_at_steady_ms <= now.steady_ms) {
      Apply(it->first, entry, now, notices);
    }
    const bool gone = !entry.wanted && !entry.dirty;
    it = gone ? entries_.erase(it) : std::next(it);
  }
  return notices;
}

void Applier::Apply(const std::string& uid, Entry& entry, Now now,
                    std::vector<PodNotice>& notices) {
  const PlanFileId id{entry.node, uid};
  if (!entry.wanted.has_value()) {
    Record(entry, Contain([&] { return sink_.Remove(id); }), now);
    return;
  }
  Record(entry, Contain([&] { return Write(id, entry, now); }), now);
  Report(entry, notices);
}

absl::Status Applier::Write(const PlanFileId& id, Entry& entry, Now now) {
  entry.plan = Evaluate(*entry.wanted, fabric_, now.wall_ms);
  std::string text = EncodePlanFile(*entry.wanted, entry.plan);
  if (text == entry.on_disk) return absl::OkStatus();
  entry.on_disk.clear();  // after a failure the file may say the old or the new text
  YM_RETURN_IF_ERROR(sink_.Write(id, text));
  entry.on_disk = std::move(text);
  ++writes_;
  return absl::OkStatus();
}

void Applier::Record(Entry& entry, const absl::Status& status, Now now) {
  entry.dirty = !status.ok();
  entry.error = MessageOf(status);
  if (status.ok()) {
    entry.retry_ms = 0;
    entry.retry_at_steady_ms = 0;
    return;
  }
  ++failures_;
  entry.retry_ms = NextDelayMs(entry.retry_ms, kRetries);
  entry.retry_at_steady_ms = now.steady_ms + entry.retry_ms;
}

void Applier::Report(Entry& entry, std::vector<PodNotice>& notices) const {
  NoticeKind kind = NoticeKind::kSynced;
  std::string message;
  if (entry.dirty) {
    kind = NoticeKind::kWriteFailed;
    message = StrCat("the plan file cannot be written: ", entry.error);
  } else if (entry.plan.state == rpc::PlanState::kStale) {
    kind = NoticeKind::kStale;
    message = StrCat(entry.plan.problem, "; the network's default behaviour applies");
  } else if (entry.plan.state == rpc::PlanState::kInvalid) {
    kind = NoticeKind::kInvalid;
    message = StrCat(entry.plan.problem, "; the network's default behaviour applies");
  }
  const bool problem = kind != NoticeKind::kSynced;
  if (!problem && !entry.reported_problem) return;
  if (problem && entry.reported_problem && message == entry.reported) return;
  if (!problem) message = "the network plan is in force again";
  entry.reported_problem = problem;
  entry.reported = message;
  notices.push_back({kind, *entry.wanted, message});
}

std::optional<std::int64_t> Applier::DueInMs(Now now) const {
  std::optional<std::int64_t> due;
  const auto consider = [&](std::int64_t in_ms) {
    due = std::min(due.value_or(in_ms), in_ms);
    due = std::max<std::int64_t>(*due, 0);
  };
  for (const auto& [uid, entry] : entries_) {
    if (entry.dirty) {
      consider(entry.retry_at_steady_ms - now.steady_ms);
    } else if (entry.plan.paths.expires_ms > 0) {
      consider(entry.plan.paths.expires_ms - now.wall_ms);
    }
  }
  return due;
}

std::vector<rpc::PodPlanStatus> Applier::Status() const {
  std::vector<rpc::PodPlanStatus> pods;
  for (const auto& [uid, entry] : entries_) {
    if (!entry.wanted.has_value()) continue;
    rpc::PodPlanStatus pod;
    pod.pod_namespace = entry.wanted->ns;
    pod.pod_name = entry.wanted->name;
    pod.pod_uid = uid;
    pod.node = entry.node;
    if (entry.plan.slot.has_value()) {
      pod.gang = entry.plan.slot->gang;
      pod.rank = entry.plan.slot->rank;
    }
    pod.level = entry.plan.level;
    pod.traffic_class = entry.plan.paths.traffic_class.value_or(0);
    pod.peers = entry.plan.peers();
    pod.plan_file = sink_.PathOf({entry.node, uid});
    pod.state = entry.dirty ? rpc::PlanState::kSyncing : entry.plan.state;
    pod.last_error = entry.dirty ? entry.error : entry.plan.problem;
    pods.push_back(std::move(pod));
  }
  return pods;
}

}  // namespace yardmaster::agent
