// What the page shows of a cluster, as blocks of JSON (frame.h).
//
//   fabric         {name, problem, pods: [{name, segments: [{name, hosts: [NAME]}]}]}; hosts and
//                  segments are numbered in this order, from 0, over all fabric pods; where hosts
//                  have domains, segments also have domains: [[NAME, HOSTS]], in this order
//   hosts/SEGMENT  {states: "frr...", degraded: [INDEX]}: one letter a host (HostLetter), by its
//                  place in the segment; degraded: hosts with a NIC port or uplink down
//   job/NS/GANG    {namespace, name, kind, state, workers, ready, gpus, priority, level, intensity,
//                  communicationSeconds, reasons: [{code, message}], relaxations: [{change,
//                  outcome}], hosts: [HOST of rank 0, ...] (-1: no such host), plan, restarts,
//                  conditions: [{type, status, message, timeMs}], cost: {phase, rate, rateCap,
//                  spent, spentCap, moves, message, hosts: [{pool, type, hosts, provided}]},
//                  work: {sinceMs, untilMs, stoppedMs, lost: {CAUSE: GPU_SECONDS}}}; cost null:
//                  the job may not rent hosts and never did; amounts are texts ("12.50 USD"), a cap
//                  is null where there is none; work null: no TrainingJob, or it never ran; since
//                  all workers ran first (again, after it was suspended), until it ended, stopped
//                  by an incident that has not ended, null: not so; lost is of its whole life
//                  also for pods that are not a whole gang: state and the only reason say what they
//                  lack (extender/gather/incomplete_gang.h)
//   net/NS/GANG    {flows, unplanned, gbps, share, between: [[SEGMENT, SEGMENT, GBPS]]}; share of
//   the
//                  rate without contention, null: not predicted
//   queue          keys NS/GANG of the jobs that wait, in the order in which they are planned, then
//                  those whose pods are not a whole gang
//   totals         hosts by letter, GPUs: {hosts: {f: 3, ...}, gpus: {all, free}}
//   network        {known, problem, segments: [[SEGMENT, UPLINKS, SHARED, GBPS, PEAK]], planes:
//                  [[UPLINKS, SHARED, GBPS, PEAK, DOWN]], busiest: [{link, gbps, capacity, jobs:
//                  [[NS/GANG, LEVEL, GBPS]], name}]}; planes in their order, empty where there is
//                  one; name where operators have a name of their own for the switch
//   moves          moves that are proposed (moves_block.h); not there: none were looked for yet
//   down           names of cables that are down; after 100, a line that counts the others
//   warnings       what cannot be used, one line each; after 100, a line that counts the others
//
// Deterministic. Complexity: O(hosts + pods + ranks of all gangs) and the texts. Thread safety:
// pure functions.
#pragma once

#include <string>

#include "pkg/page/frame.h"
#include "pkg/page/network_picture.h"
#include "pkg/plan/snapshot.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::page {

// Letters: f free, b backup and free, r runs a gang's pod, p promised to a gang, o runs other pods,
// c cordoned and empty, d cordoned and not yet empty, t tainted, x not ready or in a lost segment
// or domain.
struct HostUse {
  bool has_gang = false;  // promised to a gang that has not finished
  bool has_pods = false;  // runs a pod that has GPUs
};
char HostLetter(const placement::HostState& host, const HostUse& use);

// `picture` null: this process plans no network. REQUIRES: `snapshot` was made of `cluster`.
Blocks BlocksOf(const state::ClusterState& cluster, const plan::Snapshot& snapshot,
                const NetworkPicture* picture);

// {job, flows, unplanned, paths: [{from, to, rail, sourcePort, links, reason}]}: a path of each
// rank.
std::string EncodePaths(const NetworkPicture& picture, const NamespacedName& job);

}  // namespace yardmaster::page
