#include "pkg/metrics/registry.h"

#include <iterator>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sstream>
#include <utility>

#include "pkg/base/mutex.h"

namespace yardmaster::metrics {
namespace {

struct NamedSource {
  std::string name;
  std::string help;
  prometheus::MetricType type;
  Source source;
};

Source OneSample(std::function<double()> value) {
  return [value = std::move(value)] { return std::vector<Sample>{{{}, value()}}; };
}

prometheus::MetricFamily Collect(const NamedSource& named) {
  prometheus::MetricFamily family;
  family.name = named.name;
  family.help = named.help;
  family.type = named.type;
  for (const Sample& sample : named.source()) {
    prometheus::ClientMetric metric;
    for (const auto& [name, value] : sample.labels) metric.label.push_back({name, value});
    if (named.type == prometheus::MetricType::Counter) {
      metric.counter.value = sample.value;
    } else {
      metric.gauge.value = sample.value;
    }
    family.metric.push_back(std::move(metric));
  }
  return family;
}

}  // namespace

struct Registry::Impl {
  void AddSource(NamedSource source) {
    MutexLock lock(mutex);
    sources.push_back(std::move(source));
  }

  prometheus::Registry registry;
  mutable Mutex mutex;
  std::vector<NamedSource> sources ABSL_GUARDED_BY(mutex);
};

void Counter::Increment(double by) const { counter_->Increment(by); }
double Counter::value() const { return counter_->Value(); }
void Gauge::Set(double value) const { gauge_->Set(value); }
double Gauge::value() const { return gauge_->Value(); }
void Histogram::Observe(double value) const { histogram_->Observe(value); }

Registry::Registry() : impl_(std::make_unique<Impl>()) {}
Registry::~Registry() = default;

Counter Registry::GetCounter(const std::string& name, const std::string& help,
                             const Labels& labels) {
  auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(impl_->registry);
  return Counter(&family.Add(labels));
}

Gauge Registry::GetGauge(const std::string& name, const std::string& help, const Labels& labels) {
  auto& family = prometheus::BuildGauge().Name(name).Help(help).Register(impl_->registry);
  return Gauge(&family.Add(labels));
}

Histogram Registry::GetHistogram(const std::string& name, const std::string& help,
                                 const std::vector<double>& buckets, const Labels& labels) {
  auto& family = prometheus::BuildHistogram().Name(name).Help(help).Register(impl_->registry);
  return Histogram(&family.Add(labels, buckets));
}

void Registry::AddCounterSource(const std::string& name, const std::string& help, Source source) {
  impl_->AddSource({name, help, prometheus::MetricType::Counter, std::move(source)});
}

void Registry::AddGaugeSource(const std::string& name, const std::string& help, Source source) {
  impl_->AddSource({name, help, prometheus::MetricType::Gauge, std::move(source)});
}

void Registry::AddCounterSource(const std::string& name, const std::string& help,
                                std::function<double()> value) {
  AddCounterSource(name, help, OneSample(std::move(value)));
}

void Registry::AddGaugeSource(const std::string& name, const std::string& help,
                              std::function<double()> value) {
  AddGaugeSource(name, help, OneSample(std::move(value)));
}

std::string Registry::Text() const {
  std::vector<prometheus::MetricFamily> families = impl_->registry.Collect();
  {
    MutexLock lock(impl_->mutex);
    for (const NamedSource& source : impl_->sources) families.push_back(Collect(source));
  }
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

std::vector<double> LatencyBuckets() {
  return {0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
          0.05,    0.1,    0.25,    0.5,    1,     2.5,    5,     10};
}

}  // namespace yardmaster::metrics
