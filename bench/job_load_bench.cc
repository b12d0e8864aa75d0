// The operator's job workers over an API server in memory: how long a change waits for its
// reconcile, how many requests it costs, and how much memory it takes.
// Usage: job_load_bench [jobs=2000] [workers of each=25] [changes a second=200] [seconds=10]
// Phases: all jobs arrive together; every pod starts to run; pods of healthy jobs fail at a steady
// rate while the API server refuses or loses one write of twenty.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/base/work_queue.h"
#include "pkg/kube/testing/fake_client.h"
#include "pkg/operator/job_controller.h"
#include "pkg/operator/pod_builder.h"

namespace {

using namespace yardmaster;
using nlohmann::json;

constexpr int kJobWorkers = 4;  // as the operator's default

std::int64_t ResidentMiB() {
  std::ifstream in("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  in >> size >> resident;
  return resident * 4096 / (1024 * 1024);
}

// Delivers the result of a write to the caches immediately, as the watch would later.
class DeliveringClient final : public kube::Client {
 public:
  DeliveringClient(kube::FakeClient& server, state::ClusterCache& cache)
      : server_(server), cache_(cache) {}

  absl::StatusOr<json> Get(const kube::Target& target) override {
    ++requests;
    return server_.Get(target);
  }
  absl::StatusOr<kube::PageEnd> ReadPage(const kube::Target& target,
                                         const kube::ListOptions& options,
                                         const kube::OnObject& on_object) override {
    return server_.ReadPage(target, options, on_object);
  }
  absl::StatusOr<json> Create(const kube::Target& target, const json& object,
                              const kube::WriteOptions& options) override {
    ++requests;
    return Deliver(target, server_.Create(target, object, options));
  }
  absl::StatusOr<json> Replace(const kube::Target& target, const json& object,
                               const kube::WriteOptions& options) override {
    ++requests;
    return Deliver(target, server_.Replace(target, object, options));
  }
  absl::StatusOr<json> Patch(const kube::Target& target, const kube::PatchBody& patch,
                             const kube::WriteOptions& options) override {
    ++requests;
    return Deliver(target, server_.Patch(target, patch, options));
  }
  absl::Status Delete(const kube::Target& target, const kube::DeleteOptions& options) override {
    ++requests;
    absl::Status status = server_.Delete(target, options);
    if (status.ok() && target.resource == kube::Pods()) {
      cache_.Remove(state::Kind::kPod,
                    json{{"metadata", {{"name", target.name}, {"namespace", target.ns}}}});
    }
    return status;
  }
  absl::Status Watch(const kube::Target& target, const kube::WatchOptions& options,
                     std::stop_token stop,
                     const std::function<void(const kube::WatchEvent&)>& on_event) override {
    return server_.Watch(target, options, stop, on_event);
  }

  std::atomic<std::int64_t> requests = 0;

 private:
  absl::StatusOr<json> Deliver(const kube::Target& target, absl::StatusOr<json> object) {
    if (!object.ok()) return object;
    if (target.resource == kube::Pods()) cache_.Deliver(state::Kind::kPod, *object);
    if (target.resource == kube::TrainingJobs()) {
      cache_.Deliver(state::Kind::kTrainingJob, *object);
    }
    return object;
  }

  kube::FakeClient& server_;
  state::ClusterCache& cache_;
};

class Load {
 public:
  Load(int jobs, int workers)
      : jobs_(jobs),
        workers_(workers),
        server_(clock_),
        client_(server_, cache_),
        marker_(client_, cache_, {}, [](const op::HostNotice&) {}),
        controller_(client_, cache_, hosts_, marker_, clock_, [](const op::JobNotice&) {}),
        queue_(clock_) {
    cache_.Listen([this](state::Kind kind, const api::ObjectMeta& metadata, bool) {
      if (kind == state::Kind::kTrainingJob) Enqueue(metadata.name);
      if (kind == state::Kind::kPod) {
        if (const auto job = api::Find(metadata.labels, api::kJobLabel)) Enqueue(std::string(*job));
      }
    });
    for (int i = 0; i < kJobWorkers; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~Load() {
    queue_.ShutDown();
    threads_.clear();
  }

  void AddJobs() {
    for (int j = 0; j < jobs_; ++j) {
      const json job = {
          {"apiVersion", api::kGroupVersion},
          {"kind", "TrainingJob"},
          {"metadata", {{"name", JobName(j)}, {"namespace", "team"}, {"uid", StrCat("uid", j)}}},
          {"spec",
           {{"workers", workers_},
            {"recovery",
             {{"maxRestarts", 1'000'000}, {"backoffSeconds", 0}, {"inPlaceSeconds", 0}}},
            {"template",
             {{"spec", {{"containers", json::array({{{"name", "c"}, {"image", "i"}}})}}}}}}}};
      server_.Seed(kube::TrainingJobs(), job);
      cache_.Deliver(state::Kind::kTrainingJob,
                     *server_.Find(kube::TrainingJobs(), "team", JobName(j)));
    }
  }
  // Pods that wait start to run, each on a host of its own.
  int RunWaiting(int job) {
    int started = 0;
    for (int rank = 0; rank < workers_; ++rank) {
      auto pod = server_.Find(kube::Pods(), "team", op::PodName(JobName(job), rank));
      if (!pod || (*pod)["status"].value("phase", "") == "Running") continue;
      SetPhase(*pod, "Running", StrCat("n", job * workers_ + rank));
      ++started;
    }
    return started;
  }
  void Fail(int job) {
    if (auto pod = server_.Find(kube::Pods(), "team", op::PodName(JobName(job), 0))) {
      SetPhase(*pod, "Failed", (*pod)["spec"].value("nodeName", ""));
    }
  }
  // Until no key waits or is worked on. Seconds since `begin_ms`.
  double Drain(std::int64_t begin_ms) {
    while (queue_.Depth() > 0 || busy_ > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return static_cast<double>(clock_.SteadyMs() - begin_ms) / 1000;
  }
  void Print(const char* what, double seconds) {
    std::lock_guard lock(mutex_);
    std::sort(waits_ms_.begin(), waits_ms_.end());
    const auto at = [&](double share) {
      return waits_ms_.empty() ? std::int64_t{0}
                               : waits_ms_[static_cast<std::size_t>(
                                     share * static_cast<double>(waits_ms_.size() - 1))];
    };
    std::printf(
        "%-34s %7.2f s, %7zu reconciles, change to done p50 %lld ms p99 %lld ms, "
        "%lld requests, %lld MiB\n",
        what, seconds, waits_ms_.size(), static_cast<long long>(at(0.5)),
        static_cast<long long>(at(0.99)), static_cast<long long>(client_.requests.load()),
        static_cast<long long>(ResidentMiB()));
    std::fflush(stdout);
    waits_ms_.clear();
    client_.requests = 0;
  }
  void Disturb(bool disturbed) {
    if (!disturbed) return server_.SetHook({});
    server_.SetHook([this](const kube::Call& call) {
      if (call.verb == kube::Verb::kGet) return absl::OkStatus();
      switch (calls_++ % 40) {
        case 0:
          return absl::ResourceExhaustedError("429");
        case 20:
          return absl::UnavailableError("500");
        default:
          return absl::OkStatus();
      }
    });
  }
  // Jobs all of whose workers run, by their status.
  int Running() {
    int running = 0;
    for (const auto& job : cache_.Take().jobs) {
      running += api::IsTrue(job->status.conditions, "Running") ? 1 : 0;
    }
    return running;
  }
  const Clock& clock() const { return clock_; }

 private:
  static std::string JobName(int job) { return StrCat("j", job); }
  void SetPhase(json pod, const std::string& phase, const std::string& node) {
    pod["spec"]["nodeName"] = node;
    pod["spec"].erase("schedulingGates");
    pod["status"]["phase"] = phase;
    server_.Seed(kube::Pods(), pod);
    const std::string name = pod["metadata"]["name"];
    if (auto now = server_.Find(kube::Pods(), "team", name)) {
      hosts_.Observe(node, "s", op::HostHealth::Report::kReady, clock_.SteadyMs());
      cache_.Deliver(state::Kind::kPod, *now);
    }
  }
  void Enqueue(const std::string& job) {
    const std::string key = "team/" + job;
    {
      std::lock_guard lock(mutex_);
      since_ms_.emplace(key, clock_.SteadyMs());
    }
    queue_.Add(key);
  }
  void Work() {
    while (auto key = queue_.Get()) {
      ++busy_;
      std::int64_t since_ms = -1;
      {
        std::lock_guard lock(mutex_);
        if (const auto at = since_ms_.find(*key); at != since_ms_.end()) {
          since_ms = at->second;
          since_ms_.erase(at);
        }
      }
      const auto again = controller_.Reconcile(*key);
      if (!again.ok()) {
        queue_.AddRateLimited(*key);
      } else {
        queue_.Forget(*key);
        if (*again) queue_.AddAfter(*key, **again);
      }
      if (since_ms >= 0) {
        std::lock_guard lock(mutex_);
        waits_ms_.push_back(clock_.SteadyMs() - since_ms);
      }
      queue_.Done(*key);
      --busy_;
    }
  }

  const int jobs_;
  const int workers_;
  RealClock clock_;
  kube::FakeClient server_;
  state::ClusterCache cache_;
  DeliveringClient client_;
  op::HostHealth hosts_;
  op::HostMarker marker_;
  op::JobController controller_;
  WorkQueue queue_;
  std::mutex mutex_;
  std::map<std::string, std::int64_t> since_ms_;  // by key: the oldest change not worked on
  std::vector<std::int64_t> waits_ms_;
  std::atomic<int> busy_ = 0;
  std::atomic<std::int64_t> calls_ = 1;
  std::vector<std::jthread> threads_;
};

}  // namespace

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? std::atoi(argv[1]) : 2'000;
  const int workers = argc > 2 ? std::atoi(argv[2]) : 25;
  const int rate = argc > 3 ? std::atoi(argv[3]) : 200;
  const int seconds = argc > 4 ? std::atoi(argv[4]) : 10;
  Load load(jobs, workers);
  std::int64_t begin_ms = load.clock().SteadyMs();
  load.AddJobs();
  load.Print("every job arrives", load.Drain(begin_ms));
  begin_ms = load.clock().SteadyMs();
  for (int job = 0; job < jobs; ++job) load.RunWaiting(job);
  load.Print("every pod starts to run", load.Drain(begin_ms));
  std::printf("%d of %d jobs run\n", load.Running(), jobs);
  load.Disturb(true);
  begin_ms = load.clock().SteadyMs();
  Random random(1);
  std::vector<int> failed;
  while (load.clock().SteadyMs() - begin_ms < std::int64_t{1000} * seconds) {
    const int job = static_cast<int>(random.Below(static_cast<std::uint64_t>(jobs)));
    load.Fail(job);
    failed.push_back(job);
    // A scheduler and kubelets that take half a second.
    if (failed.size() > static_cast<std::size_t>(rate) / 2) {
      load.RunWaiting(failed[failed.size() - static_cast<std::size_t>(rate) / 2]);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(1'000'000 / rate));
  }
  load.Print("pods fail, 5 % of writes fail", load.Drain(begin_ms));
  load.Disturb(false);
  begin_ms = load.clock().SteadyMs();
  for (int round = 0; round < 100 && load.Running() < jobs; ++round) {
    for (int job = 0; job < jobs; ++job) load.RunWaiting(job);
    load.Drain(begin_ms);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  load.Print("until every job runs again", load.Drain(begin_ms));
  std::printf("%d of %d jobs run\n", load.Running(), jobs);
  return load.Running() == jobs ? 0 : 1;
}
