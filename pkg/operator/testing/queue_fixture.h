// A TrainingJob "team/a" in queue "research" over the operator's queue and job controllers in
// memory, with what Kueue does to its Workload.
//
// TESTONLY. Thread safety: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pkg/operator/queue/queue_controller.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {

class QueueFixture : public JobFixture {
 protected:
  QueueFixture() {
    client_.Seed(
        Flavors(),
        {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
         {"kind", "ResourceFlavor"},
         {"metadata", {{"name", "h100"}}},
         {"spec",
          {{"nodeLabels", {{"gpu", "h100"}}},
           {"tolerations",
            json::array({{{"key", "team"}, {"operator", "Exists"}, {"effect", "NoSchedule"}}})}}}});
    NextLeader();
  }

  static kube::Resource Workloads() { return KueueWorkloads("v1beta2"); }
  static kube::Resource Flavors() { return KueueFlavors("v1beta2"); }

  // Both controllers are made again.
  void NextLeader(QueueService service = QueueService::kServed) {
    NewLeader();
    workloads_ = std::make_unique<WorkloadCache>();
    workloads_->SetService(service, service == QueueService::kServed ? "v1beta2" : "");
    queue_ = std::make_unique<QueueController>(
        client_, *cache_, *workloads_, clock_,
        [this](const JobNotice& notice) { notices_.push_back(notice); });
  }
  void SeedQueued(int workers, int hosts, const json& spec = json::object()) {
    SeedJob(workers, hosts, spec);
    SetQueue("research");
  }
  void SetQueue(const std::string& name) {
    json job = Job();
    job["metadata"]["labels"][api::kQueueLabel] = name;
    client_.Seed(kube::TrainingJobs(), job);
  }

  void SyncWorkloads() {
    workloads_->BeginList();
    for (const json& o : client_.All(Workloads())) workloads_->Listed(o);
    workloads_->EndList(StrCat(client_.version()));
  }
  // One turn of both, as the operator's loop takes it.
  absl::Status TryTurn() {
    Sync();
    SyncWorkloads();
    const auto queued = queue_->Reconcile("team/a");
    SyncWorkloads();
    if (!client_.Find(kube::TrainingJobs(), "team", "a")) return queued.status();
    const auto run = controller_->RunOnce("team/a", JobTurn::kWhole);
    return queued.ok() ? run.status() : queued.status();
  }
  // Turns until three in a row write nothing, at most twenty.
  void Settle() {
    int quiet = 0;
    for (int i = 0; i < 20 && quiet < 3; ++i) {
      const std::int64_t before = client_.version();
      const absl::Status done = TryTurn();
      EXPECT_TRUE(done.ok()) << done;
      quiet = client_.version() == before ? quiet + 1 : 0;
    }
    EXPECT_EQ(quiet, 3) << "it never settles";
  }
  // The whole job runs, rank r on host n<r>.
  void RunQueued() {
    Settle();
    for (int rank = 0; rank < Workers(); ++rank) {
      if (Phase(rank) != "Running" && HasPod(rank)) SetPod(rank, "Running", StrCat("n", rank));
    }
    Settle();
  }

  json Workload() {
    const std::vector<json> all = client_.All(Workloads());
    return all.empty() ? json() : all.front();
  }
  static json ConditionOfWorkload(const json& workload, const std::string& type) {
    for (const json& condition : workload.value("/status/conditions"_json_pointer, json::array())) {
      if (condition["type"] == type) return condition;
    }
    return json::object();
  }
  bool WorkloadIs(const std::string& type) {
    return ConditionOfWorkload(Workload(), type).value("status", "") == "True";
  }
  void SetWorkload(const std::string& type, bool value, const std::string& reason,
                   const std::string& message = "") {
    json workload = Workload();
    json kept = json::array();
    for (const json& condition : workload.value("/status/conditions"_json_pointer, json::array())) {
      if (condition["type"] != type) kept.push_back(condition);
    }
    kept.push_back({{"type", type},
                    {"status", value ? "True" : "False"},
                    {"reason", reason},
                    {"message", message},
                    {"lastTransitionTime", FormatTime(clock_.WallMs() / 1000 * 1000)}});
    workload["status"]["conditions"] = kept;
    client_.Seed(Workloads(), workload);
  }
  // `count`: of the workers; 0: all that were asked for.
  void Admit(int count = 0) {
    json workload = Workload();
    json assignments = json::array();
    for (const json& set : workload["spec"]["podSets"]) {
      const bool partly = count != 0 && set["name"] == "main";
      assignments.push_back({{"name", set["name"]},
                             {"count", partly ? json(count) : set["count"]},
                             {"flavors", {{"nvidia.com/gpu", "h100"}}}});
    }
    workload["status"]["admission"] = {{"clusterQueue", "gpus"},
                                       {"podSetAssignments", assignments}};
    client_.Seed(Workloads(), workload);
    SetWorkload("QuotaReserved", true, "QuotaReserved");
    SetWorkload("Evicted", false, "QuotaReserved");
    SetWorkload("Admitted", true, "Admitted");
  }
  void Evict(const std::string& reason = "Preempted") {
    SetWorkload("Evicted", true, reason, "Preempted to accommodate a workload of higher priority");
  }
  bool HoldsQuota() {
    const json workload = Workload();
    return workload.value("/status/admission"_json_pointer, json()).is_object() ||
           WorkloadIs("QuotaReserved");
  }
  json Queue() { return Status().value("queue", json::object()); }
  std::string QueuePhaseOf() { return Queue().value("phase", "None"); }
  int Pods() { return static_cast<int>(client_.All(kube::Pods()).size()); }

  std::unique_ptr<WorkloadCache> workloads_;
  std::unique_ptr<QueueController> queue_;
};

}  // namespace yardmaster::op
