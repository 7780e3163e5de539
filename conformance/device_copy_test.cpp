// Copies between host memory and an agent's local memory, compared with the same copies by the CPU: every
// kind, size, alignment, box and engine, and orders that only signals establish.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include "support/agents.hpp"
#include "support/memory.hpp"
#include "support/optional_function.hpp"
#include "support/signals.hpp"

namespace conformance {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kAnyGrain = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED |
                               HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED |
                               HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED;

hsa_agent_t find_host() {
  for (const hsa_agent_t agent : all_agents()) {
    if (agent_info<hsa_device_type_t>(agent, HSA_AGENT_INFO_DEVICE) == HSA_DEVICE_TYPE_CPU) return agent;
  }
  return {0};
}

/// The agent's first allocatable global pool, which the host may not reach.
hsa_amd_memory_pool_t own_pool(hsa_agent_t agent) {
  for (const hsa_amd_memory_pool_t pool : pools_of(agent)) {
    if (pool_info<hsa_amd_segment_t>(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT) != HSA_AMD_SEGMENT_GLOBAL)
      continue;
    if (pool_info<bool>(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED)) return pool;
  }
  return {0};
}

class DeviceCopy : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (agent_info<hsa_device_type_t>(agent(), HSA_AGENT_INFO_DEVICE) == HSA_DEVICE_TYPE_CPU) {
      GTEST_SKIP() << "the host has no engines";
    }
    host_ = find_host();
    const auto pool = find_pool(host_, kAnyGrain);
    if (!pool) GTEST_SKIP() << "no pool of the host's";
    host_pool_ = *pool;
    device_pool_ = own_pool(agent());
    if (device_pool_.handle == 0) GTEST_SKIP() << "no memory of its own";
  }

  PoolMemory on_host(size_t size) { return allocate(host_pool_, size, agent()); }
  PoolMemory on_device(size_t size) { return allocate(device_pool_, size, agent()); }

  void copy_now(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, size_t size) {
    const ScopedSignal done(1);
    ASSERT_HSA(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size, 0, nullptr, done));
    ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_LT, 1));
    ASSERT_EQ(done.value(), 0);
  }

  hsa_agent_t host_{};
  hsa_amd_memory_pool_t host_pool_{}, device_pool_{};
};

std::vector<unsigned char> noise(size_t size, unsigned seed) {
  std::vector<unsigned char> bytes((size + 7) / 8 * 8);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (size_t i = 0; i < bytes.size(); i += 8) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t mixed = state ^ state >> 29;
    std::memcpy(&bytes[i], &mixed, 8);
  }
  bytes.resize(size);
  return bytes;
}

TEST_P(DeviceCopy, MatchesHostForAnySizeAndAlignment) {
  constexpr size_t kRoom = 1 << 20;
  const PoolMemory host = on_host(kRoom), device = on_device(kRoom), staging = on_host(kRoom);
  std::vector<unsigned char> host_bytes = noise(kRoom, 3);
  void* locked = nullptr;
  hsa_agent_t gpu = agent();
  ASSERT_HSA(hsa_amd_memory_lock(host_bytes.data(), host_bytes.size(), &gpu, 1, &locked));
  std::vector<unsigned char> host_model = noise(kRoom, 1), device_model = noise(kRoom, 2),
                             locked_model = host_bytes;
  std::memcpy(host.get(), host_model.data(), kRoom);
  std::memcpy(staging.get(), device_model.data(), kRoom);
  copy_now(device.get(), agent(), staging.get(), host_, kRoom);

  struct Buffer {
    void* memory;
    hsa_agent_t owner;
    std::vector<unsigned char>* model;
  };
  const Buffer buffers[] = {{host.get(), host_, &host_model},
                            {device.get(), agent(), &device_model},
                            {locked, host_, &locked_model}};
  std::minstd_rand random(7);
  for (int round = 0; round < 150; ++round) {
    const Buffer& from = buffers[random() % 3];
    const Buffer& to = buffers[from.owner.handle == host_.handle ? 1 : random() % 3];
    const size_t half = kRoom / 2;  // source and target in the same buffer do not overlap
    const size_t size = 1 + random() % (size_t{1} << (1 + random() % 18));
    const size_t source = random() % (half - size);
    const size_t target = half + random() % (half - size);
    SCOPED_TRACE(testing::Message() << size << " bytes from " << source << " to " << target);
    std::memcpy(to.model->data() + target, from.model->data() + source, size);
    copy_now(static_cast<char*>(to.memory) + target, to.owner, static_cast<char*>(from.memory) + source,
             from.owner, size);
    if (HasFatalFailure()) break;
  }
  copy_now(staging.get(), host_, device.get(), agent(), kRoom);
  EXPECT_EQ(std::memcmp(host.get(), host_model.data(), kRoom), 0);
  EXPECT_EQ(std::memcmp(staging.get(), device_model.data(), kRoom), 0);
  EXPECT_EQ(std::memcmp(host_bytes.data(), locked_model.data(), kRoom), 0);
  EXPECT_HSA(hsa_amd_memory_unlock(host_bytes.data()));
}

// Memory that a program copies may be locked in part, or be in use by several threads.
TEST_P(DeviceCopy, CopiesPartlyLockedMemory) {
  constexpr size_t kBytes = 3 << 19;
  const PoolMemory device = on_device(kBytes);
  const std::vector<unsigned char> host_bytes = noise(kBytes, 5);
  std::vector<unsigned char> back(kBytes);
  void* locked = nullptr;
  hsa_agent_t gpu = agent();
  auto* const start = const_cast<unsigned char*>(host_bytes.data());
  ASSERT_HSA(hsa_amd_memory_lock(start, 4096, &gpu, 1, &locked));
  EXPECT_HSA(hsa_memory_copy(device.get(), host_bytes.data(), kBytes));
  EXPECT_HSA(hsa_memory_copy(back.data(), device.get(), kBytes));
  EXPECT_EQ(back, host_bytes);
  EXPECT_HSA(hsa_amd_memory_unlock(start));
}

TEST_P(DeviceCopy, ThreadsCopyOneBufferConcurrently) {
  constexpr size_t kBytes = 2 << 20;
  const std::vector<unsigned char> host_bytes = noise(kBytes, 6);
  const auto copy = [&] {
    const PoolMemory device = on_device(kBytes);
    std::vector<unsigned char> back(kBytes);
    for (int round = 0; round < 20; ++round) {
      EXPECT_HSA(hsa_memory_copy(device.get(), host_bytes.data(), kBytes));
      std::fill(back.begin(), back.end(), 0);
      EXPECT_HSA(hsa_memory_copy(back.data(), device.get(), kBytes));
      EXPECT_EQ(back, host_bytes);
    }
  };
  std::thread other(copy);
  copy();
  other.join();
}

TEST_P(DeviceCopy, CompletesWhileAnotherThreadUnlocksMemory) {
  constexpr size_t kBytes = 1 << 20;
  std::vector<unsigned char> host_bytes = noise(kBytes, 7);
  const PoolMemory device = on_device(kBytes);
  std::atomic<bool> done{false};
  hsa_agent_t gpu = agent();
  std::thread other([&] {
    while (!done) {
      void* locked = nullptr;
      EXPECT_HSA(hsa_amd_memory_lock(host_bytes.data(), host_bytes.size(), &gpu, 1, &locked));
      EXPECT_HSA(hsa_amd_memory_unlock(host_bytes.data()));
    }
  });
  for (int round = 0; round < 20; ++round) {
    void* locked = nullptr;
    ASSERT_HSA(hsa_amd_memory_lock(host_bytes.data(), host_bytes.size(), &gpu, 1, &locked));
    copy_now(device.get(), agent(), locked, host_, kBytes);
    EXPECT_HSA(hsa_amd_memory_unlock(host_bytes.data()));
  }
  done = true;
  other.join();
}

struct BoxCase {
  size_t to_pitch, to_slice, from_pitch, from_slice;
  hsa_dim3_t to, from, range;
};

// A random box, with pitches and slices that fit into `room` bytes on both sides.
BoxCase random_box(std::minstd_rand& random, size_t room) {
  BoxCase box{};
  const auto below = [&](size_t end) { return static_cast<uint32_t>(end == 0 ? 0 : random() % end); };
  const uint32_t grain = 1u << below(5);
  box.range = {1 + below(size_t{1} << (1 + below(11))), 1 + below(24), 1 + below(6)};
  box.to = {below(70), below(4), below(3)};
  box.from = {below(70), below(4), below(3)};
  if (grain > 1) {
    box.range.x = (box.range.x + grain - 1) / grain * grain;
    box.to.x = box.to.x / grain * grain;
    box.from.x = box.from.x / grain * grain;
  }
  const auto pitch = [&](const hsa_dim3_t& corner) {
    return (corner.x + box.range.x + below(200) + 3) / 4 * size_t{4};
  };
  box.to_pitch = pitch(box.to);
  box.from_pitch = pitch(box.from);
  box.to_slice = box.to_pitch * (box.to.y + box.range.y + below(3)) + 4 * below(5);
  box.from_slice = box.from_pitch * (box.from.y + box.range.y + below(3)) + 4 * below(5);
  const size_t layers = std::max(box.to.z, box.from.z) + box.range.z;
  if (std::max(box.to_slice, box.from_slice) * layers > room) return random_box(random, room);
  return box;
}

TEST_P(DeviceCopy, BoxesMatchHost) {
  constexpr size_t kRoom = 3 << 20;
  const PoolMemory host = on_host(kRoom), device = on_device(kRoom), other = on_device(kRoom);
  const PoolMemory staging = on_host(kRoom);
  std::vector<BoxCase> cases;
  std::minstd_rand random(11);
  for (int i = 0; i < 45; ++i) cases.push_back(random_box(random, 512 << 10));
  // More rows and columns than a tile of a copy engine, and pitches that exceed its fields in bytes.
  cases.push_back({64, 0, 64, 0, {4, 0, 0}, {8, 0, 0}, {4, 20'000, 1}});
  cases.push_back({80'000, 0, 80'004, 0, {0, 0, 0}, {4, 1, 0}, {70'001, 5, 1}});
  cases.push_back({600'000, 0, 600'004, 0, {1, 0, 0}, {3, 1, 0}, {999, 3, 1}});
  cases.push_back({64, 1 << 20, 128, 1 << 20, {3, 1, 0}, {5, 2, 0}, {33, 5, 2}});

  struct Kind {
    hsa_amd_copy_direction_t direction;
    void* to;
    void* from;
  };
  const Kind kinds[] = {{hsaHostToDevice, device.get(), host.get()},
                        {hsaDeviceToHost, host.get(), device.get()},
                        {hsaDeviceToDevice, device.get(), other.get()}};
  unsigned seed = 0;
  for (const BoxCase& box : cases) {
    const Kind& kind = kinds[seed++ % 3];
    SCOPED_TRACE(testing::Message() << "box " << seed << ": " << box.range.x << "x" << box.range.y << "x"
                                    << box.range.z << ", pitches " << box.to_pitch << " and "
                                    << box.from_pitch);
    const auto end = [&](const hsa_dim3_t& corner, size_t pitch, size_t slice) {
      return (corner.z + box.range.z) * slice + (corner.y + box.range.y + 1) * pitch;
    };
    const size_t room = std::min(kRoom, std::max(end(box.to, box.to_pitch, box.to_slice),
                                                 end(box.from, box.from_pitch, box.from_slice)));
    const std::vector<unsigned char> source = noise(room, seed);
    std::vector<unsigned char> expected = noise(room, seed + 1000);
    const auto put = [&](void* memory, const std::vector<unsigned char>& bytes) {
      std::memcpy(memory == host.get() ? memory : staging.get(), bytes.data(), room);
      if (memory != host.get()) copy_now(memory, agent(), staging.get(), host_, room);
    };
    put(kind.from, source);
    put(kind.to, expected);
    for (size_t z = 0; z < box.range.z; ++z) {
      for (size_t y = 0; y < box.range.y; ++y) {
        std::memcpy(
            &expected[(box.to.z + z) * box.to_slice + (box.to.y + y) * box.to_pitch + box.to.x],
            &source[(box.from.z + z) * box.from_slice + (box.from.y + y) * box.from_pitch + box.from.x],
            box.range.x);
      }
    }
    const hsa_pitched_ptr_t to{kind.to, box.to_pitch, box.to_slice};
    const hsa_pitched_ptr_t from{kind.from, box.from_pitch, box.from_slice};
    const ScopedSignal done(1);
    const hsa_status_t status = hsa_amd_memory_async_copy_rect(&to, &box.to, &from, &box.from, &box.range,
                                                               agent(), kind.direction, 0, nullptr, done);
    if (status == HSA_STATUS_ERROR_INVALID_AGENT || status == HSA_STATUS_ERROR_OUT_OF_RESOURCES) {
      GTEST_SKIP() << "the agent copies no boxes: " << status_name(status);
    }
    ASSERT_HSA(status);
    ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_LT, 1));
    ASSERT_EQ(done.value(), 0);
    const void* result = kind.to;
    if (kind.to != host.get()) {
      copy_now(staging.get(), host_, kind.to, agent(), room);
      result = staging.get();
    }
    const auto* const bytes = static_cast<const unsigned char*>(result);
    const auto different = std::mismatch(expected.begin(), expected.end(), bytes);
    ASSERT_EQ(different.first - expected.begin(), static_cast<ptrdiff_t>(room))
        << "the first byte that differs";
  }
}

TEST_P(DeviceCopy, UsesSelectedEngine) {
  REQUIRE_HSA(hsa_amd_memory_async_copy_on_engine);
  REQUIRE_HSA(hsa_amd_memory_copy_engine_status);
  uint32_t engines = 0;
  const hsa_status_t status = hsa_amd_memory_copy_engine_status(agent(), host_, &engines);
  if (status == HSA_STATUS_ERROR_OUT_OF_RESOURCES) GTEST_SKIP() << "no engine";
  ASSERT_HSA(status);
  ASSERT_NE(engines, 0u);
  constexpr size_t kSize = 100'000;
  const PoolMemory host = on_host(kSize), device = on_device(kSize), back = on_host(kSize);
  const auto copy = [&](void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent,
                        uint32_t engine, bool force, hsa_signal_t done) {
    return hsa_amd_memory_async_copy_on_engine(to, to_agent, from, from_agent, kSize, 0, nullptr, done,
                                               static_cast<hsa_amd_sdma_engine_id_t>(engine), force);
  };
  unsigned seed = 0;
  for (uint32_t left = engines; left != 0; left &= left - 1) {
    const uint32_t engine = left & -left;
    const auto bytes = noise(kSize, ++seed);
    std::memcpy(host.get(), bytes.data(), kSize);
    std::memset(back.get(), 0, kSize);
    const ScopedSignal there(1), returned(1);
    ASSERT_HSA(copy(device.get(), agent(), host.get(), host_, engine, seed % 2 != 0, there));
    ASSERT_TRUE(wait_for(there, HSA_SIGNAL_CONDITION_EQ, 0));
    ASSERT_HSA(copy(back.get(), host_, device.get(), agent(), engine, seed % 2 == 0, returned));
    ASSERT_TRUE(wait_for(returned, HSA_SIGNAL_CONDITION_EQ, 0));
    EXPECT_EQ(std::memcmp(back.get(), bytes.data(), kSize), 0);
  }
  const ScopedSignal untouched(1);
  for (const uint32_t wrong : {0u, 3u, 1u << 31, ~engines & (engines + 1)}) {
    if (std::popcount(wrong) == 1 && (wrong & engines) != 0) continue;
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                  copy(device.get(), agent(), host.get(), host_, wrong, true, untouched));
  }
  EXPECT_EQ(untouched.value(), 1);
}

TEST_P(DeviceCopy, WaitingEngineIsNotFree) {
  REQUIRE_HSA(hsa_amd_memory_async_copy_on_engine);
  REQUIRE_HSA(hsa_amd_memory_copy_engine_status);
  uint32_t engines = 0;
  if (hsa_amd_memory_copy_engine_status(agent(), host_, &engines) != HSA_STATUS_SUCCESS) {
    GTEST_SKIP() << "no engine";
  }
  const PoolMemory host = on_host(4096), device = on_device(4096);
  const ScopedSignal before(1), done(1);
  const hsa_signal_t dependency = before;
  const auto engine = static_cast<hsa_amd_sdma_engine_id_t>(engines & -engines);
  ASSERT_HSA(hsa_amd_memory_async_copy_on_engine(device.get(), agent(), host.get(), host_, 4096, 1,
                                                 &dependency, done, engine, true));
  uint32_t free = 0;
  const hsa_status_t status = hsa_amd_memory_copy_engine_status(agent(), host_, &free);
  // Chips that are known to copy by engines have to report a busy engine.
  const auto name = agent_info<std::array<char, 64>>(agent(), HSA_AGENT_INFO_NAME);
  const std::string_view chip(name.data());
  const char* const sdma = std::getenv("HSA_ENABLE_SDMA");
  const bool has_engines = (sdma == nullptr || std::string_view(sdma) != "0") &&
                           (chip == "gfx900" || chip == "gfx906" || chip == "gfx1010" || chip == "gfx1030" ||
                            chip == "gfx1100" || chip == "gfx1201");
  if (status == HSA_STATUS_SUCCESS && free == engines && !has_engines) {
    hsa_signal_store_screlease(before, 0);
    ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
    GTEST_SKIP() << "kernels copy here: engines are names that are always free";
  }
  if (status == HSA_STATUS_SUCCESS) {
    EXPECT_EQ(free & engine, 0u);
  } else {
    EXPECT_STATUS(HSA_STATUS_ERROR_OUT_OF_RESOURCES, status);
  }
  hsa_signal_store_screlease(before, 0);
  ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
  // The signal may complete before the engine is free. Only this query reports that.
  for (int i = 0; i < 1000 && free != engines; ++i) {
    std::this_thread::sleep_for(1ms);
    static_cast<void>(hsa_amd_memory_copy_engine_status(agent(), host_, &free));
  }
  EXPECT_EQ(free, engines);
}

// Every agent copies to its neighbour. Only signals order the copies.
TEST_P(DeviceCopy, ChainsAcrossAgentsInAnySubmissionOrder) {
  std::vector<hsa_agent_t> agents;
  for (const hsa_agent_t other : all_agents()) {
    if (agent_info<hsa_device_type_t>(other, HSA_AGENT_INFO_DEVICE) == HSA_DEVICE_TYPE_GPU)
      agents.push_back(other);
  }
  agents.push_back(host_);
  constexpr size_t kLinks = 24, kSize = 8192;
  std::minstd_rand random(5);
  for (int round = 0; round < 4; ++round) {
    std::vector<PoolMemory> memory;
    std::vector<hsa_agent_t> owner;
    std::vector<ScopedSignal> signals;
    for (size_t i = 0; i <= kLinks; ++i) {
      owner.push_back(i == 0 || i == kLinks ? host_ : agents[i % agents.size()]);
      memory.push_back(owner.back().handle == host_.handle
                           ? on_host(kSize)
                           : allocate(own_pool(owner.back()), kSize, owner.back()));
      ASSERT_NE(memory.back(), nullptr);
      if (hsa_amd_agents_allow_access(static_cast<uint32_t>(agents.size()), agents.data(), nullptr,
                                      memory.back().get()) != HSA_STATUS_SUCCESS) {
        GTEST_SKIP() << "the agents do not reach each other";
      }
      signals.emplace_back(1);
    }
    std::vector<size_t> order(kLinks);
    for (size_t i = 0; i < kLinks; ++i) order[i] = i;
    if (round == 1) std::reverse(order.begin(), order.end());
    if (round > 1) std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) {
      const hsa_signal_t before = signals[i];
      ASSERT_HSA(hsa_amd_memory_async_copy(memory[i + 1].get(), owner[i + 1], memory[i].get(), owner[i],
                                           kSize, 1, &before, signals[i + 1]));
    }
    const auto bytes = noise(kSize, static_cast<unsigned>(round) + 50);
    std::memcpy(memory[0].get(), bytes.data(), kSize);
    EXPECT_EQ(signals[kLinks].value(), 1);
    hsa_signal_store_screlease(signals[0], 0);
    ASSERT_TRUE(wait_for(signals[kLinks], HSA_SIGNAL_CONDITION_LT, 1));
    EXPECT_EQ(signals[kLinks].value(), 0);
    EXPECT_EQ(std::memcmp(memory[kLinks].get(), bytes.data(), kSize), 0);
  }
}

TEST_P(DeviceCopy, IsNotBlockedByWaitingCopies) {
  constexpr size_t kSize = 4096;
  const PoolMemory host = on_host(kSize), device = on_device(kSize), back = on_host(kSize);
  std::vector<ScopedSignal> before, done;
  for (int i = 0; i < 6; ++i) {
    before.emplace_back(1);
    done.emplace_back(1);
    const hsa_signal_t dependency = before.back();
    const bool out = i % 2 == 0;
    ASSERT_HSA(hsa_amd_memory_async_copy(out ? device.get() : back.get(), out ? agent() : host_,
                                         out ? host.get() : device.get(), out ? host_ : agent(), kSize, 1,
                                         &dependency, done.back()));
  }
  const auto bytes = noise(kSize, 9);
  std::memcpy(host.get(), bytes.data(), kSize);
  copy_now(device.get(), agent(), host.get(), host_, kSize);
  copy_now(back.get(), host_, device.get(), agent(), kSize);
  EXPECT_EQ(std::memcmp(back.get(), bytes.data(), kSize), 0);
  for (size_t i = done.size(); i-- != 0;) {
    EXPECT_EQ(done[i].value(), 1);
    hsa_signal_store_screlease(before[i], 0);
    ASSERT_TRUE(wait_for(done[i], HSA_SIGNAL_CONDITION_EQ, 0));
  }
}

TEST_P(DeviceCopy, FailsIfDependencyFailed) {
  constexpr size_t kSize = 4096;
  const PoolMemory host = on_host(kSize), device = on_device(kSize);
  for (const bool at_once : {false, true}) {
    const ScopedSignal before(at_once ? -3 : 1), first(1), second(1);
    const hsa_signal_t one = before, two = first;
    ASSERT_HSA(hsa_amd_memory_async_copy(device.get(), agent(), host.get(), host_, kSize, 1, &one, first));
    ASSERT_HSA(hsa_amd_memory_async_copy(host.get(), host_, device.get(), agent(), kSize, 1, &two, second));
    if (!at_once) hsa_signal_store_screlease(before, -3);
    ASSERT_TRUE(wait_for(first, HSA_SIGNAL_CONDITION_LT, 0));
    ASSERT_TRUE(wait_for(second, HSA_SIGNAL_CONDITION_LT, 0));
    copy_now(device.get(), agent(), host.get(), host_, kSize);
  }
}

INSTANTIATE_FOR_AGENTS(DeviceCopy);

}  // namespace
}  // namespace conformance
