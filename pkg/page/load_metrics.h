// Exports the predictions of the network plan as metrics of the operator: load of links by class,
// and use of GPUs. docs/reference/metrics.md describes them.
//
// Thread safety: one thread.
#pragma once

#include "pkg/metrics/registry.h"
#include "pkg/page/network_picture.h"

namespace yardmaster::page {

void ExportLoads(const NetworkPicture& picture, metrics::Registry& registry);

}  // namespace yardmaster::page
