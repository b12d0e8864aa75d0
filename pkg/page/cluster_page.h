// Encodes what the page shows of a cluster as blocks of JSON (frame.h).
//
//   fabric         {name, problem, pods: [{name, segments: [{name, hosts: [NAME]}]}]}. Hosts and
//                  segments are numbered in this order, from 0, over all fabric pods. If hosts have
//                  domains, segments also have domains: [[NAME, HOSTS]], in this order.
//   hosts/SEGMENT  {states: "frr...", degraded: [INDEX]}. states: one letter per host (HostLetter),
//                  in the order of the segment. degraded: hosts with a NIC port or uplink down.
//   job/NS/GANG    {namespace, name, kind, state, workers, ready, gpus, priority, level, intensity,
//                  communicationSeconds, reasons: [{code, message}], relaxations: [{change,
//                  outcome}], hosts: [HOST of rank 0, ...] (-1: no such host), plan, restarts,
//                  conditions: [{type, status, message, timeMs}], cost: {phase, rate, rateCap,
//                  spent, spentCap, moves, message, hosts: [{pool, type, hosts, provided}]},
//                  work: {sinceMs, untilMs, stoppedMs, lost: {CAUSE: GPU_SECONDS}}}.
//                  cost: amounts are texts ("12.50 USD"); a cap is null if there is none; null: the
//                  job may not rent hosts and never did.
//                  work: sinceMs: all workers ran first (again, after a suspension); untilMs: the
//                  job ended; stoppedMs: an incident began that has not ended; each null: it did
//                  not happen; lost: of the whole life of the job; null: no TrainingJob, or it
//                  never ran.
//                  The block also exists for pods that are not a whole gang. Then state and the
//                  only reason say what is missing (gather/incomplete_gang.h).
//   net/NS/GANG    {flows, unplanned, gbps, share, between: [[SEGMENT, SEGMENT, GBPS]]}. share:
//                  fraction of the rate without contention; null: not predicted.
//   queue          keys NS/GANG of the jobs that wait, in the order of planning, then those whose
//                  pods are not a whole gang
//   totals         hosts by letter, and GPUs: {hosts: {f: 3, ...}, gpus: {all, free}}
//   network        {known, problem, segments: [[SEGMENT, UPLINKS, SHARED, GBPS, PEAK]], planes:
//                  [[UPLINKS, SHARED, GBPS, PEAK, DOWN]], busiest: [{link, gbps, capacity, jobs:
//                  [[NS/GANG, LEVEL, GBPS]], name}]}. planes: empty if there is one. name: set if
//                  the operators have their own name for the switch.
//   moves          proposed moves (moves_block.h); missing: none were computed yet
//   down           names of cables that are down; after 100, a line that counts the others
//   warnings       input that cannot be used, one line each; after 100, a line that counts the
//                  others
//
// Complexity: O(hosts + pods + ranks of all gangs) and the texts. Deterministic. Thread safety:
// pure functions.
#pragma once

#include <string>

#include "pkg/page/frame.h"
#include "pkg/page/network_picture.h"
#include "pkg/plan/snapshot.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::page {

// Letters of HostLetter: f free, b backup and free, r runs a gang's pod, p promised to a
// gang, o runs other pods, c cordoned and empty, d cordoned and not yet empty, t tainted, x not
// ready or in a lost segment or domain.
struct HostUse {
  bool has_gang = false;  // promised to a gang that has not finished
  bool has_pods = false;  // runs a pod that has GPUs
};
char HostLetter(const placement::HostState& host, const HostUse& use);

// `picture`: null if this process plans no network. REQUIRES: `snapshot` was built from `cluster`.
Blocks BlocksOf(const state::ClusterState& cluster, const plan::Snapshot& snapshot,
                const NetworkPicture* picture);

// {job, flows, unplanned, paths: [{from, to, rail, sourcePort, links, reason}]}: a path of each
// rank.
std::string EncodePaths(const NetworkPicture& picture, const NamespacedName& job);

}  // namespace yardmaster::page
