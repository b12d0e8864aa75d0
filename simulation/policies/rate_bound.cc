#include "simulation/policies/rate_bound.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace yardmaster::crux {
namespace {

constexpr double kNothing = 1e-12;
// Over what rounding can add up to.
constexpr double kSlack = 1 + 1e-9;
// Of rows and columns; few programs need one for each.
constexpr std::size_t kPivotsPerLine = 8;

// Dense simplex on a table scaled so that every variable lies in [0, 1]. The last column is the
// right side, the last row what can still be gained.
class Table {
 public:
  explicit Table(const LinearProgram& program) : columns_(program.value.size()) {
    for (std::size_t r = 0; r < program.rows.size(); ++r) {
      std::vector<double> row(columns_ + 1);
      for (std::size_t c = 0; c < columns_; ++c) row[c] = program.rows[r][c] * program.most[c];
      row[columns_] = program.limit[r];
      const double largest = *std::max_element(row.begin(), row.end());
      if (largest <= 0) continue;
      for (double& entry : row) entry /= largest;
      rows_.push_back(std::move(row));
    }
    for (std::size_t c = 0; c < columns_; ++c) {
      rows_.emplace_back(columns_ + 1, 0.0);
      rows_.back()[c] = 1;
      rows_.back()[columns_] = 1;
    }
    gain_.resize(columns_ + 1, 0.0);
    for (std::size_t c = 0; c < columns_; ++c) gain_[c] = program.value[c] * program.most[c];
    tiny_ = kNothing * *std::max_element(gain_.begin(), gain_.end());
  }

  double Solve(std::size_t max_pivots) {
    double most = 0;
    for (std::size_t c = 0; c < columns_; ++c) most += gain_[c];
    for (std::size_t column = Entering(); column < columns_; column = Entering()) {
      if (max_pivots-- == 0) return most;
      const std::size_t row = Leaving(column);
      if (row == rows_.size()) break;  // unbounded: every variable has a bound
      Pivot(row, column);
    }
    return -gain_[columns_];
  }

 private:
  std::size_t Entering() const {
    std::size_t best = columns_;
    for (std::size_t c = 0; c < columns_; ++c) {
      if (gain_[c] <= tiny_) continue;
      if (best == columns_ || gain_[c] > gain_[best]) best = c;
    }
    return best;
  }
  std::size_t Leaving(std::size_t column) const {
    std::size_t best = rows_.size();
    double best_ratio = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (rows_[r][column] <= kNothing) continue;
      const double ratio = rows_[r][columns_] / rows_[r][column];
      if (ratio < best_ratio) {
        best = r;
        best_ratio = ratio;
      }
    }
    return best;
  }
  void Pivot(std::size_t row, std::size_t column) {
    std::vector<double>& pivot = rows_[row];
    const double by = pivot[column];
    for (double& entry : pivot) entry /= by;
    pivot[column] = 1 / by;
    const auto reduce = [&](std::vector<double>& other) {
      const double factor = std::exchange(other[column], 0.0);
      if (factor == 0) return;
      for (std::size_t c = 0; c <= columns_; ++c) other[c] -= factor * pivot[c];
    };
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (r != row) reduce(rows_[r]);
    }
    reduce(gain_);
  }

  std::size_t columns_;
  double tiny_ = 0;
  std::vector<std::vector<double>> rows_;
  std::vector<double> gain_;
};

}  // namespace

double Maximise(const LinearProgram& program, std::size_t max_pivots) {
  return program.value.empty() ? 0 : Table(program).Solve(max_pivots);
}

RateBound::RateBound(const Problem& problem, double window_seconds)
    : problem_(problem),
      window_seconds_(window_seconds),
      counter_(problem, CountedFlows::kEveryIteration),
      left_(problem.links.size(), window_seconds) {}

double RateBound::Alone(const ContendingJob& job, std::span<const std::int32_t> paths) {
  return IterationsBegun(job, counter_.SpanSeconds(job, paths), window_seconds_);
}

void RateBound::Serve(const Served& served, const Paths& paths) {
  struct Source {
    std::int32_t link;
    double flop_per_second;  // of the link's time
    double seconds;          // there are, at most
  };
  double owed = served.flop_rate * window_seconds_;
  double possible = 0;
  std::vector<Source> sources;
  for (const ContendingJobId j : served.jobs) {
    const ContendingJob& job = problem_.jobs[j.index()];
    const auto loads = counter_.Count(job, paths[j.index()]);
    const double iterations = Alone(job, paths[j.index()]);
    owed -= (1 - FirstStart(job)) * job.flop_per_iteration;
    possible += iterations * job.flop_per_iteration;
    for (const LinkSeconds& load : loads) {
      sources.push_back(
          {load.link, job.flop_per_iteration / load.seconds, iterations * load.seconds});
    }
  }
  std::sort(sources.begin(), sources.end(), [](const Source& a, const Source& b) {
    return std::pair(a.link, -a.flop_per_second) < std::pair(b.link, -b.flop_per_second);
  });
  for (std::size_t s = 0; s < sources.size();) {
    const std::int32_t link = sources[s].link;
    std::size_t end = s;
    double here = 0;
    for (; end < sources.size() && sources[end].link == link; ++end) {
      here += sources[end].seconds * sources[end].flop_per_second;
    }
    // Jobs that avoid the link may do all they can; the rest has to cross it.
    double crosses = owed / kSlack - (possible - here);
    touched_.push_back(link);
    for (; s < end; ++s) {
      if (crosses <= 0) continue;
      const double flop = std::min(crosses, sources[s].seconds * sources[s].flop_per_second);
      left_[link] -= flop / sources[s].flop_per_second;
      crosses -= flop;
    }
  }
}

double RateBound::Of(std::span<const ContendingJobId> jobs, const Paths& paths,
                     std::span<const Served> served) {
  for (const Served& others : served) Serve(others, paths);
  LinearProgram program;
  std::vector<Use> uses;
  double certain = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const ContendingJob& job = problem_.jobs[jobs[i].index()];
    program.value.push_back(job.flop_per_iteration);
    program.most.push_back(Alone(job, paths[jobs[i].index()]));
    certain += (1 - FirstStart(job)) * job.flop_per_iteration;
    for (const LinkSeconds& load : counter_.Count(job, paths[jobs[i].index()])) {
      uses.push_back({load.link, i, load.seconds, 0});
    }
    AddSeldomUses(job, paths[jobs[i].index()], i, program.most[i], uses);
  }
  AddRows(uses, program);
  const std::size_t max_pivots = kPivotsPerLine * (program.rows.size() + program.value.size());
  for (const std::int32_t link : touched_) left_[link] = window_seconds_;
  touched_.clear();
  return kSlack * (certain + Maximise(program, max_pivots)) / window_seconds_;
}

void RateBound::AddSeldomUses(const ContendingJob& job, std::span<const std::int32_t> paths,
                              std::size_t column, double most, std::vector<Use>& uses) const {
  for (std::size_t f = 0; f < job.flows.size(); ++f) {
    const Flow& flow = job.flows[f];
    if (!flow.background && flow.every_iterations == 1) continue;
    const double spared = flow.background ? 2 : 1;
    if (most <= spared * flow.every_iterations) continue;
    for (const std::int32_t link : flow.paths[paths[f]]) {
      const double seconds = flow.bytes / BytesPerSecond(problem_.links[link]);
      uses.push_back({link, column, seconds / flow.every_iterations, spared * seconds});
    }
  }
}

void RateBound::AddRows(std::vector<Use>& uses, LinearProgram& program) const {
  std::stable_sort(uses.begin(), uses.end(),
                   [](const Use& a, const Use& b) { return a.link < b.link; });
  for (std::size_t begin = 0; begin < uses.size();) {
    std::size_t end = begin;
    double busy = 0;
    double left = std::max(0.0, left_[uses[begin].link]);
    for (; end < uses.size() && uses[end].link == uses[begin].link; ++end) {
      busy += uses[end].seconds * program.most[uses[end].column];
      left += uses[end].spared_seconds;
    }
    if (busy > left) {
      std::vector<double> row(program.value.size(), 0.0);
      for (std::size_t u = begin; u < end; ++u) row[uses[u].column] += uses[u].seconds;
      program.rows.push_back(std::move(row));
      program.limit.push_back(left);
    }
    begin = end;
  }
}

}  // namespace yardmaster::crux
