#include "pkg/api/kept_metadata.h"

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

#include "pkg/api/disruption_budget.h"
#include "pkg/api/names.h"
#include "pkg/api/node.h"
#include "pkg/api/pod.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/api/training_job.h"
#include "pkg/base/strings.h"
#include "pkg/base/testing/heap_meter.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::SizeIs;

json PodOf(json metadata, json spec = json::object()) {
  metadata["name"] = "p";
  return {{"kind", "Pod"}, {"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
}

// A pod as a process keeps it, and what it takes of the heap.
struct KeptPod {
  Pod pod;
  std::int64_t bytes = 0;
};
KeptPod KeepPod(const json& object) {
  const HeapMeter heap;
  KeptPod kept{DecodePod(object, Decoding::kLenient).value(), 0};
  kept.bytes = heap.held();
  return kept;
}

constexpr std::int64_t kMaxBytes = 128 << 10;  // pod.h

TEST(KeptMetadataTest, AnnotationsThatNobodyReadsAreNotKept) {
  json annotations = {
      {"kubectl.kubernetes.io/last-applied-configuration", std::string(250'000, 'x')},
      {"yardmaster.dev/made-up", std::string(1'000, 'x')},
      {kParallelismAnnotation, "tp=8"},
      {"batch.kubernetes.io/job-completion-index", "3"}};
  const KeptPod kept = KeepPod(PodOf({{"annotations", annotations}}));
  EXPECT_THAT(kept.pod.metadata.annotations, SizeIs(2));
  EXPECT_EQ(Find(kept.pod.metadata.annotations, kParallelismAnnotation), "tp=8");
  EXPECT_TRUE(kept.pod.shape.annotations);
  EXPECT_LE(kept.bytes, 4 << 10);
  EXPECT_TRUE(kept.pod.problems.empty());
}

TEST(KeptMetadataTest, AnAnnotationThatIsTooLongIsCutAndNamed) {
  const KeptPod kept =
      KeepPod(PodOf({{"annotations", {{kParallelismAnnotation, std::string(200'000, '8')}}}}));
  EXPECT_THAT(*Find(kept.pod.metadata.annotations, kParallelismAnnotation), SizeIs(512));
  ASSERT_THAT(kept.pod.problems, SizeIs(1));
  EXPECT_THAT(kept.pod.problems[0],
              HasSubstr("yardmaster.dev/parallelism\"]: is 200000 bytes long"));
  EXPECT_FALSE(kept.pod.requests_unreadable);
}

TEST(KeptMetadataTest, LabelsOfRanksAreKeptAmongAnyNumberOfOthers) {
  json labels = {{"batch.kubernetes.io/job-name", "j"},
                 {"zz", "last"},
                 {"batch.kubernetes.io/job-completion-index", "1"},
                 {kJobLabel, "j"}};
  for (int i = 0; i < 4'000; ++i) labels["a" + std::to_string(i)] = std::string(63, 'v');
  const KeptPod kept = KeepPod(PodOf({{"labels", labels}}));
  EXPECT_EQ(Find(kept.pod.metadata.labels, "batch.kubernetes.io/job-name"), "j");
  EXPECT_EQ(Find(kept.pod.metadata.labels, "batch.kubernetes.io/job-completion-index"), "1");
  EXPECT_EQ(Find(kept.pod.metadata.labels, kJobLabel), "j");
  EXPECT_EQ(Find(kept.pod.metadata.labels, "zz"), std::nullopt);
  ASSERT_THAT(kept.pod.problems, SizeIs(1));
  EXPECT_THAT(kept.pod.problems[0], HasSubstr("metadata.labels: take more than 32768 bytes"));
  EXPECT_LE(kept.bytes, 64 << 10);
}

// Budgets and anti-affinity may select by any of them.
TEST(KeptMetadataTest, EveryLabelOfAPodWithAHundredOfThemSelectsIt) {
  json labels = {{"zz", "last"}};
  for (int i = 0; i < 100; ++i) labels[StrCat("team.example.com/label-", i)] = StrCat("value-", i);
  const json selector = {{"matchLabels", {{"zz", "last"}}}};
  const json term = {{"topologyKey", "kubernetes.io/hostname"}, {"labelSelector", selector}};
  const json affinity = {
      {"podAntiAffinity", {{"requiredDuringSchedulingIgnoredDuringExecution", {term}}}}};
  const KeptPod kept =
      KeepPod(PodOf({{"namespace", "team"}, {"labels", labels}}, {{"affinity", affinity}}));
  EXPECT_TRUE(kept.pod.problems.empty());
  EXPECT_THAT(kept.pod.metadata.labels, SizeIs(101));
  EXPECT_THAT(kept.pod.requests, SizeIs(2)) << "its place among pods, and a host of its own";
  const auto budget = DecodeDisruptionBudget(json{
      {"metadata", {{"name", "b"}, {"namespace", "team"}}}, {"spec", {{"selector", selector}}}});
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_TRUE(budget->Covers("team", kept.pod.metadata.labels));
}

TEST(KeptMetadataTest, OwnersAndFinalizersAreBoundedAndTheControllerIsKept) {
  json owners = json::array(), finalizers = json::array();
  for (int i = 0; i < 5'000; ++i) {
    owners.push_back({{"kind", "ConfigMap"}, {"name", "c"}, {"uid", StrCat(i)}});
    finalizers.push_back(StrCat("a.b/", i));
  }
  owners.push_back({{"kind", "Job"}, {"name", "j"}, {"uid", "u"}, {"controller", true}});
  const KeptPod kept = KeepPod(PodOf({{"ownerReferences", owners}, {"finalizers", finalizers}}));
  EXPECT_THAT(kept.pod.metadata.owners, SizeIs(9));
  ASSERT_NE(kept.pod.metadata.controller(), nullptr);
  EXPECT_EQ(kept.pod.metadata.controller()->kind, "Job");
  EXPECT_TRUE(kept.pod.metadata.finalizers.empty());
  EXPECT_THAT(kept.pod.problems, SizeIs(1));
  EXPECT_LE(kept.bytes, 8 << 10);
}

TEST(KeptMetadataTest, ConstraintsThatAreTooLargeSelectNoNode) {
  json values = json::array();
  for (int i = 0; i < 16'000; ++i) values.push_back("a");
  const json affinity = {
      {"nodeAffinity",
       {{"requiredDuringSchedulingIgnoredDuringExecution",
         {{"nodeSelectorTerms",
           {{{"matchExpressions", {{{"key", "k"}, {"operator", "In"}, {"values", values}}}}}}}}}}}};
  const KeptPod kept = KeepPod(PodOf(json::object(), {{"affinity", affinity}}));
  EXPECT_TRUE(kept.pod.constraints.has_affinity);
  EXPECT_TRUE(kept.pod.constraints.terms.empty());
  ASSERT_THAT(kept.pod.problems, SizeIs(1));
  EXPECT_THAT(kept.pod.problems[0], HasSubstr("select nodes by a label"));
  EXPECT_LE(kept.bytes, 4 << 10);
}

TEST(KeptMetadataTest, OfTooManyRequestsThoseOfEveryPodAreCounted) {
  json requests = {{"nvidia.com/gpu", "8"}, {"cpu", "4"}, {"memory", "1Gi"}};
  json ports = json::array();
  for (int i = 0; i < 16'000; ++i) {
    requests[StrCat("a.b/r", i)] = "1";
    ports.push_back({{"hostPort", i + 1}});
  }
  const json container = {{"name", "c"}, {"resources", {{"requests", requests}}}, {"ports", ports}};
  const KeptPod kept = KeepPod(PodOf(json::object(), {{"containers", {container}}}));
  EXPECT_THAT(kept.pod.requests, SizeIs(64));
  EXPECT_EQ(kept.pod.gpus(), 8);
  EXPECT_EQ(workload::AmountOf(kept.pod.requests, "cpu"), 4'000);
  EXPECT_EQ(workload::AmountOf(kept.pod.requests, "pods"), 1);
  EXPECT_FALSE(kept.pod.requests_unreadable) << "or a tenant's pod would fill its host";
  ASSERT_THAT(kept.pod.problems, SizeIs(1));
  EXPECT_LE(kept.bytes, 16 << 10);
}

TEST(KeptMetadataTest, AListThatIsLongerThanAnyIsNotRead) {
  json gates = json::array({{{"name", kPlacementGate}}}), many = gates;
  for (int i = 0; i < 100'000; ++i) many.push_back(json::object());
  for (int i = 0; i < 1'000; ++i) gates.push_back({{"name", StrCat("a/", i)}});
  const KeptPod kept =
      KeepPod(PodOf(json::object(), {{"schedulingGates", gates}, {"containers", many}}));
  EXPECT_TRUE(kept.pod.gated());
  EXPECT_THAT(kept.pod.scheduling_gates, SizeIs(64));
  EXPECT_THAT(kept.pod.problems, SizeIs(2));
  EXPECT_LE(kept.bytes, 8 << 10);
}

// All of it at once, within what the API server stores of one object.
TEST(KeptMetadataTest, TheWorstPodIsBounded) {
  json labels, annotations, finalizers = json::array(), requests, tolerations = json::array();
  for (int i = 0; i < 400; ++i) labels[StrCat(std::string(240, 'l'), i)] = std::string(63, 'v');
  for (const char* key : {kParallelismAnnotation, kAvoidHostsAnnotation, kCheckpointAnnotation,
                          kGateTimeoutAnnotation, kGpuResourceAnnotation, kReleasedAnnotation}) {
    annotations[key] = std::string(40'000, 'x');
  }
  for (int i = 0; i < 1'000; ++i) requests[StrCat(std::string(300, 'r'), i)] = "1";
  for (int i = 0; i < 250; ++i) {
    tolerations.push_back({{"key", StrCat("key", i)}, {"value", std::string(50, 'v')}});
  }
  const KeptPod kept =
      KeepPod(PodOf({{"labels", labels}, {"annotations", annotations}},
                    {{"tolerations", tolerations},
                     {"containers", {{{"name", "c"}, {"resources", {{"limits", requests}}}}}}}));
  EXPECT_LE(kept.bytes, kMaxBytes);
}

// A job with a pod spec and a checkpoint command.
json JobOf(json metadata, json pod_spec, json command) {
  metadata["name"] = "j";
  json spec = {{"workers", 2}, {"template", {{"spec", std::move(pod_spec)}}}};
  spec["checkpoint"] = {{"request", "Command"}, {"command", std::move(command)}};
  return {{"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
}

TEST(KeptMetadataTest, TheWorstTrainingJobIsBounded) {
  json labels, requests, tolerations = json::array();
  for (int i = 0; i < 70; ++i) labels[StrCat(std::string(240, 'l'), i)] = std::string(63, 'v');
  for (int i = 0; i < 60; ++i) requests[StrCat(std::string(300, 'r'), i)] = "1";
  for (int i = 0; i < 250; ++i) {
    tolerations.push_back({{"key", StrCat("key", i)}, {"value", std::string(50, 'v')}});
  }
  const json spec = {{"tolerations", tolerations},
                     {"containers",
                      {{{"name", "c"},
                        {"args", {std::string(50'000, 'x')}},
                        {"resources", {{"limits", requests}}}}}}};
  json command;
  for (int i = 0; i < 30; ++i) command.push_back(std::string(4'096, 'x'));
  const json object = JobOf(
      {{"labels", labels}, {"annotations", {{"note", std::string(200'000, 'x')}}}}, spec, command);
  const HeapMeter heap;
  auto job = DecodeTrainingJob(object, UnknownFields::kIgnore);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_LE(heap.held(), 512 << 10);
  job->DropTemplates();
  EXPECT_LE(heap.held(), 256 << 10);
  EXPECT_TRUE(job->checkpoint.command.empty());
}

TEST(KeptMetadataTest, ACheckpointCommandCountsLikeATemplate) {
  json command;
  for (int i = 0; i < 64; ++i) command.push_back(std::string(4'096, 'x'));
  const json container = {{"name", "c"}, {"image", "i"}};
  const auto job = DecodeTrainingJob(JobOf(json::object(), {{"containers", {container}}}, command),
                                     UnknownFields::kIgnore);
  ASSERT_FALSE(job.ok());
  EXPECT_THAT(std::string(job.status().message()),
              testing::MatchesRegex("spec.template: and the templates of roles and "
                                    "checkpoint.command have .* bytes together, and at most "
                                    "262144 are taken for a job; .*"));
}

// The error is found before anything is made of the text: of its terms, its containers and its
// ports.
TEST(KeptMetadataTest, ATemplateThatIsTooLargeCostsNothingToRefuse) {
  json containers = json::array(), command = {"save"};
  for (int i = 0; i < 20'000; ++i) {
    containers.push_back({{"name", "c"}, {"resources", {{"limits", {{StrCat("a.b/", i), "1"}}}}}});
  }
  const json pod_spec = {{"containers", containers}};
  json in_role = JobOf(json::object(), json::object(), command);
  in_role["spec"]["roles"] = {{{"name", "r"}, {"template", {{"spec", pod_spec}}}}};
  for (const json& object : {JobOf(json::object(), pod_spec, command), in_role}) {
    const HeapMeter heap;
    const auto job = DecodeTrainingJob(object, UnknownFields::kIgnore);
    ASSERT_FALSE(job.ok());
    EXPECT_THAT(std::string(job.status().message()), HasSubstr("template: is about"));
    EXPECT_LE(heap.peak(), 64 << 10);
  }
}

TEST(KeptMetadataTest, OfNodesForeignAnnotationsAreNotKept) {
  const json node = {
      {"metadata",
       {{"name", "n"},
        {"labels", {{"a", "b"}}},
        {"annotations",
         {{kHostRecordAnnotation, "x"}, {"csi.volume/nodeid", std::string(9'000, 'x')}}}}}};
  const auto kept = DecodeNode(node, api::Keep::kRead);
  ASSERT_TRUE(kept.ok());
  EXPECT_THAT(kept->metadata.annotations, SizeIs(1));
  EXPECT_THAT(kept->metadata.labels, SizeIs(1));
  EXPECT_THAT(DecodeNode(node)->metadata.annotations, SizeIs(2)) << "of a file all is kept";
}

}  // namespace
}  // namespace yardmaster::api
