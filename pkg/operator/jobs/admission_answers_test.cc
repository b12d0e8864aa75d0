#include "pkg/operator/jobs/admission_answers.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/operator/pods/pod_builder.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

class AdmissionAnswersTest : public ::testing::Test {
 protected:
  static api::TrainingJob Job(const std::string& name, const json& more = json::object()) {
    json job = {{"apiVersion", api::kGroupVersion},
                {"kind", "TrainingJob"},
                {"metadata", {{"name", name}, {"namespace", "team"}, {"uid", "uid-" + name}}},
                {"spec",
                 {{"workers", 4},
                  {"template",
                   {{"spec", {{"containers", json::array({{{"name", "c"}, {"image", "i"}}})}}}}}}}};
    job.merge_patch(more);
    auto read = api::DecodeTrainingJob(job);
    EXPECT_TRUE(read.ok()) << read.status();
    return *std::move(read);
  }
  static json FirstPodOf(const api::TrainingJob& job) {
    return BuildPod(job, {.workers = job.job.workers}, 0);
  }
  static std::string Nameless(const api::TrainingJob& job) {
    return FirstPodOf(WithoutName(job)).dump();
  }
  // Admission adds a request and a priority.
  static api::Pod AnswerTo(const api::TrainingJob& job) {
    json pod = FirstPodOf(job);
    pod["spec"]["containers"][0]["resources"]["requests"] = {{"cpu", "3"}};
    pod["spec"]["priority"] = 7;
    auto read = api::DecodePod(pod, api::Decoding::kLenient);
    EXPECT_TRUE(read.ok()) << read.status();
    return *std::move(read);
  }
  void Ask(const api::TrainingJob& job) { answers_.Keep(job, Nameless(job), AnswerTo(job)); }
  std::shared_ptr<const api::Pod> Find(const api::TrainingJob& job) {
    return answers_.Find(job, Nameless(job));
  }

  FakeClock clock_;
  AdmissionAnswers answers_{clock_};
};

TEST_F(AdmissionAnswersTest, AnAlikeJobGetsTheAnswerUnderItsOwnName) {
  Ask(Job("a"));
  const auto pod = Find(Job("b"));
  ASSERT_NE(pod, nullptr);
  const api::Pod own = AnswerTo(Job("b"));
  EXPECT_EQ(pod->metadata, own.metadata);
  EXPECT_EQ(pod->requests, own.requests);
  EXPECT_EQ(pod->priority, 7);
}

TEST_F(AdmissionAnswersTest, WhatAdmissionMayLookAtMakesAnotherJob) {
  Ask(Job("a"));
  const json containers =
      json::array({{{"name", "c"}, {"image", "i"}, {"resources", {{"limits", {{"cpu", "1"}}}}}}});
  const json others[] = {
      {{"metadata", {{"labels", {{"cost-center", "x"}}}}}},
      {{"metadata", {{"namespace", "other"}}}},
      {{"spec", {{"template", {{"metadata", {{"labels", {{"app", "a"}}}}}}}}}},
      {{"spec", {{"template", {{"spec", {{"containers", containers}}}}}}}},
      {{"spec", {{"template", {{"spec", {{"serviceAccountName", "s"}}}}}}}},
      {{"spec", {{"workers", 5}}}},
      {{"spec", {{"priorityClassName", "high"}}}},
  };
  for (const json& other : others) EXPECT_EQ(Find(Job("b", other)), nullptr) << other;
}

TEST_F(AdmissionAnswersTest, AnAnswerHoldsForAWhile) {
  Ask(Job("a"));
  clock_.Advance(AdmissionAnswers::kLifeMs - 1);
  EXPECT_NE(Find(Job("b")), nullptr);
  clock_.Advance(1);
  EXPECT_EQ(Find(Job("b")), nullptr);
}

TEST_F(AdmissionAnswersTest, ARefusalInANamespaceDropsTheAnswersThere) {
  const json other = {{"metadata", {{"namespace", "other"}}}};
  Ask(Job("a"));
  Ask(Job("a", other));
  answers_.Drop("team");
  EXPECT_EQ(Find(Job("b")), nullptr);
  EXPECT_NE(Find(Job("b", other)), nullptr);
}

TEST_F(AdmissionAnswersTest, APodThatAdmissionGaveToAnotherJobIsAnAnswerForNoOther) {
  const api::TrainingJob job = Job("a");
  api::Pod renamed = AnswerTo(job), moved = renamed, orphan = renamed;
  renamed.metadata.name = "b-0";
  moved.metadata.labels[api::kJobLabel] = "b";
  orphan.metadata.owners.clear();
  for (const api::Pod& pod : {renamed, moved, orphan}) {
    answers_.Keep(job, Nameless(job), pod);
    EXPECT_EQ(Find(Job("b")), nullptr) << pod.metadata.name;
  }
}

TEST_F(AdmissionAnswersTest, JobsWithAComputeDomainAskAlone) {
  const json domain = {{"spec", {{"computeDomain", true}}}};
  Ask(Job("a", domain));
  EXPECT_EQ(Find(Job("a", domain)), nullptr);
}

TEST_F(AdmissionAnswersTest, OfTooManyAnswersTheOldestGoes) {
  const auto labelled = [](std::size_t i) {
    return Job("a", {{"metadata", {{"labels", {{"i", StrCat(i)}}}}}});
  };
  for (std::size_t i = 0; i <= AdmissionAnswers::kMost; ++i) {
    Ask(labelled(i));
    clock_.Advance(1);
  }
  EXPECT_EQ(Find(labelled(0)), nullptr);
  EXPECT_NE(Find(labelled(1)), nullptr);
  EXPECT_NE(Find(labelled(AdmissionAnswers::kMost)), nullptr);
}

}  // namespace
}  // namespace yardmaster::op
