// Checks whether the ResourceQuotas of a namespace leave room for all pods of a job, before hosts
// are promised to it. So a namespace with an exhausted quota holds no hosts.
//
// The check covers quotas without scopes whose usage the API server has counted, for pods and their
// requests. Other quotas refuse the pods when they are created.
//
// QuotaReader caches the quotas of a namespace for kQuotasMs. Pods that are created meanwhile could
// also have been created just after a read. If a quota refuses a job, the caller drops the cached
// quotas of its namespace.
//
// Thread safety: CheckQuotas is pure; all methods of QuotaReader from any thread. Lifetimes: client
// and clock outlive the reader.
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
  absl::Status status;  // the error that the API server would return for the first pod that exceeds
                        // the quota
  std::int64_t count = 0;  // pods with the same requests
};

// Returns nullopt if all pods fit together. In a refusal, the usage includes the pods that stand
// before the refused ones in `pods` (refusal_reason.h).
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
