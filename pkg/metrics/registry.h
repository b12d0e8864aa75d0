// Counters, gauges and histograms for /metrics, on prometheus-cpp's core, whose headers stay
// inside. The app owns one Registry and gives components their handles; no global one exists.
//
// Handles are pointers into the registry: cheap to copy, safe to use from any thread, valid as long
// as the registry. Getting one looks it up under a lock, so hot paths keep theirs.
// Names and labels are written in code. A name that Prometheus does not allow, or one used for two
// kinds of metric, is a programming error: the Get functions throw std::invalid_argument. Names of
// sources are not checked.
// Thread safety: everything from any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace yardmaster::metrics {

using Labels = std::map<std::string, std::string>;

class Counter {
 public:
  void Increment(double by = 1) const;  // `by` >= 0
  double value() const;

 private:
  friend class Registry;
  explicit Counter(prometheus::Counter* counter) : counter_(counter) {}
  prometheus::Counter* counter_;
};

class Gauge {
 public:
  void Set(double value) const;
  double value() const;

 private:
  friend class Registry;
  explicit Gauge(prometheus::Gauge* gauge) : gauge_(gauge) {}
  prometheus::Gauge* gauge_;
};

class Histogram {
 public:
  void Observe(double value) const;

 private:
  friend class Registry;
  explicit Histogram(prometheus::Histogram* histogram) : histogram_(histogram) {}
  prometheus::Histogram* histogram_;
};

struct Sample {
  Labels labels = {};
  double value = 0;
};
using Source = std::function<std::vector<Sample>()>;

// One sample for each entry of `counts`, whose key is the value of `label`.
template <typename Counts>
std::vector<Sample> SamplesBy(const std::string& label, const Counts& counts) {
  std::vector<Sample> samples;
  for (const auto& [key, count] : counts) {
    samples.push_back({{{label, key}}, static_cast<double>(count)});
  }
  return samples;
}

class Registry {
 public:
  Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;
  ~Registry();

  // The same name and labels give the same metric again.
  Counter GetCounter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge GetGauge(const std::string& name, const std::string& help, const Labels& labels = {});
  // `buckets` ascend; those of the first call for a name and labels count.
  Histogram GetHistogram(const std::string& name, const std::string& help,
                         const std::vector<double>& buckets, const Labels& labels = {});

  // Text() calls `source` for the values at each scrape. For what is counted elsewhere, or comes
  // and goes (one series per job): a series that the source no longer returns is gone. Calls are
  // made one at a time, under the registry's lock: `source` must be quick and must not call Text or
  // add a source. What it refers to must outlive the registry's last Text().
  void AddCounterSource(const std::string& name, const std::string& help, Source source);
  void AddGaugeSource(const std::string& name, const std::string& help, Source source);
  // Of one series without labels.
  void AddCounterSource(const std::string& name, const std::string& help,
                        std::function<double()> value);
  void AddGaugeSource(const std::string& name, const std::string& help,
                      std::function<double()> value);

  // Prometheus text format 0.0.4.
  std::string Text() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// Bucket bounds in seconds for what takes 50 us to 10 s.
std::vector<double> LatencyBuckets();

}  // namespace yardmaster::metrics
