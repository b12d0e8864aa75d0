// From the description of a transformer to what one iteration computes and sends. Formulas with
// their derivation and the published figures they are held against: docs/crux.md, "Traffic of a
// model".
//
//   parameters   layers (attention 4 h^2, or less with grouped queries; feed-forward m h f with m
//                matrices of width f, once per expert) + vocabulary h (twice if untied)
//   FLOP         6 per active parameter and token, and 12 layers h s per token for attention
//   data         what a GPU sends for its parameters P in a group of n, all-reduce 2 (n-1)/n P g;
//                sharded optimizer: reduce-scatter (n-1)/n P g and all-gather (n-1)/n P p; sharded
//                parameters: one reduce-scatter and two all-gathers (g, p: bytes of a gradient and
//                of a parameter). Expert parameters are reduced among n / expert GPUs.
//   pipeline     activations of a micro-batch forwards and gradients back, once per model chunk:
//                2 m v s b h a / (context tensor)
//   tensor       four all-reduces a layer and micro-batch (two forwards, two back) of s b h a /
//                context, each sent 2 (n-1)/n times
//   context      a ring of keys and values: (n-1) blocks forwards and twice as much back
//   expert       four all-to-alls a MoE layer and micro-batch: tokens k h a (e-1)/e each
//
// Deterministic, no failure for descriptions that passed ValidateModel. Thread safety: values and
// pure functions.
#pragma once

#include <string_view>

#include "pkg/base/status.h"
#include "pkg/workload/parallelism.h"

namespace yardmaster::workload {

enum class Sharding { kNone, kOptimizer, kParameters };

struct Model {
  double layers = 0;
  double hidden = 0;
  double feed_forward = 0;        // width; 0: 4 * hidden
  int feed_forward_matrices = 2;  // 3 for gated ones (SwiGLU)
  double key_value_share = 1;     // key-value heads over query heads
  double vocabulary = 0;
  bool tied_embeddings = true;
  double parameters = 0;  // 0: counted; else taken at its word
  int experts = 1;        // per MoE layer; 1: dense
  int experts_per_token = 1;
  int moe_every = 1;  // each so manyth layer has experts

  double sequence = 2048;
  double micro_batch = 1;    // sequences
  double micro_batches = 1;  // per data rank and iteration
  double activation_bytes = 2;
  double gradient_bytes = 2;
  double parameter_bytes = 2;
  Sharding sharding = Sharding::kNone;
  bool recompute = false;  // activations once more in the backward pass
  bool operator==(const Model&) const = default;
};

// Errors name the field below `field`.
absl::Status ValidateModel(const Model& model, std::string_view field);

double Parameters(const Model& model);        // all
double ActiveParameters(const Model& model);  // that one token meets

// What one GPU sends in an iteration, before it is known who shares a host with whom.
struct ModelTraffic {
  double flop_per_iteration = 0;  // of the whole job
  double parameters_per_gpu = 0;
  double data_message_bytes = 0;  // the gradient of one GPU: what is reduced
  double data_bytes = 0;
  double pipeline_message_bytes = 0;  // one activation between two stages
  double pipeline_bytes = 0;
  double tensor_message_bytes = 0;  // what is reduced in one pass of a micro-batch over a stage
  double tensor_bytes = 0;
  double context_bytes = 0;
  double expert_bytes = 0;
};
ModelTraffic TrafficOfModel(const Model& model, const Parallelism& parallelism);

}  // namespace yardmaster::workload
