#include "pkg/page/load_metrics.h"

namespace yardmaster::page {

void ExportLoads(const NetworkPicture& picture, metrics::Registry& registry) {
  for (const auto& [name, load] : picture.classes) {
    const metrics::Labels labels = {{"class", name}};
    registry
        .GetGauge("yardmaster_operator_loaded_links", "links that carry traffic by the plan",
                  labels)
        .Set(load.loaded);
    registry
        .GetGauge("yardmaster_operator_shared_links", "of them, links that two gangs or more use",
                  labels)
        .Set(load.shared);
    registry
        .GetGauge("yardmaster_operator_peak_link_load_ratio",
                  "predicted load of the busiest link over its capacity", labels)
        .Set(load.peak);
  }
  const auto gpus = [&](const char* use, double value) {
    registry
        .GetGauge("yardmaster_operator_gpus", "GPUs by use; computing is an estimate",
                  {{"use", use}})
        .Set(value);
  };
  gpus("all", picture.gpus.all);
  gpus("placed", picture.gpus.placed);
  gpus("computing", picture.gpus.computing);
}

}  // namespace yardmaster::page
