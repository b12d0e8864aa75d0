#include "test/chaos/chaos_process.h"

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/kube/object.h"
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
extender::GangPlanner::Options PlannerOptions() {
  extender::GangPlanner::Options options;
  options.release_threads = 1;
  options.eviction_threads = 1;
  options.taints.threads = 1;
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

void Timeline::Record() {
  std::map<state::Kind, Objects> frame;
  for (state::Kind kind : kKinds) {
    const Objects* before = frames_.empty() ? nullptr : &frames_.back().at(kind);
    for (nlohmann::json& object : server_.All(state::ResourceOf(kind))) {
      const std::string key = kube::KeyOf(object);
      if (before != nullptr) {
        const auto known = before->find(key);
        if (known != before->end() &&
            kube::ResourceVersionOf(*known->second) == kube::ResourceVersionOf(object)) {
          frame[kind][key] = known->second;
          continue;
        }
      }
      frame[kind][key] = std::make_shared<const nlohmann::json>(std::move(object));
    }
    frame[kind];
  }
  frames_.push_back(std::move(frame));
  versions_.push_back(server_.version());
}

Process::Process(kube::FakeClient& server, Network& network, const Timeline& timeline,
                 const FakeClock& clock, const std::string& lease, int life)
    : client_(server, network), lock_(client_, LeaseOf(lease, life), clock), timeline_(timeline) {
  for (state::Kind kind : kKinds) {
    known_[kind] = timeline_.last();
    for (const auto& [key, object] : timeline_.At(kind, timeline_.last())) {
      cache_.Deliver(kind, *object);
    }
    cache_.sink(kind).Advance(StrCat(timeline_.Version(timeline_.last())));
  }
}

void Process::Learn(Random& random, bool all) {
  if (client_.cut() && !all) return;
  for (state::Kind kind : kKinds) {
    const std::size_t behind = timeline_.last() - known_[kind];
    const std::size_t lag = all ? 0 : random.Below(2) == 0 ? 0 : random.Below(behind + 1);
    LearnKind(kind, timeline_.last() - std::min(lag, behind));
  }
}

void Process::LearnKind(state::Kind kind, std::size_t frame) {
  const Timeline::Objects& before = timeline_.At(kind, known_[kind]);
  const Timeline::Objects& now = timeline_.At(kind, frame);
  for (const auto& [key, object] : before) {
    const auto at = now.find(key);
    if (at == now.end() || kube::UidOf(*at->second) != kube::UidOf(*object)) {
      nlohmann::json gone = *object;
      gone["metadata"]["resourceVersion"] = StrCat(timeline_.Version(frame));
      cache_.Remove(kind, gone);
    }
  }
  for (const auto& [key, object] : now) {
    const auto at = before.find(key);
    if (at == before.end() || at->second != object) cache_.Deliver(kind, *object);
  }
  cache_.sink(kind).Advance(StrCat(timeline_.Version(frame)));
  known_[kind] = frame;
}

ExtenderProcess::ExtenderProcess(kube::FakeClient& server, Network& network,
                                 const Timeline& timeline, const FakeClock& clock, int life)
    : Process(server, network, timeline, clock, "extender", life),
      planner_(
          client_, cache_, clock,
          {[this] { return lock_.FencingToken(); },
           [this](std::int64_t token) { lock_.RequireTokenAbove(token); }},
          [](auto) {}, [](const extender::Notice&) {}, PlannerOptions()) {}

int ExtenderProcess::Work() { return static_cast<int>(planner_.Pass().errors.size()); }

OperatorProcess::OperatorProcess(kube::FakeClient& server, Network& network,
                                 const Timeline& timeline, const FakeClock& clock, int life)
    : Process(server, network, timeline, clock, "operator", life),
      network_plan_(client_, cache_, clock, NetworkOptions()) {}

int OperatorProcess::Work() {
  if (leads()) return static_cast<int>(network_plan_.Round().errors.size());
  network_plan_.Forget();
  return 0;
}

}  // namespace yardmaster::chaos
