#include "pkg/extender/effects/executor.h"

#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::extender {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ExecutorTest : public ::testing::Test {
 protected:
  ExecutorTest() : client_(clock_) {
    client_.SetHook([this](const kube::Call& call) -> absl::Status {
      if (call.verb != kube::Verb::kPatch) return absl::OkStatus();
      clock_.Advance(write_ms_);
      tried_.push_back(call.target.name);
      return refused_.count(call.target.name) == 0 ? absl::OkStatus() : refusal_;
    });
  }
  // One write for a gang, of a Node of the gang's name.
  Work WriteFor(const std::string& namespace_name, const std::string& name) {
    client_.Seed(kube::Nodes(),
                 {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", name}}}});
    const NamespacedName gang{namespace_name, name};
    return {gang, [=](const PassFacts&) {
              return Decision{{PatchNode{
                  gang, name,
                  json::array({{{"op", "add"}, {"path", "/spec"}, {"value", json::object()}}})}}};
            }};
  }
  PassReport Pass(const std::vector<Work>& works, Executor::Limits limits = {}) {
    EXPECT_TRUE(executor_.Begin());
    PassFacts facts;
    for (const Work& work : works) {
      facts.gathered[work.gang] = std::make_shared<const gather::GatheredGang>();
    }
    executor_.SetFacts(std::move(facts));
    executor_.Run(
        "testing it", [&](const PassFacts&) { return works; }, limits);
    return executor_.End();
  }

  FakeClock clock_;
  kube::FakeClient client_;
  state::ClusterCache cache_;
  std::int64_t token_ = 1;
  std::vector<ObjectNotice> notices_;
  Executor executor_{
      client_, cache_, {[this] { return token_; }, [](std::int64_t) {}},
      {},      clock_, [this](const ObjectNotice& notice) { notices_.push_back(notice); }};
  std::int64_t write_ms_ = 0;
  std::set<std::string> refused_;
  absl::Status refusal_ = absl::PermissionDeniedError("a policy");
  std::vector<std::string> tried_;
};

TEST_F(ExecutorTest, NamespacesTakeTurnsAndTheNextPassBeginsWhereTimeRanOut) {
  write_ms_ = 100;
  std::vector<Work> works;
  for (const char* name : {"a0", "a1", "a2", "a3"}) works.push_back(WriteFor("a", name));
  works.push_back(WriteFor("b", "b0"));
  const Executor::Limits limits{150, /*fair=*/true};
  EXPECT_TRUE(Pass(works, limits).run_again_now);
  EXPECT_THAT(tried_, ElementsAre("a0", "b0"));
  tried_.clear();
  Pass(works, limits);
  EXPECT_THAT(tried_, ElementsAre("a1", "b0"));
}

TEST_F(ExecutorTest, WritesThatFailHaveTheirOwnTimeInTheNextPass) {
  write_ms_ = 100;
  refused_ = {"a0"};
  const std::vector<Work> works = {WriteFor("a", "a0"), WriteFor("a", "a1")};
  Pass(works, {100});
  EXPECT_THAT(tried_, ElementsAre("a0")) << "in the order of the step";
  clock_.Advance(10'000);
  tried_.clear();
  Pass(works, {100});
  EXPECT_THAT(tried_, ElementsAre("a0", "a1")) << "it takes none of the other's";
}

TEST_F(ExecutorTest, WhatThrowsIsQuarantinedAndTheOthersGoOn) {
  const Work bad{{"a", "bad"}, [](const PassFacts&) -> Decision { throw std::out_of_range("x"); }};
  Work later = WriteFor("a", "later");
  later.decide = [decide = later.decide](const PassFacts& facts) -> Decision {
    Decision decision = decide(facts);
    decision.then = [](const PassFacts&, const EffectOutcomes&) -> Decision {
      throw std::runtime_error("after the write");
    };
    return decision;
  };
  const PassReport report = Pass({bad, later, WriteFor("a", "good")});
  EXPECT_EQ(report.isolated, 2);
  EXPECT_TRUE(report.more_to_do);
  EXPECT_THAT(report.errors, ElementsAre(HasSubstr("Gang a/bad: x"), HasSubstr("after the write")));
  EXPECT_THAT(tried_, ElementsAre("later", "good"));
  tried_.clear();
  Pass({WriteFor("a", "bad")});
  EXPECT_TRUE(tried_.empty()) << "it is left alone for a minute";
}

TEST_F(ExecutorTest, AStepThatThrowsEndsNoOther) {
  executor_.Begin();
  executor_.SetFacts({});
  executor_.Run("thinking", [](const PassFacts&) -> std::vector<Work> { throw std::bad_alloc(); });
  executor_.Run("testing it",
                [this](const PassFacts&) { return std::vector<Work>{WriteFor("a", "good")}; });
  EXPECT_EQ(executor_.End().errors.size(), 1u);
  EXPECT_THAT(tried_, ElementsAre("good"));
}

TEST_F(ExecutorTest, TheFirstEffectThatFailsEndsThoseThatCountOnIt) {
  refused_ = {"a0"};
  Work work = WriteFor("a", "a0");
  EffectOutcomes seen;
  work.decide = [&seen, decide = work.decide](const PassFacts& facts) {
    Decision decision = decide(facts);
    decision.effects.push_back(Event{{}, "a", false, "Written", ""});
    decision.then = [&seen](const PassFacts&, const EffectOutcomes& outcomes) {
      seen = outcomes;
      return Decision{};
    };
    return decision;
  };
  Pass({work});
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].result, EffectOutcome::Result::kFailed);
  EXPECT_EQ(seen[1].result, EffectOutcome::Result::kNotTried);
  EXPECT_TRUE(notices_.empty());
}

TEST_F(ExecutorTest, WritesThatDoNotCountOnEachOtherEndAtTheThirdFailure) {
  Decision decision;
  decision.threads = 1;
  for (const char* name : {"a0", "a1", "a2", "a3", "a4"}) {
    const Decision one = WriteFor("a", name).decide({});
    auto effect = std::get<PatchNode>(one.effects.front());
    effect.gang = {"a", "gang"};
    decision.effects.push_back(effect);
  }
  refused_ = {"a0", "a2", "a3"};
  const Work work{{"a", "gang"}, [decision](const PassFacts&) { return decision; }};
  for (const absl::Status& why :
       {absl::PermissionDeniedError("a policy"), absl::DeadlineExceededError("no answer")}) {
    tried_.clear();
    refusal_ = why;
    EXPECT_EQ(Pass({work}).taint_changes, 1);
    EXPECT_THAT(tried_, ElementsAre("a0", "a1", "a2", "a3")) << why;
    clock_.Advance(600'000);
  }
  tried_.clear();
  refusal_ = absl::NotFoundError("it is gone");
  Pass({work});
  EXPECT_EQ(tried_.size(), 5u) << "that says nothing of the others";
}

TEST_F(ExecutorTest, AStepHearsWhatTimeLeftAndWhatIsLeftAlone) {
  const auto outcome_of = [this](Work work, Executor::Limits limits) {
    EffectOutcome::Result seen = EffectOutcome::Result::kDone;
    work.decide = [&seen, decide = work.decide](const PassFacts& facts) {
      Decision decision = decide(facts);
      decision.then = [&seen](const PassFacts&, const EffectOutcomes& outcomes) {
        seen = outcomes.front().result;
        return Decision{};
      };
      return decision;
    };
    Pass({work}, limits);
    return seen;
  };
  const Work work = WriteFor("a", "a0");
  EXPECT_EQ(outcome_of(work, {0}), EffectOutcome::Result::kLeft);
  EXPECT_EQ(outcome_of(work, {}), EffectOutcome::Result::kDone);
  Pass({{work.gang, [](const PassFacts&) -> Decision { throw std::out_of_range("x"); }}});
  EXPECT_EQ(outcome_of(work, {0}), EffectOutcome::Result::kNotTried);
}

TEST_F(ExecutorTest, PodsOfAnIsolatedGangAreStillSentToTheScheduler) {
  const NamespacedName gang{"a", "bad"};
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.name = "p";
  pod->metadata.namespace_name = "a";
  pod->metadata.uid = "u";
  client_.Seed(kube::Pods(), json::parse(R"({"apiVersion": "v1", "kind": "Pod",
      "metadata": {"name": "p", "namespace": "a", "uid": "u"},
      "spec": {"schedulingGates": [{"name": "yardmaster.dev/placement"}]}})"));
  Pass({{gang, [](const PassFacts&) -> Decision { throw std::out_of_range("x"); }}});
  for (const std::size_t threads : {0u, 1u}) {
    const auto release = [&](const PassFacts&) {
      return Decision{{ReleasePod{gang, pod, {"u", "host", "{}", false}}}, threads};
    };
    Pass({{gang, release}});
    EXPECT_TRUE(tried_.empty()) << "it gets no place";
    const auto fail = [&](const PassFacts&) {
      return Decision{{FailPod{gang, pod, "GateTimeout", "it waited"}}, threads};
    };
    Pass({{gang, fail}});
    EXPECT_THAT(tried_, ElementsAre("p"));
    tried_.clear();
  }
  Pass({{gang, [&](const PassFacts&) { return Decision{{OpenGate{gang, pod, "it waited"}}}; }}});
  EXPECT_THAT(tried_, ElementsAre("p"));
}

TEST_F(ExecutorTest, NothingIsWrittenOnceTheHoldHasEnded) {
  Work first = WriteFor("a", "a0");
  first.decide = [this, decide = first.decide](const PassFacts& facts) {
    token_ = 2;
    return decide(facts);
  };
  const PassReport report = Pass({first, WriteFor("a", "a1")});
  EXPECT_TRUE(tried_.empty());
  EXPECT_TRUE(report.errors.empty());
}

}  // namespace
}  // namespace yardmaster::extender
