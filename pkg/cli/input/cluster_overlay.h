// Manifests on top of a cluster: what would be there if they were applied, for what-if questions.
//
// An object replaces the cluster's one of its kind, namespace and name, as a whole. It keeps the
// other one's uid and age unless it names its own; one that is new is younger than everything that
// is there. A Fabric replaces all Fabrics, since one is used at a time. A job that asks for
// something else than the one of its name that is there, a TrainingJob or another kind's workload,
// is planned as if it were recreated, without the Gang and the pods of that one. So is a job
// that has ended. A job that asks for the same and has not ended keeps its place.
//
// Deterministic. Thread safety: pure function.
#pragma once

#include "pkg/cli/input/manifests.h"

namespace yardmaster::cli {

Manifests Overlay(Manifests cluster, const Manifests& given);

}  // namespace yardmaster::cli
