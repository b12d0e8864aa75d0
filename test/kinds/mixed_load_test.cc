// Jobs, JobSets and TrainingJobs, in a queue and beside it, while pods, hosts, controllers and our
// own programs fail at random.
//
// YARDMASTER_KINDS_SEED (1) draws what happens, YARDMASTER_KINDS_STEPS (20) says how much of it.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <thread>

#include "test/kinds/kinds_fixture.h"

namespace yardmaster::testing {
namespace {

constexpr std::size_t kLostHosts = 2;  // at once; more would be taken for a fault of the sensor
constexpr int kPauseMs = 1500;         // at most, between two steps

struct LoadJob {
  std::string kind;
  json object;
  std::size_t size = 0;
  bool queued = false;
  int failures_left = 0;  // Jobs wait ever longer after each
};

int Number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoi(text);
}

class MixedLoadTest : public RealKindsTest {
 protected:
  void MakeJobs() {
    const auto add = [&](const std::string& name, LoadJob job) {
      Create(job.object);
      jobs_.emplace(name, std::move(job));
    };
    add("job0", {"job", Queued(IndexedJob("job0", 3)), 3, true, 1});
    add("job1", {"job", Queued(IndexedJob("job1", 4), "high"), 4, true, 1});
    add("set0", {"jobset", Queued(TwoJobs("set0", 2)), 4, true, 100});
    add("set1", {"jobset", Queued(TwoJobs("set1", 2), "high"), 4, true, 100});
    add("train", {"trainingjob", Queued(OurJob("train", 3)), 3, true, 0});
    add("free", {"jobset", TwoJobs("free", 2), 4, false, 100});
    add("ours", {"trainingjob", OurJob("ours", 3), 3, false, 0});
  }

  // One of them, drawn.
  template <class Values>
  const auto& Any(const Values& values) {
    return *std::next(values.begin(), static_cast<std::ptrdiff_t>(random_() % values.size()));
  }

  void FailSomePod() {
    auto& [name, job] =
        *std::next(jobs_.begin(), static_cast<std::ptrdiff_t>(random_() % jobs_.size()));
    const std::vector<json> pods = LivePods(name);
    if (pods.empty() || job.failures_left == 0) return;
    --job.failures_left;
    Try({"label", "pod", "-n", "team", Any(pods)["metadata"]["name"],
         "pod-failed.stage.kwok.x-k8s.io=true"});
  }
  void DeleteSomePod() {
    const std::vector<json> pods = LivePods(Any(jobs_).first);
    if (!pods.empty())
      Try({"delete", "pod", "-n", "team", "--wait=false", Any(pods)["metadata"]["name"]});
  }
  void LoseOrReturnAHost() {
    if (lost_.size() == kLostHosts) {
      SetReady(lost_.front(), true);
      lost_.pop_front();
      return;
    }
    const std::set<std::string> hosts = RunsOn(Any(jobs_).first);
    if (hosts.empty()) return;
    lost_.push_back(Any(hosts));
    SetReady(lost_.back(), false);
  }
  // Only jobs that Kueue does not suspend by itself.
  void SuspendOrResume() {
    const std::string name = random_() % 2 == 0 ? "free" : "ours";
    const bool suspend = suspended_.erase(name) == 0;
    if (suspend) suspended_.insert(name);
    Patch(jobs_.at(name).kind, name, {{"spec", {{"suspend", suspend}}}});
  }
  void EvictOrReadmit() {
    const std::string& name = Any(jobs_).first;
    const json workload = WorkloadOf(name);
    if (!workload.is_object()) return;
    const bool active = workload.value("/spec/active"_json_pointer, true);
    Try({"patch", "workloads.kueue.x-k8s.io", workload["metadata"]["name"], "-n", "team",
         "--type=merge", "-p", json({{"spec", {{"active", !active}}}}).dump()});
  }
  void MakeAgain() {
    const auto& [name, job] = Any(jobs_);
    suspended_.erase(name);
    Try({"delete", job.kind, name, "-n", "team", "--wait=false"});
    Create(job.object);
  }
  void KillAProgram() {
    if (kills_left_-- <= 0) return;
    const std::string which = random_() % 2 == 0 ? "extender" : "operator";
    // There is none at the moment where one was just killed.
    if (cluster_->SignalLeader(which, SIGKILL).ok()) {
      ASSERT_TRUE(which == "extender" ? cluster_->StartExtender().ok()
                                      : cluster_->StartOperator().ok());
    }
    const absl::Status restarted = Any(controllers_)->Restart();
    ASSERT_TRUE(restarted.ok()) << restarted;
  }

  void Step() {
    static const std::map<std::string, std::function<void(MixedLoadTest&)>> kActions = {
        {"a pod fails", &MixedLoadTest::FailSomePod},
        {"a pod is deleted", &MixedLoadTest::DeleteSomePod},
        {"a host is lost or returns", &MixedLoadTest::LoseOrReturnAHost},
        {"a job is suspended or resumed", &MixedLoadTest::SuspendOrResume},
        {"a job is evicted or readmitted", &MixedLoadTest::EvictOrReadmit},
        {"a job is made again", &MixedLoadTest::MakeAgain},
        {"programs are killed", &MixedLoadTest::KillAProgram}};
    const auto& [what, act] = Any(kActions);
    std::cout << "  " << what << std::endl;
    act(*this);
    ExpectPromisesKept();
    // The load's own pace: nothing is waited for.
    std::this_thread::sleep_for(std::chrono::milliseconds(random_() % kPauseMs));
  }

  void MakeWhole() {
    for (const std::string& host : lost_) SetReady(host, true);
    for (const std::string& name : suspended_)
      Patch(jobs_.at(name).kind, name, {{"spec", {{"suspend", false}}}});
    for (const json& workload : Items({"workloads.kueue.x-k8s.io", "-n", "team"})) {
      if (workload.value("/spec/active"_json_pointer, true)) continue;
      // One whose job is just being deleted may be gone.
      Try({"patch", "workloads.kueue.x-k8s.io", workload["metadata"]["name"], "-n", "team",
           "--type=merge", "-p", R"({"spec": {"active": true}})"});
    }
  }

  // Which of them runs first; empty when none does in time.
  std::string FirstToRun(const std::set<std::string>& names) {
    std::string first;
    WaitFor(kLongPatience, [&] {
      for (const std::string& name : names) {
        const std::size_t size = jobs_.at(name).size;
        if (LivePods(name).size() == size && RunsOn(name).size() == size) first = name;
      }
      return !first.empty();
    });
    return first;
  }

  static std::string Everything() {
    std::string out;
    for (const char* kind : {"gangs", "workloads.kueue.x-k8s.io", "pods"}) {
      out +=
          cluster_->plane().Kubectl({"get", kind, "-n", "team", "-o", "wide"}).value_or("") + "\n";
    }
    return out + cluster_->plane()
                     .Kubectl({"get", "events", "-n", "team", "--sort-by=.lastTimestamp"})
                     .value_or("");
  }

  // What was drawn may be gone meanwhile.
  static void Try(const std::vector<std::string>& arguments) {
    const auto done = cluster_->plane().Kubectl(arguments);
    if (!done.ok()) std::cout << "    " << done.status().message() << std::endl;
  }

  std::map<std::string, LoadJob> jobs_;
  std::deque<std::string> lost_;
  std::set<std::string> suspended_;
  int kills_left_ = 1;
  std::mt19937 random_{static_cast<unsigned>(Number("YARDMASTER_KINDS_SEED", 1))};
};

TEST_F(MixedLoadTest, EndsWithNothingStuck) {
  const int steps = Number("YARDMASTER_KINDS_STEPS", 20);
  kills_left_ = 1 + steps / 50;
  MakeJobs();
  for (int i = 0; i < steps && !HasFatalFailure(); ++i) Step();
  MakeWhole();
  for (const auto& [name, job] : jobs_) {
    if (job.queued) continue;
    EXPECT_TRUE(Runs(name, job.size)) << name << "\n" << Everything();
  }
  // The queue is for some of its jobs at a time: each that runs makes room for the next.
  std::set<std::string> waiting;
  for (const auto& [name, job] : jobs_) {
    if (job.queued) waiting.insert(name);
  }
  while (!waiting.empty()) {
    const std::string name = FirstToRun(waiting);
    ASSERT_NE(name, "") << Join(std::vector<std::string>(waiting.begin(), waiting.end()), ", ")
                        << " do not run\n"
                        << Everything();
    ExpectPromisesKept();
    DeleteWithoutWaiting(jobs_.at(name).kind, name);
    waiting.erase(name);
  }
  ExpectFinished();
}

}  // namespace
}  // namespace yardmaster::testing
