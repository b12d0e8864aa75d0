#include "pkg/api/training_job.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/compute_domain.h"
#include "pkg/api/fabric.h"
#include "pkg/api/gang.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;

json JobJson(const char* spec) {
  return {{"apiVersion", "yardmaster.dev/v1alpha1"},
          {"kind", "TrainingJob"},
          {"metadata", {{"name", "a"}, {"namespace", "default"}}},
          {"spec", json::parse(spec)}};
}

TEST(TrainingJobTest, TheSmallestJobHasADefaultForEverything) {
  auto job = DecodeTrainingJob(JobJson(R"({"workers":16,"gpusPerWorker":8,
    "parallelism":{"tensor":8,"data":8,"pipeline":2},
    "placement":{"data":{"within":"Segment","mode":"Required"}},
    "template":{"spec":{"containers":[{"name":"trainer","image":"i"}]}}})"));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->job.parallelism.context, 1);
  EXPECT_EQ(job->job.parallelism.expert, 1);
  EXPECT_EQ(job->job.parallelism.order, workload::kMegatronOrder);
  const workload::Job pure = ToJob(job->job, {"default", "a"}, "", 0, 8);
  EXPECT_EQ(workload::Problems(pure, 8), std::vector<std::string>());
  EXPECT_EQ(pure.placement.tensor, (workload::GroupPolicy{workload::TopologyLevel::kHost,
                                                          workload::Enforcement::kRequired}));
  EXPECT_EQ(pure.placement.data, (workload::GroupPolicy{workload::TopologyLevel::kSegment,
                                                        workload::Enforcement::kRequired}));
}

TEST(TrainingJobTest, WithoutParallelismAllGpusAreOneDataGroup) {
  auto job = DecodeTrainingJob(JobJson(R"({"workers":4})"));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->job.parallelism.data, 32);
  EXPECT_FALSE(job->job.parallelism_given);
}

TEST(TrainingJobTest, DataLeftOutBesideOtherSizesFollowsFromTheWorld) {
  auto job =
      DecodeTrainingJob(JobJson(R"({"workers":16,"parallelism":{"tensor":8,"pipeline":2}})"));
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->job.parallelism.data, 8);
  auto odd = DecodeTrainingJob(JobJson(R"({"workers":16,"parallelism":{"tensor":5}})"));
  ASSERT_TRUE(odd.ok());
  EXPECT_FALSE(workload::Problems(ToJob(odd->job, {}, "", 0, 8), 8).empty());
}

TEST(TrainingJobTest, DefaultPlacementFollowsWhatFitsIntoAHost) {
  auto within = [](const char* spec, int gpus_per_host) {
    auto job = DecodeTrainingJob(JobJson(spec));
    EXPECT_TRUE(job.ok()) << job.status();
    return ToJob(job->job, {}, "", 0, gpus_per_host).placement.tensor.within;
  };
  using workload::TopologyLevel;
  EXPECT_EQ(within(R"({"workers":2,"parallelism":{"tensor":8,"data":2}})", 8),
            TopologyLevel::kHost);
  EXPECT_EQ(within(R"({"workers":2,"parallelism":{"tensor":16}})", 8), TopologyLevel::kSegment);
  EXPECT_EQ(within(R"({"workers":4,"gpusPerWorker":4,"parallelism":{"tensor":8,"data":2}})", 8),
            TopologyLevel::kHost);
  EXPECT_EQ(within(R"({"workers":4,"gpusPerWorker":4,"parallelism":{"tensor":8,"data":2}})", 4),
            TopologyLevel::kSegment);
  EXPECT_EQ(within(R"({"workers":2,"parallelism":{"tensor":2,"data":8,"order":"dp-tp"}})", 8),
            TopologyLevel::kSegment);
}

TEST(TrainingJobTest, EveryFieldReadsBackAsItWasWritten) {
  auto job = DecodeTrainingJob(JobJson(R"({"workers":4,"gpusPerWorker":8,
    "parallelism":{"tensor":2,"context":2,"expert":2,"data":4,"pipeline":2,"virtualPipeline":3,
                   "order":"tp-pp-cp-ep-dp"},
    "placement":{"tensor":{"within":"Host"},"data":{"mode":"Preferred"},"maxStagesPerSegment":1},
    "profile":{"flopPerIteration":1e15,"computeSeconds":1.5,"communicationStart":0.25,
               "dataBytes":1e9,"expertDataBytes":2e9,"pipelineBytes":1e6,"tensorBytes":5e8,
               "contextBytes":3e8,"expertBytes":0,"measured":true},
    "model":{"parameters":7e9,"layers":32,"precision":"FP8"},
    "priority":-5,"preemptible":true,"preemptionPolicy":"Never","runSeconds":3600,"reserveAfterSeconds":60.5,
    "recovery":{"onHostLoss":"Replace","onWorkerFailure":"Fail","hostGraceSeconds":5,"maxRestarts":2,
                "restartWindowSeconds":60,"backoffSeconds":1,"maxBackoffSeconds":8,
                "rules":[{"action":"Fail","exitCodes":[1,2],"container":"t"},
                         {"action":"Replace","exitCodesNotIn":[3]},
                         {"action":"Ignore","podCondition":"DisruptionTarget"}]},
    "checkpoint":{"intervalSeconds":1800,"graceSeconds":60,"request":"Command",
                  "command":["sh","-c","kill -USR1 1"],"mark":"File"},
    "capacity":{"types":["Spot","Reserved"]},"gpuModel":"H800",
    "template":{"metadata":{"labels":{"a":"b"}},"spec":{"nodeSelector":{"x":"y"},
      "containers":[{"name":"t","resources":{"limits":{"nvidia.com/gpu":8}}}]}}})"));
  ASSERT_TRUE(job.ok()) << job.status();
  job->status.observed_generation = 3;
  job->status.conditions = {
      {"Running", ConditionStatus::kTrue, "AllReady", "m", 3, 1'700'000'000'000}};
  job->status.workers = 4;
  job->status.ready_workers = 3;
  job->status.segments = {{"p0", "p0s1", 4}};
  job->status.intensity = 1.25e15;
  job->status.level = 7;
  job->status.restarts = 1;
  Incident incident;
  incident.attempt = 2;
  incident.cause = IncidentCause::kHostLost;
  incident.action = OnHostLoss::kReplace;
  incident.ranks = {1, 3};
  incident.host = "n1";
  incident.exit_code = 134;
  incident.message = "m";
  incident.start_ms = 1'700'000'000'000;
  incident.not_before_ms = 1'700'000'010'000;
  incident.first_rank = 1;
  incident.blames_host = true;
  incident.segment = "p0/p0s1";
  incident.domain = "p0/p0s1/d0";
  job->status.recovery = {2, 1, 1, 1'700'000'000'000, 1, 1, {incident}};
  job->status.recovery.avoided = {{"n1", 1'700'000'000'000}};
  job->status.recovery.suspended = true;
  job->status.start_ms = 1'700'000'000'000;
  job->status.completion_ms = 1'700'000'060'000;
  job->status.rendezvous_port = 20'123;
  job->run = {true, "yardmaster.dev/operator", 60,
              0,    SuccessPolicy::kRankZero,  CleanPodPolicy::kAll};
  const json written = EncodeTrainingJob(*job);
  auto again = DecodeTrainingJob(written);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(EncodeTrainingJob(*again), written);
  EXPECT_EQ(again->job, job->job);
  EXPECT_EQ(again->status, job->status);
  EXPECT_EQ(again->recovery, job->recovery);
  EXPECT_EQ(again->checkpoint, job->checkpoint);
  EXPECT_EQ(again->checkpoint.command.size(), 3u);
  EXPECT_EQ(again->run, job->run);
  EXPECT_EQ(again->constraints, job->constraints);
  EXPECT_EQ(again->constraints.node_selector.at("x"), "y");
  EXPECT_EQ(again->constraints.gpu_model, "H800");
}

struct BadJob {
  const char* name;
  const char* spec;
  const char* message;
};

class BadJobTest : public testing::TestWithParam<BadJob> {};

TEST_P(BadJobTest, IsRefusedWithItsFieldAndAFix) {
  auto job = DecodeTrainingJob(JobJson(GetParam().spec));
  ASSERT_FALSE(job.ok());
  const std::string message = MessageOf(job.status());
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
  EXPECT_NE(message.find("; "), std::string::npos) << "no fix in: " << message;
}

INSTANTIATE_TEST_SUITE_P(
    , BadJobTest,
    testing::Values(
        BadJob{"NoWorkers", R"({"workers":0})",
               "spec.workers: expected an integer from 1 to 1000000, got 0"},
        BadJob{"NegativeWorkers", R"({"workers":-1})", "spec.workers: expected an integer"},
        BadJob{"MisspeltField", R"({"worker":4})",
               "spec.worker: there is no such field; did you mean workers?"},
        BadJob{"WordForANumber", R"({"parallelism":{"tensor":"eight"}})",
               "spec.parallelism.tensor: expected an integer from 1 to 1000000, got \"eight\""},
        BadJob{"UnknownAxis", R"({"parallelism":{"tp":8}})",
               "spec.parallelism.tp: there is no such field"},
        BadJob{
            "MoreGpusThanAJobCanHave",
            R"({"parallelism":{"tensor":1000000,"context":1000000,"data":1000000,
                   "pipeline":1000000}})",
            "spec.parallelism: expected at most 1024000000 GPUs, got tensor*context*data*pipeline "
            "= 1000000*1000000*1000000*1000000"},
        BadJob{"MoreGpusOfAnElasticJob",
               R"({"parallelism":{"tensor":1000000,"context":1000000,"pipeline":1000000},
                   "elastic":{"minData":1000000,"maxData":1000000}})",
               "spec.parallelism: expected at most 1024000000 GPUs"},
        BadJob{"EmptyResource", R"({"gpuResource":""})",
               "spec.gpuResource: expected at least 1 character, got \"\""},
        BadJob{"ExitCodeTwice", R"({"recovery":{"rules":[{"action":"Fail","exitCodes":[3,4,3]}]}})",
               "spec.recovery.rules[0].exitCodes[2]: expected a value that no earlier entry has, "
               "got 3"},
        BadJob{"UnknownOrder", R"({"parallelism":{"order":"tp-xp"}})",
               "spec.parallelism.order: \"tp-xp\""},
        BadJob{"ListForAnObject", R"({"parallelism":[8]})",
               "spec.parallelism: expected an object, got a list"},
        BadJob{"UnknownPlace", R"({"placement":{"data":{"within":"Rack"}}})",
               "spec.placement.data.within: expected Host, Domain, Segment, FabricPod or "
               "Fabric"},
        BadJob{"MisspeltMode", R"({"placement":{"data":{"mode":"required"}}})",
               "did you mean Required?"},
        BadJob{"FractionAboveOne", R"({"profile":{"communicationStart":2}})",
               "spec.profile.communicationStart: expected a number from 0 to 1, got 2"},
        BadJob{"NegativeBytes", R"({"profile":{"dataBytes":-1}})",
               "spec.profile.dataBytes: expected a number"},
        BadJob{"UnknownCapacity", R"({"capacity":{"types":["Cheap"]}})",
               "spec.capacity.types[0]: \"Cheap\""},
        BadJob{"GpusThatDiffer", R"({"gpusPerWorker":8,"template":{"spec":{"containers":[
                   {"resources":{"limits":{"nvidia.com/gpu":4}}}]}}})",
               "spec.template.spec.containers: ask for 4 GPUs and spec.gpusPerWorker is 8"},
        BadJob{"CheckpointCommandMissing", R"({"checkpoint":{"request":"Command"}})",
               "spec.checkpoint.command: is missing"},
        BadJob{"CheckpointCommandWithoutItsRequest", R"({"checkpoint":{"command":["save"]}})",
               "spec.checkpoint.command: is given and request is not Command"},
        BadJob{"CheckpointCommandBesideAHook",
               R"({"checkpoint":{"request":"Command","command":["save"]},"template":{"spec":
                   {"containers":[{"name":"t","lifecycle":{"preStop":{"sleep":{"seconds":1}}}}]}}})",
               "spec.checkpoint.command: the first container of spec.template has a "
               "lifecycle.preStop of its own"},
        BadJob{"CheckpointInARelativeDirectory", R"({"checkpoint":{"directory":"data"}})",
               "spec.checkpoint.directory: expected an absolute path, got \"data\""},
        BadJob{"CheckpointClaimWithoutADirectory", R"({"checkpoint":{"claim":"c"}})",
               "spec.checkpoint.claim: has no directory to be mounted at"},
        BadJob{"NegativeGrace", R"({"checkpoint":{"graceSeconds":-1}})",
               "spec.checkpoint.graceSeconds: expected an integer from 0"},
        BadJob{"PriorityTwice", R"({"priority":3,"priorityClassName":"high"})",
               "spec.priorityClassName: spec.priority is another way to say the same"},
        BadJob{"PriorityClassesThatDiffer",
               R"({"priorityClassName":"high","template":{"spec":{"priorityClassName":"low"}}})",
               "spec.template.spec.priorityClassName: is low and spec.priorityClassName is high"},
        BadJob{"SuccessOfNoRole", R"({"successPolicy":"Role"})", "spec.successRole: is missing"},
        BadJob{"SuccessRoleWithoutItsPolicy", R"({"successRole":"eval"})",
               "spec.successRole: is given and successPolicy is not Role"},
        BadJob{"SuccessOfAnUnknownRole", R"({"successPolicy":"Role","successRole":"eval"})",
               "spec.successRole: eval is not among spec.roles"},
        BadJob{"NoTimeAtAll", R"({"activeDeadlineSeconds":0})",
               "spec.activeDeadlineSeconds: expected an integer from 1"},
        BadJob{"UnknownCleanUp", R"({"cleanPodPolicy":"None"})",
               "spec.cleanPodPolicy: expected Running or All"},
        BadJob{"UnknownCheckpointMark", R"({"checkpoint":{"mark":"Mail"}})",
               "spec.checkpoint.mark: expected Annotation or File"},
        BadJob{"DataGroupsThatAreNotGiven", R"({"recovery":{"unit":"DataGroup"}})",
               "spec.recovery.unit: is DataGroup, and spec.parallelism is missing; give "
               "parallelism so that no two data groups share a worker, or leave unit out"},
        BadJob{
            "OneDataGroup",
            R"({"workers":2,"recovery":{"unit":"DataGroup"},"parallelism":{"tensor":16}})",
            "spec.recovery.unit: is DataGroup, and every worker has GPUs of the same data group"},
        BadJob{
            "DataGroupsInEveryWorker",
            R"({"workers":2,"recovery":{"unit":"DataGroup"},
                   "parallelism":{"tensor":4,"pipeline":2}})",
            "spec.recovery.unit: is DataGroup, and every worker has GPUs of the same data group"},
        BadJob{"DataGroupsOfAnElasticJob",
               R"({"workers":4,"recovery":{"unit":"DataGroup"},"parallelism":{"tensor":8},
                   "elastic":{"minData":2,"maxData":4}})",
               "spec.recovery.unit: is DataGroup, and spec.elastic restarts all workers with each "
               "size; leave one of the two out"},
        BadJob{"NegativeLayers", R"({"model":{"layers":-1}})",
               "spec.model.layers: expected an integer from 1 to 1000000, got -1"},
        BadJob{"FractionOfALayer", R"({"model":{"layers":1.5}})",
               "spec.model.layers: expected an integer"},
        BadJob{"AbsurdWidth", R"({"model":{"hiddenSize":99999999999}})",
               "spec.model.hiddenSize: expected an integer from 1 to 10000000"},
        BadJob{"NoParameters", R"({"model":{"parameters":0}})",
               "spec.model.parameters: expected a number from 1 to 1e+18, got 0"},
        BadJob{"MisspeltModelField", R"({"model":{"hidden":8}})",
               "spec.model.hidden: there is no such field"},
        BadJob{"UnknownPrecision", R"({"model":{"precision":"bf16"}})", "did you mean BF16?"},
        BadJob{"UnknownSharding", R"({"model":{"sharding":"Full"}})",
               "spec.model.sharding: expected None, Optimizer or Parameters"},
        BadJob{"TextForAModel", R"({"model":"llama"})",
               "spec.model: expected an object, got \"llama\""}),
    [](const testing::TestParamInfo<BadJob>& info) { return info.param.name; });

TEST(DecodeTest, NothingThatIsJsonCrashesADecoder) {
  for (const json& value :
       {json(), json(1), json("x"), json::array({1}), json::object(), json{{"metadata", 1}},
        json{{"metadata", {{"name", 5}}}}, json{{"spec", json::array()}, {"status", "x"}}}) {
    EXPECT_FALSE(DecodeFabric(value).ok());
    EXPECT_FALSE(DecodeTrainingJob(value).ok());
    EXPECT_FALSE(DecodeGang(value).ok());
  }
}

TEST(TrainingJobTest, StatusFieldsThatAreNotKnownYetAreNotWritten) {
  TrainingJobStatus status;
  json written = EncodeTrainingJobStatus(status);
  for (const char* key : {"intensity", "level", "startTime", "completionTime", "checkpoint",
                          "lostWork", "rendezvousPort", "elastic"}) {
    EXPECT_FALSE(written.contains(key)) << key;
  }
  EXPECT_TRUE(written.at("capacity").is_null());
  status.intensity = 0;
  status.level = 0;
  status.checkpoint.last_ms = 1'700'000'000'000;
  status.checkpoint.cost_seconds = 2.5;
  status.checkpoint.interval_seconds = 600;
  status.lost_gpu_seconds = {{"HostLost", 7.5}, {"Preempted", 0}};
  auto job = DecodeTrainingJob(JobJson("{}"));
  ASSERT_TRUE(job.ok()) << job.status();
  job->status = status;
  const auto again = DecodeTrainingJob(EncodeTrainingJob(*job));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->status, status);
}

TEST(TrainingJobTest, ItHasEndedOnlyWhenItSucceededOrFailed) {
  TrainingJobStatus status;
  EXPECT_FALSE(status.ended());
  SetCondition(status.conditions, {"Running", ConditionStatus::kTrue, "A", "", 1, 0}, 0);
  SetCondition(status.conditions, {"Failed", ConditionStatus::kFalse, "A", "", 1, 0}, 0);
  EXPECT_FALSE(status.ended());
  for (const char* type : {"Succeeded", "Failed"}) {
    TrainingJobStatus ended = status;
    SetCondition(ended.conditions, {type, ConditionStatus::kTrue, "B", "", 1, 0}, 0);
    EXPECT_TRUE(ended.ended()) << type;
  }
}

TEST(TrainingJobTest, ACheckpointCostsWhatTheJobReportsElseWhatItsSpecSays) {
  auto job = DecodeTrainingJob(JobJson(R"({"checkpoint":{"costSeconds":40}})"));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->checkpoint_seconds(), 40);
  job->status.checkpoint.cost_seconds = 12.5;
  EXPECT_EQ(job->checkpoint_seconds(), 12.5);
}

TEST(TrainingJobTest, APodAsksForTheGpusOfAWorkerAlsoWhereTheTemplateDoesNot) {
  for (const char* limits : {"{}", R"({"nvidia.com/gpu":4})"}) {
    json object = JobJson(R"({"gpusPerWorker":4})");
    object["spec"]["template"]["spec"]["containers"] =
        json::array({{{"name", "t"}, {"resources", {{"limits", json::parse(limits)}}}}});
    const auto job = DecodeTrainingJob(object);
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(workload::AmountOf(job->requests, "nvidia.com/gpu"), 4) << limits;
  }
}

TEST(TrainingJobTest, AWorkerOfAComputeDomainHasTheChannelOfItsHost) {
  const auto job =
      DecodeTrainingJob(JobJson(R"({"workers":2,"computeDomain":true,"template":{}})"));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(workload::AmountOf(job->requests, kChannelOfHost), 1);
  const auto plain = DecodeTrainingJob(JobJson(R"({"workers":2,"template":{}})"));
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(workload::AmountOf(plain->requests, kChannelOfHost), 0);
}

TEST(TrainingJobTest, AComputeDomainOfOneWorkerOrBesideItsOwnClaimIsRefused) {
  const auto one = DecodeTrainingJob(JobJson(R"({"workers":1,"computeDomain":true})"));
  EXPECT_NE(MessageOf(one.status()).find("spec.computeDomain: connects hosts"), std::string::npos)
      << one.status();
  const auto twice = DecodeTrainingJob(
      JobJson(R"({"workers":2,"computeDomain":true,"template":{"spec":{"resourceClaims":
          [{"name":"yardmaster-compute-domain","resourceClaimName":"x"}]}}})"));
  EXPECT_NE(MessageOf(twice.status())
                .find("spec.template.spec.resourceClaims[0].name: is yardmaster-compute-domain"),
            std::string::npos)
      << twice.status();
}

TEST(TrainingJobTest, ATemplateThatIsNoObjectIsNamed) {
  const auto job = DecodeTrainingJob(JobJson(R"({"template":"pod"})"));
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(MessageOf(job.status()).rfind("spec.template: expected an object, got \"pod\"", 0), 0u)
      << job.status();
}

}  // namespace
}  // namespace yardmaster::api
