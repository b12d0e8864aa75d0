#include "pkg/api/pin_patch.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/network_generation.h"
#include "pkg/api/slot.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;

json Pod(const char* spec) {
  return {{"metadata", {{"name", "a-0"}, {"uid", "u1"}}}, {"spec", json::parse(spec)}};
}

const char* const kGated = R"({"schedulingGates": [{"name": "yardmaster.dev/placement"}]})";

TEST(PinPatchTest, TheGateGoesAndThePodIsPinnedByName) {
  json pod = Pod(kGated);
  auto patch = PinAndReleasePatch(pod, {"u1", "n7", "{}", false});
  ASSERT_TRUE(patch.ok()) << patch.status();
  const json after = pod.patch(*patch);
  EXPECT_TRUE(after["spec"]["schedulingGates"].empty());
  const json& term =
      after["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
           ["nodeSelectorTerms"][0];
  EXPECT_EQ(term["matchFields"][0]["key"], "metadata.name");
  EXPECT_EQ(term["matchFields"][0]["values"], json::array({"n7"}));
  EXPECT_EQ(after["metadata"]["annotations"][kSlotAnnotation], "{}");
  const json tolerations = after["spec"]["tolerations"];
  ASSERT_EQ(tolerations.size(), 1u) << "of promised hosts, not of backup hosts";
  EXPECT_EQ(tolerations[0]["key"], kPromisedKey);
}

TEST(PinPatchTest, TermsAndGatesOfOthersAreKeptAndEveryTermIsNarrowed) {
  json pod = Pod(R"({"schedulingGates": [{"name": "other"}, {"name": "yardmaster.dev/placement"}],
    "affinity": {"podAffinity": {}, "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
      {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]},
                             {"matchFields": [{"key": "x", "operator": "In", "values": ["y"]}]}]}}}})");
  auto patch = PinAndReleasePatch(pod, {"u1", "n7", "{}", false});
  ASSERT_TRUE(patch.ok());
  const json after = pod.patch(*patch);
  EXPECT_EQ(after["spec"]["schedulingGates"], json::parse(R"([{"name": "other"}])"));
  const json& terms = after["spec"]["affinity"]["nodeAffinity"]
                           ["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
  EXPECT_TRUE(terms[0].contains("matchExpressions"));
  EXPECT_EQ(terms[0]["matchFields"][0]["values"][0], "n7");
  EXPECT_EQ(terms[1]["matchFields"].size(), 2u);
  EXPECT_TRUE(after["spec"]["affinity"].contains("podAffinity"));
}

TEST(PinPatchTest, WithoutReadingThePodThePatchDoesTheSameOrIsNotMade) {
  int made = 0;
  for (const char* affinity :
       {"", R"("affinity": {},)", R"("affinity": {"podAffinity": {"x": []}},)",
        R"("affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},)",
        R"("affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
             {"nodeSelectorTerms": [{"matchFields": []}]}}},)"}) {
    for (const char* tolerations :
         {"", R"("tolerations": [],)", R"("tolerations": [{"key": "x", "operator": "Exists"}],)",
          R"("tolerations": [{"key": "yardmaster.dev/promised", "operator": "Exists",
                              "effect": "NoSchedule"}],)"}) {
      for (const char* gates : {R"([{"name": "yardmaster.dev/placement"}])",
                                R"([{"name": "other"}, {"name": "yardmaster.dev/placement"}])"}) {
        for (const bool annotated : {false, true}) {
          json pod =
              Pod(StrCat("{", affinity, tolerations, R"("schedulingGates": )", gates, "}").c_str());
          pod["metadata"]["resourceVersion"] = "7";
          if (annotated) pod["metadata"]["annotations"]["a"] = "b";
          SCOPED_TRACE(pod.dump());
          const Pin pin{"u1", "n7", "{}", true};
          const auto known = DecodePod(pod, Decoding::kLenient);
          ASSERT_TRUE(known.ok());
          const auto patch = ReleasePatchOf(*known, pin);
          if (!patch) {
            EXPECT_NE(std::string(affinity).find("required"), std::string::npos);
            continue;
          }
          ++made;
          EXPECT_EQ(pod.patch(*patch), pod.patch(*PinAndReleasePatch(pod, pin)));
          json later = pod;
          later["metadata"]["uid"] = "u2";
          EXPECT_THROW(later.patch(*patch), json::other_error);
          if (annotated) continue;
          later = pod;
          later["metadata"]["resourceVersion"] = "8";
          later["metadata"]["annotations"]["new"] = "kept";
          EXPECT_THROW(later.patch(*patch), json::other_error);
        }
      }
    }
  }
  EXPECT_EQ(made, 4 * 4 * 2 * 2);
}

TEST(PinPatchTest, FurtherAnnotationsGoIntoTheSamePatch) {
  json pod = Pod(kGated);
  pod["metadata"]["resourceVersion"] = "7";
  for (const bool annotated : {false, true}) {
    if (annotated) pod["metadata"]["annotations"] = {{"a", "b"}, {"x/y~z", "old"}};
    const auto known = DecodePod(pod, Decoding::kLenient);
    const auto patch = ReleasePatchOf(*known, {"u1", "n7", "{}", false},
                                      {{"x/y~z", "new"}, {kNetworkGenerationAnnotation, "3"}});
    ASSERT_TRUE(patch.has_value());
    const json after = pod.patch(*patch);
    json wanted = {{"x/y~z", "new"}, {kNetworkGenerationAnnotation, "3"}, {kSlotAnnotation, "{}"}};
    if (annotated) wanted["a"] = "b";
    EXPECT_EQ(after["metadata"]["annotations"], wanted);
    EXPECT_TRUE(after["spec"]["schedulingGates"].empty());
  }
}

TEST(PinPatchTest, ThePatchMissesAPodWithALaterPlanAndOneThatIsReleased) {
  json pod = Pod(kGated);
  pod["metadata"]["annotations"][kNetworkGenerationAnnotation] = "2";
  const auto known = DecodePod(pod, Decoding::kLenient);
  const auto patch = ReleasePatchOf(*known, {"u1", "n7", "{}", false});
  ASSERT_TRUE(patch.has_value());
  EXPECT_NO_THROW(pod.patch(*patch));
  json later = pod;
  later["metadata"]["annotations"][kNetworkGenerationAnnotation] = "3";
  EXPECT_THROW(later.patch(*patch), json::other_error);
  EXPECT_THROW(pod.patch(*patch).patch(*patch), json::exception);
}

TEST(PinPatchTest, APinFollowsFromTheSlotUnlessThePodNamesItsHost) {
  const auto pod = DecodePod(Pod(kGated), Decoding::kLenient);
  const AssignmentEntry slot{3, "n7", "p0", "s1", {0, 1}};
  const Pin pin = PinOf(*pod, "job-a", slot, true);
  EXPECT_EQ(pin.uid, "u1");
  EXPECT_EQ(pin.host, "n7");
  EXPECT_TRUE(pin.backup_host);
  const auto decoded = DecodeSlot(pin.slot_annotation);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(*decoded, (Slot{"job-a", 3, "p0", "s1", {0, 1}}));
  const auto names_it =
      DecodePod(Pod(R"({"nodeSelector": {"kubernetes.io/hostname": "n7"}})"), Decoding::kLenient);
  EXPECT_EQ(PinOf(*names_it, "job-a", slot, false).host, "");
}

TEST(PinPatchTest, ThePatchMissesAPodOfAnotherLife) {
  auto patch = PinAndReleasePatch(Pod(kGated), {"u1", "n7", "{}", false});
  json other = Pod(kGated);
  other["metadata"]["uid"] = "u2";
  EXPECT_THROW(other.patch(*patch), json::other_error);
}

TEST(PinPatchTest, OnABackupHostThePodToleratesItsTaint) {
  for (
      const char* spec :
      {kGated,
       R"({"schedulingGates": [{"name": "yardmaster.dev/placement"}], "tolerations": [{"key": "a"}]})"}) {
    json pod = Pod(spec);
    auto patch = PinAndReleasePatch(pod, {"u1", "n7", "{}", true});
    const json after = pod.patch(*patch);
    EXPECT_EQ(after["spec"]["tolerations"].back()["key"], kBackupKey);
  }
}

TEST(PinPatchTest, APodWithoutOurGateOrBoundIsLeftAlone) {
  EXPECT_FALSE(PinAndReleasePatch(Pod("{}"), {"u1", "n7", "{}", false}).ok());
  EXPECT_FALSE(
      PinAndReleasePatch(
          Pod(R"({"nodeName": "n1", "schedulingGates": [{"name": "yardmaster.dev/placement"}]})"),
          {"u1", "n7", "{}", false})
          .ok());
}

TEST(PinPatchTest, APodThatCameWithoutTheGateGetsSlotAndTolerationsAndKeepsItsAffinity) {
  json pod = Pod(R"({"affinity": {"podAffinity": {}},
    "tolerations": [{"key": "yardmaster.dev/promised", "operator": "Exists",
                     "effect": "NoSchedule"}]})");
  auto patch = AdmitPatch(pod, {"u1", "n7", "{}", true});
  ASSERT_TRUE(patch.ok()) << patch.status();
  const json after = pod.patch(*patch);
  EXPECT_EQ(after["metadata"]["annotations"][kSlotAnnotation], "{}");
  EXPECT_EQ(after["spec"]["affinity"], pod["spec"]["affinity"]);
  ASSERT_EQ(after["spec"]["tolerations"].size(), 2u) << "the one that is there is not repeated";
  EXPECT_EQ(after["spec"]["tolerations"][1]["key"], kBackupKey);
  EXPECT_FALSE(AdmitPatch(Pod(R"({"nodeName": "n1"})"), {"u1", "n7", "{}", false}).ok());
}

}  // namespace
}  // namespace yardmaster::api
