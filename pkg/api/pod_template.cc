#include "pkg/api/pod_template.h"

#include "nlohmann/json.hpp"

#include "pkg/api/pod_manifest.h"

namespace yardmaster::api {

using nlohmann::json;

PodTemplate PodTemplate::Read(FieldReader& object, std::string_view key) {
  const PodManifest pod = ReadPodManifest(object, key);
  PodTemplate out;
  out.host_network_ = pod.host_network;
  out.has_pre_stop_hook_ =
      !pod.containers.empty() && pod.containers.front().lifecycle.count("preStop") != 0;
  out.priority_class_ = pod.priority_class;
  out.text_ = std::make_shared<const std::string>(
      EncodePodManifest(pod).dump(-1, ' ', false, json::error_handler_t::replace));
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
