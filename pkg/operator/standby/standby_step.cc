#include "pkg/operator/standby/standby_step.h"

#include <algorithm>
#include <utility>

#include "pkg/api/pod_requests.h"
#include "pkg/api/status_text.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

constexpr std::int64_t kFirstWaitMs = 60'000;
constexpr std::int64_t kLongestWaitMs = 3'600'000;
constexpr std::int64_t kLongPullMs = 600'000;

bool IsWanted(const StandbyView& view, const std::string& name) {
  return std::any_of(view.wanted.begin(), view.wanted.end(),
                     [&](const WantedStandby& one) { return one.pod == name; });
}

std::shared_ptr<const api::Pod> PodOf(const StandbyView& view, const std::string& name) {
  const auto found = std::find_if(view.pods.begin(), view.pods.end(),
                                  [&](const auto& pod) { return pod->metadata.name == name; });
  return found == view.pods.end() ? nullptr : *found;
}

// What it asks of its host beside a place among its pods; empty: nothing.
std::string AsksFor(const api::Pod& pod) {
  if (!pod.claims.empty()) return "resource claims";
  for (const workload::ResourceAmount& one : pod.requests) {
    if (one.name != api::kPodsResource) return one.name;
  }
  return "";
}

// Why the pod is of no use; empty: it is.
std::string FaultOf(const api::Pod& pod) {
  if (const std::string resource = AsksFor(pod); !resource.empty()) {
    return StrCat("an admission webhook made pod ", pod.metadata.name, " ask for ", resource,
                  ", which replacements need; exempt pods with the label ", api::kStandbyLabel);
  }
  if (pod.finished() && pod.exits.empty()) {
    return StrCat("pod ", pod.metadata.name, " ended before it had its images; its events say why");
  }
  if (api::HasCondition(pod.final_conditions, api::kDisruptionTarget)) {
    return StrCat("pod ", pod.metadata.name, " was evicted, and its images may have been removed");
  }
  return "";
}

// Every container is there in a pod that runs, and in one whose containers have ended.
api::Standby StatusOfPod(const WantedStandby& wanted, const api::Pod* pod, std::int64_t now_ms) {
  api::Standby out{api::StandbyState::kPulling, wanted.host, wanted.pod, ""};
  if (pod == nullptr || pod->metadata.deleted_ms) return out;
  if (pod->phase == "Running" || pod->finished()) {
    out.state = api::StandbyState::kReady;
  } else if (pod->unschedulable) {
    out.message = api::CutStatusText(StrCat("kube-scheduler: ", pod->unschedulable_message));
  } else if (pod->scheduled_ms > 0 && now_ms - pod->scheduled_ms > kLongPullMs) {
    out.message = "the images are not there after ten minutes; the events of the pod say why";
  }
  return out;
}

// Once the pod has been Ready for longer than the longest wait.
void ForgetRefusal(const std::string& pod, std::int64_t now_ms, StandbyMemory& memory) {
  const auto known = memory.refusals.find(pod);
  if (known == memory.refusals.end()) return;
  if (known->second.ready_ms == 0) known->second.ready_ms = now_ms;
  if (now_ms - known->second.ready_ms >= kLongestWaitMs) memory.refusals.erase(known);
}

}  // namespace

void NoteRefusal(const std::string& pod, std::string message, std::int64_t now_ms,
                 StandbyMemory& memory) {
  StandbyRefusal& refusal = memory.refusals[pod];
  const int doublings = std::min(refusal.times++, 6);
  refusal.until_ms = now_ms + std::min(kFirstWaitMs << doublings, kLongestWaitMs);
  refusal.message = std::move(message);
  refusal.ready_ms = 0;
}

StandbyStep NextStandbyStep(const StandbyView& view, StandbyMemory& memory) {
  StandbyStep step;
  std::vector<std::string> names;
  for (const WantedStandby& one : view.wanted) names.push_back(one.pod);
  if (names != memory.wanted) {
    memory.wanted = std::move(names);
    memory.since_ms = view.now_ms;
  }
  std::erase_if(memory.refusals, [&](const auto& known) { return !IsWanted(view, known.first); });
  const auto is_stray = [&](const std::shared_ptr<const api::Pod>& pod) {
    return !pod->metadata.deleted_ms && !IsWanted(view, pod->metadata.name);
  };
  const bool moves = std::any_of(view.pods.begin(), view.pods.end(), is_stray);
  if (moves && !view.ends && view.now_ms - memory.since_ms < kSettleMs) {
    step.stays = true;
    return step;
  }
  std::copy_if(view.pods.begin(), view.pods.end(), std::back_inserter(step.remove), is_stray);
  for (std::size_t i = 0; i < view.wanted.size(); ++i) {
    const WantedStandby& wanted = view.wanted[i];
    const std::shared_ptr<const api::Pod> pod = PodOf(view, wanted.pod);
    const auto waits = [&] {
      const auto known = memory.refusals.find(wanted.pod);
      return known != memory.refusals.end() && view.now_ms < known->second.until_ms;
    };
    if (pod != nullptr && !pod->metadata.deleted_ms) {
      if (std::string fault = FaultOf(*pod); !fault.empty()) {
        if (!waits()) NoteRefusal(wanted.pod, std::move(fault), view.now_ms, memory);
        step.remove.push_back(pod);
      }
    }
    if (waits()) {
      const StandbyRefusal& refusal = memory.refusals[wanted.pod];
      step.status.push_back(
          {api::StandbyState::kRefused, wanted.host, wanted.pod, refusal.message});
      continue;
    }
    if (pod == nullptr) step.create.push_back(i);
    step.status.push_back(StatusOfPod(wanted, pod.get(), view.now_ms));
    if (step.status.back().state == api::StandbyState::kReady) {
      ForgetRefusal(wanted.pod, view.now_ms, memory);
    }
  }
  if (!view.short_of.empty()) {
    step.status.push_back({api::StandbyState::kNoHost, "", "", view.short_of});
  }
  return step;
}

}  // namespace yardmaster::op
