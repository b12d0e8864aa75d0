#include "pkg/agent/profiles/gpu_metrics.h"

#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {

namespace {

constexpr std::string_view kTensorActive = "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE";
constexpr std::string_view kSmClock = "DCGM_FI_DEV_SM_CLOCK";
// Above any GPU's clock; a larger number is in another unit.
constexpr double kMaxClockMhz = 20'000;
// DCGM divides two counters that are not read at the same instant.
constexpr double kMaxShare = 1.02;

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':';
}

// Takes a line apart from left to right.
class Line {
 public:
  explicit Line(std::string_view text) : left_(text) {}

  std::string_view Name() {
    std::size_t n = 0;
    while (n < left_.size() && IsNameCharacter(left_[n])) ++n;
    return Take(n);
  }
  bool Accept(char c) {
    if (left_.empty() || left_.front() != c) return false;
    left_.remove_prefix(1);
    return true;
  }
  void SkipBlanks() {
    while (!left_.empty() && (left_.front() == ' ' || left_.front() == '\t')) {
      left_.remove_prefix(1);
    }
  }
  // After the opening quote; nullopt without a closing one, or for an unknown escape.
  std::optional<std::string> Quoted() {
    std::string value;
    for (std::size_t i = 0; i < left_.size(); ++i) {
      if (left_[i] == '"') {
        Take(i + 1);
        return value;
      }
      if (left_[i] != '\\') {
        value += left_[i];
        continue;
      }
      if (++i == left_.size()) return std::nullopt;
      if (left_[i] != 'n' && left_[i] != '"' && left_[i] != '\\') return std::nullopt;
      value += left_[i] == 'n' ? '\n' : left_[i];
    }
    return std::nullopt;
  }
  std::string_view Word() {
    std::size_t n = 0;
    while (n < left_.size() && left_[n] != ' ' && left_[n] != '\t') ++n;
    return Take(n);
  }
  bool AtEnd() const { return left_.empty(); }

 private:
  std::string_view Take(std::size_t n) {
    const std::string_view taken = left_.substr(0, n);
    left_.remove_prefix(n);
    return taken;
  }
  std::string_view left_;
};

struct Labels {
  std::string uuid, index, instance, model, ns, pod;
};

void Keep(Labels& labels, std::string_view name, std::string value) {
  if (name == "UUID" || name == "uuid") {
    labels.uuid = std::move(value);
  } else if (name == "gpu") {
    labels.index = std::move(value);
  } else if (name == "GPU_I_ID") {
    labels.instance = std::move(value);
  } else if (name == "modelName") {
    labels.model = std::move(value);
  } else if (name == "namespace" || (name == "pod_namespace" && labels.ns.empty())) {
    labels.ns = std::move(value);
  } else if (name == "pod" || (name == "pod_name" && labels.pod.empty())) {
    labels.pod = std::move(value);
  }
}

// After the metric's name. nullptr: good; else what is wrong.
const char* ReadLabels(Line& line, Labels& labels) {
  line.SkipBlanks();
  if (!line.Accept('{')) return nullptr;
  std::size_t count = 0;
  line.SkipBlanks();
  while (!line.Accept('}')) {
    if (++count > kMaxGpuLabels) return "has too many labels";
    const std::string_view name = line.Name();
    line.SkipBlanks();
    if (name.empty() || !line.Accept('=')) return "has a label without a value";
    line.SkipBlanks();
    if (!line.Accept('"')) return "has a label without quotes";
    std::optional<std::string> value = line.Quoted();
    if (!value) return "has a label that does not end";
    Keep(labels, name, *std::move(value));
    line.SkipBlanks();
    const bool more = line.Accept(',');
    line.SkipBlanks();
    if (!more) {
      if (!line.Accept('}')) return "has labels that do not end";
      return nullptr;
    }
  }
  return nullptr;
}

// "NaN" is a number of this format that says nothing.
const char* ReadValue(Line& line, double max, std::optional<double>& value) {
  line.SkipBlanks();
  const std::string_view word = line.Word();
  line.SkipBlanks();
  if (!line.AtEnd()) {  // the time of the sample
    if (!ParseNumber<std::int64_t>(line.Word())) return "does not end after its value";
    line.SkipBlanks();
    if (!line.AtEnd()) return "does not end after its time";
  }
  if (word == "NaN") return nullptr;
  const std::optional<double> number = ParseNumber<double>(word);
  if (!number) return "has no number";
  if (!std::isfinite(*number) || *number < 0 || *number > max)
    return "has a number that cannot be true";
  value = number;
  return nullptr;
}

class Reader {
 public:
  // nullptr: good; else what is wrong with the line.
  const char* Take(std::string_view text) {
    Line line(text);
    const std::string_view name = line.Name();
    const bool share = name == kTensorActive;
    if (!share && name != kSmClock) return nullptr;
    Labels labels;
    if (const char* problem = ReadLabels(line, labels)) return problem;
    std::optional<double> value;
    if (const char* problem = ReadValue(line, share ? kMaxShare : kMaxClockMhz, value))
      return problem;
    if (labels.uuid.empty() && labels.index.empty()) return "names no GPU";
    const std::string& gpu = labels.uuid.empty() ? labels.index : labels.uuid;
    const auto [at, fresh] = places_.emplace(
        std::make_tuple(gpu, labels.instance, labels.ns, labels.pod), samples_.size());
    if (fresh) {
      if (samples_.size() == kMaxGpuSamples) return "is of one GPU too many";
      samples_.push_back({gpu, labels.instance, labels.model, labels.ns, labels.pod, {}, {}});
    }
    GpuSample& sample = samples_[at->second];
    if (sample.model.empty()) sample.model = std::move(labels.model);
    if (share && value) value = std::min(*value, 1.0);
    (share ? sample.tensor_active : sample.sm_clock_mhz) = value;
    return nullptr;
  }
  std::vector<GpuSample> samples() && { return std::move(samples_); }

 private:
  std::vector<GpuSample> samples_;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::size_t> places_;
};

}  // namespace

absl::StatusOr<std::vector<GpuSample>> ReadGpuMetrics(std::string_view text) {
  Reader reader;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (const char* problem = reader.Take(line)) {
      return FieldError(StrCat("line ", number), problem,
                        "give the text that a dcgm-exporter serves at /metrics");
    }
  }
  return std::move(reader).samples();
}

}  // namespace yardmaster::agent
