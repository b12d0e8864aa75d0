#include "pkg/extender/gate_admission.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/base64.h"
#include "pkg/base/status.h"

namespace yardmaster::extender {

namespace {

using nlohmann::json;

// `object`'s field; null when it has none or is no object.
const json& At(const json& object, const char* field) {
  static const json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(field);
  return found == object.end() ? nothing : *found;
}

bool IsText(const json& value, std::string_view text) {
  return value.is_string() && value.get_ref<const std::string&>() == text;
}

bool WantsGate(const json& request) {
  if (!IsText(At(request, "operation"), "CREATE")) return false;
  const json& pod = At(request, "object");
  if (!IsText(At(pod, "kind"), "Pod")) return false;
  if (At(At(At(pod, "metadata"), "annotations"), api::kParallelismAnnotation).is_null())
    return false;
  const json& spec = At(pod, "spec");
  if (!spec.is_object()) return false;
  // The API server refuses a gate on a pod that is bound already.
  const json& node = At(spec, "nodeName");
  if (!node.is_null() && !IsText(node, "")) return false;
  const json& gates = At(spec, "schedulingGates");
  return std::none_of(gates.begin(), gates.end(), [](const json& gate) {
    return IsText(At(gate, "name"), api::kPlacementGate);
  });
}

json GatePatch(const json& pod) {
  const json gate = {{"name", api::kPlacementGate}};
  const json& gates = At(At(pod, "spec"), "schedulingGates");
  const bool joins = gates.is_array() && !gates.empty();
  json operation = {{"op", "add"},
                    {"path", joins ? "/spec/schedulingGates/-" : "/spec/schedulingGates"},
                    {"value", joins ? gate : json::array({gate})}};
  return json::array({std::move(operation)});
}

}  // namespace

absl::StatusOr<std::string> AdmitBehindGate(std::string_view body) {
  const json review = json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!review.is_object()) {
    return FieldError("body", "is no JSON object", "send an admission.k8s.io/v1 AdmissionReview");
  }
  if (!IsText(At(review, "apiVersion"), "admission.k8s.io/v1")) {
    return FieldError("apiVersion", "is not admission.k8s.io/v1",
                      "name v1 under admissionReviewVersions");
  }
  const json& request = At(review, "request");
  const json& uid = At(request, "uid");
  if (!uid.is_string()) return FieldError("request.uid", "is missing", "send an AdmissionReview");
  json response = {{"uid", uid}, {"allowed", true}};
  if (WantsGate(request)) {
    response["patchType"] = "JSONPatch";
    response["patch"] = Base64Encode(GatePatch(At(request, "object")).dump());
  }
  return json{{"apiVersion", "admission.k8s.io/v1"},
              {"kind", "AdmissionReview"},
              {"response", std::move(response)}}
      .dump();
}

}  // namespace yardmaster::extender
