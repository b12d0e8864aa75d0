#include "pkg/extender/webhook/gate_admission.h"

#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/base64.h"
#include "pkg/base/status.h"
#include "pkg/json/json_view.h"

namespace yardmaster::extender {

namespace {

using nlohmann::json;

bool IsGated(JsonView spec) {
  bool gated = false;
  spec["schedulingGates"].ForEachElement(
      [&](JsonView gate) { gated |= gate["name"].String() == api::kPlacementGate; });
  return gated;
}

bool WantsGate(JsonView request) {
  const JsonView pod = request["object"];
  if (request["operation"].String() != "CREATE" || pod["kind"].String() != "Pod") return false;
  const JsonView parallelism = pod.At({"metadata", "annotations", api::kParallelismAnnotation});
  const JsonView spec = pod["spec"];
  if (!parallelism.present() || parallelism.is_null() || !spec.is_object()) return false;
  // The API server refuses a gate on a pod that is bound already.
  const JsonView node = spec["nodeName"];
  return (!node.present() || node.is_null() || node.String() == "") && !IsGated(spec);
}

json GatePatch(JsonView pod) {
  const json gate = {{"name", api::kPlacementGate}};
  const JsonView gates = pod.At({"spec", "schedulingGates"});
  const bool joins = gates.is_array() && gates.size() > 0;
  json operation = {{"op", "add"},
                    {"path", joins ? "/spec/schedulingGates/-" : "/spec/schedulingGates"},
                    {"value", joins ? gate : json::array({gate})}};
  return json::array({std::move(operation)});
}

}  // namespace

absl::StatusOr<std::string> AdmitBehindGate(std::string_view body) {
  JsonParser parser;
  const JsonView review = parser.Parse(body).value_or(JsonView());
  if (!review.is_object()) {
    return FieldError("body", "is no JSON object", "send an admission.k8s.io/v1 AdmissionReview");
  }
  if (review["apiVersion"].String() != "admission.k8s.io/v1") {
    return FieldError("apiVersion", "is not admission.k8s.io/v1",
                      "name v1 under admissionReviewVersions");
  }
  const JsonView request = review["request"];
  const JsonView uid = request["uid"];
  if (!uid.is_string()) return FieldError("request.uid", "is missing", "send an AdmissionReview");
  json response = {{"uid", uid.Text()}, {"allowed", true}};
  if (WantsGate(request)) {
    response["patchType"] = "JSONPatch";
    response["patch"] = Base64Encode(GatePatch(request["object"]).dump());
  }
  return json{{"apiVersion", "admission.k8s.io/v1"},
              {"kind", "AdmissionReview"},
              {"response", std::move(response)}}
      .dump();
}

}  // namespace yardmaster::extender
