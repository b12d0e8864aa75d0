// The description of the model that a job trains, as TrainingJobs and Gangs write it under
// `spec.model`: what its traffic is estimated from (workload/traffic_model.h).
//
// Defaults are those of Transformer implementations in common use: feed-forward four times as wide
// as the layer, one sequence a micro-batch, BF16, gradients in the precision of the rest (in BF16
// where that is FP8), nothing sharded. Numbers left out are 0 here. What the fields contradict in
// each other and in the parallelism is workload::ModelProblems' business.
//
// Thread safety: values and pure functions.
#pragma once

#include <optional>
#include <string_view>

#include "pkg/api/field_visitor.h"
#include "pkg/workload/traffic_model.h"

namespace yardmaster::api {

enum class Precision { kFp32, kBf16, kFp16, kFp8 };
inline constexpr std::string_view kPrecisionNames[] = {"FP32", "BF16", "FP16", "FP8"};
inline constexpr std::string_view kShardingNames[] = {"None", "Optimizer", "Parameters"};

struct ModelSpec {
  double parameters = 0;
  int layers = 0;
  int hidden_size = 0;
  int feed_forward_size = 0;
  bool gated_feed_forward = false;
  int attention_heads = 0;
  int key_value_heads = 0;
  int vocabulary_size = 0;
  bool tied_embeddings = true;
  int experts = 0;
  int experts_per_token = 0;
  int expert_layer_period = 0;
  int sequence_length = 0;
  int micro_batch_size = 0;
  int micro_batches = 0;
  Precision precision = Precision::kBf16;
  std::optional<Precision> gradient_precision;
  workload::Sharding sharding = workload::Sharding::kNone;
  bool recompute_activations = false;
  bool operator==(const ModelSpec&) const = default;

  void Describe(FieldVisitor& fields);
};

// The model as the pure layers see it, defaults filled in.
workload::Model ToModel(const ModelSpec& spec);

}  // namespace yardmaster::api
