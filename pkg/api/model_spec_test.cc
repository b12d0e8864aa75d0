#include "pkg/api/model_spec.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/field_codec.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;

ModelSpec Read(const char* text) {
  const json object = json::parse(text);
  FieldErrors errors;
  const ModelSpec model =
      DecodeObject<ModelSpec>({&object, "spec.model", UnknownFields::kReject, &errors});
  EXPECT_TRUE(errors.empty()) << errors.status();
  return model;
}

TEST(ModelSpecTest, EveryFieldReadsBackAsItWasWritten) {
  const json full = {{"parameters", 1e11},          {"layers", 64},
                     {"hiddenSize", 6144},          {"feedForwardSize", 16384},
                     {"gatedFeedForward", true},    {"attentionHeads", 64},
                     {"keyValueHeads", 8},          {"vocabularySize", 128000},
                     {"tiedEmbeddings", false},     {"experts", 8},
                     {"expertsPerToken", 3},        {"expertLayerPeriod", 2},
                     {"sequenceLength", 8192},      {"microBatchSize", 2},
                     {"microBatches", 32},          {"precision", "FP16"},
                     {"gradientPrecision", "FP32"}, {"sharding", "Parameters"},
                     {"recomputeActivations", true}};
  const ModelSpec model = Read(full.dump().c_str());
  EXPECT_EQ(EncodeObject(model), full);
  // Each alone too: none stands for another.
  for (const auto& [key, value] : full.items()) {
    const json one = {{key, value}};
    EXPECT_EQ(EncodeObject(Read(one.dump().c_str())), one);
  }
  EXPECT_EQ(EncodeObject(Read("{}")), json::object());
}

TEST(ModelSpecTest, FieldsReachTheModelThatTrafficIsEstimatedFrom) {
  const workload::Model model = ToModel(
      Read(R"({"layers":80,"hiddenSize":8192,"feedForwardSize":28672,"gatedFeedForward":true,
               "attentionHeads":64,"keyValueHeads":8,"vocabularySize":32000,
               "tiedEmbeddings":false,"sharding":"Optimizer"})"));
  EXPECT_NEAR(workload::Parameters(model) / 1e9, 69.0, 0.2);  // Llama 2 70B
  EXPECT_EQ(model.sharding, workload::Sharding::kOptimizer);
  EXPECT_EQ(model.sequence, 4096);
  EXPECT_EQ(model.experts, 1);
  EXPECT_EQ(model.experts_per_token, 1);
}

TEST(ModelSpecTest, PrecisionSaysWhatAValueTakes) {
  workload::Model model = ToModel(Read(R"({"parameters":1e9})"));
  EXPECT_EQ(model.activation_bytes, 2);
  EXPECT_EQ(model.gradient_bytes, 2);
  model = ToModel(Read(R"({"parameters":1e9,"precision":"FP32"})"));
  EXPECT_EQ(model.activation_bytes, 4);
  EXPECT_EQ(model.gradient_bytes, 4);
  model = ToModel(Read(R"({"parameters":1e9,"precision":"FP8"})"));
  EXPECT_EQ(model.parameter_bytes, 1);
  EXPECT_EQ(model.gradient_bytes, 2);
  model = ToModel(Read(R"({"parameters":1e9,"precision":"BF16","gradientPrecision":"FP32"})"));
  EXPECT_EQ(model.activation_bytes, 2);
  EXPECT_EQ(model.gradient_bytes, 4);
}

TEST(ModelSpecTest, ATokenMeetsTwoExpertsWhereThereAreMore) {
  EXPECT_EQ(ToModel(Read(R"({"experts":8})")).experts_per_token, 2);
  EXPECT_EQ(ToModel(Read(R"({"experts":8,"expertsPerToken":4})")).experts_per_token, 4);
}

}  // namespace
}  // namespace yardmaster::api
