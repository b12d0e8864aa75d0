// The Node annotation yardmaster.dev/host-failures: worker failures that count against a host, and
// how long it is quarantined for them. Written by the operator, read by the operator and the
// command line.
//
//   {"version":1,"quarantines":1,"until":"2026-01-01T00:30:00Z","failures":[
//     {"job":"team/a","uid":"...","attempt":3,"rank":5,"exitCode":134,"time":"2026-01-01T00:00:00Z"}]}
//
// A failure with "slow":true is a worker that was slow there and left the host for it.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yardmaster::api {

// One incident of a TrainingJob whose first failure was on the host.
struct HostFailure {
  std::string job;  // "namespace/name"
  std::string job_uid;
  std::int64_t attempt = 0;  // names the incident of the job
  int rank = 0;
  std::optional<int> exit_code;
  std::int64_t time_ms = 0;
  bool slow = false;  // the worker did not fail; it was slow
  bool operator==(const HostFailure&) const = default;

  // One failure is one incident of one job.
  bool IsSameAs(const HostFailure& other) const {
    return job_uid == other.job_uid && attempt == other.attempt;
  }
  std::string namespace_name() const { return job.substr(0, job.find('/')); }
};

struct HostRecord {
  std::vector<HostFailure> failures;  // by time
  int quarantines = 0;                // in a row
  std::int64_t until_ms = 0;          // end of the last quarantine; 0: none yet
  bool operator==(const HostRecord&) const = default;

  bool empty() const { return failures.empty() && quarantines == 0; }
};

std::string EncodeHostRecord(const HostRecord& record);
// Errors: InvalidArgument naming every wrong field; another version than 1 is one.
absl::StatusOr<HostRecord> DecodeHostRecord(std::string_view text);

}  // namespace yardmaster::api
