// Whether the ResourceQuotas of a namespace leave room for all pods of a job, before hosts are
// promised to it: a namespace that is full holds none.
//
// Only what is known counts: quotas without scopes that have been counted, of pods and of what they
// request. What a quota of another kind refuses is refused when the pods are made.
//
// Jobs that ask within kQuotasMs of each other look at the quotas as they were for the first of
// them: pods that are made meanwhile could have been made just after a look, too, and a job that a
// quota refuses has them read again.
//
// Thread safety: a pure function; QuotaReader's methods may be called from any thread. Lifetimes:
// client and clock outlive the reader.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pkg/api/pod.h"
#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/client.h"
#include "pkg/kube/object.h"

namespace yardmaster::op {

struct AlikePods {
  std::shared_ptr<const api::Pod> pod;  // not null
  std::int64_t count = 0;
};

struct QuotaRefusal {
  absl::Status status;     // what the API server would say of the first pod that is too many
  std::int64_t count = 0;  // pods like it
};

// Whether all pods fit together. The amounts of a refusal are those before a pod like the refused
// one is made: pods that stand before it in `pods` are in use (refusal_reason.h). nullopt: they
// fit.
std::optional<QuotaRefusal> CheckQuotas(const std::vector<kube::ObjectPtr>& quotas,
                                        const std::vector<AlikePods>& pods);

class QuotaReader {
 public:
  static constexpr std::int64_t kQuotasMs = 1'000;
  using Quotas = std::shared_ptr<const std::vector<kube::ObjectPtr>>;

  QuotaReader(kube::Client& client, const Clock& clock) : client_(client), clock_(clock) {}

  // Errors: what the API server said.
  absl::StatusOr<Quotas> Read(const std::string& namespace_name);
  // The next look reads them.
  void Drop(const std::string& namespace_name);

 private:
  struct Known {
    Quotas quotas;
    std::int64_t time_ms = 0;  // steady
  };

  kube::Client& client_;
  const Clock& clock_;
  Mutex mutex_;
  // By namespace; entries older than kQuotasMs are dropped.
  std::map<std::string, Known> known_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::op
