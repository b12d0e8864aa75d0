// What `plan` makes of the description of a model.
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/cli/dispatch.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

constexpr char kSample[] = YARDMASTER_SOURCE_DIR "/crds/samples/trainingjob-model.yaml";

struct Answer {
  int code = 0;
  std::string out;
  std::string err;
};

Answer Invoke(const std::vector<std::string>& args, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out, err;
  const int code = Dispatch(args, in, out, err);
  return {code, out.str(), err.str()};
}

// Two segments of eight hosts.
std::string Fabric() {
  return Invoke(
             {"fabric", "render", "--preset", "hpn-small", "--hosts", "8", "--backup-hosts", "0"})
      .out;
}

std::string JobYaml(const std::string& spec) {
  return StrCat("---\napiVersion: yardmaster.dev/v1alpha1\nkind: TrainingJob\n",
                "metadata: {name: a}\nspec: {workers: 4, template: {}, ", spec, "}\n");
}

json NetworkOf(const std::string& spec) {
  const Answer answer = Invoke({"plan", "--offline", "-f", "-"}, Fabric() + JobYaml(spec));
  EXPECT_EQ(answer.code, 0) << answer.err;
  return json::parse(answer.out)["jobs"][0]["network"];
}

TEST(PlanModelTest, TheSamplesIterationIsThatOfItsModel) {
  const Answer answer = Invoke({"plan", "--offline", "-f", "-", "-f", kSample}, Fabric());
  ASSERT_EQ(answer.code, 0) << answer.err;
  const json job = json::parse(answer.out)["jobs"][0];
  ASSERT_EQ(job["outcome"], "Placed");
  // 12.9 * 10^9 active parameters, 16 data ranks of 32 sequences of 8192 tokens, and attention.
  const double tokens = 16.0 * 32 * 8192;
  const double flop = tokens * (6 * 12.9e9 + 12 * 32 * 4096.0 * 8192);
  EXPECT_NEAR(job["network"]["flopPerIteration"].get<double>() / flop, 1, 0.01);
  EXPECT_GT(job["network"]["communicationSeconds"].get<double>(), 0);
}

TEST(PlanModelTest, ADescriptionMovesTheNumbersAndAProfileCountsBeforeIt) {
  const std::string split = "parallelism: {tensor: 8, data: 4}, ";
  const json small = NetworkOf(split + "model: {parameters: 7.0e+9}");
  const json large = NetworkOf(split + "model: {parameters: 70.0e+9}");
  EXPECT_NEAR(
      large["communicationSeconds"].get<double>() / small["communicationSeconds"].get<double>(), 10,
      1e-6);
  const json sharded = NetworkOf(split + "model: {parameters: 7.0e+9, sharding: Parameters}");
  EXPECT_NEAR(
      sharded["communicationSeconds"].get<double>() / small["communicationSeconds"].get<double>(),
      1.5, 1e-6);
  const json given = NetworkOf(split + "model: {parameters: 7.0e+9}, profile: {dataBytes: 5.0e+8}");
  // Seven billion parameters in eight shards of two bytes, 3/4 of it twice.
  EXPECT_NEAR(
      given["communicationSeconds"].get<double>() / small["communicationSeconds"].get<double>(),
      5e8 / (2 * 3.0 / 4 * 2 * 7e9 / 8), 1e-6);
  EXPECT_EQ(given["flopPerIteration"], small["flopPerIteration"]);
}

TEST(PlanModelTest, AModelThatCannotBeSplitSoIsNeverWithTheFieldAndAFix) {
  const std::pair<const char*, const char*> cases[] = {
      {"model: {sharding: None}", "spec.model.parameters: is not given"},
      {"model: {layers: 12}", "spec.model.parameters: is not given, and neither are layers and"},
      {"parallelism: {tensor: 8}, model: {parameters: 1.0e+9, attentionHeads: 12}",
       "spec.model.attentionHeads: 12 cannot be split evenly over parallelism.tensor, which is 8"},
      {"parallelism: {expert: 8, data: 32}, model: {parameters: 1.0e+9, experts: 12}",
       "spec.model.experts: 12 cannot be split evenly over parallelism.expert, which is 8"},
      {"parallelism: {pipeline: 4, virtualPipeline: 2}, model: {layers: 6, hiddenSize: 64}",
       "spec.model.layers: 6 are fewer than the 4 stages of 2 chunks"}};
  for (const auto& [spec, message] : cases) {
    const Answer answer = Invoke({"plan", "--offline", "-f", "-"}, Fabric() + JobYaml(spec));
    EXPECT_EQ(answer.code, 1) << spec;
    EXPECT_THAT(answer.err, AllOf(HasSubstr(message), HasSubstr("; "))) << spec;
    EXPECT_EQ(json::parse(answer.out)["jobs"][0]["outcome"], "Never") << spec;
  }
}

}  // namespace
}  // namespace yardmaster::cli
