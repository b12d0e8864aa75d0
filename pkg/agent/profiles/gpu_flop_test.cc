#include "pkg/agent/profiles/gpu_flop.h"

#include "gmock/gmock.h"

namespace yardmaster::agent {
namespace {

using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

GpuSample Gpu(const std::string& gpu, const std::string& pod, double share, double clock) {
  return {gpu, "", "NVIDIA H100 80GB HBM3", "team", pod, share, clock};
}

TEST(FlopRatesOf, IsShareTimesClockTimesFlopOfACycleOverAllGpusOfAPod) {
  const FlopRates rates =
      FlopRatesOf({Gpu("a", "x", 0.5, 1830), Gpu("b", "x", 0.25, 915), Gpu("c", "y", 1, 1830)},
                  KnownGpuPeaks());
  // 132 multiprocessors of 4,096 FLOP a cycle.
  const double peak = 132 * 4096 * 1830e6;
  EXPECT_NEAR(rates.flop_per_second.at({"team", "x"}), peak * (0.5 + 0.125), peak * 0.001);
  EXPECT_NEAR(rates.flop_per_second.at({"team", "y"}), peak, peak * 0.001);
  EXPECT_THAT(rates.gpus, UnorderedElementsAre(Pair("measured", 3)));
}

TEST(FlopRatesOf, AnUnknownGpuGivesNoNumberAndTakesItFromItsPod) {
  GpuSample unknown = Gpu("b", "x", 0.5, 1000);
  unknown.model = "NVIDIA H100 80GB HBM3 MIG";
  const FlopRates rates = FlopRatesOf({Gpu("a", "x", 0.5, 1000), unknown}, KnownGpuPeaks());
  EXPECT_THAT(rates.flop_per_second, IsEmpty());
  EXPECT_EQ(rates.unknown_model, "NVIDIA H100 80GB HBM3 MIG");
  EXPECT_THAT(rates.gpus, UnorderedElementsAre(Pair("measured", 1), Pair("unknown-model", 1)));
}

TEST(FlopRatesOf, SharedDividedAndSilentGpusGiveNoNumber) {
  GpuSample divided = Gpu("c", "v", 0.5, 1000);
  divided.instance = "1";
  GpuSample silent = Gpu("d", "u", 0, 1000);
  silent.tensor_active.reset();
  GpuSample no_clock = Gpu("e", "t", 0.5, 0);
  no_clock.sm_clock_mhz.reset();
  const FlopRates rates = FlopRatesOf({Gpu("a", "x", 0.5, 1000), Gpu("a", "y", 0.5, 1000),
                                       Gpu("b", "", 0.5, 1000), divided, silent, no_clock},
                                      KnownGpuPeaks());
  EXPECT_THAT(rates.flop_per_second, IsEmpty());
  EXPECT_THAT(rates.gpus,
              UnorderedElementsAre(Pair("shared", 2), Pair("no-pod", 1), Pair("divided", 1),
                                   Pair("no-activity", 1), Pair("no-clock", 1)));
}

TEST(KnownGpuPeaks, AreWholeNumbersOfFlopACycleForEachMultiprocessor) {
  // Multiprocessors and FLOP a cycle of each, by the data sheets.
  const GpuPeaks peaks = KnownGpuPeaks();
  EXPECT_NEAR(peaks.at("Tesla V100-SXM2-32GB").flop_per_cycle(), 80 * 1024, 80);
  EXPECT_NEAR(peaks.at("NVIDIA A30").flop_per_cycle(), 56 * 2048, 60);
  EXPECT_NEAR(peaks.at("NVIDIA A100-SXM4-80GB").flop_per_cycle(), 108 * 2048, 110);
  EXPECT_NEAR(peaks.at("NVIDIA H100 80GB HBM3").flop_per_cycle(), 132 * 4096, 540);
  EXPECT_NEAR(peaks.at("NVIDIA H100 PCIe").flop_per_cycle(), 114 * 4096, 470);
}

TEST(AddGpuPeak, AddsAModelAndReplacesAKnownOne) {
  GpuPeaks peaks = KnownGpuPeaks();
  ASSERT_TRUE(AddGpuPeak("NVIDIA B200=2250@1850", peaks).ok());
  ASSERT_TRUE(AddGpuPeak("NVIDIA A30=1@2", peaks).ok());
  ASSERT_TRUE(AddGpuPeak("a=b@c=3.5@4", peaks).ok());
  EXPECT_EQ(peaks.at("NVIDIA B200").flop_per_second, 2.25e15);
  EXPECT_EQ(peaks.at("NVIDIA A30").clock_mhz, 2);
  EXPECT_EQ(peaks.at("a=b@c").flop_per_second, 3.5e12);
}

TEST(AddGpuPeak, RefusesWhatIsNoPeak) {
  GpuPeaks peaks;
  for (const char* text : {"", "x", "x=1", "x@1", "=1@1", "x=0@1", "x=1@0", "x=-1@1", "x=nan@1",
                           "x=inf@1", "x=1@1 ", "x=1e9@1", "x=1@1e9", "@x=1"}) {
    EXPECT_FALSE(AddGpuPeak(text, peaks).ok()) << text;
  }
  EXPECT_THAT(peaks, IsEmpty());
}

}  // namespace
}  // namespace yardmaster::agent
