#include "pkg/crux/pairwise_contention.h"

#include <algorithm>
#include <cmath>

namespace yardmaster::crux {
namespace {

// 1 + 2 + 4 + ... + 64: the last stretch of Brent is half of them.
constexpr int kIterations = 127;
// Phases this close, as a share of the period, are the same one.
constexpr double kSamePhase = 1e-9;

class Circle {
 public:
  Circle(const IterationTiming& first, const IterationTiming& second)
      : period_(first.Period()),
        busy_(std::min(first.link_seconds, period_)),
        gap_(period_ - busy_),
        second_(second),
        hidden_((1 - second.communication_start) * second.compute_seconds),
        exposed_(second.communication_start * second.compute_seconds) {}

  bool Starved() const { return gap_ <= kSamePhase * period_ && second_.link_seconds > 0; }

  // Seconds from being ready at phase `x` to being ready again.
  double Step(double x) const {
    const double communication = std::max(Served(x), second_.communication_seconds);
    return std::max(communication, hidden_) + exposed_;
  }
  double Advance(double x, double seconds) const {
    const double next = std::fmod(x + seconds, period_);
    return period_ - next < kSamePhase * period_ ? 0 : next;
  }
  bool Same(double a, double b) const { return std::abs(a - b) < kSamePhase * period_; }

 private:
  // Seconds from phase `x` until the link has given the second job what it needs.
  double Served(double x) const {
    const double wait = x < busy_ ? busy_ - x : 0;
    const double open = x < busy_ ? gap_ : period_ - x;
    const double need = second_.link_seconds;
    if (need <= open) return wait + need;
    const double rest = need - open;
    const double whole_gaps = std::ceil(rest / gap_ - kSamePhase) - 1;
    return wait + open + whole_gaps * period_ + busy_ + (rest - whole_gaps * gap_);
  }

  const double period_;
  const double busy_;
  const double gap_;
  const IterationTiming& second_;
  const double hidden_;
  const double exposed_;
};

}  // namespace

double IterationTiming::Period() const {
  return std::max(compute_seconds, communication_start * compute_seconds + communication_seconds);
}

double LowerPriorityRun::SpeedLoss() const {
  if (stretch_seconds <= 0) return 1;
  return std::clamp(delay_seconds / stretch_seconds, 0.0, 1.0);
}

LowerPriorityRun SimulateLowerPriority(const IterationTiming& first,
                                       const IterationTiming& second) {
  const Circle circle(first, second);
  if (circle.Starved()) return {};
  const double alone = second.Period();
  LowerPriorityRun result;
  double phase = 0;
  double mark = 0;  // the phase at which the current stretch began
  double mark_length = 1;
  double total_delay = 0;
  for (int i = 0; i < kIterations; ++i) {
    const double step = circle.Step(phase);
    const double delay = std::max(0.0, step - alone);
    total_delay += delay < kSamePhase * alone ? 0 : delay;
    phase = circle.Advance(phase, step);
    result.iterations += 1;
    result.stretch_seconds += step;
    result.delay_seconds += delay < kSamePhase * alone ? 0 : delay;
    if (circle.Same(phase, mark)) break;
    // Brent: begin a new stretch at powers of two, the last one at half of the iterations.
    if (result.iterations == mark_length && i + 1 < kIterations) {
      mark = phase;
      mark_length *= 2;
      result.iterations = result.stretch_seconds = result.delay_seconds = 0;
      result.first_delay_seconds = total_delay;
    }
  }
  return result;
}

double CorrectionFactor(const IterationTiming& reference, const IterationTiming& job) {
  const LowerPriorityRun job_second = SimulateLowerPriority(reference, job);
  const LowerPriorityRun reference_second = SimulateLowerPriority(job, reference);
  // (s2 - s1) over the job's lone rate t/T is its SpeedLoss; written with products, because the
  // worked examples come out to the last digit that way.
  const bool starved = job_second.stretch_seconds <= 0 || reference_second.stretch_seconds <= 0;
  double gain = 0;
  double cost = 0;
  if (starved) {
    gain = job.link_seconds * job_second.SpeedLoss() / job.Period();
    cost = reference.link_seconds * reference_second.SpeedLoss() / reference.Period();
  } else {
    gain = job.link_seconds * job_second.delay_seconds * reference.Period() *
           reference_second.stretch_seconds;
    cost = reference.link_seconds * reference_second.delay_seconds * job.Period() *
           job_second.stretch_seconds;
  }
  if (gain <= 0 && cost <= 0) {
    gain = job.link_seconds * job_second.first_delay_seconds * reference.Period();
    cost = reference.link_seconds * reference_second.first_delay_seconds * job.Period();
  }
  if (gain <= 0 && cost <= 0) return 1;
  if (cost <= 0) return kMaxCorrection;
  return std::clamp(gain / cost, kMinCorrection, kMaxCorrection);
}

}  // namespace yardmaster::crux
