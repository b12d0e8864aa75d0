// Job kinds of other controllers through `plan --offline`, without their controllers; preemption
// and disruption budgets in its report.
#include <algorithm>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/cli/testing/offline_plan.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Two segments of `hosts` hosts.
std::string Nodes(int hosts) {
  std::string out;
  for (int s = 0; s < 2; ++s) {
    for (int h = 0; h < hosts; ++h) {
      out += StrCat("---\napiVersion: v1\nkind: Node\nmetadata: {name: s", s, "h", h,
                    ", labels: {yardmaster.dev/fabric-pod: p0, yardmaster.dev/segment: s", s,
                    "}}\nstatus: {allocatable: {nvidia.com/gpu: \"8\"}, ",
                    "conditions: [{type: Ready, status: \"True\"}]}\n");
    }
  }
  return out;
}

// A pod template in one line.
std::string Template(const std::string& annotation, int gpus = 8, const std::string& more = "") {
  return StrCat("{metadata: {annotations: {", annotation, "}}, spec: {", more,
                "containers: [{name: c, resources: {limits: {nvidia.com/gpu: ", gpus, "}}}]}}");
}

constexpr char kFour[] = "yardmaster.dev/parallelism: \"tp=8,dp=4\"";

std::string Workload(const char* version, const char* kind, const std::string& spec) {
  return StrCat("---\napiVersion: ", version, "\nkind: ", kind,
                "\nmetadata: {name: w, namespace: team}\nspec: ", spec, "\n");
}

TEST(PlanWorkloadsTest, EveryKindIsOneGangOfItsWorkers) {
  const std::string pods = Template(kFour);
  const std::string job =
      StrCat("{completionMode: Indexed, parallelism: 4, completions: 4, ", "template: ", pods, "}");
  const std::string two = StrCat("{completionMode: Indexed, parallelism: 2, template: ", pods, "}");
  const std::map<std::string, std::string> cases = {
      {"Job", Workload("batch/v1", "Job", job)},
      {"JobSet",
       Workload("jobset.x-k8s.io/v1alpha2", "JobSet",
                StrCat("{replicatedJobs: [{name: r, replicas: 2, template: {spec: ", two, "}}]}"))},
      {"LeaderWorkerSet",
       Workload(
           "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
           StrCat("{replicas: 1, leaderWorkerTemplate: {size: 4, workerTemplate: ", pods, "}}"))},
      {"PyTorchJob", Workload("kubeflow.org/v1", "PyTorchJob",
                              StrCat("{pytorchReplicaSpecs: {Master: {replicas: 1, template: ",
                                     pods, "}, Worker: {replicas: 3, template: ", pods, "}}}"))},
      {"MPIJob",
       Workload("kubeflow.org/v2beta1", "MPIJob",
                StrCat("{mpiReplicaSpecs: {Launcher: {replicas: 1, template: {spec: {containers: ",
                       "[{name: l}]}}}, Worker: {replicas: 4, template: ", pods, "}}}"))},
      {"TrainJob",
       Workload("trainer.kubeflow.org/v1alpha1", "TrainJob",
                StrCat("{annotations: {", kFour, "}, trainer: {numNodes: 4, resourcesPerNode: ",
                       "{limits: {nvidia.com/gpu: 8}}}}"))},
      {"VolcanoJob", Workload("batch.volcano.sh/v1alpha1", "Job",
                              StrCat("{tasks: [{name: t, replicas: 4, template: ", pods, "}]}"))}};
  for (const auto& [kind, manifest] : cases) {
    const PlanAnswer answer = PlanOffline(Nodes(4) + manifest);
    ASSERT_EQ(answer.code, 0) << kind << answer.err;
    ASSERT_EQ(answer.report["jobs"].size(), 1u) << kind << answer.err;
    const json planned = answer.job("w");
    // A TrainJob's pods are its JobSet's; Volcano's kind is Job, too.
    const std::string shown = kind == "TrainJob" ? "JobSet" : kind == "VolcanoJob" ? "Job" : kind;
    EXPECT_EQ(planned["kind"], shown);
    EXPECT_EQ(planned["namespace"], "team");
    EXPECT_EQ(planned["outcome"], "Placed") << kind;
    ASSERT_EQ(planned["assignments"].size(), 4u) << kind;
    EXPECT_EQ(planned["objective"]["segments"], 1) << kind;
  }
}

// Two segments of four hosts, of which the second and fourth of each are in pool "lead".
std::string PoolNodes() {
  std::string nodes = Nodes(4);
  for (const char* segment : {"s0", "s1"}) {
    for (int host = 0; host < 4; ++host) {
      const std::string name = StrCat("{name: ", segment, "h", host, ", labels: {");
      nodes.insert(nodes.find(name) + name.size(), host % 2 == 1 ? "pool: lead, " : "pool: work, ");
    }
  }
  return nodes;
}

TEST(PlanWorkloadsTest, PodsOfEveryRoleGetHostsThatTheirOwnTemplateSelects) {
  constexpr char kThree[] = "yardmaster.dev/parallelism: \"tp=8,dp=3\"";
  const std::string lead = Template(kThree, 8, "nodeSelector: {pool: lead}, ");
  const std::string work = Template(kThree, 8, "nodeSelector: {pool: work}, ");
  const auto indexed = [](int pods, const std::string& pod_template) {
    return StrCat("{spec: {completionMode: Indexed, parallelism: ", pods,
                  ", template: ", pod_template, "}}");
  };
  const std::map<std::string, std::string> cases = {
      {"JobSet",
       Workload("jobset.x-k8s.io/v1alpha2", "JobSet",
                StrCat("{replicatedJobs: [{name: l, replicas: 1, template: ", indexed(1, lead),
                       "}, {name: w, replicas: 1, template: ", indexed(2, work), "}]}"))},
      {"LeaderWorkerSet",
       Workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
                StrCat("{replicas: 1, leaderWorkerTemplate: {size: 3, leaderTemplate: ", lead,
                       ", workerTemplate: ", work, "}}"))},
      {"PyTorchJob", Workload("kubeflow.org/v1", "PyTorchJob",
                              StrCat("{pytorchReplicaSpecs: {Master: {replicas: 1, template: ",
                                     lead, "}, Worker: {replicas: 2, template: ", work, "}}}"))},
      {"MPIJob",
       Workload("kubeflow.org/v2beta1", "MPIJob",
                StrCat("{runLauncherAsWorker: true, mpiReplicaSpecs: {Launcher: {replicas: 1, "
                       "template: ",
                       lead, "}, Worker: {replicas: 2, template: ", work, "}}}"))},
      {"VolcanoJob", Workload("batch.volcano.sh/v1alpha1", "Job",
                              StrCat("{tasks: [{name: a, replicas: 1, template: ", lead,
                                     "}, {name: b, replicas: 2, template: ", work, "}]}"))}};
  for (const auto& [kind, manifest] : cases) {
    const PlanAnswer answer = PlanOffline(PoolNodes() + manifest);
    const json planned = answer.job("w");
    ASSERT_EQ(planned["outcome"], "Placed") << kind << " " << planned << answer.err;
    ASSERT_EQ(planned["assignments"].size(), 3u) << kind;
    EXPECT_EQ(planned["objective"]["segments"], 1) << kind;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const std::string host = planned["assignments"][rank]["host"];
      EXPECT_EQ((host.back() - '0') % 2, rank == 0 ? 1 : 0) << kind << " rank " << rank << host;
    }
  }
}

TEST(PlanWorkloadsTest, ARoleWhoseHostsAreTooFewIsNamed) {
  const std::string lead =
      Template("yardmaster.dev/parallelism: \"tp=8,dp=3\"", 8, "nodeSelector: {pool: other}, ");
  const std::string work = Template("yardmaster.dev/parallelism: \"tp=8,dp=3\"");
  const PlanAnswer answer = PlanOffline(
      PoolNodes() + Workload("kubeflow.org/v1", "PyTorchJob",
                             StrCat("{pytorchReplicaSpecs: {Master: {replicas: 1, template: ", lead,
                                    "}, Worker: {replicas: 2, template: ", work, "}}}")));
  EXPECT_EQ(answer.job("w")["outcome"], "Never");
  EXPECT_THAT(answer.job("w").dump(),
              HasSubstr("1 host short for rank 0: 1 host needed, 0 that the pods may use in all"));
}

TEST(PlanWorkloadsTest, WhatWantsNoGangIsIgnoredAndSaid) {
  const PlanAnswer plain = PlanOffline(
      Nodes(1) + Workload("batch/v1", "Job", "{template: {spec: {containers: [{name: c}]}}}"));
  EXPECT_EQ(plain.code, 0);
  EXPECT_TRUE(plain.report["jobs"].empty());
  EXPECT_THAT(plain.err, HasSubstr("ignored: 1 Job (read are"));
  const std::string service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: w}\n";
  EXPECT_THAT(PlanOffline(Nodes(1) + service + service +
                          Workload("batch/v1", "Job", "{template: {spec: {}}}"))
                  .err,
              HasSubstr("ignored: 1 Job, 2 Services (read are"));
  const PlanAnswer suspended = PlanOffline(
      Nodes(4) + Workload("batch/v1", "Job",
                          StrCat("{suspend: true, parallelism: 4, completionMode: Indexed, ",
                                 "template: ", Template(kFour), "}")));
  EXPECT_TRUE(suspended.report["jobs"].empty());
  // Pods without an index have no rank: nothing is guessed.
  const PlanAnswer unindexed =
      PlanOffline(Nodes(4) + Workload("batch/v1", "Job",
                                      StrCat("{parallelism: 4, template: ", Template(kFour), "}")));
  EXPECT_EQ(unindexed.job("w")["outcome"], "Never");
  EXPECT_THAT(unindexed.err, HasSubstr("let the Job have completionMode: Indexed"));
}

TEST(PlanWorkloadsTest, AWorkloadThatSaysNoParallelismIsOneDataParallelGroupAndItIsSaid) {
  const auto job = [](const std::string& mode, const std::string& uid) {
    return StrCat("---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: w, namespace: team", uid,
                  "}\nspec: {", mode, "parallelism: 4, template: ", Template(""), "}\n");
  };
  const PlanAnswer answer = PlanOffline(Nodes(4) + job("completionMode: Indexed, ", ""));
  EXPECT_EQ(answer.code, 0) << answer.err;
  const json planned = answer.job("w");
  EXPECT_EQ(planned["outcome"], "Placed");
  EXPECT_EQ(planned["objective"]["dataSplitSegments"], 0);
  ASSERT_EQ(planned["warnings"].size(), 1u) << planned;
  EXPECT_THAT(planned["warnings"][0].get<std::string>(), HasSubstr("parallelism guessed"));
  EXPECT_THAT(answer.err, HasSubstr("Job team/w: its pods state no parallelism"));
  // One of the API server has its pods, and one whose pods have no index can be no gang.
  for (const std::string& other : {job("completionMode: Indexed, ", ", uid: u"), job("", "")}) {
    const PlanAnswer left = PlanOffline(Nodes(4) + other);
    EXPECT_EQ(left.code, 0) << left.err;
    EXPECT_TRUE(left.report["jobs"].empty()) << other;
    EXPECT_THAT(left.err, HasSubstr("ignored: 1 Job (read are"));
  }
}

// The admission of JobSet writes the mode into its Jobs.
TEST(PlanWorkloadsTest, JobsOfAJobSetAreIndexedUnlessTheySayOtherwise) {
  const auto of_mode = [](const std::string& mode) {
    return PlanOffline(
        Nodes(4) + Workload("jobset.x-k8s.io/v1alpha2", "JobSet",
                            StrCat("{replicatedJobs: [{name: r, replicas: 2, template: {spec: {",
                                   mode, "parallelism: 2, template: ", Template(kFour), "}}}]}")));
  };
  const PlanAnswer left_out = of_mode("");
  ASSERT_EQ(left_out.report["jobs"].size(), 1u) << left_out.err;
  EXPECT_EQ(left_out.job("w")["assignments"].size(), 4u);
  const PlanAnswer unindexed = of_mode("completionMode: NonIndexed, ");
  EXPECT_EQ(unindexed.job("w")["outcome"], "Never");
  EXPECT_THAT(unindexed.err, HasSubstr("let its Jobs have completionMode: Indexed"));
}

PlanAnswer FourPods(const std::string& parallelism) {
  return PlanOffline(
      Nodes(4) +
      Workload("batch/v1", "Job",
               StrCat("{completionMode: Indexed, parallelism: 4, completions: 4, ", "template: ",
                      Template(StrCat("yardmaster.dev/parallelism: \"", parallelism, "\"")), "}")));
}

TEST(PlanWorkloadsTest, GangsOfOneOwnerAreToldApart) {
  const PlanAnswer answer = PlanOffline(
      Nodes(4) + Workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
                          StrCat("{replicas: 2, leaderWorkerTemplate: {size: 4, workerTemplate: ",
                                 Template(kFour), "}}")));
  ASSERT_EQ(answer.report["jobs"].size(), 2u) << answer.err;
  for (const std::size_t group : {0, 1}) {
    EXPECT_EQ(answer.report["jobs"][group]["name"], "w");
    EXPECT_EQ(answer.report["jobs"][group]["gang"], StrCat("leaderworkerset-w-", group));
  }
}

// As in a cluster, where the extender asks the owner.
TEST(PlanWorkloadsTest, AWorkloadSaysHowManyItsPodsAreWhereTheyDoNot) {
  const PlanAnswer answer = FourPods("tp=8");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(answer.job("w")["outcome"], "Placed");
  EXPECT_EQ(answer.job("w")["assignments"].size(), 4u);
}

TEST(PlanWorkloadsTest, SizesThatDoNotMultiplyAreRefusedWithTheArithmetic) {
  for (const auto& [sizes, product] : {std::pair{"tp=8,dp=3", "8*1*3*1 = 24 GPUs"},
                                       {"tp=8,dp=5", "8*1*5*1 = 40 GPUs"},
                                       {"tp=8,pp=2,dp=4", "8*1*4*2 = 64 GPUs"}}) {
    const PlanAnswer answer = FourPods(sizes);
    EXPECT_EQ(answer.job("w")["outcome"], "Never") << sizes;
    EXPECT_THAT(answer.err, HasSubstr(StrCat(product, ", and 4 pods * 8 GPUs = 32"))) << sizes;
  }
}

TEST(PlanWorkloadsTest, AWorkloadThatCannotBeAGangIsWrongInputAndNeverPlanned) {
  const auto with = [](const std::string& annotation, const std::string& gpus = "8") {
    return PlanOffline(
        Nodes(4) +
        Workload("batch/v1", "Job",
                 StrCat("{completionMode: Indexed, parallelism: 4, template: {metadata: ",
                        "{annotations: {yardmaster.dev/parallelism: \"", annotation,
                        "\"}}, spec: {containers: [{resources: {limits: {nvidia.com/gpu: ", gpus,
                        "}}}]}}}")));
  };
  EXPECT_EQ(with("tp=8,dp=4").code, 0);
  const std::map<std::string, std::string> cases = {
      {"eight", "is not key=value; write it like tp=8"}, {"tp=0,dp=4", "needs an integer from 1"}};
  for (const auto& [annotation, problem] : cases) {
    const PlanAnswer answer = with(annotation);
    EXPECT_EQ(answer.code, 1) << annotation;
    EXPECT_THAT(answer.err, HasSubstr("standard input:")) << annotation;
    EXPECT_THAT(answer.err, HasSubstr("Job team/w: ")) << annotation;
    EXPECT_THAT(answer.err, HasSubstr(problem));
    EXPECT_THAT(answer.err, HasSubstr("warning: there is no Fabric"));
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 2) << answer.err;
    ASSERT_EQ(answer.report["jobs"].size(), 1u) << annotation;
    EXPECT_EQ(answer.job("w")["outcome"], "Never");
    EXPECT_THAT(answer.job("w")["reasons"][0]["message"].get<std::string>(), HasSubstr(problem));
  }
  EXPECT_THAT(with("tp=8,dp=4", "eight").err, HasSubstr("expected a quantity"));
}

TEST(PlanWorkloadsTest, WhatIsSuspendedOrHasEndedTakesNoPlace) {
  const std::string pytorch =
      StrCat("pytorchReplicaSpecs: {Worker: {replicas: 4, template: ", Template(kFour), "}}");
  const std::string volcano = StrCat("{tasks: [{replicas: 4, template: ", Template(kFour), "}]}");
  const auto volcano_in = [&](const char* phase) {
    return StrCat(Workload("batch.volcano.sh/v1alpha1", "Job", volcano),
                  "status: {state: {phase: ", phase, "}}\n");
  };
  EXPECT_EQ(PlanOffline(Nodes(4) + volcano_in("Running")).report["jobs"].size(), 1u);
  for (const std::string& gone :
       {Workload("kubeflow.org/v1", "PyTorchJob",
                 StrCat("{runPolicy: {suspend: true}, ", pytorch, "}")),
        volcano_in("Aborted"), volcano_in("Failed"),
        StrCat("---\napiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: w, ",
               "deletionTimestamp: \"2026-01-01T00:00:00Z\"}\nspec: {", pytorch, "}\n")}) {
    const PlanAnswer answer = PlanOffline(Nodes(4) + gone);
    EXPECT_TRUE(answer.report["jobs"].empty()) << gone;
    EXPECT_THAT(answer.err, HasSubstr("ignored: 1 "));
    EXPECT_THAT(answer.err, HasSubstr("not suspended, deleted or ended"));
  }
}

TEST(PlanWorkloadsTest, PodsThatAreThereGoBeforeTheirWorkload) {
  std::string pods;
  for (int i = 0; i < 2; ++i) {
    pods += StrCat("---\napiVersion: v1\nkind: Pod\nmetadata: {name: w-", i,
                   ", namespace: team, labels: {batch.kubernetes.io/job-name: w, ",
                   "batch.kubernetes.io/job-completion-index: \"", i,
                   "\"}, annotations: {yardmaster.dev/parallelism: \"tp=8,dp=2\"}}\nspec: ",
                   "{containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]}\n");
  }
  const PlanAnswer answer = PlanOffline(
      Nodes(4) + pods +
      Workload(
          "batch/v1", "Job",
          StrCat("{completionMode: Indexed, parallelism: 4, template: ", Template(kFour), "}")));
  ASSERT_EQ(answer.report["jobs"].size(), 1u) << answer.err;
  EXPECT_EQ(answer.job("w")["assignments"].size(), 2u);
}

TEST(PlanWorkloadsTest, WrongNumbersSayWhere) {
  const PlanAnswer answer =
      PlanOffline(Nodes(1) + Workload("batch/v1", "Job",
                                      StrCat("{completionMode: Indexed, parallelism: -1, ",
                                             "template: ", Template(kFour), "}")));
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.err, HasSubstr("spec.parallelism: is -1; give a number from 0 to"));
}

// Gang "low" holds both hosts of segment s0, its pods have the label app: low.
std::string Holding(int priority) {
  std::string out =
      StrCat("---\napiVersion: yardmaster.dev/v1alpha1\nkind: Gang\n",
             "metadata: {name: job-low, namespace: team}\nspec: {owner: {apiVersion: batch/v1, ",
             "kind: Job, name: low, uid: u}, workers: 2, gpusPerWorker: 8, priority: ", priority,
             "}\nstatus: {planGeneration: 1, assignments: [{rank: 0, host: s0h0, fabricPod: p0, ",
             "segment: s0}, {rank: 1, host: s0h1, fabricPod: p0, segment: s0}]}\n");
  for (int i = 0; i < 2; ++i) {
    out += StrCat("---\napiVersion: v1\nkind: Pod\nmetadata: {name: low-", i,
                  ", namespace: team, labels: {app: low, batch.kubernetes.io/job-name: low, ",
                  "batch.kubernetes.io/job-completion-index: \"", i,
                  "\"}, annotations: {yardmaster.dev/parallelism: \"tp=8,dp=2\"}, ",
                  "ownerReferences: [{apiVersion: batch/v1, kind: Job, name: low, uid: u, ",
                  "controller: true}]}\nspec: {nodeName: s0h", i,
                  ", containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]}\n");
  }
  return out;
}

std::string Urgent() {
  return "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: urgent}\n"
         "value: 100\n" +
         Workload("batch/v1", "Job",
                  StrCat("{completionMode: Indexed, parallelism: 3, template: ",
                         Template("yardmaster.dev/parallelism: \"tp=8,dp=3\"", 8,
                                  "priorityClassName: urgent, "),
                         "}"));
}

TEST(PlanWorkloadsTest, TheReportSaysWhoWouldBeStopped) {
  const PlanAnswer answer = PlanOffline(Nodes(2) + Holding(1) + Urgent());
  ASSERT_EQ(answer.code, 0) << answer.err;
  const json job = answer.job("w");
  EXPECT_EQ(job["outcome"], "NotNow");
  ASSERT_TRUE(job.contains("preemption")) << job;
  const json& victim = job["preemption"]["victims"][0];
  EXPECT_EQ(victim["name"], "low");
  EXPECT_EQ(victim["kind"], "Job");
  EXPECT_EQ(victim["priority"], 1);
  EXPECT_EQ(victim["gpus"], 16);
  EXPECT_EQ(job["preemption"]["assignments"].size(), 3u);
  EXPECT_THAT(job["preemption"]["message"].get<std::string>(),
              HasSubstr("stops team/job-low (16 GPUs, priority 1)"));
  EXPECT_FALSE(PlanOffline(Nodes(2) + Holding(100) + Urgent()).job("w").contains("preemption"));
}

// What kube-scheduler would refuse is not planned, from manifests as in a cluster.
TEST(PlanWorkloadsTest, HostsThatAreShortOfAResourceAreNamed) {
  std::string nodes = Nodes(2);
  for (std::size_t at = 0; (at = nodes.find("{nvidia.com/gpu: \"8\"}", at)) != std::string::npos;) {
    nodes.replace(at, 21, "{nvidia.com/gpu: \"8\", cpu: \"96\", pods: \"110\"}");
    at += 21;
  }
  const auto web = [](const char* host) {
    return StrCat("---\napiVersion: v1\nkind: Pod\nmetadata: {name: web-", host,
                  "}\nspec: {nodeName: ", host,
                  ", containers: [{resources: {requests: {cpu: 8}}}]}\n");
  };
  const auto job = [](int workers, const char* name, const char* more) {
    return StrCat(
        "---\napiVersion: yardmaster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: ", name,
        ", namespace: team}\nspec: {workers: ", workers, ", ", more,
        "template: {spec: {containers: [{name: t, ", "resources: {requests: {cpu: \"90\"}}}]}}}\n");
  };
  const PlanAnswer one =
      PlanOffline(nodes + web("s0h0") + web("s1h1") + web("s1h0") + job(1, "a", ""));
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.job("a")["outcome"], "Placed");
  EXPECT_EQ(one.job("a")["assignments"][0]["host"], "s0h1");
  const PlanAnswer two =
      PlanOffline(nodes + web("s0h0") + web("s1h1") + web("s1h0") + job(2, "a", ""));
  EXPECT_EQ(two.job("a")["outcome"], "NotNow");
  EXPECT_THAT(two.job("a")["reasons"].dump(),
              HasSubstr("3 hosts short of cpu: 90 requested, 88 free"));
  EXPECT_THAT(two.job("a")["reasons"].dump(), HasSubstr("InsufficientResources"));
}

TEST(PlanWorkloadsTest, ATrainingJobHasThePriorityOfItsClass) {
  const PlanAnswer answer = PlanOffline(
      Nodes(1) +
      "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\n"
      "metadata: {name: gold}\nvalue: 70\n" +
      "---\napiVersion: yardmaster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: late, "
      "creationTimestamp: \"2026-01-02T00:00:00Z\"}\nspec: {workers: 2, priorityClassName: gold, "
      "placement: {data: {within: Fabric}}, template: {spec: {containers: [{name: t}]}}}\n" +
      "---\napiVersion: yardmaster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: early, "
      "creationTimestamp: \"2026-01-01T00:00:00Z\"}\nspec: {workers: 2, priority: 60, "
      "placement: {data: {within: Fabric}}, template: {spec: {containers: [{name: t}]}}}\n");
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(answer.job("late")["outcome"], "Placed");
  EXPECT_EQ(answer.job("early")["outcome"], "NotNow");
}

TEST(PlanWorkloadsTest, DisruptionBudgetsAreRespected) {
  auto budget = [](int allowed) {
    return StrCat("---\napiVersion: policy/v1\nkind: PodDisruptionBudget\n",
                  "metadata: {name: keep, namespace: team}\n",
                  "spec: {selector: {matchLabels: {app: low}}}\nstatus: {disruptionsAllowed: ",
                  allowed, "}\n");
  };
  const std::string rest = Nodes(2) + Holding(1) + Urgent();
  EXPECT_FALSE(PlanOffline(rest + budget(1)).job("w").contains("preemption"));
  EXPECT_TRUE(PlanOffline(rest + budget(2)).job("w").contains("preemption"));
}

// After the name of a Node, the next `from` becomes `to`.
void Change(std::string& nodes, const std::string& name, const std::string& from,
            const std::string& to) {
  const std::size_t at = nodes.find(from, nodes.find(StrCat("name: ", name, ",")));
  nodes.replace(at, from.size(), to);
}

TEST(PlanWorkloadsTest, LostRanksGoToBackupHostsOrTheJobWaits) {
  std::string nodes = Nodes(3);
  Change(nodes, "s0h0", "\"True\"", "\"False\"");
  Change(nodes, "s0h2", "yardmaster.dev/segment",
         "yardmaster.dev/backup: x, yardmaster.dev/segment");
  Change(nodes, "s0h2", "backup: x", "backup: \"true\"");
  json job = PlanOffline(nodes + Holding(1)).job("low");
  EXPECT_EQ(job["outcome"], "Placed");
  EXPECT_EQ(job["lostRanks"], json::array({0}));
  EXPECT_EQ(job["assignments"][0]["host"], "s0h2");
  EXPECT_EQ(job["assignments"][1]["host"], "s0h1");
  nodes = Nodes(2);
  Change(nodes, "s0h0", "\"True\"", "\"False\"");
  job = PlanOffline(nodes + Holding(1)).job("low");
  EXPECT_EQ(job["outcome"], "NotNow");
  EXPECT_EQ(job["assignments"][0]["host"], "s0h0");
  EXPECT_EQ(job["reasons"][0]["code"], "NotEnoughHosts");
}

}  // namespace
}  // namespace yardmaster::cli
