// Random histories of an elastic TrainingJob, with the real job controller and the real extender
// over an API server in memory: it is scaled within its bounds and beyond, hosts come and go,
// workers fail and are removed, it is suspended and resumed, and the operator is killed at random
// writes. When the cluster is well again the job runs in full at the size that is wished for, after
// any history, and nothing is left of another size.
#include <map>
#include <memory>
#include <set>
#include <string>

#include "pkg/base/random.h"
#include "test/capacity/job_story_fixture.h"

namespace yardmaster {
namespace {

using nlohmann::json;

constexpr int kEvents = 50;

class ElasticHistoryTest : public JobStoryFixture, public ::testing::WithParamInterface<int> {
 protected:
  ElasticHistoryTest()
      : random_(static_cast<std::uint64_t>(GetParam())),
        operator_(std::make_unique<Operator>(*this)),
        extender_(*this, true) {}

  int Below(int bound) {
    return static_cast<int>(random_.Below(static_cast<std::uint64_t>(bound)));
  }
  void SeedElasticJob() {
    const bool joins = GetParam() % 2 == 0;
    SeedJob(
        {{"workers", 3},
         {"elastic",
          {{"minData", 2}, {"maxData", 4}, {"shrinkAfterSeconds", 30}, {"growAfterSeconds", 20}}},
         {"recovery",
          {{"onHostLoss", joins ? "Replace" : "Restart"},
           {"onWorkerFailure", joins ? "Replace" : "Restart"},
           {"maxRestarts", 10'000},
           {"backoffSeconds", 0},
           {"hostGraceSeconds", 10},
           {"inPlaceSeconds", 0}}}});
  }
  std::vector<json> Pods() { return client_.All(kube::Pods()); }

  void RunOperator(int writes = -1) {
    operator_->See();
    const bool kills = writes >= 0;
    if (kills) {
      client_.SetHook([&writes](const kube::Call& call) {
        const bool reads = call.verb == kube::Verb::kGet || call.verb == kube::Verb::kList;
        return !reads && writes-- <= 0 ? absl::CancelledError("killed") : absl::OkStatus();
      });
    }
    const auto done = operator_->jobs.Reconcile("team/a");
    client_.SetHook({});
    if (kills) {
      operator_ = std::make_unique<Operator>(*this);
    } else {
      ASSERT_TRUE(done.ok() || absl::IsAborted(done.status())) << done.status();
    }
  }
  // As kube-scheduler and kubelets would.
  void RunPods() {
    std::map<std::string, std::string> on;
    for (json pod : Pods()) {
      const std::string host = PinnedTo(pod);
      if (Gated(pod) || host.empty()) continue;
      const std::string name = pod["metadata"]["name"];
      EXPECT_TRUE(on.emplace(host, name).second) << name << " and " << on[host] << " on " << host;
      if (pod["status"]["phase"] != "Pending" || lost_.count(host) != 0) continue;
      pod["spec"]["nodeName"] = host;
      pod["status"]["phase"] = "Running";
      client_.Seed(kube::Pods(), pod);
    }
  }
  void Event() {
    const int segment = Below(2), host = Below(extender::kHostsPerSegment);
    const std::string name = NodeName(segment, host);
    const auto pods = Pods();
    switch (Below(12)) {
      case 0:
        return Change("workers", 1 + Below(6));
      case 1:
        if (lost_.size() >= 2) return;
        lost_.insert(name);
        return AddNode(segment, host, false);
      case 2:
        lost_.erase(name);
        return AddNode(segment, host, true);
      case 3: {
        if (pods.empty()) return;
        json pod = pods[static_cast<std::size_t>(Below(static_cast<int>(pods.size())))];
        if (pod["status"]["phase"] != "Running") return;
        pod["status"]["phase"] = "Failed";
        return client_.Seed(kube::Pods(), pod);
      }
      case 4:
        if (pods.empty()) return;
        return DeletePod(
            kube::NameOf(pods[static_cast<std::size_t>(Below(static_cast<int>(pods.size())))]));
      case 5:
        return Change("suspend", Below(3) == 0);
      case 6:
      case 7:
        return clock_.Advance(1'000 * (1 + Below(40)));
      case 8:
      case 9:
        extender_.Pass();
        return;
      default:
        return RunPods();
    }
  }
  bool IsDone(int workers) {
    const json elastic = Job().value("/status/elastic"_json_pointer, json::object());
    return Is("Running") == "True" && Is("Recovering") != "True" &&
           elastic.value("data", 0) == workers && elastic.value("previousData", 0) == 0 &&
           elastic.value("targetData", 0) == 0 &&
           Pods().size() == static_cast<std::size_t>(workers);
  }

  Random random_;
  std::unique_ptr<Operator> operator_;
  Process extender_;
  std::set<std::string> lost_;
};

TEST_P(ElasticHistoryTest, InTheEndTheJobRunsAtTheSizeThatIsWishedForAndNothingElseIsLeft) {
  SeedElasticJob();
  std::int64_t attempt = 0;
  for (int event = 0; event < kEvents; ++event) {
    Event();
    RunOperator(Below(4) == 0 ? Below(6) : -1);
    const json now = Job();
    const std::int64_t next = now.value("/status/recovery/attempt"_json_pointer, std::int64_t{0});
    ASSERT_GE(next, attempt) << "an attempt is never taken back";
    attempt = next;
    ASSERT_EQ(now.value("/status/restarts"_json_pointer, 0),
              now.value("/status/recovery/restartsInWindow"_json_pointer, 0))
        << "every restart is counted once";
  }
  for (int segment = 0; segment < 2; ++segment) {
    for (int host = 0; host < extender::kHostsPerSegment; ++host) AddNode(segment, host, true);
  }
  lost_.clear();
  const int workers = 2 + Below(3);
  Change("workers", workers);
  Change("suspend", false);
  for (int i = 0; i < 60 && !IsDone(workers); ++i) {
    for (int k = 0; k < 3; ++k) {
      RunOperator();
      extender_.Pass();
      RunPods();
    }
    clock_.Advance(10'000);
  }
  EXPECT_TRUE(IsDone(workers)) << workers << " " << Job().dump(1) << json(Pods()).dump(1)
                               << GangStatus("a").dump(1);
  EXPECT_EQ(Slots("a").size(), static_cast<std::size_t>(workers));
  EXPECT_NE(Is("Failed"), "True");
  EXPECT_NE(Is("Stalled"), "True");
  CheckPromises();
}

INSTANTIATE_TEST_SUITE_P(Seeds, ElasticHistoryTest, ::testing::Range(0, 60));

}  // namespace
}  // namespace yardmaster
