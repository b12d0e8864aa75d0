#include "pkg/operator/waiting/wait_controller.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "pkg/api/pod.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/api/suspended_wait.h"
#include "pkg/base/backoff.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/api_error.h"
#include "pkg/operator/gang_write.h"
#include "pkg/operator/jobs/place_request.h"
#include "pkg/operator/jobs/refusal_reason.h"
#include "pkg/operator/waiting/wait_request.h"
#include "pkg/operator/write_target.h"

namespace yardmaster::op {

namespace {

using nlohmann::json;

constexpr std::int64_t kChangedAgainMs = 50;  // what was written has changed meanwhile
constexpr BackoffLimits kPauses = {10'000, 600'000};
// Between looks at a job that admission or a quota refuses. They may change their mind at any time,
// and many such jobs must not take the API server's time.
constexpr BackoffLimits kRefusals = {30'000, 120'000};

// Nothing of it can be done while this process does not lead.
absl::Status NotLeading() { return absl::UnavailableError("this process does not lead any more"); }

bool TouchesHosts(WaitAction action) {
  return action == WaitAction::kResume || action == WaitAction::kSuspend ||
         action == WaitAction::kGiveBack;
}

std::int64_t CountOf(const PodSet& set) { return std::int64_t{1} * set.jobs * set.pods; }

}  // namespace

std::string WaitKey(const std::string& namespace_name, const std::string& kind,
                    const std::string& name) {
  return StrCat(namespace_name, "/", kind, "/", name);
}

std::optional<std::string> WaitKeyOf(const api::ObjectMeta& metadata, const api::Gang* gang) {
  if (gang != nullptr && gang->pods == api::GangPods::kFirst) return std::nullopt;
  for (const api::OwnerReference& owner : metadata.owners) {
    if (api::MayWaitSuspended(owner)) {
      return WaitKey(metadata.namespace_name, owner.kind, owner.name);
    }
  }
  return std::nullopt;
}

WaitController::WaitController(kube::Client& client, state::ClusterCache& cache, const Clock& clock,
                               std::function<void(const WaitNotice&)> notify, Options options)
    : client_(client),
      cache_(cache),
      clock_(clock),
      quotas_(client, clock),
      notify_(std::move(notify)),
      options_(std::move(options)) {}

void WaitController::Tell(const Look& look, bool warning, const std::string& reason,
                          const std::string& note) {
  TellOnce(look, warning, reason, note, StrCat(reason, ": ", note));
}

void WaitController::TellOnce(const Look& look, bool warning, const std::string& reason,
                              const std::string& note, const std::string& what) {
  if (reason.empty() || !look.job) return;
  std::string& told = known_[look.key].told;
  if (std::exchange(told, what) == what) return;
  const WaitingJob& job = *look.job;
  notify_({job.resource, job.namespace_name, job.name, job.uid, warning, reason, note});
}

void WaitController::Pause(const std::string& key) {
  Known& known = known_[key];
  known.pause_ms = NextDelayMs(known.pause_ms, kPauses);
  known.asks_from_ms = clock_.WallMs() + known.pause_ms;
}

absl::StatusOr<WaitController::GangPtr> WaitController::ReadGang(const std::string& ns,
                                                                 const std::string& name) {
  const auto object = client_.Get({kube::Gangs(), ns, name, ""});
  if (absl::IsNotFound(object.status())) return GangPtr();
  YM_RETURN_IF_ERROR(object.status());
  YM_ASSIGN_OR_RETURN(api::Gang gang, api::DecodeGang(*object, api::Decoding::kLenient));
  return std::make_shared<const api::Gang>(std::move(gang));
}

absl::StatusOr<WaitController::Look> WaitController::Read(const std::string& key) {
  const std::vector<std::string> parts = Split(key, '/');
  const auto resource = parts.size() == 3 ? ResourceOfWaitingKind(parts[1]) : std::nullopt;
  if (!resource) return absl::InternalError(StrCat(key, " names no job"));
  Look look;
  look.key = key;
  look.namespace_name = parts[0];
  look.gang_name = api::GangName(parts[1], parts[2]);
  look.gang = cache_.FindGang(StrCat(parts[0], "/", look.gang_name));
  if (!options_.enabled) return look;
  auto object = client_.Get({*resource, parts[0], parts[2], ""});
  if (absl::IsNotFound(object.status())) return look;
  YM_RETURN_IF_ERROR(object.status());
  look.object = *std::move(object);
  look.job = ReadWaitingJob(*resource, look.object);
  return look;
}

bool WaitController::PodsAreThere(const api::Gang& gang) const {
  const auto is_one = [&](const auto& pod) {
    if (pod->metadata.namespace_name != gang.metadata.namespace_name || pod->metadata.deleted_ms ||
        !api::WantsGang(*pod)) {
      return false;
    }
    const auto member = api::ResolveMembership(*pod);
    return member.ok() && *member && (*member)->gang_name == gang.metadata.name &&
           api::IsOfOwner(gang, (*member)->owner.uid, (*member)->root.uid);
  };
  const auto pods = cache_.Take().pods;
  return std::count_if(pods.begin(), pods.end(), is_one) >= gang.placed_workers();
}

absl::StatusOr<std::shared_ptr<const api::Pod>> WaitController::TryFirst(const WaitingJob& job,
                                                                         const PodSet& set) {
  YM_ASSIGN_OR_RETURN(
      const json made,
      client_.Create({kube::Pods(), job.namespace_name, "", ""}, set.first_pod,
                     kube::WriteOptions{.field_manager = kFieldManager, .dry_run = true}));
  YM_ASSIGN_OR_RETURN(api::Pod pod, api::DecodePod(made, api::Decoding::kLenient));
  return std::make_shared<const api::Pod>(std::move(pod));
}

std::optional<QuotaRefusal> WaitController::CheckRoom(
    const WaitingJob& job, const std::vector<PodSet>& sets,
    const std::vector<std::shared_ptr<const api::Pod>>& first) {
  // If quotas cannot be read, the API server checks them when the pods are created.
  const auto quotas = quotas_.Read(job.namespace_name);
  if (!quotas.ok()) return std::nullopt;
  std::vector<AlikePods> pods;
  for (std::size_t i = 0; i < sets.size(); ++i) pods.push_back({first[i], CountOf(sets[i])});
  return CheckQuotas(**quotas, pods);
}

absl::StatusOr<std::shared_ptr<const api::Gang>> WaitController::RequestOf(const Look& look,
                                                                           std::int64_t& again_ms) {
  const WaitingJob& job = *look.job;
  if (const auto known = known_.find(look.key);
      known != known_.end() && known->second.uid == job.uid &&
      known->second.generation == job.generation && known->second.request != nullptr) {
    return known->second.request;
  }
  const auto refuse = [&](const absl::Status& why) {
    Tell(look, /*warning=*/true, "WaitRefused", MessageOf(why));
    return std::shared_ptr<const api::Gang>();
  };
  const auto pause = [&] {
    std::int64_t& refused_ms = known_[look.key].refused_ms;
    again_ms = refused_ms = NextDelayMs(refused_ms, kRefusals);
  };
  const auto stall = [&](const absl::Status& why, std::int64_t pods) {
    pause();
    quotas_.Drop(job.namespace_name);
    const StallReason reason = RefusalReason(why, {pods, 0});
    // The numbers of a quota change with every look.
    TellOnce(look, /*warning=*/true, reason.reason, reason.message, reason.reason);
    return std::shared_ptr<const api::Gang>();
  };
  const auto sets = PodSetsOf(job, look.object);
  if (!sets.ok()) return refuse(sets.status());
  std::vector<std::shared_ptr<const api::Pod>> first;
  for (const PodSet& set : *sets) {
    auto pod = TryFirst(job, set);
    if (IsRefusal(pod.status())) return stall(pod.status(), CountOf(set));
    YM_RETURN_IF_ERROR(pod.status());
    first.push_back(*std::move(pod));
  }
  if (const auto full = CheckRoom(job, *sets, first)) return stall(full->status, full->count);
  auto request = WaitRequestOf(job, *sets, first);
  if (absl::IsInvalidArgument(request.status())) {
    pause();  // it may be admission that made the pods so
    return refuse(request.status());
  }
  YM_RETURN_IF_ERROR(request.status());
  Known& known = known_[look.key];
  known.refused_ms = 0;
  known.generation = job.generation;
  known.request = std::make_shared<const api::Gang>(*std::move(request));
  return known.request;
}

absl::StatusOr<WaitStep> WaitController::Decide(const Look& look) {
  WaitFacts facts;
  facts.job = look.job ? &*look.job : nullptr;
  facts.gang = look.gang.get();
  facts.enabled = options_.enabled;
  facts.now_ms = clock_.WallMs();
  if (const auto known = known_.find(look.key); known != known_.end()) {
    facts.asks_from_ms = known->second.asks_from_ms;
  }
  if (look.gang != nullptr && look.gang->pods != api::GangPods::kFirst &&
      PodsAreLate(*look.gang, facts.now_ms)) {
    facts.pods_are_there = PodsAreThere(*look.gang);
  }
  WaitStep step = NextWaitStep(facts);
  if (step.action != WaitAction::kResume) return step;
  std::int64_t again_ms = 0;
  YM_ASSIGN_OR_RETURN(const auto request, RequestOf(look, again_ms));
  facts.gang_is_current = request != nullptr && WithRequest(*look.gang, *request) == *look.gang;
  return NextWaitStep(facts);
}

absl::StatusOr<std::optional<api::Gang>> WaitController::WriteGang(const api::Gang& gang) {
  if (options_.may_write && !options_.may_write()) return NotLeading();
  return op::WriteGang(client_, cache_, gang);
}

absl::StatusOr<bool> WaitController::PatchJob(const WaitingJob& job, std::optional<bool> suspend,
                                              const json& resumed) {
  if (options_.may_write && !options_.may_write()) return NotLeading();
  json patch = {{"metadata",
                 {{"uid", job.uid},
                  {"resourceVersion", job.resource_version},
                  {"annotations", {{api::kResumedAnnotation, resumed}}}}}};
  if (suspend) patch["spec"]["suspend"] = *suspend;
  const absl::Status patched = client_
                                   .Patch({job.resource, job.namespace_name, job.name, ""},
                                          kube::MergePatch(patch), {kFieldManager})
                                   .status();
  if (absl::IsAborted(patched) || kube::IsGone(patched)) return false;
  YM_RETURN_IF_ERROR(patched);
  return true;
}

absl::StatusOr<bool> WaitController::WritePods(const Look& look, api::GangPods pods) {
  api::Gang next = *look.gang;
  next.pods = pods;
  YM_ASSIGN_OR_RETURN(const auto stored, WriteGang(next));
  return stored.has_value();
}

WaitController::Again WaitController::Ask(const Look& look) {
  std::int64_t again_ms = 0;
  YM_ASSIGN_OR_RETURN(const auto request, RequestOf(look, again_ms));
  const auto again = again_ms > 0 ? std::optional(again_ms) : std::nullopt;
  if (request == nullptr) {
    const bool asks = look.gang != nullptr && look.gang->pods == api::GangPods::kFollow;
    if (asks) YM_RETURN_IF_ERROR(WritePods(look, api::GangPods::kRefused).status());
    return again;
  }
  const api::Gang next = look.gang == nullptr ? *request : WithRequest(*look.gang, *request);
  if (look.gang != nullptr && next == *look.gang) return again;
  YM_ASSIGN_OR_RETURN(const auto stored, WriteGang(next));
  if (!stored) return std::optional(kChangedAgainMs);
  if (stored->pods != api::GangPods::kFollow) {
    Tell(look, /*warning=*/true, "WaitRefused",
         "the CustomResourceDefinition of Gangs is of an older version; apply that of this one");
  }
  return again;
}

WaitController::Again WaitController::CarryOut(const Look& look, const WaitStep& step) {
  bool done = true;
  switch (step.action) {
    case WaitAction::kNone:
      break;
    case WaitAction::kAsk:
      return Ask(look);
    case WaitAction::kPodsFirst: {
      YM_ASSIGN_OR_RETURN(done, WritePods(look, api::GangPods::kFirst));
      known_.erase(look.key);
      break;
    }
    case WaitAction::kGiveBack: {
      YM_ASSIGN_OR_RETURN(done, WritePods(look, api::GangPods::kRefused));
      break;
    }
    case WaitAction::kResume: {
      const auto patched = PatchJob(*look.job, false, look.gang->metadata.uid);
      if (IsRefusal(patched.status())) {
        Pause(look.key);
        Tell(look, /*warning=*/true, "WaitRefused",
             StrCat("it has hosts and cannot be resumed: ", MessageOf(patched.status())));
        YM_RETURN_IF_ERROR(WritePods(look, api::GangPods::kRefused).status());
        return std::optional(known_[look.key].pause_ms);
      }
      YM_ASSIGN_OR_RETURN(done, patched);
      break;
    }
    case WaitAction::kSuspend: {
      YM_ASSIGN_OR_RETURN(done, PatchJob(*look.job, true, nullptr));
      break;
    }
    case WaitAction::kForget: {
      YM_ASSIGN_OR_RETURN(done, PatchJob(*look.job, std::nullopt, nullptr));
      break;
    }
  }
  if (!done) return std::optional(kChangedAgainMs);
  if (step.failed) Pause(look.key);
  Tell(look, step.warning, step.reason, step.note);
  // The watches report what was written.
  return step.again_ms > 0 ? std::optional(step.again_ms) : std::nullopt;
}

WaitController::Again WaitController::Reconcile(const std::string& key) {
  YM_ASSIGN_OR_RETURN(Look look, Read(key));
  if (look.job) {
    // The state of a deleted job does not apply to another job of the same name.
    const auto known = known_.find(key);
    if (known != known_.end() && !known->second.uid.empty() && known->second.uid != look.job->uid) {
      known_.erase(known);
    }
    known_[key].uid = look.job->uid;
  }
  YM_ASSIGN_OR_RETURN(WaitStep step, Decide(look));
  // The watch may be behind.
  if (TouchesHosts(step.action)) {
    YM_ASSIGN_OR_RETURN(look.gang, ReadGang(look.namespace_name, look.gang_name));
    YM_ASSIGN_OR_RETURN(step, Decide(look));
  }
  if (!look.job && look.gang == nullptr) {
    known_.erase(key);
    return std::optional<std::int64_t>();
  }
  return CarryOut(look, step);
}

}  // namespace yardmaster::op
