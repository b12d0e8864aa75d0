#include "pkg/extender/ledger/ledger.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/base/mutex.h"
#include "pkg/base/parallel.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/kube/api_error.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::extender {

namespace {

using nlohmann::json;

const kube::WriteOptions kWrite{kFieldManager};

// The server has understood the call and declined it: nothing was written, and nothing will be.
bool IsRefusal(const absl::Status& status) {
  if (kube::WasReplayed(status)) return false;
  return absl::IsInvalidArgument(status) || absl::IsPermissionDenied(status) ||
         absl::IsUnauthenticated(status) || absl::IsNotFound(status) ||
         absl::IsFailedPrecondition(status) || kube::WasNeverSent(status);
}

kube::Target StatusOf(const NamespacedName& key) {
  return {kube::Gangs(), key.namespace_name, key.name, "status"};
}

std::int64_t TokenOf(const json& gang) {
  const json* token = kube::FindAt(gang, {"status", "fencingToken"});
  return token != nullptr && token->is_number_integer() ? token->get<std::int64_t>() : 0;
}

// Such a Gang holds nothing, and no write of ours makes it hold anything.
bool HasFinishedCondition(const json& gang) {
  const json* conditions = kube::FindAt(gang, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return false;
  return std::any_of(conditions->begin(), conditions->end(), [](const json& condition) {
    return kube::StringAt(condition, {"type"}) == state::kFinishedCondition &&
           kube::StringAt(condition, {"status"}) == "True";
  });
}

// What of a status promises hosts, or takes promises back.
bool SamePromises(const api::GangStatus& a, const api::GangStatus& b) {
  return a.plan_generation == b.plan_generation && a.assignments == b.assignments &&
         a.move == b.move && a.preemption == b.preemption && IsFinished(a) == IsFinished(b);
}

json MergePatchOf(const std::string& uid, const char* field, std::int64_t value) {
  return {{"metadata", {{"uid", uid}}}, {"status", {{field, value}}}};
}

}  // namespace

bool Ledger::BeginPass(PassReport& report) {
  pass_token_ = 0;
  const std::int64_t token = fence_.token();
  if (token == 0) return false;
  if (token != fenced_token_ && !TakeOver(token, report)) return false;
  pass_token_ = token;
  ResolveAll(report);
  return may_write();
}

bool Ledger::TakeOver(std::int64_t token, PassReport& report) {
  const auto gangs = kube::ListAll(client_, {kube::Gangs(), "", "", ""});
  if (!gangs.ok()) {
    report.errors.push_back(MessageOf(gangs.status()));
    return false;
  }
  for (const kube::ObjectPtr& gang : *gangs) cache_.Assume(state::Kind::kGang, *gang);
  if (RaiseToken(*gangs, token) || !FenceAll(*gangs, token, report)) return false;
  indeterminate_.clear();  // written under an earlier hold
  fenced_token_ = token;
  return true;
}

bool Ledger::RaiseToken(const std::vector<kube::ObjectPtr>& gangs, std::int64_t token) {
  std::int64_t highest = 0;
  for (const kube::ObjectPtr& gang : gangs) highest = std::max(highest, TokenOf(*gang));
  // Equal: our own, from a take-over that was cut short; or, if none has begun, of an earlier life.
  const bool in_use = std::exchange(begun_token_, token) != token && highest == token;
  if (highest <= token && !in_use) return false;
  fence_.require_above(highest);
  return true;
}

bool Ledger::FenceAll(const std::vector<kube::ObjectPtr>& gangs, std::int64_t token,
                      PassReport& report) {
  std::vector<kube::ObjectPtr> open;
  for (const kube::ObjectPtr& gang : gangs) {
    if (!HasFinishedCondition(*gang) && TokenOf(*gang) < token) open.push_back(gang);
  }
  Mutex mutex;
  bool all = true;
  ParallelFor(open.size(), options_.fence_threads, [&](std::size_t i) {
    std::string problem;
    const absl::Status fenced = fence_.token() == token
                                    ? FenceOne(*open[i], token, problem)
                                    : absl::CancelledError("the lease was lost");
    MutexLock lock(mutex);
    if (fenced.ok()) ++report.fenced;
    if (!problem.empty()) report.problems.push_back(std::move(problem));
    if (fenced.ok() || !std::exchange(all, false)) return;
    report.errors.push_back(MessageOf(fenced));  // one stands for all
  });
  return all;
}

absl::Status Ledger::FenceOne(const json& gang, std::int64_t token, std::string& problem) {
  const NamespacedName key{kube::NamespaceOf(gang), kube::NameOf(gang)};
  const auto fenced = fence_client_.Patch(
      StatusOf(key), kube::MergePatch(MergePatchOf(kube::UidOf(gang), "fencingToken", token)),
      kWrite);
  if (fenced.ok()) {
    cache_.Assume(state::Kind::kGang, *fenced);
    return absl::OkStatus();
  }
  if (kube::IsGone(fenced.status())) return absl::OkStatus();  // a new one holds nothing
  if (!IsRefusal(fenced.status()) || kube::WasNeverSent(fenced.status())) return fenced.status();
  YM_ASSIGN_OR_RETURN(const json now,
                      fence_client_.Get({kube::Gangs(), key.namespace_name, key.name, ""}));
  if (TokenOf(now) > token) {
    fence_.require_above(TokenOf(now));
    return absl::AbortedError("another leader has fenced the ledger");
  }
  // Who may not write it now could not write it before; the others must not wait for it.
  problem =
      StrCat("Gang ", key.text(), ": its status cannot be written: ", MessageOf(fenced.status()));
  return absl::OkStatus();
}

Ledger::Written Ledger::WriteSpec(const api::Gang& gang, bool is_new, PassReport& report) {
  const NamespacedName key = KeyOf(gang.metadata);
  const kube::Target target{kube::Gangs(), key.namespace_name, is_new ? "" : key.name, ""};
  const auto written = is_new ? client_.Create(target, api::EncodeGang(gang), kWrite)
                              : client_.Replace(target, api::EncodeGang(gang), kWrite);
  if (!written.ok()) {
    report.errors.push_back(MessageOf(written.status()));
    backoff_.NoteFailure(key, written.status());
    return {};
  }
  std::shared_ptr<const api::Gang> now = Assume(*written, report);
  return {now != nullptr, now};
}

Ledger::Written Ledger::WriteStatus(const api::Gang& base, const api::GangStatus& status,
                                    PassReport& report) {
  const NamespacedName key = KeyOf(base.metadata);
  auto attempted = std::make_shared<api::Gang>(base);
  attempted->status = status;
  attempted->status.fencing_token = pass_token_;
  std::shared_ptr<const api::Gang> next = std::move(attempted);
  auto written = client_.Replace(StatusOf(key), api::EncodeGang(*next), kWrite);
  if (absl::IsAborted(written.status()) && SamePromises(base.status, status)) {
    const auto newer = OnNewer(base, *next);
    if (newer != nullptr && may_write()) {
      next = newer;
      written = client_.Replace(StatusOf(key), api::EncodeGang(*next), kWrite);
    }
  }
  if (written.ok()) return {true, Assume(*written, report)};
  report.errors.push_back(MessageOf(written.status()));
  if (IsRefusal(written.status())) {
    backoff_.NoteFailure(key, written.status());
    return {};
  }
  const Written resolved = Resolve({absl::IsAborted(written.status()), next}, report);
  if (!resolved.is_done) backoff_.NoteFailure(key, written.status());
  return resolved;
}

std::shared_ptr<const api::Gang> Ledger::OnNewer(const api::Gang& base, const api::Gang& wanted) {
  const NamespacedName key = KeyOf(base.metadata);
  const auto object = client_.Get({kube::Gangs(), key.namespace_name, key.name, ""});
  if (!object.ok()) return nullptr;
  auto now = api::DecodeGang(*object, api::Decoding::kLenient);
  if (!now.ok()) return nullptr;
  auto status = WithOperatorsPart(base, wanted.status, *now);
  if (!status || *status == now->status) return nullptr;
  now->status = *std::move(status);
  return std::make_shared<const api::Gang>(*std::move(now));
}

Ledger::Written Ledger::Resolve(IndeterminateWrite write, PassReport& report) {
  const auto now = Resolve(write);
  if (now.ok()) {
    std::shared_ptr<const api::Gang> gang = Assume(*now, report);
    const bool holds = gang != nullptr && SamePromises(gang->status, write.attempted->status);
    return {holds, std::move(gang)};
  }
  if (IsRefusal(now.status()) || kube::IsGone(now.status())) return {};
  const NamespacedName key = KeyOf(write.attempted->metadata);
  report.errors.push_back(MessageOf(now.status()));
  backoff_.NoteFailure(key, now.status());
  indeterminate_.insert_or_assign(key, std::move(write));
  return {};
}

absl::StatusOr<json> Ledger::Resolve(const IndeterminateWrite& write) {
  if (!may_write()) return absl::UnavailableError("the lease was lost");
  const api::ObjectMeta& base = write.attempted->metadata;
  if (write.conflicted) return client_.Get({kube::Gangs(), base.namespace_name, base.name, ""});
  auto now =
      client_.Patch(StatusOf(KeyOf(base)),
                    kube::MergePatch(MergePatchOf(base.uid, "settledWrites",
                                                  write.attempted->status.settled_writes + 1)),
                    kWrite);
  if (now.ok() && TokenOf(*now) > pass_token_) fence_.require_above(TokenOf(*now));
  return now;
}

void Ledger::ResolveAll(PassReport& report) {
  for (auto at = indeterminate_.begin(); at != indeterminate_.end();) {
    if (backoff_.IsWaiting(at->first)) {
      ++at;
      continue;
    }
    const auto now = Resolve(at->second);
    if (now.ok()) {
      cache_.Assume(state::Kind::kGang, *now);
    } else if (!IsRefusal(now.status()) && !kube::IsGone(now.status())) {
      report.errors.push_back(MessageOf(now.status()));
      backoff_.NoteFailure(at->first, now.status());
      ++at;
      continue;
    }
    at = indeterminate_.erase(at);
  }
}

std::shared_ptr<const api::Gang> Ledger::Assume(const json& gang, PassReport& report) {
  cache_.Assume(state::Kind::kGang, gang);
  auto decoded = api::DecodeGang(gang, api::Decoding::kLenient);
  if (decoded.ok()) return std::make_shared<const api::Gang>(*std::move(decoded));
  report.errors.push_back(MessageOf(decoded.status()));
  return nullptr;
}

}  // namespace yardmaster::extender
