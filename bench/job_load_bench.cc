// The operator's job workers over an API server in memory, which is a process of its own: how long
// a change waits for its reconcile, how long pods wait to be made, how many requests it costs, and
// how much memory the operator's part takes.
// Usage: job_load_bench [jobs=2000] [workers of each=25] [changes a second=200] [seconds=10]
//                       [large jobs=0] [whole]
// Large jobs have 1,000 workers and arrive before the others. "whole": each reconcile makes all
// pods of its job, as the operator did before it made them in turns; the two are to be compared.
// Phases: all jobs arrive together; every pod starts to run; pods of healthy jobs fail at a steady
// rate while the API server refuses or loses one write of twenty.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "nlohmann/json.hpp"

#include "bench/remote_server.h"
#include "pkg/api/names.h"
#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/base/work_queue.h"
#include "pkg/operator/jobs/job_controller.h"
#include "pkg/operator/pods/pod_builder.h"

namespace {

using namespace yardmaster;
using nlohmann::json;

constexpr int kJobWorkers = 4;  // as the operator's default

constexpr int kLargeWorkers = 1'000;

// Sorts `values`; the one below which that share of them lies, 0 of none.
std::int64_t At(std::vector<std::int64_t>& values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

// Delivers the result of a write to the caches immediately, as the watch would later.
class DeliveringClient final : public kube::Client {
 public:
  DeliveringClient(bench::RemoteServer& server, state::ClusterCache& cache)
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
    auto made = Deliver(target, server_.Create(target, object, options));
    if (made.ok() && target.resource == kube::Pods()) on_pod((*made)["metadata"]["labels"]);
    return made;
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
  std::function<void(const json& labels)> on_pod = [](const json&) {};  // a pod was made

 private:
  absl::StatusOr<json> Deliver(const kube::Target& target, absl::StatusOr<json> object) {
    if (!object.ok()) return object;
    if (target.resource == kube::Pods()) cache_.Deliver(state::Kind::kPod, *object);
    if (target.resource == kube::TrainingJobs()) {
      cache_.Deliver(state::Kind::kTrainingJob, *object);
    }
    return object;
  }

  bench::RemoteServer& server_;
  state::ClusterCache& cache_;
};

class Load {
 public:
  // `sizes`: workers of each job.
  Load(bench::RemoteServer& server, std::vector<int> sizes, bool whole)
      : sizes_(std::move(sizes)),
        whole_(whole),
        server_(server),
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
    client_.on_pod = [this](const json& labels) { CountPod(labels[api::kJobLabel]); };
    for (int i = 0; i < kJobWorkers; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~Load() {
    queue_.ShutDown();
    threads_.clear();
  }

  void AddJobs() {
    for (int j = 0; j < jobs(); ++j) {
      const json job = {
          {"apiVersion", api::kGroupVersion},
          {"kind", "TrainingJob"},
          {"metadata", {{"name", JobName(j)}, {"namespace", "team"}, {"uid", StrCat("uid", j)}}},
          {"spec",
           {{"workers", SizeOf(j)},
            {"recovery",
             {{"maxRestarts", 1'000'000}, {"backoffSeconds", 0}, {"inPlaceSeconds", 0}}},
            {"template",
             {{"spec", {{"containers", json::array({{{"name", "c"}, {"image", "i"}}})}}}}}}}};
      const json stored = server_.Seed(kube::TrainingJobs(), job);
      {
        std::lock_guard lock(mutex_);
        fresh_[JobName(j)] = {SizeOf(j), clock_.SteadyMs()};
      }
      cache_.Deliver(state::Kind::kTrainingJob, stored);
    }
  }
  // Pods that wait start to run, each on a host of its own.
  int RunWaiting(int job) {
    int started = 0;
    for (int rank = 0; rank < SizeOf(job); ++rank) {
      auto pod = server_.Find(kube::Pods(), "team", op::PodName(JobName(job), rank));
      if (!pod || (*pod)["status"].value("phase", "") == "Running") continue;
      SetPhase(*pod, "Running", StrCat("n", job, "-", rank));
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
    std::printf(
        "%-34s %7.2f s, %7zu reconciles, change to done p50 %lld ms p99 %lld ms, "
        "%lld requests, %lld MiB (its API server %lld MiB)\n",
        what, seconds, waits_ms_.size(), Number(At(waits_ms_, 0.5)), Number(At(waits_ms_, 0.99)),
        Number(client_.requests.load()), Number(bench::OwnResidentMiB()),
        Number(server_.ResidentMiB()));
    std::fflush(stdout);
    waits_ms_.clear();
    client_.requests = 0;
  }
  // How long new jobs waited for their first status and for all their pods.
  void PrintArrival() {
    std::lock_guard lock(mutex_);
    std::printf("%-34s p50 %lld ms p99 %lld ms\n", "  arrival to first status",
                Number(At(verdicts_ms_, 0.5)), Number(At(verdicts_ms_, 0.99)));
    for (const bool large : {false, true}) {
      auto& made_ms = made_ms_[large];
      if (made_ms.empty()) continue;
      std::printf("%-34s p50 %lld ms p99 %lld ms, of %zu jobs\n",
                  large ? "  arrival to all pods, large" : "  arrival to all pods",
                  Number(At(made_ms, 0.5)), Number(At(made_ms, 0.99)), made_ms.size());
    }
    std::fflush(stdout);
  }
  void Disturb(bool disturbed) { server_.Disturb(disturbed); }
  // Jobs all of whose workers run, by their status.
  int Running() {
    int running = 0;
    for (const auto& job : cache_.Take().jobs) {
      running += api::IsTrue(job->status.conditions, "Running") ? 1 : 0;
    }
    return running;
  }
  const Clock& clock() const { return clock_; }
  int jobs() const { return static_cast<int>(sizes_.size()); }

 private:
  struct Fresh {
    int pods_left = 0;
    std::int64_t arrived_ms = 0;
    bool decided = false;
  };

  static long long Number(std::int64_t value) { return value; }
  int SizeOf(int job) const { return sizes_[static_cast<std::size_t>(job)]; }
  void CountPod(const std::string& job) {
    std::lock_guard lock(mutex_);
    const auto at = fresh_.find(job);
    if (at == fresh_.end() || --at->second.pods_left != 0) return;
    const bool large = SizeOf(std::stoi(job.substr(1))) == kLargeWorkers;
    made_ms_[large].push_back(clock_.SteadyMs() - at->second.arrived_ms);
  }
  static std::string JobName(int job) { return StrCat("j", job); }
  void SetPhase(json pod, const std::string& phase, const std::string& node) {
    pod["spec"]["nodeName"] = node;
    pod["spec"].erase("schedulingGates");
    pod["status"]["phase"] = phase;
    const json now = server_.Seed(kube::Pods(), pod);
    if (now.is_null()) return;
    hosts_.Observe(node, "s", op::HostHealth::Report::kReady, clock_.SteadyMs());
    cache_.Deliver(state::Kind::kPod, now);
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
    bool background = false;
    while (auto key = queue_.Get(&background)) {
      ++busy_;
      std::int64_t since_ms = -1;
      {
        std::lock_guard lock(mutex_);
        if (const auto at = since_ms_.find(*key); at != since_ms_.end()) {
          since_ms = at->second;
          since_ms_.erase(at);
        }
      }
      const op::JobTurn turn = whole_       ? op::JobTurn::kWhole
                               : background ? op::JobTurn::kBackground
                                            : op::JobTurn::kPrompt;
      const auto done = controller_.RunOnce(*key, turn);
      if (!done.ok()) {
        queue_.AddRateLimited(*key);
      } else {
        if (done->pods_left > 0) {
          queue_.AddBackground(*key, op::BackgroundDueMs(*done));
        } else {
          queue_.Forget(*key);
        }
        if (done->look_again_ms) queue_.AddAfter(*key, *done->look_again_ms);
      }
      if (since_ms >= 0) CountChange(*key, since_ms);
      queue_.Done(*key);
      --busy_;
    }
  }
  void CountChange(const std::string& key, std::int64_t since_ms) {
    std::lock_guard lock(mutex_);
    waits_ms_.push_back(clock_.SteadyMs() - since_ms);
    const auto at = fresh_.find(key.substr(key.find('/') + 1));
    if (at == fresh_.end() || std::exchange(at->second.decided, true)) return;
    verdicts_ms_.push_back(clock_.SteadyMs() - at->second.arrived_ms);
  }

  const std::vector<int> sizes_;
  const bool whole_;
  RealClock clock_;
  bench::RemoteServer& server_;
  state::ClusterCache cache_;
  DeliveringClient client_;
  op::HostHealth hosts_;
  op::HostMarker marker_;
  op::JobController controller_;
  WorkQueue queue_;
  std::mutex mutex_;
  std::map<std::string, std::int64_t> since_ms_;  // by key: the oldest change not worked on
  std::vector<std::int64_t> waits_ms_;
  std::map<std::string, Fresh> fresh_;     // by job
  std::vector<std::int64_t> verdicts_ms_;  // from the arrival to the end of the first reconcile
  std::vector<std::int64_t> made_ms_[2];   // from the arrival to the last pod; of large jobs
  std::atomic<int> busy_ = 0;
  std::vector<std::jthread> threads_;
};

}  // namespace

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? std::atoi(argv[1]) : 2'000;
  const int workers = argc > 2 ? std::atoi(argv[2]) : 25;
  const int rate = argc > 3 ? std::atoi(argv[3]) : 200;
  const int seconds = argc > 4 ? std::atoi(argv[4]) : 10;
  const int large = argc > 5 ? std::atoi(argv[5]) : 0;
  const bool whole = argc > 6 && std::string_view(argv[6]) == "whole";
  std::vector<int> sizes(static_cast<std::size_t>(jobs), workers);
  for (int i = 0; i < std::min(large, jobs); ++i) {
    sizes[static_cast<std::size_t>(i)] = kLargeWorkers;
  }
  bench::RemoteServer server;  // before there are threads
  Load load(server, std::move(sizes), whole);
  std::printf("%lld MiB before any job\n", static_cast<long long>(bench::OwnResidentMiB()));
  std::int64_t begin_ms = load.clock().SteadyMs();
  load.AddJobs();
  load.Print("every job arrives", load.Drain(begin_ms));
  load.PrintArrival();
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
