// The interface through which the applier stores plan files: FileSink (file_sink.h) writes them,
// and tests use one that fails on demand.
//
// Thread safety: one thread, the applier's.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "pkg/base/status.h"

namespace yardmaster::agent {

struct PlanFileId {
  std::string node;
  std::string pod_uid;
  auto operator<=>(const PlanFileId&) const = default;
};

class PlanSink {
 public:
  virtual ~PlanSink() = default;
  // Atomic: a reader sees the old or the new text, also after a power failure.
  virtual absl::Status Write(const PlanFileId& id, const std::string& text) = 0;
  // OK if the file does not exist.
  virtual absl::Status Remove(const PlanFileId& id) = 0;
  // Files of this process and of earlier ones.
  virtual absl::StatusOr<std::vector<PlanFileId>> List() = 0;
  virtual std::string PathOf(const PlanFileId& id) const = 0;
};

}  // namespace yardmaster::agent
