// Which hosts are quarantined for the failures of workers on them, and for how long.
//
// Input are the failures that jobs report: one an incident, against the host of the worker that
// failed first. A host is quarantined after `failures` of them that count and lie after its last
// quarantine, for `first_ms`, twice as long with every quarantine in a row, at most `max_ms`. A row
// ends when a quarantine has been over for `window_ms`. Failures older than `window_ms` are
// forgotten. Times that are further ahead than clocks differ were written by a leader whose clock
// was: such a failure does not count, and such a quarantine ends max_ms from now.
//
// A program that fails on every host does not count against hosts. Therefore
//   1. the failures of a job count against a host only where more than half of the job's failures
//      within the window were on that host;
//   2. at most `per_namespace` hosts are quarantined whose failures all come from one namespace;
//   3. of the failures of one namespace that only say that a worker was slow (HostFailure::slow) as
//      many count as failures of all others do: processes of a job measure its speed, and may say
//      what they like;
//   4. at most max(1, segment_share) hosts of a segment and max(1, fabric_share) of all are
//      quarantined at a time.
// A host that limit 2 or 4 exempts is quarantined as soon as both allow it.
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
  api::HostRecord record;  // as the Node's annotation has it
  // Reported by jobs and perhaps not in the record yet.
  std::vector<api::HostFailure> reported;
};

// By host: the record that its Node should have. A host is quarantined while now_ms < until_ms.
std::map<std::string, api::HostRecord> NextRecords(const std::map<std::string, HostHistory>& hosts,
                                                   const QuarantineLimits& limits,
                                                   std::int64_t now_ms);

}  // namespace yardmaster::op
