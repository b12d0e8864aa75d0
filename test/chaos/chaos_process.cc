#include "test/chaos/chaos_process.h"

#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/kube/testing/relist.h"
#include "pkg/state/cluster_feed.h"

namespace yardmaster::chaos {

namespace {

constexpr state::Kind kKinds[] = {state::Kind::kFabric, state::Kind::kNode, state::Kind::kPod,
                                  state::Kind::kTrainingJob, state::Kind::kGang};

kube::LeaseOptions LeaseOf(const std::string& name, int life) {
  kube::LeaseOptions options;
  options.ns = "yardmaster-system";
  options.name = name;
  options.identity = StrCat(name, "-", life);
  return options;
}

// One thread everywhere, so that the order of calls is a function of the seed.
extender::ClusterPlanner::Options PlannerOptions() {
  extender::ClusterPlanner::Options options;
  options.release.threads = 1;
  options.release.network_wait_ms = 10'000;
  options.eviction_threads = 1;
  options.taints.threads = 1;
  options.await_limit_ms = 30'000;
  options.ledger.fence_threads = 1;
  return options;
}

op::NetworkController::Options NetworkOptions() {
  op::NetworkController::Options options;
  options.writes.threads = 1;
  options.crux_budget = 0;
  return options;
}

}  // namespace

Process::Process(kube::FakeClient& server, Network& network, const FakeClock& clock,
                 const std::string& lease, int life)
    : client_(server, network), lock_(client_, LeaseOf(lease, life), clock), server_(server) {
  for (state::Kind kind : kKinds) {
    known_[kind] = server_.version();
    kube::Relist(server_, state::ResourceOf(kind), cache_.sink(kind));
  }
}

void Process::Learn(Random& random, bool all) {
  if (client_.cut() && !all) return;
  for (state::Kind kind : kKinds) {
    const std::int64_t behind = server_.version() - known_[kind];
    const bool everything = all || random.Below(2) == 0;
    const auto more = static_cast<std::int64_t>(
        everything ? 0 : random.Below(static_cast<std::uint64_t>(behind) + 1));
    LearnKind(kind, known_[kind] + (everything ? behind : more));
  }
}

void Process::LearnKind(state::Kind kind, std::int64_t version) {
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

ExtenderProcess::ExtenderProcess(kube::FakeClient& server, Network& network, const FakeClock& clock,
                                 int life)
    : Process(server, network, clock, "extender", life),
      planner_(
          client_, cache_, clock,
          {[this] { return lock_.FencingToken(); },
           [this](std::int64_t token) { lock_.RequireTokenAbove(token); }},
          [this](auto view) { webhook_.Publish(std::move(view)); },
          [](const extender::ObjectNotice&) {}, PlannerOptions()) {}

bool ExtenderProcess::Filter(const nlohmann::json& pod, const std::string& node) const {
  const nlohmann::json args = {{"Pod", pod}, {"NodeNames", {node}}};
  const auto answer = webhook_.Filter(args.dump());
  if (!answer.ok()) return false;
  const nlohmann::json names =
      nlohmann::json::parse(*answer).value("NodeNames", nlohmann::json::array());
  return names.is_array() && !names.empty();
}

int ExtenderProcess::Work() { return static_cast<int>(planner_.RunOnce().errors.size()); }

OperatorProcess::OperatorProcess(kube::FakeClient& server, Network& network, const FakeClock& clock,
                                 int life)
    : Process(server, network, clock, "operator", life),
      network_plan_(client_, cache_, clock, NetworkOptions()) {}

int OperatorProcess::Work() {
  if (leads()) return static_cast<int>(network_plan_.RunOnce().failures.size());
  network_plan_.Forget();
  return 0;
}

}  // namespace yardmaster::chaos
