#include "pkg/api/pod_template.h"

#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/pod_manifest.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

using nlohmann::json;

namespace {

// Deeper than any field of a pod.
constexpr int kMaxLevels = 64;
constexpr std::size_t kMaxLabelBytes = 63;

bool IsBounded(FieldReader& object, std::string_view key) {
  const JsonView written = object.Raw(key);
  if (written.IsDeeperThan(kMaxLevels)) {
    object.errors().Add(object.PathOf(key),
                        StrCat("has more than ", kMaxLevels, " values inside of each other"),
                        "write a pod template");
    return false;
  }
  const std::size_t bytes = written.TextBytes();
  if (bytes <= PodTemplate::kMaxBytes) return true;
  object.errors().Add(
      object.PathOf(key),
      StrCat("is about ", bytes, " bytes long, and at most ", PodTemplate::kMaxBytes,
             " are taken, because every pod of the job has them"),
      "put files and scripts into a ConfigMap or the image");
  return false;
}

}  // namespace

PodTemplate PodTemplate::Read(FieldReader& object, std::string_view key) {
  if (!IsBounded(object, key)) return {};
  const PodManifest pod = ReadPodManifest(object, key);
  PodTemplate out;
  out.host_network_ = pod.host_network;
  out.has_pre_stop_hook_ =
      !pod.containers.empty() && pod.containers.front().lifecycle.count("preStop") != 0;
  out.priority_class_ = pod.priority_class;
  if (const auto queue = pod.labels.find(kQueueLabel); queue != pod.labels.end()) {
    out.queue_ = CutAtCharacter(queue->second, kMaxLabelBytes);
  }
  out.admitted_by_queue_ = pod.labels.count(kAdmittedPodSetLabel) != 0 ||
                           pod.annotations.count(kWorkloadAnnotation) != 0;
  out.has_claims_ = !pod.resource_claims.empty();
  std::string text = EncodePodManifest(pod).dump(-1, ' ', false, json::error_handler_t::replace);
  text.shrink_to_fit();  // it grew by doubling
  out.text_ = std::make_shared<const std::string>(std::move(text));
  return out;
}

json PodTemplate::ToJson() const {
  return text_ == nullptr ? json::object() : json::parse(*text_, nullptr, false);
}

PodManifest PodTemplate::Manifest() const {
  const json object = {{"template", ToJson()}};
  FieldErrors none;  // by the invariant
  FieldReader in(&object, "", UnknownFields::kIgnore, &none);
  return ReadPodManifest(in, "template");
}

}  // namespace yardmaster::api
