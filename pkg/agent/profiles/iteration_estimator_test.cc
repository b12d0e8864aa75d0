#include "pkg/agent/profiles/iteration_estimator.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/base/random.h"
#include "pkg/base/testing/rounds.h"

namespace yardmaster::agent {
namespace {

// A training job's NIC counter, made up: compute, then a burst, with what disturbs it.
struct Job {
  std::string name;
  double period = 0;     // seconds; 0: at random from 0.8 to 4.8
  double sending = 0.4;  // share of an iteration
  double interval = 0.05;
  double window = 120;
  double noise = 0.05;       // of the burst's rate, normal
  double background = 0.02;  // uniform
  double jitter = 0.02;      // of an iteration's length, normal
  double stragglers = 0.05;  // iterations that last up to half longer
  int micro_batches = 0;
  double alternating = 0;    // every other iteration is longer by this share, the others shorter
  int checkpoint_every = 0;  // a pause of 0.8 iterations
};

struct Recorded {
  std::vector<double> samples;
  double mean_seconds = 0;  // from iteration to iteration
  // Of every iteration: its end, and when its burst begins.
  std::vector<double> ends, bursts;
};

double Normal(Random& random) {
  return std::sqrt(-2 * std::log(1 - random.Unit())) * std::cos(2 * M_PI * random.Unit());
}

void AddBurst(std::vector<double>& samples, double interval, double from, double to, double rate) {
  for (auto i = static_cast<std::size_t>(std::max(0.0, from / interval)); i < samples.size(); ++i) {
    const double begin = static_cast<double>(i) * interval;
    if (begin >= to) break;
    samples[i] +=
        rate * std::max(0.0, std::min(to, begin + interval) - std::max(from, begin)) / interval;
  }
}

Recorded Record(const Job& job, std::uint64_t seed) {
  Random random(SeedOf(seed, job.name));
  const double period = job.period > 0 ? job.period : 0.8 + 4 * random.Unit();
  Recorded out;
  out.samples.assign(static_cast<std::size_t>(job.window / job.interval), 0);
  double now = random.Unit() * period, first = 0, last = 0;
  int inside = 0;
  for (int i = 0; now < job.window + period; ++i) {
    double length = period * (1 + job.jitter * Normal(random));
    length *= i % 2 == 0 ? 1 - job.alternating : 1 + job.alternating;
    if (random.Unit() < job.stragglers) length *= 1 + 0.5 * random.Unit();
    if (job.checkpoint_every > 0 && i % job.checkpoint_every == job.checkpoint_every - 1) {
      length += 0.8 * period;
    }
    if (now <= job.window) {
      if (inside++ == 0) first = now;
      last = now;
    }
    const double compute = length * (1 - job.sending);
    for (int m = 0; m < job.micro_batches; ++m) {
      const double at = now + compute * (m + 0.5) / job.micro_batches;
      AddBurst(out.samples, job.interval, at, at + 0.3 * compute / job.micro_batches, 0.35);
    }
    AddBurst(out.samples, job.interval, now + compute, now + length, 1);
    out.ends.push_back(now + length);
    out.bursts.push_back(now + compute);
    now += length;
  }
  for (double& sample : out.samples) {
    const double noise = job.noise * Normal(random) * (sample > 0.01 ? 1 : 0.3);
    sample = 1e9 * std::max(0.0, sample + noise + job.background * random.Unit());
  }
  out.mean_seconds = (last - first) / (inside - 1);
  return out;
}

std::vector<Job> Jobs() {
  std::vector<Job> jobs(13);
  jobs[0].name = "plain";
  jobs[1].name = "noisy";
  jobs[1].noise = 0.4;
  jobs[1].background = 0.3;
  jobs[2].name = "jitter";
  jobs[2].jitter = 0.06;
  jobs[3].name = "stragglers";
  jobs[3].stragglers = 0.2;
  jobs[4].name = "micro batches";
  jobs[4].micro_batches = 4;
  jobs[5].name = "many micro batches";
  jobs[5].micro_batches = 8;
  jobs[5].sending = 0.3;
  jobs[6].name = "uneven";
  jobs[6].alternating = 0.1;
  jobs[7].name = "checkpoints";
  jobs[7].checkpoint_every = 10;
  jobs[8].name = "short";
  jobs[8].period = 0.35;
  jobs[8].interval = 0.02;
  jobs[8].window = 60;
  jobs[9].name = "long";
  jobs[9].period = 12;
  jobs[9].interval = 0.1;
  jobs[9].window = 240;
  jobs[10].name = "nearly always sending";
  jobs[10].sending = 0.85;
  jobs[11].name = "hardly sending";
  jobs[11].sending = 0.08;
  jobs[12].name = "all at once";
  jobs[12].noise = jobs[12].background = 0.2;
  jobs[12].jitter = 0.04;
  jobs[12].stragglers = 0.1;
  jobs[12].micro_batches = 4;
  return jobs;
}

std::size_t Nearest(const std::vector<double>& times, double time) {
  const auto nearer = [time](double a, double b) {
    return std::abs(a - time) < std::abs(b - time);
  };
  return static_cast<std::size_t>(std::min_element(times.begin(), times.end(), nearer) -
                                  times.begin());
}

// The mean length of the iterations that an estimate speaks of: between what its first and its last
// edge are, be it ends of iterations or begins of bursts.
double TrueMean(const Recorded& recorded, const IterationEstimate& estimate) {
  double distance = INFINITY, mean = 0;
  for (const std::vector<double>* times : {&recorded.ends, &recorded.bursts}) {
    const std::size_t first = Nearest(*times, estimate.begin_seconds);
    const std::size_t last = Nearest(*times, estimate.end_seconds);
    const double off = std::abs((*times)[first] - estimate.begin_seconds) +
                       std::abs((*times)[last] - estimate.end_seconds);
    if (off >= distance || last <= first) continue;
    distance = off;
    mean = ((*times)[last] - (*times)[first]) / static_cast<double>(last - first);
  }
  return mean;
}

// What the agent reports: see TrafficMeter.
bool IsReported(const IterationEstimate& estimate) {
  return estimate.error_seconds <= 0.03 * estimate.seconds;
}

TEST(IterationEstimatorTest, EveryReportedLengthIsWithinItsErrorBarAndThreePercent) {
  constexpr int kSeeds = Rounds(30);
  int signals = 0, reported = 0;
  for (const Job& job : Jobs()) {
    std::vector<double> errors, bars;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      ++signals;
      const Recorded recorded = Record(job, seed);
      const auto estimate = EstimateIterations(recorded.samples, job.interval);
      if (!estimate || !IsReported(*estimate)) continue;
      EXPECT_LE(std::abs(estimate->seconds - TrueMean(recorded, *estimate)),
                estimate->error_seconds)
          << job.name << " " << seed;
      errors.push_back(std::abs(estimate->seconds - recorded.mean_seconds) / recorded.mean_seconds);
      bars.push_back(estimate->error_seconds / estimate->seconds);
      // Of the whole window, too: with the iterations at its ends that were not seen whole.
      EXPECT_LT(errors.back(), 0.03) << job.name << " " << seed;
    }
    reported += static_cast<int>(errors.size());
    std::sort(errors.begin(), errors.end());
    std::sort(bars.begin(), bars.end());
    std::printf("%-22s reported %zu of %d", job.name.c_str(), errors.size(), kSeeds);
    if (!errors.empty()) {
      std::printf(", error median %.2f %%, max %.2f %%, bar median %.2f %%",
                  100 * errors[errors.size() / 2], 100 * errors.back(),
                  100 * bars[bars.size() / 2]);
    }
    std::printf("\n");
    if (job.checkpoint_every == 0) {
      EXPECT_GE(errors.size(), kSeeds / 2) << job.name;
    }
  }
  // To say nothing would keep every promise.
  EXPECT_GT(reported, signals * 8 / 10);
}

TEST(IterationEstimatorTest, TheShareOfSendingIsSeen) {
  for (double share : {0.1, 0.3, 0.5, 0.8}) {
    Job job;
    job.name = "share";
    job.sending = share;
    job.stragglers = 0;
    const auto estimate = EstimateIterations(Record(job, 3).samples, job.interval);
    ASSERT_TRUE(estimate.has_value());
    EXPECT_NEAR(estimate->sending_share, share, 0.05);
  }
}

TEST(IterationEstimatorTest, WithoutARhythmThereIsNoAnswer) {
  Random random(1);
  std::vector<double> noise(2400), constant(2400, 5e8), once(2400, 0);
  for (double& sample : noise) sample = random.Unit();
  std::fill(once.begin() + 1000, once.begin() + 1100, 1e9);
  EXPECT_FALSE(EstimateIterations(noise, 0.05).has_value());
  EXPECT_FALSE(EstimateIterations(constant, 0.05).has_value());
  EXPECT_FALSE(EstimateIterations(once, 0.05).has_value());
  EXPECT_FALSE(EstimateIterations({}, 0.05).has_value());
  EXPECT_FALSE(EstimateIterations({1, 2, 3}, 0.05).has_value());
  EXPECT_FALSE(EstimateIterations(std::vector<double>(2400, NAN), 0.05).has_value());
}

TEST(IterationEstimatorTest, ThreeIterationsAreTooFew) {
  Job job;
  job.name = "few";
  job.period = 40;
  EXPECT_FALSE(EstimateIterations(Record(job, 1).samples, job.interval).has_value());
}

}  // namespace
}  // namespace yardmaster::agent
