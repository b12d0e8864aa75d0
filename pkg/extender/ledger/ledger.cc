#include "pkg/extender/ledger/ledger.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/base/mutex.h"
#include "pkg/base/parallel.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/gang_backoff.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/kube/api_error.h"
#include "pkg/placement/worker_need.h"
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
bool SaysFinished(const json& gang) {
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
         a.preemption == b.preemption && IsFinished(a) == IsFinished(b);
}

json MergePatchOf(const std::string& uid, const char* field, std::int64_t value) {
  return {{"metadata", {{"uid", uid}}}, {"status", {{field, value}}}};
}

}  // namespace

bool Ledger::BeginPass(PassState& pass) {
  PassReport& report = pass.report;
  pass_token_ = 0;
  const std::int64_t token = fence_.token();
  if (token == 0) return false;
  if (token != fenced_token_ && !TakeOver(token, report)) return false;
  pass_token_ = token;
  SettleAll(pass);
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
  doubts_.clear();  // written under an earlier hold
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
    if (!SaysFinished(*gang) && TokenOf(*gang) < token) open.push_back(gang);
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

bool Ledger::MayWrite(const PassState& pass, const NamespacedName& gang) const {
  return may_write() && !InDoubt(gang) && pass.backing_off.count(gang) == 0 &&
         pass.quarantined.count(gang) == 0;
}

bool Ledger::WriteSpec(PassState& pass, const api::Gang& gang, GatheredGang pods) {
  const NamespacedName key = KeyOf(gang.metadata);
  if (!MayWrite(pass, key)) return false;
  const bool is_new = pass.gangs.count(key) == 0;
  const kube::Target target{kube::Gangs(), key.namespace_name, is_new ? "" : key.name, ""};
  const auto written = is_new ? client_.Create(target, api::EncodeGang(gang), kWrite)
                              : client_.Replace(target, api::EncodeGang(gang), kWrite);
  if (!written.ok()) {
    pass.report.errors.push_back(MessageOf(written.status()));
    NoteFailure(pass, key, written.status());
    return false;
  }
  if (!Keep(pass, *written)) return false;
  const api::Gang& kept = *pass.gangs.at(key);
  AssignRanks(kept.rank_bases, kept.job.workers, pods);
  pass.gathered[key] = std::make_shared<const GatheredGang>(std::move(pods));
  return true;
}

bool Ledger::Write(PassState& pass, const api::Gang& gang, const api::GangStatus& status) {
  const NamespacedName key = KeyOf(gang.metadata);
  if (!MayWrite(pass, key)) return false;
  api::Gang next = gang;
  next.status = status;
  next.status.fencing_token = pass_token_;
  auto written = client_.Replace(StatusOf(key), api::EncodeGang(next), kWrite);
  if (written.ok()) {
    Keep(pass, *written);
    return true;
  }
  pass.report.errors.push_back(MessageOf(written.status()));
  if (kube::IsDenied(written.status()) || kube::WasNeverSent(written.status())) {
    NoteFailure(pass, key, written.status());
  }
  if (IsRefusal(written.status())) return false;
  if (Resolve(pass, {absl::IsAborted(written.status()), std::move(next)})) return true;
  NoteFailure(pass, key, written.status());
  return false;
}

bool Ledger::Resolve(PassState& pass, const Doubt& doubt) {
  const auto now = Settle(doubt);
  if (now.ok()) {
    Keep(pass, *now);
    const auto decoded = api::DecodeGang(*now, api::Decoding::kLenient);
    return decoded.ok() && SamePromises(decoded->status, doubt.attempted.status);
  }
  if (IsRefusal(now.status()) || kube::IsGone(now.status())) return false;
  pass.report.errors.push_back(MessageOf(now.status()));
  NoteFailure(pass, KeyOf(doubt.attempted.metadata), now.status());
  doubts_.insert_or_assign(KeyOf(doubt.attempted.metadata), doubt);
  HoldHosts(doubt, pass);
  return false;
}

absl::StatusOr<json> Ledger::Settle(const Doubt& doubt) {
  if (!may_write()) return absl::UnavailableError("the lease was lost");
  const api::ObjectMeta& base = doubt.attempted.metadata;
  if (doubt.conflicted) return client_.Get({kube::Gangs(), base.namespace_name, base.name, ""});
  auto settled =
      client_.Patch(StatusOf(KeyOf(base)),
                    kube::MergePatch(MergePatchOf(base.uid, "settledWrites",
                                                  doubt.attempted.status.settled_writes + 1)),
                    kWrite);
  if (settled.ok() && TokenOf(*settled) > pass_token_) fence_.require_above(TokenOf(*settled));
  return settled;
}

void Ledger::SettleAll(PassState& pass) {
  for (auto at = doubts_.begin(); at != doubts_.end();) {
    if (pass.backing_off.count(at->first) != 0) {
      ++at;
      continue;
    }
    const auto now = Settle(at->second);
    if (now.ok()) {
      cache_.Assume(state::Kind::kGang, *now);
    } else if (!IsRefusal(now.status()) && !kube::IsGone(now.status())) {
      pass.report.errors.push_back(MessageOf(now.status()));
      NoteFailure(pass, at->first, now.status());
      ++at;
      continue;
    }
    at = doubts_.erase(at);
  }
}

std::set<std::string> Ledger::HostsInDoubt() const {
  std::set<std::string> hosts;
  for (const auto& [key, doubt] : doubts_) {
    for (const api::AssignmentEntry& slot : doubt.attempted.status.assignments) {
      hosts.insert(slot.host);
    }
  }
  return hosts;
}

void Ledger::HoldHostsInDoubt(PassState& pass) const {
  for (const auto& [key, doubt] : doubts_) HoldHosts(doubt, pass);
}

void Ledger::HoldHosts(const Doubt& doubt, PassState& pass) {
  if (pass.snapshot == nullptr) return;
  const auto known = pass.gangs.find(KeyOf(doubt.attempted.metadata));
  const auto holds = [&](const api::AssignmentEntry& slot) {
    if (known == pass.gangs.end() || !known->second->status.committed()) return false;
    const auto& slots = known->second->status.assignments;
    const auto rank = static_cast<std::size_t>(slot.rank);
    return rank < slots.size() && slots[rank].host == slot.host;
  };
  plan::Snapshot& snapshot = *pass.snapshot;
  const fabric::FabricSpec spec =
      snapshot.network != nullptr ? snapshot.network->spec() : fabric::FabricSpec{};
  workload::Job job;
  job.gpus_per_worker = doubt.attempted.job.gpus_per_worker;
  job.counts_gpus = doubt.attempted.job.gpu_resource == spec.gpu_resource;
  job.requests = doubt.attempted.requests;
  const placement::WorkerNeed need(snapshot.cluster, job);
  for (const api::AssignmentEntry& slot : doubt.attempted.status.assignments) {
    const fabric::HostId host = snapshot.places->FindHost(slot.host);
    if (host.valid() && !holds(slot)) need.Take(snapshot.cluster, host);
  }
}

bool Ledger::Keep(PassState& pass, const json& gang) {
  cache_.Assume(state::Kind::kGang, gang);
  auto decoded = api::DecodeGang(gang, api::Decoding::kLenient);
  if (!decoded.ok()) {
    pass.report.errors.push_back(MessageOf(decoded.status()));
    return false;
  }
  const NamespacedName key = KeyOf(decoded->metadata);
  pass.gangs[key] = std::make_shared<const api::Gang>(*std::move(decoded));
  return true;
}

}  // namespace yardmaster::extender
