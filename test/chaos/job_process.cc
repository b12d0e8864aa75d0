#include "test/chaos/job_process.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/kube/testing/relist.h"
#include "pkg/operator/hosts/node_observer.h"
#include "pkg/state/cluster_feed.h"

namespace yardmaster::chaos {

namespace {

constexpr state::Kind kKinds[] = {state::Kind::kNode, state::Kind::kPod, state::Kind::kTrainingJob,
                                  state::Kind::kGang};
constexpr std::int64_t kErrorPauseMs = 1'000;

// Quarantines end at times that job_history.cc knows.
op::HostMarker::Options MarkerOptions() {
  op::HostMarker::Options options;
  options.quarantine.max_ms = 3'600'000;
  return options;
}

}  // namespace

JobProcess::JobProcess(kube::FakeClient& server, Network& network, const FakeClock& clock,
                       const op::PlaceOptions& place)
    : server_(server),
      clock_(clock),
      client_(server, network),
      marker_(client_, cache_, MarkerOptions(), [](const op::HostNotice&) {}),
      controller_(
          client_, cache_, hosts_, marker_, clock, [](const op::JobNotice&) {}, nullptr,
          /*write_threads=*/1, place) {
  cache_.Listen(
      [this](state::Kind kind, const api::ObjectMeta& metadata, bool) { Enqueue(kind, metadata); });
  for (const state::Kind kind : kKinds) {
    known_[kind] = server_.version();
    kube::Relist(server_, state::ResourceOf(kind), cache_.sink(kind));
  }
}

// As the operator's main loop does (pkg/app/operator_app.cc).
void JobProcess::Enqueue(state::Kind kind, const api::ObjectMeta& metadata) {
  const std::string& ns = metadata.namespace_name;
  if (kind == state::Kind::kTrainingJob) AddAfter(kube::MakeKey(ns, metadata.name), 0);
  if (kind == state::Kind::kPod) {
    const std::string key = kube::MakeKey(ns, metadata.name);
    jobs_by_host_.Update(key, cache_.FindPod(key).get());
    const auto job = api::Find(metadata.labels, api::kJobLabel);
    if (job) AddAfter(kube::MakeKey(ns, std::string(*job)), 0);
  }
  if (kind == state::Kind::kGang) {
    for (const api::OwnerReference& owner : metadata.owners) {
      AddAfter(kube::MakeKey(ns, owner.name), 0);
    }
  }
  if (kind == state::Kind::kNode &&
      op::ObserveNode(cache_, fault_rules_, metadata.name, clock_.SteadyMs(), hosts_)) {
    for (const std::string& job : jobs_by_host_.On(metadata.name)) AddAfter(job, 0);
  }
}

void JobProcess::Learn() {
  for (const state::Kind kind : kKinds) {
    const std::int64_t version = server_.version();
    kube::ObjectSink& sink = cache_.sink(kind);
    for (const auto& change : server_.Changes(state::ResourceOf(kind), known_[kind], version)) {
      if (change.type == kube::WatchEventType::kDeleted) {
        sink.Remove(*change.after);
      } else {
        sink.Put(*change.after);
      }
    }
    sink.Advance(StrCat(version));
    known_[kind] = version;
  }
}

void JobProcess::AddAfter(const std::string& job, std::int64_t delay_ms) {
  const std::int64_t at_ms = clock_.SteadyMs() + delay_ms;
  const auto [known, fresh] = due_ms_.emplace(job, at_ms);
  if (!fresh) known->second = std::min(known->second, at_ms);
}

std::optional<std::string> JobProcess::TakeDue() {
  const auto first =
      std::min_element(due_ms_.begin(), due_ms_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (first == due_ms_.end() || first->second > clock_.SteadyMs()) return std::nullopt;
  std::string job = first->first;
  due_ms_.erase(first);
  return job;
}

void JobProcess::MarkHosts() {
  const bool due = marks_due_ms_ && *marks_due_ms_ <= clock_.SteadyMs();
  if (cache_.version() == marked_at_ && !due) return;
  marked_at_ = cache_.version();
  const op::HostMarker::Report report = marker_.RunOnce(clock_.WallMs());
  marks_due_ms_.reset();
  if (report.again_ms) marks_due_ms_ = clock_.SteadyMs() + *report.again_ms;
  if (!report.ok()) marks_due_ms_ = clock_.SteadyMs() + kErrorPauseMs;
}

void JobProcess::Work() {
  Learn();
  while (const auto job = TakeDue()) {
    const auto again = controller_.Reconcile(*job);
    if (client_.killed()) return;
    if (!again.ok()) {
      AddAfter(*job, kErrorPauseMs);
    } else if (*again) {
      AddAfter(*job, **again);
    }
    Learn();
  }
  MarkHosts();
}

std::optional<std::int64_t> JobProcess::next_due_ms() const {
  std::optional<std::int64_t> next = marks_due_ms_;
  for (const auto& [job, at_ms] : due_ms_) next = std::min(next.value_or(at_ms), at_ms);
  return next;
}

}  // namespace yardmaster::chaos
