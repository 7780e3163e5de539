// Queue creation and copies when the driver has no free doorbell, for any runtime. The test takes all
// doorbells by creating idle queues through the driver's ioctls.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hsa_plugin/kfd_abi.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/agents.hpp"
#include "support/memory.hpp"
#include "support/queues.hpp"
#include "support/signals.hpp"

namespace conformance {
namespace {

constexpr size_t kPage = 4096;

size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

/// Takes all doorbells of a GPU that this process can get.
class ExhaustedDoorbells {
 public:
  explicit ExhaustedDoorbells(hsa_agent_t gpu) : driver_(open("/dev/kfd", O_RDWR | O_CLOEXEC)) {
    const auto node = agent_info<uint32_t>(gpu, HSA_AMD_AGENT_INFO_DRIVER_NODE_ID);
    const std::string directory = "/sys/devices/virtual/kfd/kfd/topology/nodes/" + std::to_string(node) + "/";
    std::ifstream(directory + "gpu_id") >> gpu_;
    std::map<std::string, uint64_t> properties;
    std::ifstream file(directory + "properties");
    for (auto [name, value] = std::pair<std::string, uint64_t>(); file >> name >> value;)
      properties[name] = value;
    const uint64_t units = properties["simd_count"] / properties["simd_per_cu"];
    const uint64_t engines = properties["array_count"] / properties["simd_arrays_per_engine"];
    // The driver expects a save area for the maximum number of resident waves.
    const bool rdna = properties["gfx_target_version"] >= 100100;
    const uint64_t waves = rdna ? units * 32 : std::min(units * 40, engines * 512);

    // All queues share these buffers, because nothing runs on them.
    kfd_create_queue queue{};
    queue.ring_base_address = share(kPage);
    queue.ring_size = kPage;
    queue.read_pointer_address = share(kPage);
    queue.write_pointer_address = queue.read_pointer_address + 64;
    queue.eop_buffer_address = share(kPage);
    queue.eop_buffer_size = kPage;
    queue.ctl_stack_size = static_cast<uint32_t>(properties["ctl_stack_size"]);
    queue.ctx_save_restore_size = static_cast<uint32_t>(properties["cwsr_size"]);
    queue.ctx_save_restore_address = share(queue.ctx_save_restore_size + (waves * 32 + 63) / 64 * 64);
    queue.gpu_id = gpu_;
    queue.queue_type = KFD_QUEUE_PM4;
    queue.queue_percentage = KFD_QUEUE_PERCENTAGE_MAX;
    queue.queue_priority = 7;
    queue_template_ = queue;
    take_all();
  }

  ~ExhaustedDoorbells() {
    while (!queues_.empty()) release_one();
    for (const Buffer& buffer : buffers_) {
      kfd_map_memory map{buffer.handle, reinterpret_cast<uint64_t>(&gpu_), 1, 0};
      EXPECT_EQ(call<KFD_NR_UNMAP_MEMORY>(map), 0);
      kfd_free_memory freed{buffer.handle};
      EXPECT_EQ(ioctl(driver_, _IOW('K', KFD_NR_FREE_MEMORY, kfd_free_memory), &freed), 0);
      munmap(buffer.address, buffer.bytes);
    }
    close(driver_);
  }
  ExhaustedDoorbells(const ExhaustedDoorbells&) = delete;
  ExhaustedDoorbells& operator=(const ExhaustedDoorbells&) = delete;

  size_t count() const { return queues_.size(); }
  /// The errno value of the queue creation that failed.
  int problem() const { return problem_; }

  void take_all() {
    for (problem_ = 0; problem_ == 0;) {
      kfd_create_queue queue = queue_template_;
      problem_ = call<KFD_NR_CREATE_QUEUE>(queue) == 0 ? 0 : errno;
      if (problem_ == 0) queues_.push_back(queue.queue_id);
    }
  }

  void release_one() {
    kfd_destroy_queue queue{queues_.back(), 0};
    EXPECT_EQ(call<KFD_NR_DESTROY_QUEUE>(queue), 0);
    queues_.pop_back();
  }

 private:
  struct Buffer {
    void* address;
    size_t bytes;
    uint64_t handle;
  };

  template <int kNumber, class T>
  int call(T& arguments) const {
    return ioctl(driver_, _IOWR('K', kNumber, T), &arguments);
  }

  /// Maps the driver's memory within the range that gfx8 reaches. Firmware that schedules queues reads write
  /// pointers nowhere else. The driver requires a separate buffer object for each buffer of a queue.
  /// Allocations of a runtime may share one.
  uint64_t share(size_t bytes) {
    bytes = (bytes + kPage - 1) / kPage * kPage;
    Buffer buffer{
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_32BIT, -1, 0),
        bytes, 0};
    EXPECT_NE(buffer.address, MAP_FAILED);
    const auto address = reinterpret_cast<uint64_t>(buffer.address);
    kfd_alloc_memory memory{
        address, bytes, 0, 0, gpu_, KFD_MEM_GTT | KFD_MEM_WRITABLE | KFD_MEM_EXECUTABLE | KFD_MEM_COHERENT};
    EXPECT_EQ(call<KFD_NR_ALLOC_MEMORY>(memory), 0) << errno;
    buffer.handle = memory.handle;
    kfd_map_memory map{buffer.handle, reinterpret_cast<uint64_t>(&gpu_), 1, 0};
    EXPECT_EQ(call<KFD_NR_MAP_MEMORY>(map), 0) << errno;
    buffers_.push_back(buffer);
    return address;
  }

  const int driver_;
  uint32_t gpu_ = 0;
  kfd_create_queue queue_template_{};
  std::vector<Buffer> buffers_;
  std::vector<uint32_t> queues_;
  int problem_ = 0;
};

class DoorbellLimit : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (agent_info<hsa_device_type_t>(agent(), HSA_AGENT_INFO_DEVICE) != HSA_DEVICE_TYPE_GPU ||
        access("/dev/kfd", R_OK) != 0) {
      GTEST_SKIP() << "no GPU behind a driver";
    }
  }

  static void expect_to_work(hsa_queue_t* queue) {
    if (queue == nullptr) return;
    const ScopedSignal done(1);
    submit(queue, barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, done));
    EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
  }
  void expect_new_queue_to_work() const {
    ScopedQueue queue;
    queue.create(agent(), 64);
    expect_to_work(queue.get());
  }
  void expect_queue_creation_to_fail() const {
    hsa_queue_t* queue = nullptr;
    EXPECT_STATUS(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                  hsa_queue_create(agent(), 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX,
                                   UINT32_MAX, &queue));
  }
};

TEST_P(DoorbellLimit, RejectsQueuesUntilOneIsReleased) {
  ScopedQueue before;
  before.create(agent(), 64);
  expect_new_queue_to_work();
  const size_t files = open_files();
  size_t counts[2] = {};
  for (size_t& count : counts) {
    {
      ExhaustedDoorbells exhausted(agent());
      count = exhausted.count();
      ASSERT_GT(count, 100u);
      // A limit of the driver's scheduler may be lower than the number of doorbells or queue ids.
      EXPECT_THAT(exhausted.problem(), testing::AnyOf(ENOSPC, EBUSY, ENOMEM));
      for (int round = 0; round < 20; ++round) expect_queue_creation_to_fail();
      expect_to_work(before.get());
      exhausted.release_one();
      for (int round = 0; round < 3; ++round) expect_new_queue_to_work();
      exhausted.take_all();
      EXPECT_EQ(exhausted.count(), count) << "a refused queue keeps its doorbell";
      expect_queue_creation_to_fail();
    }
    expect_new_queue_to_work();
    expect_to_work(before.get());
    EXPECT_EQ(open_files(), files);
  }
  EXPECT_EQ(counts[0], counts[1]) << "some did not come back";
}

// A runtime that copies and fills by kernels may have to create an internal queue for the first of them.
TEST_P(DoorbellLimit, CopiesFinishWithoutFreeDoorbells) {
  constexpr size_t kBytes = 3 << 20;
  const PoolMemory memory = allocate(local_pool(agent()), kBytes, agent());
  ASSERT_NE(memory, nullptr);
  const auto is_allowed = [](hsa_status_t status) {
    return status == HSA_STATUS_SUCCESS || status == HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  };
  std::vector<unsigned char> from(kBytes, 0x5a), to(kBytes);
  const auto copy = [&] {
    hsa_status_t status = hsa_memory_copy(memory.get(), from.data(), kBytes);
    EXPECT_TRUE(is_allowed(status)) << status_name(status);
    if (status != HSA_STATUS_SUCCESS) return false;
    status = hsa_memory_copy(to.data(), memory.get(), kBytes);
    EXPECT_TRUE(is_allowed(status)) << status_name(status);
    if (status == HSA_STATUS_SUCCESS) {
      EXPECT_EQ(from, to);
    }
    return status == HSA_STATUS_SUCCESS;
  };
  const auto fill = [&] {
    const hsa_status_t status = hsa_amd_memory_fill(memory.get(), 0x12345678, kBytes / 4);
    EXPECT_TRUE(is_allowed(status)) << status_name(status);
    return status == HSA_STATUS_SUCCESS;
  };
  {
    const ExhaustedDoorbells exhausted(agent());
    ASSERT_GT(exhausted.count(), 100u);
    for (int round = 0; round < 3; ++round) {
      copy();
      fill();
    }
  }
  EXPECT_TRUE(copy());
  EXPECT_TRUE(fill());
}

INSTANTIATE_FOR_AGENTS(DoorbellLimit);

}  // namespace
}  // namespace conformance
