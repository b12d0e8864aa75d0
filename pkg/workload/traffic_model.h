// From the description of a transformer to the FLOP and bytes of one iteration. docs/traffic.md has
// the formulas, and the published figures with which the tests
// compare them.
//
//   parameters   layers (attention 4 h^2, or less with grouped queries; feed-forward m h f with m
//                matrices of width f, once per expert) + vocabulary h (twice if untied)
//   FLOP         6 per active parameter and token, and 12 layers h s per token for attention; 8 and
//                16 with recomputed activations
//   data         what a GPU sends for its parameters P in a group of n, all-reduce 2 (n-1)/n P g;
//                sharded optimizer: reduce-scatter (n-1)/n P g and all-gather (n-1)/n P p; sharded
//                parameters: one reduce-scatter and two all-gathers (g, p: bytes of a gradient and
//                of a parameter). Expert parameters are reduced apart, among the n / expert GPUs
//                that hold the same experts.
//   pipeline     activations of a micro-batch forwards and gradients back, once per model chunk:
//                2 m v s b h a / (context tensor), of a GPU between two others
//   tensor       four all-reduces a layer and micro-batch (two forwards, two back) of s b h a /
//                context, each sent 2 (n-1)/n times
//   context      a ring of keys and values: (n-1) blocks forwards and twice as much back
//   expert       four all-to-alls a MoE layer and micro-batch: tokens k h a (e-1)/e each
//
// A shape that is not described follows from the parameters: L layers of width 128 L, the ratio of
// published models.
//
// Deterministic, no failure for descriptions without ModelProblems. Thread safety: values and pure
// functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/workload/parallelism.h"

namespace yardmaster::workload {

enum class Sharding { kNone, kOptimizer, kParameters };

// Zero: not said.
struct Model {
  double parameters = 0;  // used unchanged; 0: derived from the layers
  double layers = 0;
  double hidden = 0;
  double feed_forward = 0;        // width; 0: 4 * hidden
  int feed_forward_matrices = 2;  // 3 for gated ones (SwiGLU)
  int attention_heads = 0;
  int key_value_heads = 0;  // 0: as many as attention heads
  double vocabulary = 0;
  bool tied_embeddings = true;
  int experts = 1;  // per MoE layer; 1: dense
  int experts_per_token = 1;
  int moe_every = 1;  // every n-th layer has experts

  double sequence = 4096;
  double micro_batch = 1;    // sequences
  double micro_batches = 0;  // per data rank and iteration; 0: four per stage, at least 8
  double activation_bytes = 2;
  double gradient_bytes = 2;
  double parameter_bytes = 2;
  Sharding sharding = Sharding::kNone;
  bool recompute = false;  // activations once more in the backward pass
  bool operator==(const Model&) const = default;
};

// What contradicts itself in the description, or in it and the parallelism. Each
// "<field>.name: problem; fix". Empty: valid.
std::vector<std::string> ModelProblems(const Model& model, const Parallelism& parallelism,
                                       std::string_view field);

double Parameters(const Model& model);        // all
double ActiveParameters(const Model& model);  // that one token meets

// What one GPU sends in an iteration, before it is known which GPUs share a host.
struct ModelTraffic {
  double flop_per_iteration = 0;  // of the whole job
  double bubble = 0;              // of the pipeline: idle time over computing time
  double parameters_per_gpu = 0;
  double data_message_bytes = 0;      // the gradient of one GPU: what is reduced
  double data_bytes = 0;              // for what all data ranks hold
  double expert_data_bytes = 0;       // for the experts
  double pipeline_message_bytes = 0;  // one activation between two stages
  double pipeline_bytes = 0;
  double tensor_message_bytes = 0;  // what is reduced in one pass of a micro-batch over a stage
  double tensor_bytes = 0;
  double context_bytes = 0;
  double expert_bytes = 0;
};
ModelTraffic TrafficOfModel(const Model& model, const Parallelism& parallelism);

// What is assumed of a job that describes no model: 10^9 parameters per tensor and pipeline shard;
// with expert parallelism one expert on each rank in every second layer, two of them per token.
Model UsualModel(const Parallelism& parallelism);

}  // namespace yardmaster::workload
