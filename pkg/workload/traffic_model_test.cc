#include "pkg/workload/traffic_model.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace yardmaster::workload {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Model Gpt3() {
  Model model;
  model.layers = 96;
  model.hidden = 12288;
  model.attention_heads = 96;
  model.vocabulary = 51200;
  model.sequence = 2048;
  model.micro_batches = 1;
  return model;
}

Model Llama(double layers, double hidden, double feed_forward) {
  Model model;
  model.layers = layers;
  model.hidden = hidden;
  model.feed_forward = feed_forward;
  model.feed_forward_matrices = 3;
  model.vocabulary = 32000;
  model.tied_embeddings = false;
  model.sequence = 2048;
  model.micro_batches = 1;
  return model;
}

Parallelism Split(int tensor, int data, int pipeline) {
  Parallelism p;
  p.tensor = tensor;
  p.data = data;
  p.pipeline = pipeline;
  return p;
}

TEST(TrafficModel, CountsTheParametersOfPublishedModels) {
  EXPECT_NEAR(Parameters(Gpt3()) / 1e9, 175, 1);
  EXPECT_NEAR(Parameters(Llama(32, 4096, 11008)) / 1e9, 6.7, 0.05);
  EXPECT_NEAR(Parameters(Llama(40, 5120, 13824)) / 1e9, 13.0, 0.05);
  EXPECT_NEAR(Parameters(Llama(60, 6656, 17920)) / 1e9, 32.5, 0.1);
  EXPECT_NEAR(Parameters(Llama(80, 8192, 22016)) / 1e9, 65.2, 0.1);
  Model llama2_70b = Llama(80, 8192, 28672);
  llama2_70b.attention_heads = 64;
  llama2_70b.key_value_heads = 8;
  EXPECT_NEAR(Parameters(llama2_70b) / 1e9, 69.0, 0.2);
  Model mixtral = Llama(32, 4096, 14336);
  mixtral.attention_heads = 32;
  mixtral.key_value_heads = 8;
  mixtral.experts = 8;
  mixtral.experts_per_token = 2;
  EXPECT_NEAR(Parameters(mixtral) / 1e9, 46.7, 0.2);
  EXPECT_NEAR(ActiveParameters(mixtral) / 1e9, 12.9, 0.2);
}

// HPN, SIGCOMM 2024, table 3: GPT-3 with TP 8, PP 8, DP 512: data 5.5 GB, pipeline 6 MB, tensor
// 560 MB (the paper does not say per what).
TEST(TrafficModel, GivesThePublishedTrafficOfGpt3On32ThousandGpus) {
  const ModelTraffic traffic = TrafficOfModel(Gpt3(), Split(8, 512, 8));
  EXPECT_NEAR(traffic.data_message_bytes / 1e9, 5.5, 0.05);
  EXPECT_NEAR(traffic.pipeline_message_bytes / 1e6, 6.0, 0.3);
  EXPECT_NEAR(traffic.tensor_message_bytes / 1e6, 560, 0.08 * 560);
}

// Narayanan et al., SC 2021, table 1: 175 B parameters, batch 1536, 1024 A100 at 140 TFLOP/s each,
// with activations recomputed. Their estimate of an iteration is 96 B s l h^2 (1 + s/6h + V/16lh).
TEST(TrafficModel, FlopFollowThePublishedFormula) {
  Model model = Gpt3();
  model.recompute = true;
  model.micro_batches = 1536.0 / 16;
  const double flop = TrafficOfModel(model, Split(8, 16, 8)).flop_per_iteration;
  const double l = 96, h = 12288, s = 2048, v = 51200;
  const double published = 96 * 1536 * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
  EXPECT_NEAR(flop / published, 1, 0.01);
}

TEST(TrafficModel, ShardedOptimizersSendTheSameAndShardedParametersHalfMore) {
  Model model = Gpt3();
  const Parallelism p = Split(8, 16, 8);
  const double plain = TrafficOfModel(model, p).data_bytes;
  EXPECT_NEAR(plain, 2 * 15.0 / 16 * TrafficOfModel(model, p).data_message_bytes, 1);
  model.sharding = Sharding::kOptimizer;
  EXPECT_NEAR(TrafficOfModel(model, p).data_bytes, plain, 1);
  model.sharding = Sharding::kParameters;
  EXPECT_NEAR(TrafficOfModel(model, p).data_bytes, 1.5 * plain, 1);
}

TEST(TrafficModel, VirtualStagesSendActivationsMoreOften) {
  Model model = Gpt3();
  model.micro_batches = 32;
  Parallelism p = Split(8, 16, 8);
  const double plain = TrafficOfModel(model, p).pipeline_bytes;
  EXPECT_NEAR(plain, 2 * 32 * 2048.0 * 12288 * 2 / 8, 1);
  p.virtual_pipeline = 3;
  EXPECT_NEAR(TrafficOfModel(model, p).pipeline_bytes, 3 * plain, 1);
}

TEST(TrafficModel, ExpertsSendTokensThereAndBackAndReduceAmongFewer) {
  Model model = Llama(32, 4096, 14336);
  model.experts = 8;
  model.experts_per_token = 2;
  Parallelism p = Split(1, 16, 1);
  EXPECT_EQ(TrafficOfModel(model, p).expert_bytes, 0);
  const ModelTraffic whole = TrafficOfModel(model, p);
  p.expert = 8;
  const ModelTraffic split = TrafficOfModel(model, p);
  // Forwards and back, out and home: 4 times 2 experts for each of 2,048 tokens in 32 layers.
  EXPECT_NEAR(split.expert_bytes, 4 * 32 * 2048.0 * 4096 * 2 * 2 * 7 / 8, 1);
  // The same gradients, those of experts among 2 GPUs instead of 16.
  EXPECT_NEAR(split.data_bytes, whole.data_bytes, 1);
  EXPECT_NEAR(split.expert_data_bytes / whole.expert_data_bytes, (1.0 / 2) / (15.0 / 16) / 8, 1e-9);
  EXPECT_LT(split.data_bytes, 0.2 * (whole.data_bytes + whole.expert_data_bytes));
  EXPECT_LT(split.parameters_per_gpu, 0.2 * whole.parameters_per_gpu);
  EXPECT_EQ(split.flop_per_iteration, whole.flop_per_iteration);
}

TEST(TrafficModel, NothingIsSentByOneGpu) {
  const ModelTraffic traffic = TrafficOfModel(Gpt3(), Parallelism{});
  EXPECT_EQ(
      traffic.data_bytes + traffic.pipeline_bytes + traffic.tensor_bytes + traffic.expert_bytes, 0);
}

TEST(TrafficModel, OfParametersAloneAShapeLikePublishedOnesIsAssumed) {
  Model model;
  model.parameters = 175e9;
  const Parallelism p = Split(8, 16, 8);
  const ModelTraffic guessed = TrafficOfModel(model, p);
  Model real = Gpt3();
  real.sequence = model.sequence;
  real.micro_batches = 32;  // four per stage
  const ModelTraffic known = TrafficOfModel(real, p);
  EXPECT_NEAR(guessed.data_bytes / known.data_bytes, 1, 0.01);
  EXPECT_NEAR(guessed.flop_per_iteration / known.flop_per_iteration, 1, 0.05);
  EXPECT_NEAR(guessed.pipeline_bytes / known.pipeline_bytes, 1, 0.1);
  EXPECT_NEAR(guessed.tensor_bytes / known.tensor_bytes, 1, 0.2);
  model.hidden = 12288;  // layers follow: 175e9 / (12 h^2)
  EXPECT_NEAR(TrafficOfModel(model, p).tensor_bytes / known.tensor_bytes, 1, 0.01);
  model.hidden = 0;
  model.layers = 96;
  EXPECT_NEAR(TrafficOfModel(model, p).tensor_bytes / known.tensor_bytes, 1, 0.01);
}

TEST(TrafficModel, TheUsualModelHasABillionParametersAShard) {
  Parallelism p = Split(8, 16, 4);
  EXPECT_NEAR(TrafficOfModel(UsualModel(p), p).parameters_per_gpu, 1e9, 1);
  EXPECT_THAT(ModelProblems(UsualModel(p), p, "model"), IsEmpty());
  p.expert = 8;  // one expert on each rank instead of the dense layer
  EXPECT_NEAR(TrafficOfModel(UsualModel(p), p).parameters_per_gpu, 1e9, 0.02e9);
  EXPECT_THAT(ModelProblems(UsualModel(p), p, "model"), IsEmpty());
}

TEST(TrafficModel, ImpossibleDescriptionsAreNamed) {
  struct Case {
    void (*spoil)(Model&, Parallelism&);
    const char* message;
  };
  const Case cases[] = {
      {[](Model& m, Parallelism&) { m.hidden = -1; }, "model.hiddenSize: is -1"},
      {[](Model& m, Parallelism&) { m.hidden = 0; }, "model.parameters: is not given"},
      {[](Model& m, Parallelism&) { m.parameters = std::nan(""); }, "model.parameters: is nan"},
      {[](Model& m, Parallelism&) { m.sequence = 0; }, "model.sequenceLength: is 0"},
      {[](Model& m, Parallelism&) { m.experts_per_token = 2; },
       "model.expertsPerToken: is 2 of 1 experts"},
      {[](Model& m, Parallelism&) { m.experts = 8, m.moe_every = 97; },
       "model.expertLayerPeriod: is 97, so no layer has experts"},
      {[](Model& m, Parallelism& p) { m.experts = 6, p.expert = 4; },
       "model.experts: 6 cannot be split evenly over parallelism.expert, which is 4"},
      {[](Model& m, Parallelism&) { m.key_value_heads = 7; },
       "model.attentionHeads: 96 cannot be split evenly over keyValueHeads, which is 7"},
      {[](Model& m, Parallelism&) { m.attention_heads = 0, m.key_value_heads = 7; },
       "model.keyValueHeads: is given without attentionHeads"},
      {[](Model&, Parallelism& p) { p.tensor = 10; },
       "model.attentionHeads: 96 cannot be split evenly over parallelism.tensor, which is 10"},
      {[](Model&, Parallelism& p) { p.virtual_pipeline = 13; },
       "model.layers: 96 are fewer than the 8 stages of 13 chunks"},
      {[](Model& m, Parallelism&) { m.parameters = 1e9, m.hidden = 0, m.feed_forward = 8; },
       "model.feedForwardSize: is given without hiddenSize"}};
  for (const Case& c : cases) {
    Model model = Gpt3();
    Parallelism p = Split(8, 16, 8);
    EXPECT_THAT(ModelProblems(model, p, "model"), IsEmpty());
    c.spoil(model, p);
    const auto problems = ModelProblems(model, p, "model");
    ASSERT_EQ(problems.size(), 1u) << c.message;
    EXPECT_THAT(problems[0], AllOf(HasSubstr(c.message), HasSubstr("; ")));
  }
}

}  // namespace
}  // namespace yardmaster::workload
