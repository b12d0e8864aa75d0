// What the tests of this folder share: a sink in memory, example inputs, a temporary folder.
// TESTONLY. Thread safety: FakeSink may be looked at while an applier
// uses it on another thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/agent/plans/effective_plan.h"
#include "pkg/agent/plans/plan_sink.h"
#include "pkg/agent/plans/pod_input.h"
#include "pkg/base/mutex.h"

namespace yardmaster::agent {

// Files in memory; operations fail while a failure is set.
class FakeSink final : public PlanSink {
 public:
  absl::Status Write(const PlanFileId& id, const std::string& text) override;
  absl::Status Remove(const PlanFileId& id) override;
  absl::StatusOr<std::vector<PlanFileId>> List() override;
  std::string PathOf(const PlanFileId& id) const override;

  void Seed(const PlanFileId& id, const std::string& text);
  // Every operation on this pod (or all, for "") fails from now on; OK ends it.
  void Fail(const std::string& uid, absl::Status status);
  std::map<PlanFileId, std::string> files() const;
  // Null if the file does not exist.
  nlohmann::json Parsed(const std::string& uid) const;
  int attempts() const;

 private:
  absl::Status FailureFor(const std::string& uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::map<PlanFileId, std::string> files_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, absl::Status> failures_ ABSL_GUARDED_BY(mutex_);
  int attempts_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A pod on n1 with a slot, level 3 and a path plan of generation 5 with one peer on two rails.
PodInput ExamplePod(const std::string& uid, std::int64_t expires_ms);
FabricView ExampleFabric();

// A folder that goes away at the end of the test.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }
  // A file in it; folders on the way are made.
  void Put(const std::string& name, const std::string& text) const;

 private:
  std::string path_;
};

}  // namespace yardmaster::agent
