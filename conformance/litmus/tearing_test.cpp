// Tests that aligned elements are loaded and stored as a whole: tearing.inc.
#include <hsa/hsa_ext_image.h>

#include <chrono>
#include <optional>
#include <ostream>
#include <string_view>

#include "litmus/litmus.hpp"
#include "litmus/machine.hpp"

namespace conformance {
namespace {

struct Row {
  const char* kernel;

  friend void PrintTo(const Row& row, std::ostream* out) { *out << row.kernel; }
};

#define TEAR(bytes, layout, large) {"tear_" #bytes "_" #layout "_" #large},
constexpr Row kRows[] = {
#include "litmus/tearing.inc"
};

class TearingTest : public LitmusTest {
 protected:
  using Words = Machine::Words;

  Machine::Gpu& gpu() { return machine().gpus().front(); }

  /// Dispatches the kernel with work-groups of one wave and `role` for all of them.
  void start(const char* kernel, const Words& elements, uint32_t rounds, uint32_t groups, uint32_t role,
             hsa_signal_t end) {
    args_.emplace(
        machine().kernarg(TearArgs{elements.get(), table_.get(), seen_.get(), image_.handle, rounds, role}));
    auto packet = dispatch_packet(gpu().kernels.kernel(kernel), args_->get(), groups * gpu().wave,
                                  static_cast<uint16_t>(gpu().wave));
    packet.completion_signal = end;
    submit(machine().queue(gpu(), 0).get(), packet);
  }
  /// Creates a linear image of one row of texels of four dwords.
  void create_image(const Words& elements) {
    hsa_ext_image_descriptor_t descriptor{};
    descriptor.geometry = HSA_EXT_IMAGE_GEOMETRY_2D;
    descriptor.width = kMostLanes, descriptor.height = 1;
    descriptor.format = {HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32, HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA};
    if (image_.handle != 0) {
      EXPECT_HSA(hsa_ext_image_destroy(gpu().agent, image_));
    }
    ASSERT_HSA(hsa_ext_image_create_with_layout(gpu().agent, &descriptor, elements.get(),
                                                HSA_ACCESS_PERMISSION_RW, HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR, 0,
                                                0, &image_));
  }
  void TearDown() override {
    if (image_.handle != 0) {
      EXPECT_HSA(hsa_ext_image_destroy(gpu().agent, image_));
    }
  }
  TearResult result() const {
    TearResult result;
    std::memcpy(&result, seen_.get(), sizeof result);
    return result;
  }
  void SetUp() override {
    LitmusTest::SetUp();
    if (IsSkipped()) return;
    seen_ = Words(machine(), sizeof(TearResult) / 4, 0);
    table_ = Words(machine(), kMostLanes, 0);
    for (uint32_t lane = 0; lane < kMostLanes; ++lane) table_.get()[lane] = lane * 29 % kMostLanes;
  }

 private:
  Words seen_, table_;
  std::optional<Words> args_;
  hsa_ext_image_t image_{};
};

class Tearing : public TearingTest, public testing::WithParamInterface<Row> {};

// Repeats until loads have seen enough stores of the other work-group, or the time is over.
TEST_P(Tearing, KernelsNeverSplitElements) {
  constexpr uint32_t kEnough = 5'000;
  const auto end_of_patience = std::chrono::steady_clock::now() + std::chrono::milliseconds(100) * times();
  uint32_t rounds = 10'000;
  do {
    const Words elements(machine(), kMostLanes * kSparseBytes / 4, 0);
    if (std::string_view(GetParam().kernel).find("texel") != std::string_view::npos) {
      bool has_images = false;
      ASSERT_HSA(hsa_agent_extension_supported(HSA_EXTENSION_IMAGES, gpu().agent, 1, 0, &has_images));
      if (!has_images) GTEST_SKIP() << "the GPU has no images";
      create_image(elements);
      if (HasFatalFailure()) return;
    }
    const ScopedSignal end(1);
    const auto begin = std::chrono::steady_clock::now();
    start(GetParam().kernel, elements, rounds, 2, 2, end);
    ASSERT_TRUE(wait_for(end, HSA_SIGNAL_CONDITION_LT, 1));
    ASSERT_EQ(result().torn, 0u) << testing::PrintToString(result().element);
    if (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(50)) rounds *= 2;
  } while (result().changes < kEnough * times() && std::chrono::steady_clock::now() < end_of_patience);
  RecordProperty("changes", static_cast<int>(result().changes));
}

// Copies move aligned elements of 16 bytes as a whole.
TEST_F(TearingTest, CopiesNeverSplitElements) {
  const Words elements(machine(), kMostLanes * 4, 0), copy(machine(), kMostLanes * 4, 0);
  const ScopedSignal end(1);
  start("tear_16_dense_false", elements, 50'000, 1, 0, end);
  uint32_t torn = 0;
  for (bool running = true; running;) {
    running = hsa_signal_load_scacquire(end) == 1;
    const ScopedSignal copied(1);
    EXPECT_HSA(hsa_amd_memory_async_copy(copy.get(), gpu().agent, elements.get(), gpu().agent,
                                         gpu().wave * size_t{16}, 0, nullptr, copied));
    if (!wait_for(copied, HSA_SIGNAL_CONDITION_LT, 1)) break;
    for (uint32_t lane = 0; lane < gpu().wave; ++lane) {
      const uint32_t* const element = copy.get() + size_t{lane} * 4;
      for (uint32_t i = 1; i < 4; ++i) torn += element[i] != element[0] ? 1 : 0;
    }
  }
  EXPECT_TRUE(wait_for(end, HSA_SIGNAL_CONDITION_LT, 1));
  EXPECT_EQ(torn, 0u);
}

std::string name_of(const testing::TestParamInfo<Row>& test) {
  return test.param.kernel;
}
INSTANTIATE_TEST_SUITE_P(, Tearing, testing::ValuesIn(kRows), name_of);

}  // namespace
}  // namespace conformance
