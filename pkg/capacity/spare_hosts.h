// How many hosts to keep spare in a place (a segment or a domain): the probability that a lost host
// is replaced inside the place, and the share of their time in which the place's gangs make
// progress.
//
// Model: the n hosts of a place fail independently at one rate each, spares included, and a failed
// host is back after the repair time. Each is an alternating renewal process (D. R. Cox, Renewal
// Theory, 1962): it is down with probability p = rate * repair / (1 + rate * repair), so that
// D ~ Bin(n, p) hosts are down at once; only the mean of the repair time matters. For many hosts D
// is the backlog of the M/G/infinity queue, Poisson with mean n * rate * repair.
//   inside: n - max(s, D) hosts are in use and may fail, and a spare is left while D < s:
//     (n - s) P(D < s) / E[n - max(s, D)].
//   whole: the n - s other hosts work for gangs, and a rank without a spare waits for the first
//     host of the place that is repaired, first come first served. A gang with w of these hosts is
//     whole while none of its own is among the D - s that are missing; a larger one fills places,
//     and all of them have to be whole.
//   useful: while it is whole, a gang with failure rate m = w * rate makes progress for the share
//     tau * m / (exp(m R) * (exp(m (tau + C)) - 1)) of the time, with the interval tau between
//     checkpoints, the time C of one and the time R of a restart (J. T. Daly, A higher order
//     estimate of the optimum checkpoint interval for restart dumps, Future Generation Computer
//     Systems 22, 2006).
//
// Gangs that may leave the place wait less: `whole` is a lower bound for them. Failures that hit
// many hosts at once are not in the model. Complexity: O(n). Thread safety: pure functions.
#pragma once

namespace yardmaster::capacity {

struct SparePool {
  int hosts = 1;   // of the place, spares included
  int spares = 0;  // below hosts
  double failures_per_host_day = 0;
  double repair_days = 0;
};

struct GangTiming {
  int hosts = 1;
  double checkpoint_seconds = 0;  // C
  double interval_seconds = 0;    // tau
  double restart_seconds = 0;     // R
};

// The probability that a lost host is replaced by a spare of its place at once.
double InsideShare(const SparePool& pool);

// The share of time in which every rank of a gang of so many hosts has a host. REQUIRES: hosts > 0.
double WholeShare(const SparePool& pool, int gang_hosts);

// The share of the time in which a gang is whole that brings it further. REQUIRES: an interval.
double UsefulShare(const GangTiming& gang, double failures_per_host_day);

// The product of both: the share of time that brings the gang further.
double GoodputShare(const SparePool& pool, const GangTiming& gang);

}  // namespace yardmaster::capacity
