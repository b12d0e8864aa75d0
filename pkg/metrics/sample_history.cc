#include "pkg/metrics/sample_history.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace yardmaster::metrics {
namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
// Every eighth sample is written, changed or not: four minutes.
constexpr std::uint32_t kWrittenEvery = 8;
// What a node of std::map and the allocator's bookkeeping add to a series.
constexpr std::size_t kNodeBytes = 64;

// "name{labels} value" of the Prometheus text format. Labels may hold spaces, the value does not.
std::optional<std::pair<std::string_view, double>> ParseLine(std::string_view line) {
  if (line.empty() || line.front() == '#') return std::nullopt;
  const std::size_t space = line.rfind(' ');
  if (space == std::string_view::npos || space == 0) return std::nullopt;
  std::string_view number = line.substr(space + 1);
  if (!number.empty() && number.front() == '+') number.remove_prefix(1);  // "+Inf"
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size() || std::isnan(value)) {
    return std::nullopt;
  }
  return std::pair(line.substr(0, space), value);
}

void AppendValue(double value, std::string& out) {
  if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
    return;
  }
  char text[32];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

// Seconds with milliseconds, as OpenMetrics wants them.
void AppendTime(std::int64_t wall_ms, std::string& out) {
  const std::string rest = std::to_string(wall_ms % 1000);
  out += std::to_string(wall_ms / 1000);
  out += '.';
  out.append(3 - rest.size(), '0');
  out += rest;
}

}  // namespace

void SampleHistory::Put(std::string_view name, double value, std::uint32_t sample) {
  auto found = series_.find(name);
  if (found == series_.end()) {
    if (series_.size() >= limits_.series) {
      ++left_out_;
      return;
    }
    found = series_.emplace(std::string(name), Series()).first;
  }
  Series& series = found->second;
  series.last_sample = sample;
  // An absent series' NaN differs from every value.
  if (!series.changes.empty() && series.changes.back().value == value) return;
  series.changes.push_back({sample, value});
  ++changes_;
}

void SampleHistory::EndSeriesWithout(std::uint32_t sample) {
  for (auto& [name, series] : series_) {
    if (series.last_sample == sample || std::isnan(series.changes.back().value)) continue;
    series.changes.push_back({sample, kAbsent});
    ++changes_;
  }
}

void SampleHistory::DropOldest() {
  times_ms_.pop_front();
  const std::uint32_t first = ++first_;
  for (auto it = series_.begin(); it != series_.end();) {
    std::vector<Change>& changes = it->second.changes;
    // The last change up to the oldest sample is its value there.
    const auto later = std::find_if(changes.begin(), changes.end(),
                                    [first](const Change& c) { return c.sample > first; });
    auto kept = later == changes.begin() ? later : std::prev(later);
    if (kept != changes.end() && kept->sample <= first && std::isnan(kept->value)) ++kept;
    changes_ -= static_cast<std::size_t>(kept - changes.begin());
    changes.erase(changes.begin(), kept);
    if (changes.capacity() > 4 * changes.size()) changes.shrink_to_fit();
    it = changes.empty() ? series_.erase(it) : std::next(it);
  }
}

void SampleHistory::Add(std::string_view exposition, std::int64_t wall_ms) {
  const MutexLock lock(mutex_);
  const std::int64_t now_ms = times_ms_.empty() ? wall_ms : std::max(wall_ms, times_ms_.back() + 1);
  const std::uint32_t sample = first_ + static_cast<std::uint32_t>(times_ms_.size());
  times_ms_.push_back(now_ms);
  left_out_ = 0;
  while (!exposition.empty()) {
    const std::size_t end = std::min(exposition.find('\n'), exposition.size());
    if (const auto line = ParseLine(exposition.substr(0, end))) {
      Put(line->first, line->second, sample);
    }
    exposition.remove_prefix(std::min(end + 1, exposition.size()));
  }
  EndSeriesWithout(sample);
  while (times_ms_.size() > limits_.samples ||
         (changes_ > limits_.changes && times_ms_.size() > 1)) {
    DropOldest();
  }
}

void SampleHistory::Write(const std::string& name, const Series& series, std::string& out) const {
  const std::vector<Change>& changes = series.changes;
  const auto end = first_ + static_cast<std::uint32_t>(times_ms_.size());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (std::isnan(changes[i].value)) continue;
    const std::uint32_t from = std::max(changes[i].sample, first_);
    const std::uint32_t until = i + 1 < changes.size() ? changes[i + 1].sample : end;
    for (std::uint32_t sample = from; sample < until; ++sample) {
      if (sample != from && sample + 1 != until && sample % kWrittenEvery != 0) continue;
      out += name;
      out += ' ';
      AppendValue(changes[i].value, out);
      out += ' ';
      AppendTime(times_ms_[sample - first_], out);
      out += '\n';
    }
  }
}

std::string SampleHistory::Text() const {
  const MutexLock lock(mutex_);
  std::string out;
  for (const auto& [name, series] : series_) Write(name, series, out);
  out += "# EOF\n";
  return out;
}

std::size_t SampleHistory::bytes() const {
  const MutexLock lock(mutex_);
  std::size_t sum = times_ms_.size() * sizeof(std::int64_t);
  for (const auto& [name, series] : series_) {
    sum += kNodeBytes + sizeof(std::pair<const std::string, Series>) + name.capacity() +
           series.changes.capacity() * sizeof(Change);
  }
  return sum;
}

std::size_t SampleHistory::left_out_series() const {
  const MutexLock lock(mutex_);
  return left_out_;
}

}  // namespace yardmaster::metrics
