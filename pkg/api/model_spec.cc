#include "pkg/api/model_spec.h"

#include <algorithm>

#include "nlohmann/json.hpp"

namespace yardmaster::api {

namespace {

using nlohmann::json;

constexpr std::string_view kPrecisionNames[] = {"FP32", "BF16", "FP16", "FP8"};
constexpr double kBytesOfPrecision[] = {4, 2, 2, 1};
constexpr std::string_view kShardingNames[] = {"None", "Optimizer", "Parameters"};
constexpr double kMaxParameters = 1e18;

// Counts, all 0 where left out.
struct CountField {
  const char* name;
  int ModelSpec::*field;
  int max;
};
constexpr CountField kCounts[] = {{"layers", &ModelSpec::layers, 1'000'000},
                                  {"hiddenSize", &ModelSpec::hidden_size, 10'000'000},
                                  {"feedForwardSize", &ModelSpec::feed_forward_size, 100'000'000},
                                  {"attentionHeads", &ModelSpec::attention_heads, 1'000'000},
                                  {"keyValueHeads", &ModelSpec::key_value_heads, 1'000'000},
                                  {"vocabularySize", &ModelSpec::vocabulary_size, 1'000'000'000},
                                  {"experts", &ModelSpec::experts, 1'000'000},
                                  {"expertsPerToken", &ModelSpec::experts_per_token, 1'000'000},
                                  {"expertLayerPeriod", &ModelSpec::expert_layer_period, 1'000'000},
                                  {"sequenceLength", &ModelSpec::sequence_length, 1'000'000'000},
                                  {"microBatchSize", &ModelSpec::micro_batch_size, 1'000'000},
                                  {"microBatches", &ModelSpec::micro_batches, 1'000'000'000}};

struct Switch {
  const char* name;
  bool ModelSpec::*field;
};
constexpr Switch kSwitches[] = {{"gatedFeedForward", &ModelSpec::gated_feed_forward},
                                {"tiedEmbeddings", &ModelSpec::tied_embeddings},
                                {"recomputeActivations", &ModelSpec::recompute_activations}};

double BytesOf(Precision precision) { return kBytesOfPrecision[static_cast<int>(precision)]; }

std::string_view NameOf(Precision precision) {
  return kPrecisionNames[static_cast<std::size_t>(precision)];
}

}  // namespace

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

ModelSpec ReadModel(FieldReader in) {
  ModelSpec model;
  model.parameters = in.Number("parameters", 0, 1, kMaxParameters);
  for (const CountField& count : kCounts) model.*count.field = in.Int(count.name, 0, 1, count.max);
  for (const Switch& s : kSwitches) model.*s.field = in.Bool(s.name, model.*s.field);
  model.precision = in.Enum("precision", kPrecisionNames, model.precision);
  if (in.has("gradientPrecision")) {
    model.gradient_precision = in.Enum("gradientPrecision", kPrecisionNames, Precision::kBf16);
  }
  model.sharding = in.Enum("sharding", kShardingNames, model.sharding);
  in.Close();
  return model;
}

json EncodeModel(const ModelSpec& model) {
  const ModelSpec usual;
  json out = json::object();
  if (model.parameters > 0) out["parameters"] = model.parameters;
  for (const CountField& count : kCounts) {
    if (model.*count.field > 0) out[count.name] = model.*count.field;
  }
  for (const Switch& s : kSwitches) {
    if (model.*s.field != usual.*s.field) out[s.name] = model.*s.field;
  }
  if (model.precision != usual.precision) out["precision"] = NameOf(model.precision);
  if (model.gradient_precision) out["gradientPrecision"] = NameOf(*model.gradient_precision);
  if (model.sharding != usual.sharding) {
    out["sharding"] = kShardingNames[static_cast<std::size_t>(model.sharding)];
  }
  return out;
}

}  // namespace yardmaster::api
