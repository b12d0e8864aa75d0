#include "simulation/bench/model_sizes.h"

#include <fstream>
#include <string>

#include "pkg/base/strings.h"

namespace yardmaster::bench {

std::vector<sim::ModelSize> ReadModelSizes(std::int32_t max_gpus) {
  std::ifstream file(YARDMASTER_SOURCE_DIR "/test/data/lingjun-2023/model-gpus.csv");
  std::vector<sim::ModelSize> sizes;
  for (std::string line; std::getline(file, line);) {
    const auto cells = Split(line, ',');
    if (cells.size() != 2) continue;
    const auto gpus = ParseNumber<std::int32_t>(cells[1]);
    if (gpus && *gpus > 0 && *gpus <= max_gpus) sizes.push_back({cells[0], *gpus});
  }
  return sizes;
}

}  // namespace yardmaster::bench
