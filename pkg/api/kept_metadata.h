// Which labels and annotations of pods, TrainingJobs and Nodes are read, and how much of each: what
// a process keeps of their metadata (KeptMetadata in metadata.h). An annotation that is read and
// not listed here reads as absent.
//
// Thread safety: pure functions.
#pragma once

#include "pkg/api/metadata.h"

namespace yardmaster::api {

// Of pods and TrainingJobs, which any tenant may write.
const KeptMetadata& KeptOfWorkloads();
// Of Nodes, which kubelets and the platform team write: every annotation of ours, and all labels.
const KeptMetadata& KeptOfNodes();

}  // namespace yardmaster::api
