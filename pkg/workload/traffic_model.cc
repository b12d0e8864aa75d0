#include "pkg/workload/traffic_model.h"

#include <algorithm>
#include <cmath>

#include "pkg/base/strings.h"

namespace yardmaster::workload {
namespace {

// What each member of a ring of `members` sends per byte of the message, one way round.
double Round(double members) { return members > 1 ? (members - 1) / members : 0; }

double FeedForwardOf(const Model& model) {
  const double width = model.feed_forward > 0 ? model.feed_forward : 4 * model.hidden;
  return model.feed_forward_matrices * model.hidden * width;
}

double AttentionOf(const Model& model) {
  return model.hidden * model.hidden * (2 + 2 * model.key_value_share);
}

double MoeLayers(const Model& model) {
  return model.experts > 1 ? std::floor(model.layers / model.moe_every) : 0;
}

double Embedding(const Model& model) {
  return model.vocabulary * model.hidden * (model.tied_embeddings ? 1 : 2);
}

// Parameters with `experts` of each MoE layer's experts.
double Count(const Model& model, double experts) {
  const double moe = MoeLayers(model);
  return model.layers * AttentionOf(model) +
         FeedForwardOf(model) * (model.layers - moe + moe * experts) + Embedding(model);
}

double ExpertParameters(const Model& model) {
  return MoeLayers(model) * model.experts * FeedForwardOf(model);
}

// Bytes a GPU sends per parameter it holds, in a group of `members`.
double DataBytesPerParameter(const Model& model, double members) {
  const double round = Round(members);
  switch (model.sharding) {
    case Sharding::kOptimizer:
      return round * (model.gradient_bytes + model.parameter_bytes);
    case Sharding::kParameters:
      return round * (model.gradient_bytes + 2 * model.parameter_bytes);
    default:
      return 2 * round * model.gradient_bytes;
  }
}

absl::Status CheckPositive(double value, std::string_view field, std::string_view name) {
  if (std::isfinite(value) && value > 0) return absl::OkStatus();
  return FieldError(StrCat(field, ".", name), StrCat("is ", value), "give a number above 0");
}

}  // namespace

absl::Status ValidateModel(const Model& model, std::string_view field) {
  YM_RETURN_IF_ERROR(CheckPositive(model.layers, field, "layers"));
  YM_RETURN_IF_ERROR(CheckPositive(model.hidden, field, "hidden"));
  YM_RETURN_IF_ERROR(CheckPositive(model.sequence, field, "sequence"));
  YM_RETURN_IF_ERROR(CheckPositive(model.micro_batch, field, "microBatch"));
  YM_RETURN_IF_ERROR(CheckPositive(model.micro_batches, field, "microBatches"));
  YM_RETURN_IF_ERROR(CheckPositive(model.activation_bytes, field, "activationBytes"));
  YM_RETURN_IF_ERROR(CheckPositive(model.gradient_bytes, field, "gradientBytes"));
  YM_RETURN_IF_ERROR(CheckPositive(model.parameter_bytes, field, "parameterBytes"));
  const bool counts = model.feed_forward_matrices > 0 && model.experts > 0 && model.moe_every > 0 &&
                      model.experts_per_token > 0 && model.experts_per_token <= model.experts;
  if (!counts) {
    return FieldError(field, "has experts, expertsPerToken, moeEvery or matrices that do not fit",
                      "give numbers from 1, and no more experts per token than experts");
  }
  const bool rest = model.vocabulary >= 0 && model.feed_forward >= 0 && model.parameters >= 0 &&
                    model.key_value_share > 0 && model.key_value_share <= 1;
  if (!rest) {
    return FieldError(field, "has a negative size, or a keyValueShare outside (0, 1]",
                      "use 0 for what is to be derived");
  }
  return absl::OkStatus();
}

double Parameters(const Model& model) {
  return model.parameters > 0 ? model.parameters : Count(model, model.experts);
}

double ActiveParameters(const Model& model) {
  const double counted = Count(model, model.experts);
  return Parameters(model) * Count(model, model.experts_per_token) / counted;
}

ModelTraffic TrafficOfModel(const Model& model, const Parallelism& p) {
  ModelTraffic out;
  const double tokens = model.sequence * model.micro_batch;  // of a micro-batch
  const double passes = model.recompute ? 8 : 6;             // FLOP per parameter and token
  const double attention = 2 * passes * model.layers * model.hidden * model.sequence;
  out.flop_per_iteration =
      tokens * model.micro_batches * p.data * (passes * ActiveParameters(model) + attention);

  const double shards = 1.0 * p.tensor * p.pipeline;
  const double expert_share = std::min(1.0, ExpertParameters(model) / Count(model, model.experts));
  const double dense = Parameters(model) * (1 - expert_share) / shards;
  const double expert = Parameters(model) * expert_share / shards / p.expert;
  const double members = 1.0 * p.data * p.context;
  out.parameters_per_gpu = dense + expert;
  out.data_message_bytes = out.parameters_per_gpu * model.gradient_bytes;
  out.data_bytes = dense * DataBytesPerParameter(model, members) +
                   expert * DataBytesPerParameter(model, members / p.expert);

  const double activation = tokens / p.context * model.hidden * model.activation_bytes;
  const double layers = model.layers / p.pipeline;  // of one GPU
  out.pipeline_message_bytes = activation / p.tensor;
  if (p.pipeline > 1) {
    out.pipeline_bytes = 2 * model.micro_batches * p.virtual_pipeline * out.pipeline_message_bytes;
  }
  out.tensor_message_bytes = layers * activation;
  if (p.tensor > 1) {
    out.tensor_bytes = 4 * model.micro_batches * out.tensor_message_bytes * 2 * Round(p.tensor);
  }
  if (p.context > 1) {
    const double block = 2 * model.key_value_share * activation / p.tensor;  // keys and values
    out.context_bytes = 3 * (p.context - 1) * block * layers * model.micro_batches;
  }
  if (p.expert > 1) {
    const double moe_layers = MoeLayers(model) / p.pipeline;
    out.expert_bytes = 4 * moe_layers * model.micro_batches * activation / p.tensor *
                       model.experts_per_token * Round(p.expert);
  }
  return out;
}

}  // namespace yardmaster::workload
