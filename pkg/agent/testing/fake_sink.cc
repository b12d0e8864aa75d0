#include "pkg/agent/testing/fake_sink.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "pkg/base/strings.h"

namespace yardmaster::agent {

absl::Status FakeSink::FailureFor(const std::string& uid) {
  ++attempts_;
  for (const std::string& key : {uid, std::string()}) {
    if (const auto at = failures_.find(key); at != failures_.end()) return at->second;
  }
  return absl::OkStatus();
}

absl::Status FakeSink::Write(const PlanFileId& id, const std::string& text) {
  const MutexLock lock(mutex_);
  YM_RETURN_IF_ERROR(FailureFor(id.pod_uid));
  files_[id] = text;
  return absl::OkStatus();
}

absl::Status FakeSink::Remove(const PlanFileId& id) {
  const MutexLock lock(mutex_);
  YM_RETURN_IF_ERROR(FailureFor(id.pod_uid));
  files_.erase(id);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PlanFileId>> FakeSink::List() {
  const MutexLock lock(mutex_);
  YM_RETURN_IF_ERROR(FailureFor("list"));
  std::vector<PlanFileId> ids;
  for (const auto& [id, text] : files_) ids.push_back(id);
  return ids;
}

std::string FakeSink::PathOf(const PlanFileId& id) const {
  return StrCat("/plans/", id.node, "/", id.pod_uid, ".json");
}

void FakeSink::Seed(const PlanFileId& id, const std::string& text) {
  const MutexLock lock(mutex_);
  files_[id] = text;
}

void FakeSink::Fail(const std::string& uid, absl::Status status) {
  const MutexLock lock(mutex_);
  if (status.ok()) {
    failures_.erase(uid);
  } else {
    failures_.insert_or_assign(uid, std::move(status));
  }
}

std::map<PlanFileId, std::string> FakeSink::files() const {
  const MutexLock lock(mutex_);
  return files_;
}

nlohmann::json FakeSink::Parsed(const std::string& uid) const {
  for (const auto& [id, text] : files()) {
    if (id.pod_uid == uid) return nlohmann::json::parse(text);
  }
  return nullptr;
}

int FakeSink::attempts() const {
  const MutexLock lock(mutex_);
  return attempts_;
}

PodInput ExamplePod(const std::string& uid, std::int64_t expires_ms) {
  PodInput pod;
  pod.ns = "team";
  pod.name = StrCat("job-", uid);
  pod.uid = uid;
  pod.node = "n1";
  pod.slot = api::EncodeSlot({.gang = "trainingjob-a",
                              .rank = 3,
                              .fabric_pod = "p0",
                              .segment = "p0s1",
                              .stages = {0, 1}});
  pod.priority = "3";
  api::PodPathPlan plan;
  plan.fabric_generation = 5;
  plan.expires_ms = expires_ms;
  for (int rail : {0, 1}) {
    plan.rails.push_back({rail, {{4, "n2", StrCat("10.0.0.", rail + 9), 1, {49321, 50007}}}});
  }
  pod.path_plan = *api::EncodePathPlan(plan);
  return pod;
}

FabricView ExampleFabric() {
  FabricView fabric;
  fabric.name = "fabric";
  fabric.generation = 5;
  fabric.rails = 8;
  fabric.nic_ports = 2;
  return fabric;
}

TempFolder::TempFolder() {
  path_ = (std::filesystem::temp_directory_path() / "ym-agent-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) std::abort();
}

TempFolder::~TempFolder() { std::filesystem::remove_all(path_); }

void TempFolder::Put(const std::string& name, const std::string& text) const {
  const std::filesystem::path file = std::filesystem::path(path_) / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace yardmaster::agent
