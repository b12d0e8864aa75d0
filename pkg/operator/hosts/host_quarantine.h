// Decides which hosts are quarantined for failures of workers on them, and for how long.
//
// The input are the failures that jobs report: one per incident, for the host of the worker that
// failed first. A host is quarantined after `failures` counted failures since its last quarantine,
// for `first_ms`, and twice as long with every quarantine in a row, up to `max_ms`. A row ends once
// a quarantine has been over for `window_ms`. Failures older than `window_ms` are forgotten. If a
// time lies further ahead than clocks can differ, a leader with a wrong clock wrote it: such a
// failure does not count, and such a quarantine ends max_ms from now.
//
// A program that fails on every host must not cause quarantines. Therefore
//   1. failures of a job count for a host only if more than half of the job's failures within the
//      window were on that host;
//   2. at most `per_namespace` hosts are quarantined whose failures all come from one namespace;
//   3. failures of one namespace that only report a slow worker (HostFailure::slow) count at most
//      as often as failures of all other namespaces, because a job's processes measure its speed
//      and may report anything;
//   4. at most max(1, segment_share) hosts of a segment and max(1, fabric_share) of all are
//      quarantined at a time.
// A host that limit 2 or 4 exempts is quarantined once both allow it.
//
// Thread safety: pure function. Determinism: the same input gives the same output; hosts are
// considered by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pkg/api/host_record.h"

namespace yardmaster::op {

struct QuarantineLimits {
  int failures = 3;  // 0: no host is quarantined
  std::int64_t window_ms = 86'400'000;
  std::int64_t first_ms = 1'800'000;
  std::int64_t max_ms = 86'400'000;
  int per_namespace = 2;
  double segment_share = 0.1;
  double fabric_share = 0.05;
};

struct HostHistory {
  std::string segment;     // "fabric pod/segment"
  api::HostRecord record;  // from the Node's annotation
  // Failures reported by jobs, which the record may not have yet.
  std::vector<api::HostFailure> reported;
};

// Returns, by host, the record that its Node should have. A host is quarantined while now_ms <
// until_ms.
std::map<std::string, api::HostRecord> NextRecords(const std::map<std::string, HostHistory>& hosts,
                                                   const QuarantineLimits& limits,
                                                   std::int64_t now_ms);

}  // namespace yardmaster::op
