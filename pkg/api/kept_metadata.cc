#include "pkg/api/kept_metadata.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "pkg/api/annotation.h"
#include "pkg/api/connection_report.h"
#include "pkg/api/job_move.h"
#include "pkg/api/job_role.h"
#include "pkg/api/names.h"
#include "pkg/api/network_generation.h"
#include "pkg/api/pod_path_plan.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/api/standby.h"

namespace yardmaster::api {

namespace {

struct KeptAnnotation {
  std::string_view key;
  std::size_t bytes;
};

// What people and jobs write, and what we write on their behalf.
constexpr std::size_t kShortBytes = 512;
constexpr std::size_t kListBytes = 4 * 1024;
constexpr KeptAnnotation kAnnotations[] = {{kAttemptAnnotation, kShortBytes},
                                           {kAttemptEndsAnnotation, kShortBytes},
                                           {kAvoidHostsAnnotation, kListBytes},
                                           {kCheckpointAnnotation, kShortBytes},
                                           {kCheckpointRequestAnnotation, kShortBytes},
                                           {kConnectionsAnnotation, kMaxAnnotationBytes},
                                           {kGangSizeAnnotation, kShortBytes},
                                           {kGateTimeoutActionAnnotation, kShortBytes},
                                           {kGateTimeoutAnnotation, kShortBytes},
                                           {kGpuResourceAnnotation, kShortBytes},
                                           {kKeptEnvironmentAnnotation, kShortBytes},
                                           {kMixedGpuModelsAnnotation, kShortBytes},
                                           {kMoveAnnotation, kMaxAnnotationBytes},
                                           {kNcclConfAnnotation, kMaxAnnotationBytes},
                                           {kNetworkGenerationAnnotation, kShortBytes},
                                           {kParallelismAnnotation, kShortBytes},
                                           {kPathPlanAnnotation, kMaxAnnotationBytes},
                                           {kPriorityAnnotation, kShortBytes},
                                           {kProfileAnnotation, kMaxAnnotationBytes},
                                           {kProgressAnnotation, kShortBytes},
                                           {kReadyTimeoutAnnotation, kShortBytes},
                                           {kReleasedAnnotation, kShortBytes},
                                           {kRestartGenerationAnnotation, kShortBytes},
                                           {kSlotAnnotation, kShortBytes},
                                           {kSocketPortsAnnotation, kMaxAnnotationBytes}};

constexpr std::string_view kLabels[] = {
    kJobLabel, kRankLabel, kRoleLabel, kRoleIndexLabel, kStandbyLabel, "kueue.x-k8s.io/queue-name"};

// Selectors of budgets and of anti-affinity may ask for any label. A pod has a few dozen, of 100
// bytes each.
constexpr std::size_t kOtherLabelBytes = std::size_t{32} << 10;

constexpr std::string_view kOurs = "yardmaster.dev/";

std::size_t BytesOfWorkloads(std::string_view key) {
  if (!key.starts_with(kOurs)) return IsMembershipKey(key) ? kShortBytes : 0;
  const auto* at = std::find_if(std::begin(kAnnotations), std::end(kAnnotations),
                                [&](const KeptAnnotation& kept) { return kept.key == key; });
  return at == std::end(kAnnotations) ? 0 : at->bytes;
}

bool NeedsLabelOfWorkloads(std::string_view key) {
  return std::find(std::begin(kLabels), std::end(kLabels), key) != std::end(kLabels) ||
         IsMembershipKey(key);
}

}  // namespace

const KeptMetadata& KeptOfWorkloads() {
  static constexpr KeptMetadata kKept = {BytesOfWorkloads, NeedsLabelOfWorkloads, kOtherLabelBytes};
  return kKept;
}

const KeptMetadata& KeptOfNodes() {
  static constexpr KeptMetadata kKept = {
      [](std::string_view key) { return key.starts_with(kOurs) ? 4 * kMaxAnnotationBytes : 0; },
      [](std::string_view) { return true; }, 0};
  return kKept;
}

}  // namespace yardmaster::api
