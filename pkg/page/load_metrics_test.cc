#include "pkg/page/load_metrics.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yardmaster::page {
namespace {

using testing::HasSubstr;

TEST(LoadMetricsTest, EveryLinkClassAndEveryUseOfGpusIsASeries) {
  NetworkPicture picture;
  picture.classes["tor-agg"] = {.loaded = 12, .shared = 3, .peak = 0.5};
  picture.gpus = {.all = 64, .placed = 32, .computing = 24};
  metrics::Registry registry;
  ExportLoads(picture, registry);
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("yardmaster_operator_loaded_links{class=\"tor-agg\"} 12"));
  EXPECT_THAT(text, HasSubstr("yardmaster_operator_shared_links{class=\"tor-agg\"} 3"));
  EXPECT_THAT(text, HasSubstr("yardmaster_operator_peak_link_load_ratio{class=\"tor-agg\"} 0.5"));
  EXPECT_THAT(text, HasSubstr("yardmaster_operator_gpus{use=\"computing\"} 24"));
}

}  // namespace
}  // namespace yardmaster::page
