// Writes to the API server whether pods' connections have their planned ports: the annotation
// yardmaster.dev/connections (api/connection_report.h). It writes only changes, at most every 30 s
// for a pod, and at most eight pods per call.
//
// Thread safety: one thread. Lifetimes: the client outlives the object.
#pragma once

#include <cstdint>
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

class CoverageWriter {
 public:
  explicit CoverageWriter(kube::Client& client) : client_(client) {}

  // `by_pod`: of every pod of the host with a shim, by uid; other pods are forgotten. Returns the
  // errors; empty: none. A failed write is tried again after the interval.
  std::vector<absl::Status> Flush(std::int64_t steady_ms,
                                  const std::map<std::string, ShimSummary>& by_pod,
                                  const FindPod& find);

 private:
  struct Entry {
    std::optional<api::ConnectionReport> reported;
    std::int64_t next_write_ms = 0;
  };

  kube::Client& client_;
  std::map<std::string, Entry> entries_;  // by pod uid
};

}  // namespace yardmaster::agent
