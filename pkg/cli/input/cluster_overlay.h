// Overlays manifests on a cluster for what-if questions: the result is what would exist if they
// were applied.
//
//   - An object replaces the cluster's object of its kind, namespace and name, as a whole. It keeps
//     that one's uid and age unless it has its own. A new object is younger than all existing ones.
//   - A Fabric replaces all Fabrics, because one is used at a time.
//   - A job (a TrainingJob or another kind's workload) that differs in its request from the
//     existing one of its name is planned as if it were recreated, without the existing Gang and
//     pods. So is a job that has ended.
//   - A job with the same request that has not ended keeps its place.
//
// Deterministic. Thread safety: pure function.
#pragma once

#include "pkg/cli/input/manifests.h"

namespace yardmaster::cli {

Manifests Overlay(Manifests cluster, const Manifests& given);

}  // namespace yardmaster::cli
