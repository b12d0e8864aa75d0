// Averages what pods report of their iterations and writes it to the API server at a bounded rate:
// the pod annotation yardmaster.dev/profile (api/profile_report.h).
//
// Means run over the last `window` iterations: older ones lose weight as new ones come, and what is
// in no report of these is not known any more. What is measured now (recent_compute.h, the clock of
// the GPUs) is not known once reports have come without it for RecentCompute::kWindowMs. A pod's
// annotation is written at the first report, when `trusted_samples` iterations were reported, and
// when a number has moved by more than `min_change` (a share of it; twice as much for what is
// measured now, recent_compute.h, since it has more noise; by a fifth of the periods for what a CPU
// limit throttles); never more often than every `pod_interval_ms`, or half of it where the host's
// speed has jumped, and never more than `writes_per_flush` pods at once. A write that fails is
// tried again after the same interval.
//
// A report that says how fast the host is now is renewed while iterations come in, so that a reader
// can tell it from the last word of an agent that is gone: after `pod_interval_ms`, then after
// twice as long each time, at most kMaxRenewals doublings.
//
// Thread safety: Take from any thread, Flush from one. Lifetimes: client and clock outlive it.
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

  // Errors: InvalidArgument for numbers that cannot be true, ResourceExhausted while reports of
  // 4096 other pods are held; nothing of the report counts then. `steady_ms`, `wall_ms`: now.
  absl::Status Take(const rpc::IterationReport& report, std::int64_t steady_ms,
                    std::int64_t wall_ms);
  // Writes what is due. `find` gives the pod with a uid, or nothing when it is not ours any more;
  // such pods are forgotten. What went wrong; empty: nothing.
  std::vector<absl::Status> Flush(std::int64_t steady_ms, const FindPod& find);

  std::int64_t taken() const;
  std::int64_t refused() const;
  std::int64_t writes() const;

 private:
  struct Mean {
    double value = 0;
    double weight = 0;
    double missing = 0;  // iterations since it was in a report
  };
  struct Entry {
    std::int64_t samples = 0;  // in all, up to the window
    Mean iteration, compute, communication, start, flop;
    std::vector<Mean> sent;
    RecentCompute recent;
    std::int64_t compute_ms = 0;  // when the compute time was in a report: steady, as the next
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
  // Whether to write the report now; notes when it is due again.
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
