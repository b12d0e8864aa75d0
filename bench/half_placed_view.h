// A view of a cluster with one gang placed on half of its hosts; the webhook's benchmarks answer
// from it.
#pragma once

#include <memory>

#include "pkg/extender/webhook/view.h"

namespace yardmaster::bench {

// `hosts`: a multiple of 136, which is a segment.
std::shared_ptr<const extender::View> HalfPlacedView(int hosts, extender::View::Pods pods = {});

}  // namespace yardmaster::bench
