// GPU memory that other processes attach to, and dmabufs: export, mapping, lifetime after freeing the source.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>
#include <vector>

#include "support/agents.hpp"
#include "support/memory.hpp"
#include "support/optional_function.hpp"
#include "support/sharing_peer.hpp"

namespace conformance {
namespace {

size_t open_descriptors() {
  const std::filesystem::directory_iterator directory("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(directory), end(directory)));
}

// Waits, because the thread that served the last request may still be closing its connection.
bool descriptors_come_down_to(size_t count) {
  for (int tries = 0; tries < 1000 && open_descriptors() > count; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return open_descriptors() <= count;
}

class Sharing : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (agent_info<hsa_device_type_t>(agent(), HSA_AGENT_INFO_DEVICE) != HSA_DEVICE_TYPE_GPU) {
      GTEST_SKIP() << "not a GPU";
    }
    for (const hsa_amd_memory_pool_t pool : pools_of(agent())) {
      if (pool_info<hsa_amd_segment_t>(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT) == HSA_AMD_SEGMENT_GLOBAL &&
          pool_info<bool>(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED)) {
        pool_ = pool;
        return;
      }
    }
    GTEST_SKIP() << "the GPU has no memory of its own";
  }

  PoolMemory device_memory(size_t bytes) {
    void* memory = nullptr;
    EXPECT_HSA(hsa_amd_memory_pool_allocate(pool_, bytes, 0, &memory));
    return PoolMemory(memory);
  }

  static void fill(void* memory, size_t bytes, uint64_t seed) {
    std::vector<uint32_t> words(bytes / 4);
    for (size_t i = 0; i < words.size(); ++i) words[i] = pattern(seed, i);
    EXPECT_HSA(hsa_memory_copy(memory, words.data(), words.size() * 4));
  }

  static size_t wrong_words(const void* memory, size_t bytes, uint64_t seed) {
    std::vector<uint32_t> words(bytes / 4);
    EXPECT_HSA(hsa_memory_copy(words.data(), memory, words.size() * 4));
    size_t wrong = 0;
    for (size_t i = 0; i < words.size(); ++i) wrong += words[i] != pattern(seed, i);
    return wrong;
  }

  static hsa_amd_pointer_info_t info_of(const void* pointer) {
    hsa_amd_pointer_info_t info{};
    info.size = sizeof info;
    EXPECT_HSA(hsa_amd_pointer_info(pointer, &info, nullptr, nullptr, nullptr));
    return info;
  }

  hsa_amd_memory_pool_t pool_{};
};

class Ipc : public Sharing {};

TEST_P(Ipc, OtherProcessReadsAndWritesMemory) {
  uint64_t seed = 1;
  for (const size_t bytes : {size_t{4096}, size_t{64} << 10, size_t{5} << 20}) {
    const PoolMemory before = device_memory(bytes);  // so that `memory` is not the first in its block
    const PoolMemory memory = device_memory(bytes);
    const PoolMemory after = device_memory(bytes);
    ASSERT_NE(memory, nullptr);
    fill(before.get(), bytes, 1000);
    fill(after.get(), bytes, 1001);
    fill(memory.get(), bytes, seed);
    PeerMessage message;
    ASSERT_HSA(hsa_amd_ipc_memory_create(memory.get(), bytes, &message.name));
    message.bytes = bytes;
    message.seed = seed;
    message.seed_after = ++seed;
    Peer peer("attach-memory");
    ASSERT_TRUE(peer.send(message));
    ASSERT_TRUE(peer.receive(message)) << "the other process has died";
    EXPECT_EQ(message.status, HSA_STATUS_SUCCESS);
    EXPECT_EQ(message.wrong_words, 0u);
    EXPECT_EQ(peer.finish(), 0);
    EXPECT_EQ(wrong_words(memory.get(), bytes, seed), 0u);
    EXPECT_EQ(wrong_words(before.get(), bytes, 1000), 0u);
    EXPECT_EQ(wrong_words(after.get(), bytes, 1001), 0u);
  }
}

TEST_P(Ipc, ReadsAndWritesMemoryOfOtherProcess) {
  constexpr size_t kBytes = 3 << 20;
  Peer peer("share-memory");
  PeerMessage message;
  message.bytes = kBytes;
  message.seed = 5;
  message.seed_after = 6;
  ASSERT_TRUE(peer.send(message));
  ASSERT_TRUE(peer.receive(message));
  ASSERT_EQ(message.status, HSA_STATUS_SUCCESS);
  void* memory = nullptr;
  ASSERT_HSA(hsa_amd_ipc_memory_attach(&message.name, kBytes, 0, nullptr, &memory));
  EXPECT_EQ(wrong_words(memory, kBytes, 5), 0u);
  fill(memory, kBytes, 6);
  ASSERT_TRUE(peer.send(message));
  ASSERT_TRUE(peer.receive(message));
  EXPECT_EQ(message.wrong_words, 0u);
  EXPECT_EQ(peer.finish(), 0);
  // The memory persists although the other process has freed it and exited.
  EXPECT_EQ(wrong_words(memory, kBytes, 6), 0u);
  EXPECT_HSA(hsa_amd_ipc_memory_detach(memory));
}

TEST_P(Ipc, PointerInfoDescribesAttachedMemory) {
  constexpr size_t kBytes = 1 << 20;
  Peer peer("share-memory");
  PeerMessage message;
  message.bytes = kBytes;
  message.seed = message.seed_after = 9;
  ASSERT_TRUE(peer.send(message));
  ASSERT_TRUE(peer.receive(message));
  ASSERT_EQ(message.status, HSA_STATUS_SUCCESS);
  void* memory = nullptr;
  const hsa_agent_t gpu = agent();
  ASSERT_HSA(hsa_amd_ipc_memory_attach(&message.name, kBytes, 1, &gpu, &memory));
  const hsa_amd_pointer_info_t info = info_of(static_cast<char*>(memory) + 5000);
  EXPECT_EQ(info.type, HSA_EXT_POINTER_TYPE_IPC);
  EXPECT_EQ(info.agentBaseAddress, memory);
  EXPECT_EQ(info.sizeInBytes, kBytes);
  EXPECT_HSA(hsa_amd_ipc_memory_detach(memory));
  EXPECT_EQ(info_of(memory).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  peer.send(message);
  EXPECT_EQ(peer.finish(), 0);
}

TEST_P(Ipc, AttachedMemoryWorksLikeAllocations) {
  const PoolMemory memory = device_memory(64 << 10);
  hsa_amd_ipc_memory_t name;
  void* attached = nullptr;
  ASSERT_HSA(hsa_amd_ipc_memory_create(memory.get(), 64 << 10, &name));
  ASSERT_HSA(hsa_amd_ipc_memory_attach(&name, 64 << 10, 0, nullptr, &attached));
  int mark = 0;
  EXPECT_HSA(hsa_amd_pointer_info_set_userdata(attached, &mark));
  EXPECT_EQ(info_of(attached).userData, &mark);
  EXPECT_EQ(info_of(memory.get()).userData, nullptr);
  EXPECT_EQ(info_of(attached).global_flags, info_of(memory.get()).global_flags);
  const hsa_agent_t gpu = agent();
  EXPECT_HSA(hsa_amd_agents_allow_access(1, &gpu, nullptr, attached));
  const hsa_agent_t invalid_agent{};
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT,
                hsa_amd_agents_allow_access(1, &invalid_agent, nullptr, attached));
  EXPECT_HSA(hsa_amd_memory_fill(attached, 0x01020304, 1024));
  uint32_t word = 0;
  EXPECT_HSA(hsa_memory_copy(&word, memory.get(), 4));
  EXPECT_EQ(word, 0x01020304u);
  EXPECT_HSA(hsa_amd_ipc_memory_detach(attached));
}

TEST_P(Ipc, AttachmentsDetachIndependently) {
  constexpr size_t kBytes = 256 << 10;
  const PoolMemory memory = device_memory(kBytes);
  fill(memory.get(), kBytes, 3);
  hsa_amd_ipc_memory_t name;
  ASSERT_HSA(hsa_amd_ipc_memory_create(memory.get(), kBytes, &name));
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_HSA(hsa_amd_ipc_memory_attach(&name, kBytes, 0, nullptr, &first));
  ASSERT_HSA(hsa_amd_ipc_memory_attach(&name, kBytes, 0, nullptr, &second));
  EXPECT_EQ(wrong_words(first, kBytes, 3), 0u);
  EXPECT_HSA(hsa_amd_ipc_memory_detach(first));
  EXPECT_EQ(wrong_words(second, kBytes, 3), 0u);
  EXPECT_HSA(hsa_amd_ipc_memory_detach(second));
  EXPECT_EQ(wrong_words(memory.get(), kBytes, 3), 0u);
}

TEST_P(Ipc, RejectsPartsOfAllocations) {
  const PoolMemory memory = device_memory(64 << 10);
  hsa_amd_ipc_memory_t name;
  int on_the_stack = 0;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_ipc_memory_create(static_cast<char*>(memory.get()) + 4096, 60 << 10, &name));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_ipc_memory_create(memory.get(), 4096, &name));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_ipc_memory_create(memory.get(), 128 << 10, &name));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_ipc_memory_create(&on_the_stack, sizeof on_the_stack, &name));
}

TEST_P(Ipc, RejectsNulls) {
  const PoolMemory memory = device_memory(64 << 10);
  hsa_amd_ipc_memory_t name;
  void* attached = nullptr;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_ipc_memory_create(nullptr, 4096, &name));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_ipc_memory_create(memory.get(), 64 << 10, nullptr));
  ASSERT_HSA(hsa_amd_ipc_memory_create(memory.get(), 64 << 10, &name));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_ipc_memory_attach(nullptr, 64 << 10, 0, nullptr, &attached));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_ipc_memory_attach(&name, 64 << 10, 0, nullptr, nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_ipc_memory_attach(&name, 64 << 10, 1, nullptr, &attached));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_ipc_memory_detach(nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_ipc_memory_detach(memory.get()));
}

TEST_P(Ipc, RejectsInvalidNames) {
  const PoolMemory memory = device_memory(64 << 10);
  hsa_amd_ipc_memory_t name{};
  void* attached = nullptr;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_ipc_memory_attach(&name, 64 << 10, 0, nullptr, &attached));
  ASSERT_HSA(hsa_amd_ipc_memory_create(memory.get(), 64 << 10, &name));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_ipc_memory_attach(&name, 128 << 10, 0, nullptr, &attached));
  for (int word = 0; word < 4; ++word) {
    hsa_amd_ipc_memory_t changed = name;
    changed.handle[word + 1] ^= 0x10;
    if (word == 0 &&
        hsa_amd_ipc_memory_attach(&changed, 64 << 10, 0, nullptr, &attached) == HSA_STATUS_SUCCESS) {
      EXPECT_HSA(hsa_amd_ipc_memory_detach(attached));  // the runtime does not use this word
      continue;
    }
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                  hsa_amd_ipc_memory_attach(&changed, 64 << 10, 0, nullptr, &attached));
  }
}

TEST_P(Ipc, RejectsModifiedNames) {
  const PoolMemory memory = device_memory(64 << 10);
  hsa_amd_ipc_memory_t name{};
  ASSERT_HSA(hsa_amd_ipc_memory_create(memory.get(), 64 << 10, &name));
  const auto attaches = [](const hsa_amd_ipc_memory_t& changed) {
    void* attached = nullptr;
    const hsa_status_t status = hsa_amd_ipc_memory_attach(&changed, 64 << 10, 0, nullptr, &attached);
    EXPECT_STATUS_IN(status, HSA_STATUS_SUCCESS, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    if (status != HSA_STATUS_SUCCESS) return false;
    EXPECT_HSA(hsa_amd_ipc_memory_detach(attached));
    return true;
  };
  ASSERT_TRUE(attaches(name));
  const size_t before = open_descriptors();
  int attached = 0;
  for (int bit = 0; bit < 256; ++bit) {
    hsa_amd_ipc_memory_t changed = name;
    changed.handle[bit / 32] ^= 1u << bit % 32;
    attached += attaches(changed);
  }
  EXPECT_LE(attached, 64) << "what means something are more bits than that";
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    // Every third name is random as a whole. The others keep the word that contains the kind of the name.
    hsa_amd_ipc_memory_t made_up = name;
    for (int word = i % 3 == 0 ? 0 : 1; word < 8; ++word) {
      if (i % 3 != 2 || random() % 2 == 0) made_up.handle[word] = static_cast<uint32_t>(random());
    }
    attaches(made_up);
  }
  EXPECT_TRUE(descriptors_come_down_to(before));
  EXPECT_TRUE(attaches(name)) << "the memory is as it was";
}

TEST_P(Ipc, NameExpiresWithMemory) {
  PoolMemory memory = device_memory(64 << 10);
  hsa_amd_ipc_memory_t name;
  ASSERT_HSA(hsa_amd_ipc_memory_create(memory.get(), 64 << 10, &name));
  memory.reset();
  void* attached = nullptr;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_ipc_memory_attach(&name, 64 << 10, 0, nullptr, &attached));
}

TEST_P(Ipc, ExportedMemoryIsNotReused) {
  PoolMemory memory = device_memory(2 << 20);
  fill(memory.get(), 2 << 20, 7);
  hsa_amd_ipc_memory_t name;
  void* attached = nullptr;
  ASSERT_HSA(hsa_amd_ipc_memory_create(memory.get(), 2 << 20, &name));
  ASSERT_HSA(hsa_amd_ipc_memory_attach(&name, 2 << 20, 0, nullptr, &attached));
  memory.reset();
  std::vector<PoolMemory> others;
  for (int i = 0; i < 4; ++i) {
    others.push_back(device_memory(2 << 20));
    fill(others.back().get(), 2 << 20, 8);
  }
  EXPECT_EQ(wrong_words(attached, 2 << 20, 7), 0u);
  EXPECT_HSA(hsa_amd_ipc_memory_detach(attached));
}

TEST_P(Ipc, DetachCallsDeallocationCallback) {
  const PoolMemory memory = device_memory(64 << 10);
  hsa_amd_ipc_memory_t name;
  void* attached = nullptr;
  ASSERT_HSA(hsa_amd_ipc_memory_create(memory.get(), 64 << 10, &name));
  ASSERT_HSA(hsa_amd_ipc_memory_attach(&name, 64 << 10, 0, nullptr, &attached));
  int calls = 0;
  const auto count = [](void*, void* calls_made) { ++*static_cast<int*>(calls_made); };
  ASSERT_HSA(hsa_amd_register_deallocation_callback(attached, count, &calls));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_memory_pool_free(attached));
  EXPECT_EQ(calls, 0);
  EXPECT_HSA(hsa_amd_ipc_memory_detach(attached));
  EXPECT_EQ(calls, 1);
}

TEST_P(Ipc, ReleasesDescriptorsAndMemory) {
  const auto round = [this] {
    const PoolMemory memory = device_memory(3 << 20);
    hsa_amd_ipc_memory_t name;
    void* attached = nullptr;
    ASSERT_HSA(hsa_amd_ipc_memory_create(memory.get(), 3 << 20, &name));
    ASSERT_HSA(hsa_amd_ipc_memory_attach(&name, 3 << 20, 0, nullptr, &attached));
    ASSERT_HSA(hsa_amd_ipc_memory_detach(attached));
  };
  round();
  const size_t descriptors = open_descriptors();
  uint64_t available = 0, left = 0;
  const auto kAvailable = static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_MEMORY_AVAIL);
  const bool has_available = hsa_agent_get_info(agent(), kAvailable, &available) == HSA_STATUS_SUCCESS;
  for (int i = 0; i < 50; ++i) round();
  EXPECT_TRUE(descriptors_come_down_to(descriptors)) << open_descriptors();
  if (!has_available) return;
  ASSERT_HSA(hsa_agent_get_info(agent(), kAvailable, &left));
  EXPECT_EQ(left, available);
}

TEST_P(Ipc, ThreadsShareConcurrently) {
  std::vector<std::thread> threads;
  const PoolMemory common = device_memory(128 << 10);
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const PoolMemory own = device_memory(128 << 10);
        for (void* memory : {own.get(), common.get()}) {
          hsa_amd_ipc_memory_t name;
          void* attached = nullptr;
          ASSERT_HSA(hsa_amd_ipc_memory_create(memory, 128 << 10, &name));
          ASSERT_HSA(hsa_amd_ipc_memory_attach(&name, 128 << 10, 0, nullptr, &attached));
          EXPECT_EQ(info_of(attached).sizeInBytes, size_t{128} << 10);
          ASSERT_HSA(hsa_amd_ipc_memory_detach(attached));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_FOR_AGENTS(Ipc);

class Dmabuf : public Sharing {
 protected:
  void SetUp() override {
    Sharing::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    export_dmabuf = OPTIONAL_HSA(hsa_amd_portable_export_dmabuf);
    close_dmabuf = OPTIONAL_HSA(hsa_amd_portable_close_dmabuf);
    bool supported = false;
    if (export_dmabuf == nullptr ||
        hsa_system_get_info(static_cast<hsa_system_info_t>(HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED),
                            &supported) != HSA_STATUS_SUCCESS ||
        !supported) {
      GTEST_SKIP() << "this runtime or its driver exports no dmabufs";
    }
  }

  hsa_status_t map(int dmabuf, size_t* size, void** pointer) {
    hsa_agent_t gpu = agent();
    return hsa_amd_interop_map_buffer(1, &gpu, dmabuf, 0, size, pointer, nullptr, nullptr);
  }

  decltype(&hsa_amd_portable_export_dmabuf) export_dmabuf = nullptr;
  decltype(&hsa_amd_portable_close_dmabuf) close_dmabuf = nullptr;
};

TEST_P(Dmabuf, MapsSameContents) {
  for (const size_t bytes : {size_t{8} << 10, size_t{1} << 20, size_t{6} << 20}) {
    const PoolMemory memory = device_memory(bytes);
    fill(memory.get(), bytes, 21);
    int dmabuf = -1;
    uint64_t offset = ~uint64_t{0};
    ASSERT_HSA(export_dmabuf(memory.get(), bytes, &dmabuf, &offset));
    EXPECT_GE(dmabuf, 0);
    size_t size = 0;
    void* mapped = nullptr;
    ASSERT_HSA(map(dmabuf, &size, &mapped));
    EXPECT_HSA(close_dmabuf(dmabuf));
    ASSERT_GE(size, offset + bytes);
    char* const same = static_cast<char*>(mapped) + offset;
    EXPECT_EQ(wrong_words(same, bytes, 21), 0u);
    fill(same, bytes, 22);
    EXPECT_EQ(wrong_words(memory.get(), bytes, 22), 0u);
    const hsa_amd_pointer_info_t info = info_of(same);
    EXPECT_EQ(info.type, HSA_EXT_POINTER_TYPE_GRAPHICS);
    EXPECT_EQ(info.agentBaseAddress, mapped);
    EXPECT_EQ(info.sizeInBytes, size);
    EXPECT_EQ(info.agentOwner.handle, agent().handle);
    EXPECT_HSA(hsa_amd_interop_unmap_buffer(mapped));
    EXPECT_EQ(info_of(mapped).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  }
}

TEST_P(Dmabuf, ExportOfPartReturnsOffset) {
  const PoolMemory memory = device_memory(1 << 20);
  fill(memory.get(), 1 << 20, 31);
  int whole = -1, part = -1;
  uint64_t whole_offset = 0, part_offset = 0;
  ASSERT_HSA(export_dmabuf(memory.get(), 1 << 20, &whole, &whole_offset));
  ASSERT_HSA(export_dmabuf(static_cast<char*>(memory.get()) + 12288, 4096, &part, &part_offset));
  EXPECT_EQ(part_offset, whole_offset + 12288);
  EXPECT_HSA(close_dmabuf(whole));
  EXPECT_HSA(close_dmabuf(part));
}

TEST_P(Dmabuf, KeepsMemoryAfterFree) {
  constexpr size_t kBytes = 2 << 20;
  PoolMemory memory = device_memory(kBytes);
  fill(memory.get(), kBytes, 41);
  int dmabuf = -1;
  uint64_t offset = 0;
  ASSERT_HSA(export_dmabuf(memory.get(), kBytes, &dmabuf, &offset));
  memory.reset();
  const PoolMemory other = device_memory(kBytes);
  fill(other.get(), kBytes, 42);
  size_t size = 0;
  void* mapped = nullptr;
  ASSERT_HSA(map(dmabuf, &size, &mapped));
  EXPECT_HSA(close_dmabuf(dmabuf));
  EXPECT_EQ(wrong_words(static_cast<char*>(mapped) + offset, kBytes, 41), 0u);
  EXPECT_HSA(hsa_amd_interop_unmap_buffer(mapped));
}

TEST_P(Dmabuf, ExportRejectsInvalidArguments) {
  const PoolMemory memory = device_memory(64 << 10);
  int dmabuf = -1;
  uint64_t offset = 0;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, export_dmabuf(nullptr, 4096, &dmabuf, &offset));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, export_dmabuf(memory.get(), 0, &dmabuf, &offset));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, export_dmabuf(memory.get(), 4096, nullptr, &offset));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, export_dmabuf(memory.get(), 4096, &dmabuf, nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ALLOCATION,
                export_dmabuf(memory.get(), 128 << 10, &dmabuf, &offset));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ALLOCATION, export_dmabuf(&offset, 8, &dmabuf, &offset));
  const auto host = find_pool(all_agents()[0], HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  ASSERT_TRUE(host.has_value());
  void* host_memory = nullptr;
  ASSERT_HSA(hsa_amd_memory_pool_allocate(*host, 4096, 0, &host_memory));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, export_dmabuf(host_memory, 4096, &dmabuf, &offset));
  EXPECT_HSA(hsa_amd_memory_pool_free(host_memory));
  EXPECT_EQ(dmabuf, -1);
  EXPECT_STATUS(HSA_STATUS_ERROR_RESOURCE_FREE, close_dmabuf(-1));
}

TEST_P(Dmabuf, ExportV2ChecksFlags) {
  REQUIRE_HSA(hsa_amd_portable_export_dmabuf_v2);
  const PoolMemory memory = device_memory(64 << 10);
  int dmabuf = -1;
  uint64_t offset = 0;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_portable_export_dmabuf_v2(memory.get(), 4096, &dmabuf, &offset, 0x80));
  const hsa_status_t over_pcie = hsa_amd_portable_export_dmabuf_v2(memory.get(), 4096, &dmabuf, &offset,
                                                                   HSA_AMD_DMABUF_MAPPING_TYPE_PCIE);
  if (host_reaches(pool_)) {
    EXPECT_EQ(over_pcie, HSA_STATUS_SUCCESS);
    EXPECT_HSA(close_dmabuf(dmabuf));
  } else {
    EXPECT_EQ(static_cast<int>(over_pcie), static_cast<int>(HSA_STATUS_ERROR_NOT_SUPPORTED));
  }
}

TEST_P(Dmabuf, MapRejectsInvalidArguments) {
  hsa_agent_t gpu = agent();
  hsa_agent_t invalid_agent{};
  size_t size = 0;
  void* mapped = nullptr;
  const int file = open("/dev/null", O_RDWR | O_CLOEXEC);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, map(file, &size, &mapped));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, map(-1, &size, &mapped));
  close(file);
  const PoolMemory memory = device_memory(64 << 10);
  int dmabuf = -1;
  uint64_t offset = 0;
  ASSERT_HSA(export_dmabuf(memory.get(), 4096, &dmabuf, &offset));
  const auto call = [&](uint32_t count, hsa_agent_t* agents, uint32_t flags, size_t* bytes, void** pointer) {
    return hsa_amd_interop_map_buffer(count, agents, dmabuf, flags, bytes, pointer, nullptr, nullptr);
  };
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, call(0, &gpu, 0, &size, &mapped));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, call(1, nullptr, 0, &size, &mapped));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, call(1, &gpu, 1, &size, &mapped));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, call(1, &gpu, 0, nullptr, &mapped));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, call(1, &gpu, 0, &size, nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, call(1, &invalid_agent, 0, &size, &mapped));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_amd_interop_unmap_buffer(memory.get()));
  EXPECT_HSA(hsa_amd_interop_unmap_buffer(nullptr));
  EXPECT_HSA(close_dmabuf(dmabuf));
}

TEST_P(Dmabuf, ReleasesDescriptorsAndMemory) {
  const auto round = [this] {
    const PoolMemory memory = device_memory(3 << 20);
    int dmabuf = -1;
    uint64_t offset = 0;
    size_t size = 0;
    void* mapped = nullptr;
    ASSERT_HSA(export_dmabuf(memory.get(), 3 << 20, &dmabuf, &offset));
    ASSERT_HSA(map(dmabuf, &size, &mapped));
    ASSERT_HSA(close_dmabuf(dmabuf));
    ASSERT_HSA(hsa_amd_interop_unmap_buffer(mapped));
  };
  round();
  const size_t descriptors = open_descriptors();
  uint64_t available = 0, left = 0;
  const auto kAvailable = static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_MEMORY_AVAIL);
  ASSERT_HSA(hsa_agent_get_info(agent(), kAvailable, &available));
  for (int i = 0; i < 50; ++i) round();
  EXPECT_TRUE(descriptors_come_down_to(descriptors)) << open_descriptors();
  ASSERT_HSA(hsa_agent_get_info(agent(), kAvailable, &left));
  EXPECT_EQ(left, available);
}

INSTANTIATE_FOR_AGENTS(Dmabuf);

}  // namespace
}  // namespace conformance
