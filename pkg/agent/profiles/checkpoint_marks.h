// Tells the API server that a program has completed a checkpoint: what the program wrote into the
// file YARDMASTER_CHECKPOINT_MARK (api/checkpoint_mark.h) becomes the annotation
// yardmaster.dev/checkpoint of its pod.
//
// The file holds the annotation's document, or nothing: then the time at which it was last written
// is that of the checkpoint. Only a later checkpoint than the last one is written, at most every
// `pod_interval_ms` for a pod. What is written is made of the numbers that were read: no text of a
// tenant goes on.
//
// Thread safety: one thread. Lifetimes: the client outlives it.
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

// Of the pod below kubelet's folder (/var/lib/kubelet/pods). Errors: NotFound when the pod has no
// such volume or no such file, InvalidArgument naming every wrong field, FailedPrecondition when it
// cannot be read.
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

  // `uids`: of the host's pods; others are forgotten. What went wrong; empty: nothing. A write that
  // fails is tried again after the pod's interval.
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
