#include "pkg/agent/profiles/gpu_metrics.h"

#include "gmock/gmock.h"

#include "pkg/base/strings.h"

namespace yardmaster::agent {
namespace {

using ::testing::HasSubstr;

// As a dcgm-exporter 3 and 4 writes it on a node of Kubernetes.
constexpr char kPresent[] = R"(# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).
# TYPE DCGM_FI_DEV_SM_CLOCK gauge
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-6bf47ca9",pci_bus_id="00000000:18:00.0",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",Hostname="n1",DCGM_FI_DRIVER_VERSION="560.35.03",container="trainer",namespace="team",pod="llm-0",pod_uid=""} 1755
DCGM_FI_DEV_SM_CLOCK{gpu="1",UUID="GPU-dad58a68",pci_bus_id="00000000:2A:00.0",device="nvidia1",modelName="NVIDIA H100 80GB HBM3",Hostname="n1",DCGM_FI_DRIVER_VERSION="560.35.03"} 345
# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature (in C).
# TYPE DCGM_FI_DEV_GPU_TEMP gauge
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-6bf47ca9",this is not read} 42
# HELP DCGM_FI_PROF_PIPE_TENSOR_ACTIVE Ratio of cycles the tensor (HMMA) pipe is active.
# TYPE DCGM_FI_PROF_PIPE_TENSOR_ACTIVE gauge
DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="0",UUID="GPU-6bf47ca9",pci_bus_id="00000000:18:00.0",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",Hostname="n1",DCGM_FI_DRIVER_VERSION="560.35.03",container="trainer",namespace="team",pod="llm-0",pod_uid=""} 0.412305
DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="1",UUID="GPU-dad58a68",pci_bus_id="00000000:2A:00.0",device="nvidia1",modelName="NVIDIA H100 80GB HBM3",Hostname="n1",DCGM_FI_DRIVER_VERSION="560.35.03"} 0.000000
)";

TEST(ReadGpuMetrics, GivesShareClockModelAndPodOfEachGpu) {
  const auto samples = ReadGpuMetrics(kPresent);
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  ASSERT_EQ(samples->size(), 2u);
  EXPECT_EQ((*samples)[0], (GpuSample{"GPU-6bf47ca9", "", "NVIDIA H100 80GB HBM3", "team", "llm-0",
                                      0.412305, 1755}));
  EXPECT_EQ((*samples)[1],
            (GpuSample{"GPU-dad58a68", "", "NVIDIA H100 80GB HBM3", "", "", 0.0, 345}));
}

TEST(ReadGpuMetrics, ReadsTheLabelsOfEarlyExportersAndPartsOfDividedGpus) {
  const auto samples = ReadGpuMetrics(
      R"(DCGM_FI_DEV_SM_CLOCK{gpu="0", uuid="GPU-ed", device="nvidia0",pod_name="a",pod_namespace="n",container_name="c"} 1410 1700000000000
DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="0",UUID="GPU-603a",modelName="NVIDIA A30",GPU_I_PROFILE="2g.12gb",GPU_I_ID="1",Hostname="h",container="",namespace="",pod=""} 0.022137)");
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  EXPECT_EQ((*samples)[0], (GpuSample{"GPU-ed", "", "", "n", "a", std::nullopt, 1410}));
  EXPECT_EQ((*samples)[1],
            (GpuSample{"GPU-603a", "1", "NVIDIA A30", "", "", 0.022137, std::nullopt}));
}

TEST(ReadGpuMetrics, ReadsEscapesLineEndsAndNumbersThatSayNothing) {
  const auto samples = ReadGpuMetrics(
      "DCGM_FI_DEV_SM_CLOCK { gpu = \"0\" , modelName=\"a\\\"b\\\\c\\nd\", } NaN\r\n\r\n"
      "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu=\"0\"} 1.004\n");
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  ASSERT_EQ(samples->size(), 1u);
  EXPECT_EQ((*samples)[0], (GpuSample{"0", "", "a\"b\\c\nd", "", "", 1.0, std::nullopt}));
}

TEST(ReadGpuMetrics, RefusesALineThatItCannotReadAndNamesIt) {
  for (const char* line :
       {"DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"", "DCGM_FI_DEV_SM_CLOCK{gpu=\"0",
        "DCGM_FI_DEV_SM_CLOCK{gpu=0} 1", "DCGM_FI_DEV_SM_CLOCK{gpu} 1",
        "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} fast", "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"}",
        "DCGM_FI_DEV_SM_CLOCK{gpu=\"\\x\"} 1", "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 1 soon",
        "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 1 2 3", "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} -1",
        "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 1e9", "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} +Inf",
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu=\"0\"} 41.2", "DCGM_FI_DEV_SM_CLOCK 1"}) {
    const auto samples = ReadGpuMetrics(StrCat("# good\n", line));
    ASSERT_FALSE(samples.ok()) << line;
    EXPECT_THAT(std::string(samples.status().message()), HasSubstr("line 2")) << line;
  }
}

TEST(ReadGpuMetrics, BoundsLabelsAndGpus) {
  std::string labels = "gpu=\"0\"";
  for (std::size_t i = 1; i < kMaxGpuLabels; ++i) labels += StrCat(",l", i, "=\"\"");
  EXPECT_TRUE(ReadGpuMetrics(StrCat("DCGM_FI_DEV_SM_CLOCK{", labels, "} 1")).ok());
  EXPECT_FALSE(ReadGpuMetrics(StrCat("DCGM_FI_DEV_SM_CLOCK{", labels, ",l=\"\"} 1")).ok());
  std::string text;
  for (std::size_t i = 0; i < kMaxGpuSamples; ++i) {
    text += StrCat("DCGM_FI_DEV_SM_CLOCK{gpu=\"", i, "\"} 1\n");
  }
  EXPECT_TRUE(ReadGpuMetrics(text).ok());
  EXPECT_FALSE(ReadGpuMetrics(text + "DCGM_FI_DEV_SM_CLOCK{gpu=\"more\"} 1\n").ok());
}

}  // namespace
}  // namespace yardmaster::agent
