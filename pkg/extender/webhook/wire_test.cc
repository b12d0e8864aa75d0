#include "pkg/extender/webhook/wire.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace yardmaster::extender {
namespace {

using nlohmann::json;

TEST(WireTest, BothCasingsOfArgumentsAreRead) {
  ArgsReader reader;
  for (const char* body :
       {R"({"Pod":{"metadata":{"name":"a"}},"Nodes":null,"NodeNames":["n1","n2"]})",
        R"({"pod":{"metadata":{"name":"a"}},"nodenames":["n1","n2"]})"}) {
    auto args = reader.Read(body);
    ASSERT_TRUE(args.ok()) << args.status();
    EXPECT_EQ(args->pod.At({"metadata", "name"}).Text(), "a");
    EXPECT_EQ(args->node_names, (std::vector<std::string_view>{"n1", "n2"}));
    EXPECT_FALSE(args->nodes_were_objects);
  }
}

TEST(WireTest, FullNodeObjectsAreReadByName) {
  ArgsReader reader;
  auto args =
      reader.Read(R"({"Pod":{},"Nodes":{"items":[{"metadata":{"name":"n1"}}]},"NodeNames":null})");
  ASSERT_TRUE(args.ok()) << args.status();
  EXPECT_TRUE(args->nodes_were_objects);
  EXPECT_EQ(args->node_names, (std::vector<std::string_view>{"n1"}));
}

TEST(WireTest, AnEmptyListOfNamesIsAListAndNotAnError) {
  ArgsReader reader;
  auto args = reader.Read(R"({"Pod":{},"NodeNames":[]})");
  ASSERT_TRUE(args.ok());
  EXPECT_TRUE(args->node_names.empty());
}

TEST(WireTest, BadBodiesNameTheKey) {
  ArgsReader reader;
  const std::pair<const char*, const char*> cases[] = {
      {"", "body"},
      {"[1]", "body"},
      {"{}", "Pod"},
      {R"({"Pod":3})", "Pod"},
      {R"({"Pod":{}})", "NodeNames"},
      {R"({"Pod":{},"NodeNames":[1]})", "NodeNames"}};
  for (const auto& [body, key] : cases) {
    auto args = reader.Read(body);
    ASSERT_FALSE(args.ok()) << body;
    EXPECT_EQ(std::string(args.status().message()).rfind(key, 0), 0u) << args.status();
  }
}

TEST(WireTest, AFilterResultHoldsEveryNameOnceAndAlwaysAnArray) {
  ExtenderArgs args;
  args.node_names = {"a", "b", "c\"x"};
  const json result = json::parse(EncodeFilterAnswer(
      args, {NodeVerdict::kFits, NodeVerdict::kNoGpusLeft, NodeVerdict::kBackup}));
  EXPECT_EQ(result["NodeNames"], json::array({"a"}));
  EXPECT_TRUE(result["FailedNodes"].contains("b"));
  EXPECT_TRUE(result["FailedAndUnresolvableNodes"].contains("c\"x"));
  EXPECT_EQ(result["Error"], "");
  EXPECT_TRUE(json::parse(EncodeFilterAnswer({}, {}))["NodeNames"].is_array());
  EXPECT_EQ(json::parse(EncodeFilterError("a\nb"))["Error"], "a\nb");
}

TEST(WireTest, PrioritiesAreABareArray) {
  const json result = json::parse(EncodeHostPriorities({"a", "b"}, {3, 10}));
  EXPECT_EQ(result, json::parse(R"([{"Host":"a","Score":3},{"Host":"b","Score":10}])"));
}

TEST(WireTest, PreemptionCandidatesSurviveARoundTrip) {
  ArgsReader reader;
  auto args = reader.ReadPreempt(
      R"({"Pod":{},"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"u1"},{"UID":"u2"}],"NumPDBViolations":1}}})");
  ASSERT_TRUE(args.ok()) << args.status();
  EXPECT_EQ(json::parse(EncodePreemptResult(args->candidates))["NodeNameToMetaVictims"],
            json::parse(R"({"n1":{"Pods":[{"UID":"u1"},{"UID":"u2"}],"NumPDBViolations":1}})"));
  auto full = reader.ReadPreempt(
      R"({"Pod":{},"NodeNameToVictims":{"n1":{"Pods":[{"metadata":{"uid":"u1"}}]}}})");
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_EQ(full->candidates[0].victim_uids, std::vector<std::string>{"u1"});
}

}  // namespace
}  // namespace yardmaster::extender
