// Tells the API server whether pods' connections have their planned ports: the annotation
// yardmaster.dev/connections (api/connection_report.h), at most every `pod_interval_ms` for a pod
// and only when it says something else than before.
//
// Thread safety: one thread. Lifetimes: the client outlives it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pkg/agent/plans/pod_input.h"
#include "pkg/agent/plans/shim_report.h"
#include "pkg/api/connection_report.h"
#include "pkg/kube/client.h"

namespace yardmaster::agent {

// nullopt: no connection was reported.
std::optional<api::ConnectionReport> ConnectionsOf(const ShimSummary& summary);

struct CoverageOptions {
  std::int64_t pod_interval_ms = 30'000;
  int writes_per_flush = 8;
};

class CoverageWriter {
 public:
  CoverageWriter(kube::Client& client, CoverageOptions options)
      : client_(client), options_(options) {}

  // `by_pod`: of every pod of the host with a shim, by uid; others are forgotten. What went wrong;
  // empty: nothing. A write that fails is tried again after the interval.
  std::vector<absl::Status> Flush(std::int64_t steady_ms,
                                  const std::map<std::string, ShimSummary>& by_pod,
                                  const FindPod& find);

 private:
  struct Entry {
    std::optional<api::ConnectionReport> reported;
    std::int64_t next_write_ms = 0;
  };

  kube::Client& client_;
  const CoverageOptions options_;
  std::map<std::string, Entry> entries_;  // by pod uid
};

}  // namespace yardmaster::agent
