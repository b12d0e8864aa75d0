#include "pkg/operator/pods/pod_restart.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/operator/testing/pod_edits.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

json PodWith(const json& container, const json& spec = json::object()) {
  json pod = {{"metadata", {{"annotations", json::object()}}},
              {"spec", {{"containers", json::array({container})}}}};
  pod["spec"].merge_patch(spec);
  return pod;
}
void AddRestart(bool wanted, std::int64_t attempt, json& pod) {
  pod = EditPod(pod, [&](api::PodManifest& edited) { op::AddRestart(wanted, attempt, edited); });
}
const json kContainer = {{"name", "c"}, {"image", "i"}};

bool Restarts(const json& pod) {
  return pod.value("/metadata/annotations"_json_pointer, json::object())
      .contains(api::kRestartGenerationAnnotation);
}

TEST(PodRestartTest, ThePodRestartsOnFailureAndItsProbeLooksAtTheGeneration) {
  json pod = PodWith(kContainer, {{"terminationGracePeriodSeconds", 600}});
  AddRestart(true, 3, pod);
  EXPECT_EQ(pod["spec"]["restartPolicy"], "OnFailure");
  EXPECT_EQ(pod["metadata"]["annotations"][api::kRestartGenerationAnnotation], "3");
  const json& probe = pod["spec"]["containers"][0]["livenessProbe"];
  EXPECT_EQ(probe["failureThreshold"], 1);
  EXPECT_LE(probe["terminationGracePeriodSeconds"], 10);
  EXPECT_EQ(pod["spec"]["volumes"][0]["name"],
            pod["spec"]["containers"][0]["volumeMounts"][0]["name"]);
}

TEST(PodRestartTest, WhereTheTemplateDoesNotAllowItThePodIsLeftAlone) {
  json never = PodWith(kContainer, {{"restartPolicy", "Never"}});
  AddRestart(true, 0, never);
  EXPECT_FALSE(Restarts(never));
  EXPECT_FALSE(never["spec"]["containers"][0].contains("livenessProbe"));

  json unwanted = PodWith(kContainer);
  AddRestart(false, 0, unwanted);
  EXPECT_FALSE(Restarts(unwanted));
  EXPECT_EQ(unwanted["spec"]["restartPolicy"], "Never");

  json probed = PodWith({{"name", "c"}, {"livenessProbe", {{"tcpSocket", {{"port", 1}}}}}});
  AddRestart(true, 0, probed);
  EXPECT_FALSE(Restarts(probed));
  EXPECT_EQ(probed["spec"]["restartPolicy"], "Never");

  json none = PodWith(kContainer);
  none["spec"]["containers"] = json::array();
  AddRestart(true, 0, none);
  EXPECT_FALSE(Restarts(none));
}

TEST(PodRestartTest, AProbeOfTheTemplateThatLooksAtTheFileIsKept) {
  const json own = {{"exec", {{"command", {"/my/probe"}}}}};
  json pod = PodWith({{"name", "c"}, {"livenessProbe", own}});
  pod["metadata"]["annotations"][api::kRestartGenerationAnnotation] = "";
  AddRestart(true, 2, pod);
  EXPECT_TRUE(Restarts(pod));
  EXPECT_EQ(pod["spec"]["containers"][0]["livenessProbe"], own);
}

// The command runs here as a kubelet would run it, over a file that changes.
TEST(PodRestartTest, TheProbesCommandFailsOnceTheFileIsAheadOfTheContainer) {
  json pod = PodWith(kContainer);
  AddRestart(true, 0, pod);
  std::string script = pod["spec"]["containers"][0]["livenessProbe"]["exec"]["command"][2];
  const std::string folder =
      std::filesystem::temp_directory_path() / StrCat("ym-restart-", ::getpid());
  std::filesystem::create_directories(folder);
  script.replace(script.find(kRestartFolder), std::string(kRestartFolder).size(), folder);
  const auto alive = [&](const std::string& file, const std::string& started) {
    std::ofstream(folder + "/generation") << file;
    return std::system(StrCat("YARDMASTER_RESTART_GENERATION=", started, " sh -c '", script, "'")
                           .c_str()) == 0;
  };
  EXPECT_TRUE(alive("0", "0"));
  EXPECT_TRUE(alive("4", "5")) << "the file may be older than the container";
  EXPECT_FALSE(alive("5", "4"));
  EXPECT_FALSE(alive("10", "9")) << "numbers, not text";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace yardmaster::op
