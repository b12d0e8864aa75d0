#include "pkg/workload/traffic_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::workload {
namespace {

// What each member of a ring of `members` sends per byte of the message, one way round.
double Round(double members) { return members > 1 ? (members - 1) / members : 0; }

constexpr double kWidthPerLayer = 128;
constexpr double kUsualParametersPerShard = 1e9;

double KeyValueShare(const Model& model) {
  if (model.attention_heads <= 0 || model.key_value_heads <= 0) return 1;
  return 1.0 * model.key_value_heads / model.attention_heads;
}

double FeedForwardOf(const Model& model) {
  const double width = model.feed_forward > 0 ? model.feed_forward : 4 * model.hidden;
  return model.feed_forward_matrices * model.hidden * width;
}

double AttentionOf(const Model& model) {
  return model.hidden * model.hidden * (2 + 2 * KeyValueShare(model));
}

double MoeLayers(const Model& model) {
  return model.experts > 1 ? std::floor(model.layers / model.moe_every) : 0;
}

double Embedding(const Model& model) {
  return model.vocabulary * model.hidden * (model.tied_embeddings ? 1 : 2);
}

// Parameters with `experts` of each MoE layer's experts.
double CountWith(const Model& model, double experts) {
  const double moe = MoeLayers(model);
  return model.layers * AttentionOf(model) +
         FeedForwardOf(model) * (model.layers - moe + moe * experts) + Embedding(model);
}

double ExpertParameters(const Model& model) {
  return MoeLayers(model) * model.experts * FeedForwardOf(model);
}

// The model with layers and width, which follow from the parameters where only they are known: a
// layer has `per_layer` h^2 of them, embeddings apart.
Model WithShape(Model model) {
  if (model.layers > 0 && model.hidden > 0) return model;
  const double moe = model.experts > 1 ? 1.0 / model.moe_every : 0;
  const double per_layer = 2 + 2 * KeyValueShare(model) +
                           4.0 * model.feed_forward_matrices * (1 - moe + moe * model.experts);
  if (model.hidden > 0) {
    model.layers = model.parameters / (per_layer * model.hidden * model.hidden);
  } else if (model.layers > 0) {
    model.hidden = std::sqrt(model.parameters / (per_layer * model.layers));
  } else {
    model.layers = std::cbrt(model.parameters / (per_layer * kWidthPerLayer * kWidthPerLayer));
    model.hidden = kWidthPerLayer * model.layers;
  }
  return model;
}

double MicroBatches(const Model& model, const Parallelism& p) {
  return model.micro_batches > 0 ? model.micro_batches : std::max(8.0, 4.0 * p.pipeline);
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

// What a GPU holds and what it sends to keep it the same everywhere.
void AddParameters(const Model& model, const Parallelism& p, ModelTraffic& out) {
  const double shards = 1.0 * p.tensor * p.pipeline;
  const double expert_share =
      std::min(1.0, ExpertParameters(model) / CountWith(model, model.experts));
  const double dense = Parameters(model) * (1 - expert_share) / shards;
  const double expert = Parameters(model) * expert_share / shards / p.expert;
  const double members = 1.0 * p.data * p.context;
  out.parameters_per_gpu = dense + expert;
  out.data_message_bytes = out.parameters_per_gpu * model.gradient_bytes;
  out.data_bytes = dense * DataBytesPerParameter(model, members);
  out.expert_data_bytes = expert * DataBytesPerParameter(model, members / p.expert);
}

class ProblemList {
 public:
  explicit ProblemList(std::string_view field) : field_(field) {}

  void Add(std::string_view name, std::string_view problem, std::string_view fix) {
    out_.push_back(MessageOf(FieldError(StrCat(field_, ".", name), problem, fix)));
  }
  void NeedsPositive(double value, std::string_view name) {
    if (std::isfinite(value) && value > 0) return;
    Add(name, StrCat("is ", value), "give a number above 0");
  }
  void MustNotBeNegative(double value, std::string_view name) {
    if (std::isfinite(value) && value >= 0) return;
    Add(name, StrCat("is ", value), "give a number above 0, or leave it out");
  }
  // `whole` things are split evenly into `parts` of another.
  void MustDivide(int parts, int whole, std::string_view name, std::string_view by) {
    if (parts > 0 && whole % parts == 0) return;
    Add(name, StrCat(whole, " cannot be split evenly over ", by, ", which is ", parts),
        "change one of them until it divides");
  }
  bool empty() const { return out_.empty(); }
  std::vector<std::string> Take() { return std::move(out_); }

 private:
  std::string_view field_;
  std::vector<std::string> out_;
};

void CheckNumbers(const Model& model, ProblemList& out) {
  const std::pair<double, std::string_view> optional[] = {{model.parameters, "parameters"},
                                                          {model.layers, "layers"},
                                                          {model.hidden, "hiddenSize"},
                                                          {model.feed_forward, "feedForwardSize"},
                                                          {model.vocabulary, "vocabularySize"},
                                                          {model.micro_batches, "microBatches"},
                                                          {model.attention_heads, "attentionHeads"},
                                                          {model.key_value_heads, "keyValueHeads"}};
  for (const auto& [value, name] : optional) out.MustNotBeNegative(value, name);
  const std::pair<double, std::string_view> needed[] = {
      {model.sequence, "sequenceLength"},
      {model.micro_batch, "microBatchSize"},
      {model.experts, "experts"},
      {model.experts_per_token, "expertsPerToken"},
      {model.moe_every, "expertLayerPeriod"},
      {std::min(model.activation_bytes, model.parameter_bytes), "precision"},
      {model.gradient_bytes, "gradientPrecision"}};
  for (const auto& [value, name] : needed) out.NeedsPositive(value, name);
}

}  // namespace

std::vector<std::string> ModelProblems(const Model& model, const Parallelism& p,
                                       std::string_view field) {
  ProblemList out(field);
  CheckNumbers(model, out);
  if (!out.empty()) return out.Take();
  if (model.parameters <= 0 && (model.layers <= 0 || model.hidden <= 0)) {
    out.Add("parameters", "is not given, and neither are layers and hiddenSize both",
            "give the number of parameters, or layers and hiddenSize");
  }
  if (model.feed_forward > 0 && model.hidden <= 0) {
    out.Add("feedForwardSize", "is given without hiddenSize", "give both");
  }
  if (model.experts_per_token > model.experts) {
    out.Add("expertsPerToken",
            StrCat("is ", model.experts_per_token, " of ", model.experts, " experts"),
            "give at most the number of experts");
  }
  if (model.experts > 1 && model.layers > 0 && model.moe_every > model.layers) {
    out.Add("expertLayerPeriod", StrCat("is ", model.moe_every, ", so no layer has experts"),
            "give at most the number of layers");
  }
  if (p.expert > 1) out.MustDivide(p.expert, model.experts, "experts", "parallelism.expert");
  if (model.key_value_heads > 0) {
    out.MustDivide(model.key_value_heads, model.attention_heads, "attentionHeads", "keyValueHeads");
    if (model.attention_heads <= 0) {
      out.Add("keyValueHeads", "is given without attentionHeads", "give both");
    }
  }
  if (model.attention_heads > 0) {
    out.MustDivide(p.tensor, model.attention_heads, "attentionHeads", "parallelism.tensor");
  }
  if (model.layers > 0 && model.layers < 1.0 * p.pipeline * p.virtual_pipeline) {
    out.Add("layers",
            StrCat(model.layers, " are fewer than the ", p.pipeline, " stages of ",
                   p.virtual_pipeline, " chunks"),
            "use fewer stages or chunks");
  }
  return out.Take();
}

double Parameters(const Model& model) {
  return model.parameters > 0 ? model.parameters : CountWith(model, model.experts);
}

double ActiveParameters(const Model& model) {
  const Model shaped = WithShape(model);
  const double counted = CountWith(shaped, shaped.experts);
  return Parameters(shaped) * CountWith(shaped, shaped.experts_per_token) / counted;
}

ModelTraffic TrafficOfModel(const Model& described, const Parallelism& p) {
  const Model model = WithShape(described);
  const double micro_batches = MicroBatches(model, p);
  ModelTraffic out;
  const double tokens = model.sequence * model.micro_batch;  // of a micro-batch
  const double passes = model.recompute ? 8 : 6;             // FLOP per parameter and token
  const double attention = 2 * passes * model.layers * model.hidden * model.sequence;
  out.flop_per_iteration =
      tokens * micro_batches * p.data * (passes * ActiveParameters(model) + attention);
  out.bubble = (p.pipeline - 1) / (micro_batches * p.virtual_pipeline);
  AddParameters(model, p, out);

  const double activation = tokens / p.context * model.hidden * model.activation_bytes;
  const double layers = model.layers / p.pipeline;  // of one GPU
  out.pipeline_message_bytes = activation / p.tensor;
  if (p.pipeline > 1) {
    out.pipeline_bytes = 2 * micro_batches * p.virtual_pipeline * out.pipeline_message_bytes;
  }
  out.tensor_message_bytes = layers * activation;
  if (p.tensor > 1) {
    out.tensor_bytes = 4 * micro_batches * out.tensor_message_bytes * 2 * Round(p.tensor);
  }
  if (p.context > 1) {
    const double block = 2 * KeyValueShare(model) * activation / p.tensor;  // keys and values
    out.context_bytes = 3 * (p.context - 1) * block * layers * micro_batches;
  }
  if (p.expert > 1) {
    const double moe_layers = MoeLayers(model) / p.pipeline;
    out.expert_bytes = 4 * moe_layers * micro_batches * activation / p.tensor *
                       model.experts_per_token * Round(p.expert);
  }
  return out;
}

Model UsualModel(const Parallelism& p) {
  Model model;
  const double dense = kUsualParametersPerShard * p.tensor * p.pipeline;
  model.layers = std::cbrt(dense / (12 * kWidthPerLayer * kWidthPerLayer));
  model.hidden = kWidthPerLayer * model.layers;
  if (p.expert > 1) {
    model.experts = p.expert;
    model.experts_per_token = 2;
    model.moe_every = 2;
  }
  return model;
}

}  // namespace yardmaster::workload
