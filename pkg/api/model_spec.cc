#include "pkg/api/model_spec.h"

#include <algorithm>

namespace yardmaster::api {

namespace {

constexpr double kBytesOfPrecision[] = {4, 2, 2, 1};

double BytesOf(Precision precision) { return kBytesOfPrecision[static_cast<int>(precision)]; }

void DescribeModelRules(FieldVisitor& fields) {
  fields.Rule("has(self.parameters) || (has(self.layers) && has(self.hiddenSize))",
              "a model is known by its size; give parameters, or layers and hiddenSize");
  fields.Rule("!has(self.feedForwardSize) || has(self.hiddenSize)",
              "feedForwardSize is given without hiddenSize; give both", ".feedForwardSize");
  fields.Rule(
      "!has(self.keyValueHeads) || (has(self.attentionHeads) && self.attentionHeads % "
      "self.keyValueHeads == 0)",
      "keyValueHeads must divide attentionHeads; use a divisor of it", ".keyValueHeads");
  fields.Rule(
      "!has(self.expertsPerToken) || self.expertsPerToken <= (has(self.experts) ? self.experts : "
      "1)",
      "a token cannot meet more experts than there are; give at most experts", ".expertsPerToken");
  fields.Rule(
      "!has(self.expertLayerPeriod) || !has(self.experts) || self.experts == 1 || "
      "!has(self.layers) || self.expertLayerPeriod <= self.layers",
      "with that period no layer has experts; give at most the number of layers",
      ".expertLayerPeriod");
}

}  // namespace

void ModelSpec::Describe(FieldVisitor& fields) {
  constexpr int kMillion = 1'000'000;
  const auto count = [&](const char* key, int& value, int max, const char* meaning) {
    fields.Int(key, value, 1, max, About(meaning).OmitAt(0));
  };
  const auto flag = [&](const char* key, bool& value, bool usual, const char* meaning) {
    fields.Bool(key, value, About(meaning).OmitAt(usual));
  };
  fields.Number(
      "parameters", parameters, 1, 1e18,
      About("Parameters of the whole model; counted from the rest when left out.").OmitAt(0));
  count("layers", layers, kMillion, "Transformer layers.");
  count("hiddenSize", hidden_size, 10 * kMillion, "Width of a layer.");
  count("feedForwardSize", feed_forward_size, 100 * kMillion,
        "Width of the feed-forward part, of each expert too; 4 * hiddenSize when left out.");
  count("attentionHeads", attention_heads, kMillion,
        "Attention heads; a multiple of parallelism.tensor.");
  count("keyValueHeads", key_value_heads, kMillion,
        "Heads of keys and values; as many as attention heads when left out.");
  count("vocabularySize", vocabulary_size, 1000 * kMillion, "Tokens of the vocabulary.");
  count("experts", experts, kMillion,
        "Experts of a layer that has them, a multiple of parallelism.expert; 1: a dense model.");
  count("expertsPerToken", experts_per_token, kMillion,
        "Experts that process one token; 2 when left out.");
  count("expertLayerPeriod", expert_layer_period, kMillion,
        "n: every n-th layer has experts; 1: all.");
  count("sequenceLength", sequence_length, 1000 * kMillion,
        "Tokens of a sequence; 4096 when left out.");
  count("microBatchSize", micro_batch_size, kMillion,
        "Sequences of a micro-batch; 1 when left out.");
  count("microBatches", micro_batches, 1000 * kMillion,
        "Micro-batches of a data rank in one iteration; four a pipeline stage and at least 8 when "
        "left out.");
  flag("gatedFeedForward", gated_feed_forward, false,
       "The feed-forward part has three matrices (SwiGLU) instead of two.");
  flag("tiedEmbeddings", tied_embeddings, true,
       "Input and output share one embedding; true when left out.");
  flag("recomputeActivations", recompute_activations, false,
       "Activations are computed again in the backward pass.");
  fields.Enum("precision", precision, kPrecisionNames,
              About("Of the activations and parameters that are sent; BF16 when left out.")
                  .OmitAt(Precision::kBf16));
  fields.Enum("gradientPrecision", gradient_precision, kPrecisionNames,
              "Of the gradients that are sent; as precision, BF16 where that is FP8.");
  fields.Enum("sharding", sharding, kShardingNames,
              About("What data ranks split among them: nothing, the state of the optimizer (ZeRO 1 "
                    "and 2), or the parameters as well (ZeRO 3, FSDP).")
                  .OmitAt(workload::Sharding::kNone));
  DescribeModelRules(fields);
}

workload::Model ToModel(const ModelSpec& spec) {
  workload::Model model;
  model.parameters = spec.parameters;
  model.layers = spec.layers;
  model.hidden = spec.hidden_size;
  model.feed_forward = spec.feed_forward_size;
  model.feed_forward_matrices = spec.gated_feed_forward ? 3 : 2;
  model.attention_heads = spec.attention_heads;
  model.key_value_heads = spec.key_value_heads;
  model.vocabulary = spec.vocabulary_size;
  model.tied_embeddings = spec.tied_embeddings;
  model.experts = std::max(1, spec.experts);
  model.experts_per_token =
      spec.experts_per_token > 0 ? spec.experts_per_token : std::min(2, model.experts);
  model.moe_every = std::max(1, spec.expert_layer_period);
  if (spec.sequence_length > 0) model.sequence = spec.sequence_length;
  if (spec.micro_batch_size > 0) model.micro_batch = spec.micro_batch_size;
  model.micro_batches = spec.micro_batches;
  model.activation_bytes = model.parameter_bytes = BytesOf(spec.precision);
  const Precision usual = spec.precision == Precision::kFp8 ? Precision::kBf16 : spec.precision;
  model.gradient_bytes = BytesOf(spec.gradient_precision.value_or(usual));
  model.sharding = spec.sharding;
  model.recompute = spec.recompute_activations;
  return model;
}

}  // namespace yardmaster::api
