#include "pkg/extender/webhook/gate_admission.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/base64.h"
#include "pkg/base/status.h"
#include "pkg/base/testing/heap_meter.h"

namespace yardmaster::extender {
namespace {

using nlohmann::json;

json Asking() {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"annotations", {{"yardmaster.dev/parallelism", "tp=8"}}}}},
          {"spec", {{"containers", json::array()}}}};
}

json ReviewOf(const json& pod) {
  return {{"apiVersion", "admission.k8s.io/v1"},
          {"kind", "AdmissionReview"},
          {"request", {{"uid", "u-1"}, {"operation", "CREATE"}, {"object", pod}}}};
}

json Answer(const json& review) {
  const auto body = AdmitBehindGate(review.dump());
  EXPECT_TRUE(body.ok()) << body.status();
  return body.ok() ? json::parse(*body) : json();
}

// The pod as the API server stores it.
json Admitted(const json& pod) {
  const json response = Answer(ReviewOf(pod))["response"];
  EXPECT_EQ(response["uid"], "u-1");
  EXPECT_EQ(response["allowed"], true);
  if (!response.contains("patch")) return pod;
  EXPECT_EQ(response["patchType"], "JSONPatch");
  return pod.patch(json::parse(*Base64Decode(response["patch"].get<std::string>())));
}

json Gates(std::initializer_list<const char*> names) {
  json gates = json::array();
  for (const char* name : names) gates.push_back({{"name", name}});
  return gates;
}

TEST(GateAdmissionTest, APodThatAsksForAGangGetsTheGateAfterThoseItHas) {
  json pod = Asking();
  EXPECT_EQ(Admitted(pod)["spec"]["schedulingGates"], Gates({"yardmaster.dev/placement"}));
  pod["spec"]["schedulingGates"] = json::array();
  EXPECT_EQ(Admitted(pod)["spec"]["schedulingGates"], Gates({"yardmaster.dev/placement"}));
  pod["spec"]["schedulingGates"] = Gates({"other/gate"});
  EXPECT_EQ(Admitted(pod)["spec"]["schedulingGates"],
            Gates({"other/gate", "yardmaster.dev/placement"}));
  pod["spec"]["resourceClaims"] = json::array({{{"name", "g"}}});
  pod["spec"]["nodeName"] = "";
  EXPECT_EQ(Admitted(pod)["spec"]["schedulingGates"].size(), 2u);
}

TEST(GateAdmissionTest, EveryOtherPodIsAdmittedAsItIs) {
  json plain = Asking();
  plain["metadata"]["annotations"].erase("yardmaster.dev/parallelism");
  json no_annotations = Asking();
  no_annotations["metadata"].erase("annotations");
  json gated = Asking();
  gated["spec"]["schedulingGates"] = Gates({"yardmaster.dev/placement", "other/gate"});
  json bound = Asking();
  bound["spec"]["nodeName"] = "h1";
  json service = Asking();
  service["kind"] = "Service";
  json no_spec = Asking();
  no_spec.erase("spec");
  for (const json& pod : {plain, no_annotations, gated, bound, service, no_spec, json()}) {
    EXPECT_EQ(Admitted(pod), pod);
  }
  json update = ReviewOf(Asking());
  update["request"]["operation"] = "UPDATE";
  EXPECT_FALSE(Answer(update)["response"].contains("patch"));
}

TEST(GateAdmissionTest, OtherBodiesAreErrorsThatNameTheField) {
  json old = ReviewOf(Asking());
  old["apiVersion"] = "admission.k8s.io/v1beta1";
  json nameless = ReviewOf(Asking());
  nameless["request"].erase("uid");
  const struct {
    std::string body, names;
  } bad[] = {{"", "body"},
             {"[1]", "body"},
             {"{", "body"},
             {"{}", "apiVersion"},
             {old.dump(), "apiVersion"},
             {nameless.dump(), "request.uid"}};
  for (const auto& [body, names] : bad) {
    const absl::Status refused = AdmitBehindGate(body).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << body;
    EXPECT_NE(MessageOf(refused).find(names), std::string::npos) << refused;
  }
}

// The largest body that the server takes, as any client of the port may post it.
TEST(GateAdmissionTest, ABodyOfBracketsIsRefusedInBoundedMemory) {
  for (const char* piece : {"[", "{\"a\":", "[],", "9"}) {
    std::string body = piece[0] == '[' && piece[1] == ']' ? "[" : "";
    while (body.size() < (4u << 20)) body += piece;
    const HeapMeter heap;
    EXPECT_FALSE(AdmitBehindGate(body).ok());
    EXPECT_LE(heap.peak(), 72 << 20) << piece;
  }
}

}  // namespace
}  // namespace yardmaster::extender
