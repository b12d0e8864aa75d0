#include "pkg/extender/effects/effect_writer.h"

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/ledger.h"

namespace yardmaster::extender {

namespace {

using nlohmann::json;

constexpr char kJobTrackingFinalizer[] = "batch.kubernetes.io/job-tracking";

kube::Target TargetOf(const api::Pod& pod, const char* subresource = "") {
  return {kube::Pods(), pod.metadata.namespace_name, pod.metadata.name, subresource};
}

absl::Status Thrown(const std::string& what, const std::exception& error) {
  return absl::InternalError(StrCat(what, ": its write failed: ", error.what()));
}

template <typename Write>
absl::Status Contained(const api::Pod& pod, state::ClusterCache& cache, const Write& write) {
  try {
    const absl::StatusOr<json> written = write();
    if (written.ok()) cache.Assume(state::Kind::kPod, *written);
    return written.status();
  } catch (const std::exception& error) {
    return Thrown(StrCat("Pod ", KeyOf(pod.metadata).text()), error);
  }
}

}  // namespace

absl::StatusOr<json> EffectWriter::Patch(const kube::Target& target,
                                         const kube::PatchBody& patch) const {
  if (!may_write_()) return absl::CancelledError("the lease was lost");
  return client_.Patch(target, patch, {kFieldManager});
}

absl::StatusOr<json> EffectWriter::Send(const ReleasePod& effect) const {
  const kube::Target target = TargetOf(*effect.pod);
  if (const auto patch = api::ReleasePatchOf(*effect.pod, effect.pin)) {
    auto released = Patch(target, kube::JsonPatch(*patch));
    // Refused: the pod is not as it was known, and is read.
    const bool stale = absl::IsInvalidArgument(released.status()) ||
                       absl::IsAborted(released.status()) ||
                       absl::IsFailedPrecondition(released.status());
    if (!stale) return released;
  }
  YM_ASSIGN_OR_RETURN(const json pod, client_.Get(target));
  YM_ASSIGN_OR_RETURN(const json patch, effect.pod->gated()
                                            ? api::PinAndReleasePatch(pod, effect.pin)
                                            : api::AdmitPatch(pod, effect.pin));
  return Patch(target, kube::JsonPatch(patch));
}

absl::StatusOr<json> EffectWriter::Send(const OpenGate& effect) const {
  const kube::Target target = TargetOf(*effect.pod);
  YM_ASSIGN_OR_RETURN(const json object, client_.Get(target));
  if (object.value("/metadata/uid"_json_pointer, "") != effect.pod->metadata.uid) {
    return absl::NotFoundError("another pod of that name");
  }
  YM_ASSIGN_OR_RETURN(const json patch, api::OpenGatePatch(object, effect.why));
  return Patch(target, kube::JsonPatch(patch));
}

absl::Status EffectWriter::Write(const ReleasePod& effect) const {
  return Contained(*effect.pod, cache_, [&] { return Send(effect); });
}

absl::Status EffectWriter::Write(const OpenGate& effect) const {
  return Contained(*effect.pod, cache_, [&] { return Send(effect); });
}

absl::Status EffectWriter::Write(const NumberPod& effect) const {
  const json patch = {
      {"metadata",
       {{"uid", effect.pod->metadata.uid}, {"labels", {{api::kRankLabel, StrCat(effect.rank)}}}}}};
  return Contained(*effect.pod, cache_,
                   [&] { return Patch(TargetOf(*effect.pod), kube::MergePatch(patch)); });
}

absl::Status EffectWriter::Write(const MarkSlot& effect) const {
  const json patch = {{"metadata",
                       {{"uid", effect.pod->metadata.uid},
                        {"annotations", {{api::kSlotAnnotation, effect.slot_annotation}}}}}};
  return Contained(*effect.pod, cache_,
                   [&] { return Patch(TargetOf(*effect.pod), kube::MergePatch(patch)); });
}

absl::Status EffectWriter::Write(const FailPod& effect) const {
  const json patch = {
      {"metadata", {{"uid", effect.pod->metadata.uid}}},
      {"status", {{"phase", "Failed"}, {"reason", effect.reason}, {"message", effect.message}}}};
  return Contained(*effect.pod, cache_,
                   [&] { return Patch(TargetOf(*effect.pod, "status"), kube::MergePatch(patch)); });
}

absl::Status EffectWriter::Write(const EvictPod& effect) const {
  const api::ObjectMeta& pod = effect.pod->metadata;
  json preconditions = {{"uid", pod.uid}};
  if (effect.when == EvictWhen::kSameVersion) {
    preconditions["resourceVersion"] = pod.resource_version;
  }
  json eviction = {{"apiVersion", "policy/v1"},
                   {"kind", "Eviction"},
                   {"metadata", {{"name", pod.name}, {"namespace", pod.namespace_name}}},
                   {"deleteOptions", {{"preconditions", std::move(preconditions)}}}};
  if (effect.grace_ms) eviction["deleteOptions"]["gracePeriodSeconds"] = *effect.grace_ms / 1000;
  if (!may_write_()) return absl::CancelledError("the lease was lost");
  try {
    const absl::Status evicted =
        client_.Create(TargetOf(*effect.pod, "eviction"), eviction, {}).status();
    if (evicted.ok() && effect.pod->node_name.empty()) LeaveUncounted(*effect.pod);
    return evicted;
  } catch (const std::exception& error) {
    return Thrown(StrCat("Pod ", KeyOf(pod).text()), error);
  }
}

void EffectWriter::LeaveUncounted(const api::Pod& known) const {
  const auto tracks = [](const std::vector<std::string>& finalizers) {
    return std::find(finalizers.begin(), finalizers.end(), kJobTrackingFinalizer);
  };
  if (tracks(known.metadata.finalizers) == known.metadata.finalizers.end()) return;
  // It may have been bound since it was seen; no pod is bound once it is being deleted.
  const absl::StatusOr<json> object = client_.Get(TargetOf(known));
  if (!object.ok()) return;
  const absl::StatusOr<api::Pod> pod = api::DecodePod(*object, api::Decoding::kLenient);
  if (!pod.ok() || pod->metadata.uid != known.metadata.uid || !pod->node_name.empty()) return;
  const std::vector<std::string>& finalizers = pod->metadata.finalizers;
  const auto tracking = tracks(finalizers);
  if (tracking == finalizers.end()) return;
  const std::string path = StrCat("/metadata/finalizers/", tracking - finalizers.begin());
  const json patch = {{{"op", "test"}, {"path", "/metadata/uid"}, {"value", pod->metadata.uid}},
                      {{"op", "test"},
                       {"path", "/metadata/resourceVersion"},
                       {"value", pod->metadata.resource_version}},
                      {{"op", "test"}, {"path", path}, {"value", kJobTrackingFinalizer}},
                      {{"op", "remove"}, {"path", path}}};
  // The pod is on its way out whatever comes of it.
  Patch(TargetOf(known), kube::JsonPatch(patch)).IgnoreError();
}

absl::Status EffectWriter::Write(const PatchNode& effect) const {
  try {
    const auto node = Patch({kube::Nodes(), "", effect.node, ""}, kube::JsonPatch(effect.patch));
    if (node.ok()) cache_.Assume(state::Kind::kNode, *node);
    return node.status();
  } catch (const std::exception& error) {
    return Thrown(StrCat("Node ", effect.node), error);
  }
}

}  // namespace yardmaster::extender
