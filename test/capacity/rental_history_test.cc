// Random histories of a TrainingJob on rented hosts, with the real placement, job and capacity
// controllers over an API server in memory: prices change, hosts are taken back or vanish, people
// suspend the job and change its caps, the operator is killed at random writes, and what one asked
// for before it was paused is made much later. In the end the job runs on as many hosts as it
// needs, no other host is paid for, and none is once it has ended.
#include <deque>
#include <memory>
#include <string>

#include "pkg/api/checkpoint_mark.h"
#include "pkg/base/random.h"
#include "pkg/operator/testing/pool_controller.h"
#include "pkg/operator/testing/pool_manifest.h"
#include "test/capacity/job_story_fixture.h"

namespace yardmaster {
namespace {

using nlohmann::json;

constexpr int kEvents = 60;
constexpr int kWorkers = 4;

class RentalHistoryTest : public JobStoryFixture, public ::testing::WithParamInterface<int> {
 protected:
  RentalHistoryTest()
      : random_(static_cast<std::uint64_t>(GetParam())),
        operator_(std::make_unique<Operator>(*this)),
        pools_(client_),
        extender_(*this, true) {
    SeedFabric(6);
    for (int i = 0; i < 3; ++i) SetPool(i, 10 + i);
    SeedJob({{"workers", kWorkers},
             {"parallelism", {{"data", kWorkers}}},
             {"placement", {{"data", {{"within", "Segment"}, {"mode", "Required"}}}}},
             {"checkpoint", {{"request", "Annotation"}}},
             {"recovery", {{"maxRestarts", 10'000}, {"backoffSeconds", 0}, {"inPlaceSeconds", 0}}},
             {"capacity", {{"maxCostPerHour", "50 USD"}}}});
  }

  // Claims and requests by turns; a host more than the job needs.
  void SetPool(int i, int price) {
    client_.Seed(kube::CapacityPools(),
                 op::PoolManifest({.name = StrCat("p", i),
                                   .price = StrCat(price, ".00 USD"),
                                   .segment = StrCat("s", 2 + i),
                                   .max_hosts = kWorkers,
                                   .scaling = (GetParam() + i) % 2 == 0 ? op::ScaledByClaims()
                                                                        : op::ScaledByRequests()}));
  }
  int Below(int bound) {
    return static_cast<int>(random_.Below(static_cast<std::uint64_t>(bound)));
  }

  // `writes`: so many, then it is killed, or paused where it asks for a host; less than 0: all.
  void RunOperator(int writes = -1) {
    const bool kills = writes >= 0;
    if (kills) {
      client_.SetHook([this, &writes](const kube::Call& call) {
        const bool reads = call.verb == kube::Verb::kGet || call.verb == kube::Verb::kList;
        if (reads || writes-- > 0) return absl::OkStatus();
        if (writes == -1 && call.verb == kube::Verb::kCreate && AsksForHosts(call.target)) {
          paused_.push_back(call);
        }
        return absl::CancelledError("killed");
      });
    }
    operator_->See();
    const auto rented = operator_->capacity.Reconcile("team/a");
    operator_->See();
    const auto done = operator_->jobs.Reconcile("team/a");
    client_.SetHook({});
    if (kills) {
      operator_ = std::make_unique<Operator>(*this);
      return;
    }
    ASSERT_TRUE(rented.ok() || absl::IsAborted(rented.status())) << rented.status();
    ASSERT_TRUE(done.ok() || absl::IsAborted(done.status())) << done.status();
  }
  static bool AsksForHosts(const kube::Target& target) {
    return target.resource == kube::NodeClaims() || target.resource == kube::ProvisioningRequests();
  }
  // What a paused process asked for, late.
  void GoOn() {
    if (paused_.empty()) return;
    const kube::Call call = paused_.front();
    paused_.pop_front();
    if (client_.Create(call.target, call.body, {}).ok()) ++late_;
  }
  // Pods that are not where they were told to be, or whose Node is gone, are not run.
  void RunPods() {
    for (json pod : client_.All(kube::Pods())) {
      const std::string host = PinnedTo(pod);
      if (Gated(pod) || host.empty() || pod["status"]["phase"] != "Pending") continue;
      if (!client_.Find(kube::Nodes(), "", host)) continue;
      pod["spec"]["nodeName"] = host;
      pod["status"]["phase"] = "Running";
      client_.Seed(kube::Pods(), pod);
    }
    for (json pod : client_.All(kube::Pods())) {
      json& notes = pod["metadata"]["annotations"];
      if (!notes.contains(api::kCheckpointRequestAnnotation)) continue;
      notes[api::kCheckpointAnnotation] =
          api::EncodeCheckpointMark({clock_.WallMs() / 1000 * 1000, 20});
      client_.Seed(kube::Pods(), pod);
    }
  }
  void Vanish() {
    if (pools_.nodes().empty()) return;
    const std::string name = pools_.nodes().begin()->first;
    (void)client_.Delete({kube::Nodes(), "", name, ""}, {});
  }
  void Event() {
    switch (Below(14)) {
      case 0:
        return SetPool(Below(3), 8 + Below(8));
      case 1:
        return pools_.Reclaim("pool", StrCat("p", Below(3)));
      case 2:
        return Vanish();
      case 3:
        return Change("suspend", Below(3) == 0);
      case 4: {
        const json caps[] = {{{"maxCostPerHour", "50 USD"}},
                             {{"maxCostPerHour", "42 USD"}},
                             {{"maxCostPerHour", "60 USD"}, {"onPriceRise", "Wait"}},
                             {{"restartSeconds", 60}}};
        return Change("capacity", caps[Below(4)]);
      }
      case 5:
      case 6:
        return clock_.Advance(1'000 * (1 + Below(90)));
      case 7:
        return GoOn();
      case 8:
        operator_->See();
        return operator_->capacity.Sweep().IgnoreError();
      case 9:
      case 10:
        extender_.Pass();
        return;
      case 11:
      case 12:
        return pools_.Step();
      default:
        return RunPods();
    }
  }
  // Ten seconds of everything.
  void Pass() {
    for (int i = 0; i < 3; ++i) {
      RunOperator();
      extender_.Pass();
      RunPods();
    }
    operator_->See();
    ASSERT_TRUE(operator_->capacity.Sweep().ok());
    pools_.Step();
    clock_.Advance(10'000);
  }
  std::size_t Asked() {
    return client_.All(kube::NodeClaims()).size() +
           client_.All(kube::ProvisioningRequests()).size();
  }
  bool IsSettled() {
    return Is("Running") == "True" && Capacity().value("phase", "") == "Provisioned" &&
           pools_.nodes().size() == static_cast<std::size_t>(kWorkers);
  }

  Random random_;
  std::unique_ptr<Operator> operator_;
  op::PoolController pools_;
  Process extender_;
  std::deque<kube::Call> paused_;
  int late_ = 0;
};

TEST_P(RentalHistoryTest, InTheEndTheHostsThatArePaidForAreThoseThatTheJobUses) {
  double spent = 0;
  for (int event = 0; event < kEvents; ++event) {
    Event();
    RunOperator(Below(3) == 0 ? Below(8) : -1);
    const std::string now = Capacity().value("spent", "0.00 USD");
    ASSERT_GE(std::stod(now), spent) << "what was spent stays spent";
    spent = std::stod(now);
  }
  while (!paused_.empty()) GoOn();
  for (int i = 0; i < 3; ++i) SetPool(i, 10 + i);
  Change("capacity", {{"maxCostPerHour", "50 USD"}});
  Change("suspend", false);
  for (int i = 0; i < 150 && !IsSettled(); ++i) Pass();
  ASSERT_TRUE(IsSettled()) << Job().dump(1) << GangStatus("a").dump(1) << pools_.nodes().size();
  for (int i = 0; i < 15; ++i) Pass();
  EXPECT_TRUE(IsSettled()) << "it stays so";
  CheckPromises();
  for (json pod : client_.All(kube::Pods())) {
    pod["status"]["phase"] = "Succeeded";
    client_.Seed(kube::Pods(), pod);
  }
  for (int i = 0; i < 15; ++i) Pass();
  EXPECT_EQ(Is("Succeeded"), "True");
  EXPECT_EQ(Asked(), 0U);
  EXPECT_TRUE(pools_.nodes().empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RentalHistoryTest, ::testing::Range(0, 24));

}  // namespace
}  // namespace yardmaster
