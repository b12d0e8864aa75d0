// Reports completed checkpoints to the API server: what a program wrote into the file
// YARDMASTER_CHECKPOINT_MARK (api/checkpoint_mark.h) becomes the annotation
// yardmaster.dev/checkpoint of its pod.
//
// The file contains the annotation's document, or nothing: then the checkpoint has the file's
// modification time. Only a later checkpoint than the last one is written, at most once in
// `pod_interval_ms` for a pod. The annotation is built from the numbers that were parsed, so no
// text of a tenant is passed on.
//
// Thread safety: one thread. Lifetimes: the client outlives the object.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/agent/plans/pod_input.h"
#include "pkg/api/checkpoint_mark.h"
#include "pkg/kube/client.h"

namespace yardmaster::agent {

// Reads the mark of a pod below kubelet's folder (/var/lib/kubelet/pods). Errors: NotFound if the
// pod has no such volume or file, InvalidArgument that names every wrong field, FailedPrecondition
// if it cannot be read.
absl::StatusOr<api::CheckpointMark> ReadCheckpointMark(const std::string& kubelet_pods_folder,
                                                       const std::string& pod_uid);

struct CheckpointOptions {
  std::string kubelet_pods_folder;  // empty: no mark is read
  std::int64_t read_interval_ms = 1'000;
  std::int64_t pod_interval_ms = 5'000;
};

class CheckpointMarks {
 public:
  CheckpointMarks(kube::Client& client, CheckpointOptions options)
      : client_(client), options_(std::move(options)) {}

  // `uids`: of the host's pods; others are forgotten. Returns the errors; empty: none. A failed
  // write is tried again after the pod's interval.
  std::vector<absl::Status> Poll(std::int64_t steady_ms, const std::vector<std::string>& uids,
                                 const FindPod& find);

 private:
  struct Entry {
    std::int64_t written_ms = 0;  // the checkpoint that was written last
    std::int64_t next_write_ms = 0;
  };
  absl::Status WriteMark(std::int64_t steady_ms, const PodInput& pod, Entry& entry);

  kube::Client& client_;
  const CheckpointOptions options_;
  std::int64_t next_read_ms_ = 0;
  std::map<std::string, Entry> entries_;  // by pod uid
};

}  // namespace yardmaster::agent
