#include "pkg/workload/traffic_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace yardmaster::workload {
namespace {

using ::testing::HasSubstr;

Model Gpt3() {
  Model model;
  model.layers = 96;
  model.hidden = 12288;
  model.vocabulary = 51200;
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
  llama2_70b.key_value_share = 8.0 / 64;
  EXPECT_NEAR(Parameters(llama2_70b) / 1e9, 69.0, 0.2);
  Model mixtral = Llama(32, 4096, 14336);
  mixtral.key_value_share = 8.0 / 32;
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
  model.micro_batches = 1536 / 16;
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
  EXPECT_LT(split.data_bytes, 0.3 * whole.data_bytes);
  EXPECT_LT(split.parameters_per_gpu, 0.2 * whole.parameters_per_gpu);
  EXPECT_EQ(split.flop_per_iteration, whole.flop_per_iteration);
}

TEST(TrafficModel, NothingIsSentByOneGpu) {
  const ModelTraffic traffic = TrafficOfModel(Gpt3(), Parallelism{});
  EXPECT_EQ(
      traffic.data_bytes + traffic.pipeline_bytes + traffic.tensor_bytes + traffic.expert_bytes, 0);
}

TEST(TrafficModel, ImpossibleDescriptionsAreNamed) {
  Model model = Gpt3();
  EXPECT_TRUE(ValidateModel(model, "model").ok());
  model.hidden = 0;
  EXPECT_THAT(MessageOf(ValidateModel(model, "model")), HasSubstr("model.hidden: is 0"));
  model = Gpt3();
  model.experts_per_token = 2;
  EXPECT_FALSE(ValidateModel(model, "model").ok());
}

}  // namespace
}  // namespace yardmaster::workload
