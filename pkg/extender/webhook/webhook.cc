#include "pkg/extender/webhook/webhook.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "pkg/api/pod.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/webhook/wire.h"
#include "pkg/gather/gather.h"

namespace yardmaster::extender {

namespace {

constexpr std::string_view kNotReady = "yardmaster-extender has not read the cluster yet";

void SetGpus(const View& view, const api::Pod& pod, PodQuery& query) {
  // The resource by which hosts are counted is counted for all pods, also where they name another
  // one.
  const std::int64_t counted = api::GpusOf(pod, view.gpu_resource());
  query.counts_gpus = counted > 0 || pod.gpu_resource == view.gpu_resource();
  const std::int64_t gpus = query.counts_gpus ? counted : pod.gpus();
  query.gpus = static_cast<int>(std::min<std::int64_t>(gpus, INT32_MAX));
}

absl::StatusOr<PodQuery> QueryOf(JsonView object, const View& view, bool gated_only) {
  YM_ASSIGN_OR_RETURN(const api::Pod pod, api::DecodePod(object, api::Decoding::kLenient));
  if (pod.requests_unreadable) return absl::InvalidArgumentError(Join(pod.problems, "; "));
  PodQuery query;
  if (api::WantsGang(pod) && (!gated_only || gather::CameBehindGate(pod))) {
    query = QueryOfGangPod(view, pod);
  }
  if (query.gang && !query.left_to_core) return query;
  // What claims ask for is counted in the pod that the view has.
  const api::Pod* known = pod.claims.empty() ? nullptr : view.FindPod(pod.metadata.uid);
  SetGpus(view, known != nullptr ? *known : pod, query);
  return query;
}

}  // namespace

void Webhook::Publish(std::shared_ptr<const View> view) {
  MutexLock lock(mutex_);
  view_ = std::move(view);
}

std::shared_ptr<const View> Webhook::view() const {
  MutexLock lock(mutex_);
  return view_;
}

absl::StatusOr<std::string> Webhook::Filter(std::string_view body) const {
  ArgsReader reader;
  YM_ASSIGN_OR_RETURN(const ExtenderArgs args, reader.Read(body));
  if (options_.passes_all) {
    return EncodeFilterAnswer(args, std::vector(args.node_names.size(), NodeVerdict::kFits));
  }
  const auto view = this->view();
  if (view == nullptr) return EncodeFilterError(kNotReady);
  YM_ASSIGN_OR_RETURN(const PodQuery query, QueryOf(args.pod, *view, options_.gated_only));
  return EncodeFilterAnswer(args, extender::Filter(*view, query, args.node_names));
}

absl::StatusOr<std::string> Webhook::Prioritize(std::string_view body) const {
  ArgsReader reader;
  YM_ASSIGN_OR_RETURN(const ExtenderArgs args, reader.Read(body));
  const auto view = this->view();
  if (view == nullptr || options_.passes_all) {
    return EncodeHostPriorities(args.node_names, std::vector<int>(args.node_names.size(), 0));
  }
  YM_ASSIGN_OR_RETURN(const PodQuery query, QueryOf(args.pod, *view, options_.gated_only));
  return EncodeHostPriorities(args.node_names, extender::Prioritize(*view, query, args.node_names));
}

absl::StatusOr<std::string> Webhook::Preempt(std::string_view body) const {
  ArgsReader reader;
  YM_ASSIGN_OR_RETURN(const PreemptArgs args, reader.ReadPreempt(body));
  if (options_.passes_all) return EncodePreemptResult(args.candidates);
  const auto view = this->view();
  std::vector<PreemptCandidate> kept;
  if (view == nullptr) return EncodePreemptResult(kept);
  YM_ASSIGN_OR_RETURN(const PodQuery query, QueryOf(args.pod, *view, options_.gated_only));
  for (const PreemptCandidate& candidate : args.candidates) {
    if (CheckNode(*view, query, candidate.node, candidate.victim_uids) == NodeVerdict::kFits) {
      kept.push_back(candidate);
    }
  }
  return EncodePreemptResult(kept);
}

}  // namespace yardmaster::extender
