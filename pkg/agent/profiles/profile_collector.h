// Averages what pods report about their iterations, and writes it to the API server at a bounded
// rate: the pod annotation yardmaster.dev/profile (api/profile_report.h).
//
// Means run over the last `window` iterations: older ones lose weight as new ones come, and a
// number that is in none of these reports becomes unknown. Present measurements (recent_compute.h,
// the clock of the GPUs) become unknown once reports have come without them for
// RecentCompute::kWindowMs.
//
// A pod's annotation is written
//   - at the first report;
//   - when `trusted_samples` iterations were reported;
//   - when a number has changed by more than `min_change` (a share of it). Present measurements
//     need twice that, because they are noisier; CPU throttling needs a fifth of the periods.
// It is written at most once in `pod_interval_ms`, or half of it after a jump of the host's speed,
// and at most `writes_per_flush` pods per call. A failed write is tried again after the same
// interval.
//
// Renewal: a report that contains the present speed of the host is renewed while iterations come
// in, so that a reader can distinguish it from the last report of an agent that is gone: after
// `pod_interval_ms`, then at intervals that double, at most kMaxRenewals times.
//
// Thread safety: Take from any thread, Flush from one. Lifetimes: the client outlives the object.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pkg/agent/plans/pod_input.h"
#include "pkg/agent/profiles/recent_compute.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/client.h"
#include "pkg/rpc/agent_status.h"

namespace yardmaster::agent {

struct ProfileOptions {
  double window = 200;
  std::int64_t trusted_samples = 20;
  double min_change = 0.05;
  std::int64_t pod_interval_ms = 30'000;
  int writes_per_flush = 8;
};

class ProfileCollector {
 public:
  static constexpr int kMaxRenewals = 4;

  ProfileCollector(kube::Client& client, ProfileOptions options)
      : client_(client), options_(options) {}

  // Adds a report. Errors: InvalidArgument for impossible numbers, ResourceExhausted while reports
  // of 4096 other pods are held; the report is ignored then. `steady_ms`, `wall_ms`: now.
  absl::Status Take(const rpc::IterationReport& report, std::int64_t steady_ms,
                    std::int64_t wall_ms);
  // Writes the annotations that are due. `find` returns the pod with a uid, or nullopt if it is no
  // longer on this host; such pods are forgotten. Returns the errors; empty: none.
  std::vector<absl::Status> Flush(std::int64_t steady_ms, const FindPod& find);

  std::int64_t taken() const;
  std::int64_t refused() const;
  std::int64_t writes() const;

 private:
  struct Mean {
    double value = 0;
    double weight = 0;
    double missing = 0;  // iterations since it was reported
  };
  struct Entry {
    std::int64_t samples = 0;  // iterations reported, up to the window
    Mean iteration, compute, communication, start, flop;
    std::vector<Mean> sent;
    RecentCompute recent;
    std::int64_t compute_ms = 0;  // steady clock: when the compute time was reported, as below
    std::optional<double> gpu_clock_mhz;
    std::int64_t clock_ms = 0;
    std::optional<double> cpu_throttled;  // with the newest report
    std::int64_t time_ms = 0;             // of the newest report: wall time
    std::optional<api::ProfileReport> written;
    std::int64_t next_write_ms = 0;
    std::int64_t renew_ms = 0;
    int renewals = 0;  // in a row
  };

  void Add(Mean& mean, std::optional<double> value, double iterations) const;
  api::ProfileReport ReportOf(const Entry& entry) const;
  bool ChangedEnough(const std::optional<api::ProfileReport>& written,
                     const api::ProfileReport& now) const;
  // True if the report is to be written now. Stores when it is due again.
  bool IsDue(Entry& entry, const api::ProfileReport& report, std::int64_t steady_ms) const;

  kube::Client& client_;
  const ProfileOptions options_;
  mutable Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);  // by pod uid
  std::int64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t writes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace yardmaster::agent
