#include "pkg/api/pod_manifest.h"

#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;

PodManifest Read(const json& pod, FieldErrors& errors) {
  const json object = {{"template", pod}};
  FieldReader in(&object, "spec", UnknownFields::kIgnore, &errors);
  return ReadPodManifest(in, "template");
}

std::string ErrorOf(const json& pod) {
  FieldErrors errors;
  Read(pod, errors);
  return std::string(errors.status().message());
}

TEST(PodManifestTest, APodReadsBackAsItWasWritten) {
  const json pod = json::parse(R"({
    "metadata": {"labels": {"app": "x"}, "annotations": {"note": "y"}, "generateName": "g"},
    "spec": {
      "containers": [{
        "name": "c", "image": "i", "ports": [{"containerPort": 1}], "livenessProbe": {"exec": {}},
        "env": [{"name": "A", "value": "1"}, {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "f"}}}],
        "volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "s"}],
        "resources": {"limits": {"cpu": 2}, "requests": {"cpu": "1"}, "claims": [{"name": "gpu"}]},
        "lifecycle": {"preStop": {"exec": {"command": ["sh"]}}}}],
      "initContainers": [{"name": "i", "restartPolicy": "Always"}],
      "volumes": [{"name": "v", "emptyDir": {}}],
      "resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}],
      "schedulingGates": [{"name": "g"}],
      "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 5}],
      "nodeSelector": {"zone": "z"},
      "affinity": {
        "nodeAffinity": {
          "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}, {}]},
          "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]},
        "podAntiAffinity": {"any": 1}},
      "hostNetwork": true, "dnsPolicy": "None", "restartPolicy": "Never",
      "priorityClassName": "gold", "terminationGracePeriodSeconds": 30, "runtimeClassName": "r"}})");
  FieldErrors errors;
  EXPECT_EQ(EncodePodManifest(Read(pod, errors)), pod);
  EXPECT_TRUE(errors.empty()) << errors.status();
}

TEST(PodManifestTest, WhatIsNullOrEmptyIsAsIfItWereLeftOut) {
  const json pod = json::parse(R"({"metadata": {"labels": null, "annotations": {}},
    "spec": {"containers": [{"env": null, "resources": {"limits": null}, "lifecycle": {"preStop": null},
                             "livenessProbe": null}],
             "volumes": [], "restartPolicy": null, "terminationGracePeriodSeconds": null,
             "affinity": {"nodeAffinity": null}}})");
  FieldErrors errors;
  const PodManifest manifest = Read(pod, errors);
  EXPECT_TRUE(errors.empty()) << errors.status();
  EXPECT_FALSE(manifest.has_liveness_probe());
  EXPECT_FALSE(manifest.node_terms.has_value());
  EXPECT_EQ(EncodePodManifest(manifest), json::parse(R"({"spec": {"containers": [{}]}})"));
}

TEST(PodManifestTest, AFieldOfAnotherTypeIsNamedWithWhatItShouldBe) {
  const std::pair<const char*, const char*> cases[] = {
      {R"([])", "spec.template: expected an object"},
      {R"({"metadata": "x"})", "spec.template.metadata: expected an object"},
      {R"({"metadata": {"labels": ["a"]}})", "spec.template.metadata.labels: expected an object"},
      {R"({"metadata": {"labels": {"a": 1}}})",
       "spec.template.metadata.labels.a: expected a string"},
      {R"({"metadata": {"annotations": {"a": {}}}})",
       "spec.template.metadata.annotations.a: expected a string"},
      {R"({"spec": 3})", "spec.template.spec: expected an object"},
      {R"({"spec": {"containers": {}}})", "spec.template.spec.containers: expected a list"},
      {R"({"spec": {"containers": ["c"]}})",
       "spec.template.spec.containers[0]: expected an object"},
      {R"({"spec": {"initContainers": 1}})", "spec.template.spec.initContainers: expected a list"},
      {R"({"spec": {"containers": [{"env": ["FOO=bar"]}]}})",
       "spec.template.spec.containers[0].env[0]: expected an object"},
      {R"({"spec": {"containers": [{"env": [{"name": 5}]}]}})",
       "spec.template.spec.containers[0].env[0].name: expected a string"},
      {R"({"spec": {"containers": [{"env": [null]}]}})",
       "spec.template.spec.containers[0].env[0].name: is missing"},
      {R"({"spec": {"containers": [{"env": {"FOO": "bar"}}]}})",
       "spec.template.spec.containers[0].env: expected a list"},
      {R"({"spec": {"initContainers": [{"env": ["FOO=bar"]}]}})",
       "spec.template.spec.initContainers[0].env[0]: expected an object"},
      {R"({"spec": {"containers": [{"volumeMounts": [{"mountPath": 1}]}]}})",
       "spec.template.spec.containers[0].volumeMounts[0].mountPath: expected a string"},
      {R"({"spec": {"containers": [{"resources": []}]}})",
       "spec.template.spec.containers[0].resources: expected an object"},
      {R"({"spec": {"containers": [{"resources": {"limits": 8}}]}})",
       "spec.template.spec.containers[0].resources.limits: expected an object"},
      {R"({"spec": {"containers": [{"lifecycle": "x"}]}})",
       "spec.template.spec.containers[0].lifecycle: expected an object"},
      {R"({"spec": {"volumes": [{"emptyDir": {}}]}})",
       "spec.template.spec.volumes[0].name: is missing"},
      {R"({"spec": {"containers": [{"resources": {"claims": ["g"]}}]}})",
       "spec.template.spec.containers[0].resources.claims[0]: expected an object"},
      {R"({"spec": {"resourceClaims": {"name": "g"}}})",
       "spec.template.spec.resourceClaims: expected a list"},
      {R"({"spec": {"schedulingGates": "g"}})",
       "spec.template.spec.schedulingGates: expected a list"},
      {R"({"spec": {"tolerations": ["all"]}})",
       "spec.template.spec.tolerations[0]: expected an object"},
      {R"({"spec": {"nodeSelector": {"a": true}}})",
       "spec.template.spec.nodeSelector.a: expected a string"},
      {R"({"spec": {"affinity": {"nodeAffinity": []}}})",
       "spec.template.spec.affinity.nodeAffinity: expected an object"},
      {R"({"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
           {"nodeSelectorTerms": [{"matchExpressions": ["a"]}]}}}}})",
       "nodeSelectorTerms[0].matchExpressions[0]: expected an object"},
      {R"({"spec": {"hostNetwork": "yes"}})",
       "spec.template.spec.hostNetwork: expected true or false"},
      {R"({"spec": {"dnsPolicy": 1}})", "spec.template.spec.dnsPolicy: expected a string"},
      {R"({"spec": {"restartPolicy": 5}})", "spec.template.spec.restartPolicy: expected a string"},
      {R"({"spec": {"terminationGracePeriodSeconds": "30"}})",
       "spec.template.spec.terminationGracePeriodSeconds: expected an integer"}};
  for (const auto& [pod, error] : cases) {
    EXPECT_NE(ErrorOf(json::parse(pod)).find(error), std::string::npos)
        << pod << " gives: " << ErrorOf(json::parse(pod));
  }
}

TEST(PodManifestTest, WhatAContainerHasItselfIsKept) {
  ContainerManifest container;
  container.AddEnv("A", "first");
  container.AddEnv("A", "second");
  container.AddMount("v", "/v", true);
  container.AddMount("w", "/v", false);
  ASSERT_EQ(container.env.size(), 1u);
  EXPECT_EQ(container.env[0].entry["value"], "first");
  ASSERT_EQ(container.volume_mounts.size(), 1u);
  EXPECT_EQ(container.volume_mounts[0].entry["name"], "v");
}

TEST(PodManifestTest, EveryContainerHasAnAddedClaimBesideItsOwn) {
  FieldErrors errors;
  PodManifest pod = Read(json::parse(R"({"spec": {
      "containers": [{"name": "a", "resources": {"claims": [{"name": "own"}]}}, {"name": "b"}],
      "resourceClaims": [{"name": "own", "resourceClaimName": "one"}]}})"),
                         errors);
  pod.AddClaim("added", "made-from");
  const json spec = EncodePodManifest(pod)["spec"];
  EXPECT_EQ(spec["resourceClaims"], json::parse(R"([{"name": "own", "resourceClaimName": "one"},
                            {"name": "added", "resourceClaimTemplateName": "made-from"}])"));
  EXPECT_EQ(spec["containers"][0]["resources"]["claims"],
            json::parse(R"([{"name": "own"}, {"name": "added"}])"));
  EXPECT_EQ(spec["containers"][1]["resources"]["claims"], json::parse(R"([{"name": "added"}])"));
}

}  // namespace
}  // namespace yardmaster::api
