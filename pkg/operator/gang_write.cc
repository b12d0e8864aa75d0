#include "pkg/operator/gang_write.h"

#include <utility>

#include "pkg/base/status.h"
#include "pkg/kube/api_error.h"
#include "pkg/operator/write_target.h"

namespace yardmaster::op {

absl::StatusOr<std::optional<api::Gang>> WriteGang(kube::Client& client, state::ClusterCache& cache,
                                                   const api::Gang& gang) {
  const api::ObjectMeta& meta = gang.metadata;
  const auto written = meta.resource_version.empty()
                           ? client.Create({kube::Gangs(), meta.namespace_name, "", ""},
                                           api::EncodeGang(gang), {kFieldManager})
                           : client.Replace({kube::Gangs(), meta.namespace_name, meta.name, ""},
                                            api::EncodeGang(gang), {kFieldManager});
  const absl::Status& status = written.status();
  if (absl::IsAlreadyExists(status) || absl::IsAborted(status) || kube::IsGone(status)) {
    return std::optional<api::Gang>();
  }
  YM_RETURN_IF_ERROR(status);
  cache.Assume(state::Kind::kGang, *written);
  YM_ASSIGN_OR_RETURN(api::Gang stored, api::DecodeGang(*written, api::Decoding::kLenient));
  return std::optional<api::Gang>(std::move(stored));
}

}  // namespace yardmaster::op
