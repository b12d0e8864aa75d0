// fabric render, plan --offline: through the same door as people.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/cli/testing/invoke.h"
#include "pkg/config/yaml.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<json> Documents(const std::string& text) {
  auto documents = config::ParseYamlDocuments(text, "test");
  EXPECT_TRUE(documents.ok()) << documents.status();
  std::vector<json> out;
  if (documents.ok()) {
    for (const auto& document : *documents) out.push_back(document.value);
  }
  return out;
}

TEST(FabricRenderTest, NodesStandAsTheFlagsSayAndNamesSortLikePlaces) {
  const Invocation result = Invoke({"fabric", "render", "--preset", "hpn-7.0", "--fabric-pods", "2",
                                    "--segments", "3", "--hosts", "17", "-o", "yaml"});
  ASSERT_EQ(result.code, 0) << result.err;
  const std::vector<json> objects = Documents(result.out);
  ASSERT_EQ(objects.size(), 1u + 2 * 3 * 17);
  EXPECT_EQ(objects[0]["kind"], "Fabric");
  EXPECT_EQ(objects[0]["spec"]["size"],
            (json{{"fabricPods", 2}, {"segmentsPerFabricPod", 3}, {"hostsPerSegment", 17}}));
  std::vector<std::string> names;
  std::map<std::string, int> backup;
  std::set<std::string> addresses;
  for (std::size_t i = 1; i < objects.size(); ++i) {
    const json& node = objects[i];
    EXPECT_EQ(node["kind"], "Node");
    EXPECT_EQ(node["status"]["allocatable"][api::kGpuResource], "8");
    EXPECT_EQ(node["status"]["capacity"][api::kGpuResource], "8");
    EXPECT_EQ(node["status"]["conditions"][0]["type"], "Ready");
    const std::string segment = node["metadata"]["labels"][api::kSegmentLabel];
    names.push_back(node["metadata"]["name"]);
    EXPECT_THAT(names.back(), StartsWith(segment));
    addresses.insert(node["metadata"]["annotations"][api::kNicAddressesAnnotation]);
    if (node["metadata"]["labels"].contains(api::kBackupKey)) {
      ++backup[segment];
      EXPECT_EQ(node["spec"]["taints"][0]["key"], api::kBackupKey);
      EXPECT_EQ(node["spec"]["taints"][0]["effect"], "NoSchedule");
    } else {
      EXPECT_FALSE(node.contains("spec"));
    }
  }
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(addresses.size(), names.size());
  EXPECT_EQ(backup.size(), 6u);
  for (const auto& [segment, count] : backup) EXPECT_EQ(count, 1) << segment;  // 8 of 136
}

TEST(FabricRenderTest, TheDemosFabricIs272HostsWith16Backups) {
  const Invocation result = Invoke({"fabric", "render", "--preset", "hpn-small", "-o", "json"});
  ASSERT_EQ(result.code, 0);
  EXPECT_TRUE(result.err.empty());
  const json list = json::parse(result.out);
  EXPECT_EQ(list["kind"], "List");
  EXPECT_EQ(list["items"].size(), 273u);
  int backup = 0;
  for (const json& node : list["items"]) {
    backup +=
        node["metadata"].contains("labels") && node["metadata"]["labels"].contains(api::kBackupKey);
  }
  EXPECT_EQ(backup, 16);
}

TEST(FabricRenderTest, ASizeThatThePortsDoNotAllowNamesTheField) {
  Invocation result = Invoke({"fabric", "render", "--preset", "hpn-small", "--segments", "16"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("spec.tiers[1].downPorts: 120 ports for 128 cables"));
  EXPECT_TRUE(result.out.empty());
  result = Invoke({"fabric", "render", "--preset", "hpn-small", "--fabric-pods", "2"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("spec.size.fabricPods"));
  result = Invoke({"fabric", "render", "--preset", "hpn-7.0", "--hosts", "137"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("spec.tiers[0].downPorts"));
  EXPECT_EQ(Invoke({"fabric", "render", "--preset", "hpn-7.0", "--hosts", "0"}).code, 2);
  EXPECT_EQ(Invoke({"fabric", "render", "--preset", "nope"}).code, 1);
  EXPECT_EQ(Invoke({"fabric", "render"}).code, 2);
}

// A fabric of two segments of eight hosts and what is appended.
std::string Input(const std::string& more) {
  const Invocation fabric =
      Invoke({"fabric", "render", "--preset", "hpn-small", "--hosts", "8", "--backup-hosts", "1"});
  EXPECT_EQ(fabric.code, 0);
  return fabric.out + "---\n" + more;
}

std::string JobYaml(const std::string& name, const std::string& spec,
                    const std::string& created = "2026-01-01T00:00:00Z") {
  return StrCat(
      "---\napiVersion: yardmaster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: ", name,
      ", namespace: default, creationTimestamp: \"", created, "\"}\nspec: ", spec, "\n");
}

json Report(const Invocation& result) {
  json report = json::parse(result.out, nullptr, false);
  EXPECT_TRUE(report.is_object()) << result.out << result.err;
  return report;
}

TEST(FabricRenderTest, EveryLineOfAnErrorInAFileNamesTheFile) {
  const std::string file = testing::TempDir() + "/wrong.yaml";
  std::ofstream(file) << "apiVersion: yardmaster.dev/v1alpha1\nkind: Fabric\n"
                         "metadata: {name: x}\nspec: {planes: x, foo: 1}\n";
  const std::string err = Invoke({"fabric", "render", "--preset", file}).err;
  EXPECT_THAT(err, HasSubstr(file + ": spec.planes: "));
  EXPECT_THAT(err, HasSubstr(file + ": spec.foo: "));
}

TEST(PlanTest, TheReportHasTheFieldsOfTheContract) {
  const Invocation result =
      Invoke({"plan", "--offline", "-f", "-", "--paths", "-o", "json"},
             Input(JobYaml("a", "{workers: 2, parallelism: {tensor: 8, data: 2}}")));
  ASSERT_EQ(result.code, 0) << result.err;
  const json report = Report(result);
  EXPECT_EQ(report["kind"], "PlanReport");
  EXPECT_EQ(report["apiVersion"], "yardmaster.dev/v1alpha1");
  ASSERT_EQ(report["jobs"].size(), 1u);
  const json& job = report["jobs"][0];
  EXPECT_EQ(job["namespace"], "default");
  EXPECT_EQ(job["name"], "a");
  EXPECT_EQ(job["outcome"], "Placed");
  EXPECT_EQ(job["reasons"], json::array());
  EXPECT_EQ(job["relaxations"], json::array());
  EXPECT_EQ(job["objective"], (json{{"tensorSplitDomains", 0},
                                    {"tensorSplitFabricPods", 0},
                                    {"dataSplitFabricPods", 0},
                                    {"tensorSplitSegments", 0},
                                    {"dataSplitSegments", 0},
                                    {"fabricPods", 1},
                                    {"segments", 1},
                                    {"domains", 0}}));
  ASSERT_EQ(job["assignments"].size(), 2u);
  EXPECT_EQ(job["assignments"][1]["rank"], 1);
  EXPECT_EQ(job["assignments"][1]["fabricPod"], "p00");
  EXPECT_EQ(job["assignments"][1]["stages"], json::array({0}));
  for (const char* field :
       {"flopPerIteration", "communicationSeconds", "intensity", "priority", "level"}) {
    EXPECT_TRUE(job["network"].contains(field)) << field;
  }
  ASSERT_FALSE(report["paths"].empty());
  for (const json& path : report["paths"]) {
    EXPECT_EQ(path["job"], "default/a");
    for (const char* end : {"from", "to"}) {
      EXPECT_TRUE(path[end].contains("host") && path[end].contains("rail") &&
                  path[end].contains("port"));
    }
    EXPECT_GE(path["sourcePort"], 49152);
    EXPECT_FALSE(path["links"].empty());
  }
}

// A job of more hosts than a segment has, so that it uses uplinks.
TEST(PlanTest, LinksThatTheFabricSaysAreDownAreNotUsed) {
  const std::string job = JobYaml(
      "a",
      "{workers: 12, parallelism: {tensor: 8, data: 12}, placement: {data: {mode: Preferred}}}");
  const auto plan = [&](const std::string& annotation) {
    std::string input = Input(job);
    const std::string metadata = "kind: Fabric\nmetadata:\n";
    const std::size_t at = input.find(metadata);
    EXPECT_NE(at, std::string::npos) << input.substr(0, 500);
    input.insert(at + metadata.size(), annotation);
    return Invoke({"plan", "--offline", "-f", "-", "--paths", "-o", "json"}, input);
  };
  const auto uses = [](const json& report, const std::string& cable) {
    int count = 0;
    for (const json& path : report["paths"]) {
      for (const json& link : path["links"]) {
        count += link.get<std::string>().rfind(cable + ".", 0) == 0 ? 1 : 0;
      }
    }
    return count;
  };
  const json whole = Report(plan(""));
  std::string cable;
  for (const json& path : whole["paths"]) {
    if (path["links"].size() > 2) cable = path["links"][1].get<std::string>();
  }
  ASSERT_FALSE(cable.empty());
  cable.resize(cable.rfind('.'));
  ASSERT_GT(uses(whole, cable), 0);
  const auto annotation = [](const std::string& name) {
    return StrCat("  annotations:\n    yardmaster.dev/down-links: '{\"version\":1,\"links\":[\"",
                  name, "\"]}'\n");
  };
  const Invocation without = plan(annotation(cable));
  EXPECT_EQ(uses(Report(without), cable), 0) << without.err;
  EXPECT_EQ(Report(without)["paths"].size(), whole["paths"].size());
  const Invocation unknown = plan(annotation("p0/nowhere"));
  EXPECT_THAT(unknown.err, HasSubstr("p0/nowhere"));
}

TEST(PlanTest, FlowsAvoidNicPortsThatLosePackets) {
  const auto uses = [](const std::string& input, const std::string& port) {
    const json report =
        Report(Invoke({"plan", "--offline", "-f", "-", "--paths", "-o", "json"}, input));
    EXPECT_FALSE(report["paths"].empty());
    int count = 0;
    for (const json& path : report["paths"]) {
      for (const json& link : path["links"]) {
        count += link.get<std::string>().rfind(port + ".", 0) == 0 ? 1 : 0;
      }
    }
    return count;
  };
  std::string input = Input(JobYaml(
      "a",
      "{workers: 12, parallelism: {tensor: 8, data: 12}, placement: {data: {mode: Preferred}}}"));
  ASSERT_GT(uses(input, "p00s00h000:r0p0"), 0);
  const std::string node = "kind: Node\nmetadata:\n  annotations:\n";
  const std::size_t at = input.find(node);
  ASSERT_NE(at, std::string::npos) << input.substr(0, 500);
  input.insert(at + node.size(), "    yardmaster.dev/lossy-ports: r0p0=20000\n");
  EXPECT_EQ(uses(input, "p00s00h000:r0p0"), 0);
  EXPECT_GT(uses(input, "p00s00h000:r0p1"), 0);
}

TEST(PlanTest, JobsArePlannedByPriorityThenAgeThenName) {
  const Invocation result =
      Invoke({"plan", "--offline", "-f", "-"},
             Input(JobYaml("d", "{workers: 1}") + JobYaml("c", "{workers: 1}") +
                   JobYaml("b", "{workers: 1}", "2025-01-01T00:00:00Z") +
                   JobYaml("a", "{workers: 1, priority: 5}", "2026-05-01T00:00:00Z")));
  ASSERT_EQ(result.code, 0) << result.err;
  std::vector<std::string> order;
  const json report = Report(result);
  for (const json& job : report["jobs"]) order.push_back(job["name"]);
  EXPECT_THAT(order, ElementsAre("a", "b", "c", "d"));
}

TEST(PlanTest, ASegmentAndABackupAreNeverOverrun) {
  const Invocation result =
      Invoke({"plan", "--offline", "-f", "-"},
             Input(JobYaml("a", "{workers: 8, placement: {data: {within: Segment}}}")));
  ASSERT_EQ(result.code, 0);
  const json report = Report(result);
  EXPECT_NE(report["jobs"][0]["outcome"], "Placed");
  EXPECT_FALSE(report["jobs"][0]["reasons"].empty());
  EXPECT_EQ(report["jobs"][0]["assignments"], json::array());
}

TEST(PlanTest, PodsOccupyTheirNodes) {
  const std::string pods = R"({"kind":"List","apiVersion":"v1","items":[
    {"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"},"spec":{"nodeName":"p00s00h000",
     "containers":[{"resources":{"limits":{"nvidia.com/gpu":"8"}}}]}}]})";
  const Invocation result =
      Invoke({"plan", "--offline", "-f", "-"}, Input(pods + "\n" + JobYaml("a", "{workers: 14}")));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Report(result)["jobs"][0]["outcome"], "NotNow");
}

TEST(PlanTest, GatedPodsOfAJobSetAreOneGang) {
  std::string pods;
  for (int job = 0; job < 2; ++job) {
    for (int index = 0; index < 2; ++index) {
      pods += StrCat("---\napiVersion: v1\nkind: Pod\nmetadata: {name: js-", job, "-", index,
                     ", labels: {jobset.sigs.k8s.io/jobset-name: js, ",
                     "jobset.sigs.k8s.io/job-global-index: \"", job,
                     "\", batch.kubernetes.io/job-completion-index: \"", index,
                     "\"}, annotations: {yardmaster.dev/parallelism: \"tp=8,dp=4\"}}\nspec: ",
                     "{containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]}\n");
    }
  }
  const Invocation result = Invoke({"plan", "--offline", "-f", "-"}, Input(pods));
  ASSERT_EQ(result.code, 0) << result.err;
  const json report = Report(result);
  ASSERT_EQ(report["jobs"].size(), 1u) << result.err;
  EXPECT_EQ(report["jobs"][0]["name"], "js");
  EXPECT_EQ(report["jobs"][0]["kind"], "JobSet");
  EXPECT_EQ(report["jobs"][0]["outcome"], "Placed");
  EXPECT_EQ(report["jobs"][0]["assignments"].size(), 4u);
}

TEST(PlanTest, AJobThatContradictsItselfIsReportedAndTheOthersArePlanned) {
  const Invocation result =
      Invoke({"plan", "--offline", "-f", "-"},
             Input(JobYaml("bad", "{workers: 2, parallelism: {tensor: 8, data: 3}}") +
                   JobYaml("good", "{workers: 2}")));
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("TrainingJob default/bad: spec.parallelism: tensor*context"));
  EXPECT_THAT(result.err, HasSubstr("standard input:"));
  std::map<std::string, std::string> outcomes;
  const json report = Report(result);
  for (const json& job : report["jobs"]) outcomes[job["name"]] = job["outcome"];
  EXPECT_EQ(outcomes, (std::map<std::string, std::string>{{"bad", "Never"}, {"good", "Placed"}}));
}

TEST(PlanTest, WrongInputSaysWhereWhatAndHow) {
  struct Case {
    std::string input;
    const char* message;
  };
  const Case cases[] = {
      {JobYaml("a", "{workrs: 2}"),
       "standard input:1: spec.workrs: there is no such field; did you mean workers?"},
      {"a: [1", "standard input:1:"},
      {"apiVersion: v1\nmetadata: {name: x}\n", "standard input:1: kind: is missing; write it"},
      {"{\"kind\": \"Node\",\n \"spec\": {\"a\": 2,}",
       "standard input:2:18: this is not JSON: unexpected"},
      {"- 1\n", "standard input:1: expected a Kubernetes object"},
      {"apiVersion: yardmaster.dev/v1alpha1\nkind: Fabrik\n",
       "kind: there is no Fabrik in yardmaster.dev; use Fabric, TrainingJob, Gang or CapacityPool"},
      {"apiVersion: yardmaster.dev/v1\nkind: TrainingJob\nmetadata: {name: a}\n",
       "apiVersion: expected yardmaster.dev/v1alpha1"},
      {JobYaml("a", "{workers: 1}") + JobYaml("a", "{workers: 1}"),
       "standard input:6: metadata.name: TrainingJob default/a is there twice, first at"},
      {"kind: List\napiVersion: v1\nitems: [{kind: Node, apiVersion: v1, metadata: {name: n}},\n"
       "  {kind: Node, apiVersion: v1, metadata: {}}]\n",
       "standard input:1: items[1].metadata.name: is missing"},
      {"apiVersion: yardmaster.dev/v1alpha1\nkind: Fabric\nmetadata: {name: f}\nspec: {}\n",
       "standard input:1: spec.tiers: is empty"},
  };
  for (const Case& c : cases) {
    const Invocation result = Invoke({"plan", "--offline", "-f", "-"}, c.input);
    EXPECT_EQ(result.code, 1) << c.input;
    EXPECT_THAT(result.err, HasSubstr(c.message));
    EXPECT_EQ(result.out, "") << c.input;
  }
  EXPECT_EQ(Invoke({"plan", "--offline", "-f", "/nowhere"}).code, 1);
  EXPECT_EQ(Invoke({"plan", "--offline"}).code, 2);
  EXPECT_EQ(Invoke({"plan", "--offline", "-f", "-", "-o", "xml"}).code, 2);
}

TEST(PlanTest, InputWithoutAnObjectIsNoAnswer) {
  for (const char* text : {"", " \n", "# nothing\n", "---\n---\n"}) {
    const Invocation result = Invoke({"plan", "--offline", "-f", "-"}, text);
    EXPECT_EQ(result.code, 1) << text;
    EXPECT_THAT(result.err, StartsWith("standard input: holds no object"));
    EXPECT_TRUE(result.out.empty());
  }
  EXPECT_EQ(Invoke({"plan", "--offline", "-f", "-"},
                   R"({"apiVersion": "v1", "kind": "List", "items": []})")
                .code,
            0);
}

TEST(PlanTest, TheOrderOfTheManifestsDoesNotMatter) {
  const std::string jobs[] = {JobYaml("a", "{workers: 5}"), JobYaml("b", "{workers: 4}")};
  const Invocation one =
      Invoke({"plan", "--offline", "-f", "-", "--paths"}, Input(jobs[0] + jobs[1]));
  const Invocation two =
      Invoke({"plan", "--offline", "-f", "-", "--paths"}, jobs[1] + jobs[0] + Input(""));
  ASSERT_EQ(one.code, 0);
  EXPECT_EQ(one.out, two.out);
}

TEST(PlanTest, DirectoriesTablesAndYaml) {
  const std::string folder = testing::TempDir() + std::to_string(getpid()) + "-plan_inputs";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/fabric.yaml") << Input("");
  std::ofstream(folder + "/job.yml") << JobYaml("a", "{workers: 2}");
  std::ofstream(folder + "/notes.txt") << "not: [a manifest";
  const Invocation table = Invoke({"plan", "--offline", "-f", folder, "-o", "table"});
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, StartsWith("NAMESPACE"));
  EXPECT_THAT(table.out, HasSubstr("Placed"));
  const Invocation yaml = Invoke({"plan", "--offline", "-f", folder, "-o", "yaml"});
  EXPECT_EQ(Documents(yaml.out)[0]["kind"], "PlanReport");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace yardmaster::cli
