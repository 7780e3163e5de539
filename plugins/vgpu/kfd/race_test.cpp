// Threads share handles, queues, events and addresses without coordination: each frees, destroys or unmaps
// what others use. Calls may fail. The process must survive, all threads must return, and the driver must
// still work afterwards. Runs for one second, or VGPU_STRESS_SECONDS.
#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plugins/vgpu/kfd/client.hpp"

namespace rigel::vgpu {
namespace {

constexpr uint32_t kObjects = 8;
constexpr uint32_t kRingBytes = 4096;
constexpr uint64_t kFreeVa = 0x200000000000;

class RandomCalls {
 public:
  explicit RandomCalls(Client& client) : client_(client) {
    for (uint32_t i = 0; i < kObjects; ++i) {
      rings_.push_back(client.share(kRingBytes));
      pointers_.push_back(client.share(4096));
    }
    results_ = client.share(4096);
    const Board::SaveArea area = client.system().process().gpu(0).gpu().board.save_area();
    eop_ = client.share(4096);
    save_ = client.share(area.context_bytes + area.debug_bytes);
    // Packets of copy engines in half of the rings, barriers in the others. They write and wait for the
    // results only.
    std::minstd_rand random(7);
    for (uint32_t i = 0; i < kObjects; ++i) fill_ring(i, random);
    userptr_ = static_cast<std::byte*>(
        ::mmap(nullptr, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }

  void run_call(std::minstd_rand& random) {
    const auto random_below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    const uint32_t gpu = random_below(client_.gpu_count());
    uint32_t id = client_.gpu_id(gpu);
    std::atomic<uint64_t>& handle = handles_[random_below(kObjects)];
    switch (random_below(13)) {
      case 0: {
        constexpr uint32_t kKinds[] = {KFD_MEM_VRAM, KFD_MEM_VRAM | KFD_MEM_PUBLIC, KFD_MEM_GTT,
                                       KFD_MEM_USERPTR};
        kfd_alloc_memory a{kFreeVa + random_below(4) * 8192,
                           4096 * (1 + random_below(3)),
                           0,
                           reinterpret_cast<uint64_t>(userptr_ + 4096 * random_below(8)),
                           id,
                           kKinds[random_below(4)] | KFD_MEM_WRITABLE};
        if (client_.call(KFD_NR_ALLOC_MEMORY, a) == 0) {
          kfd_free_memory f{handle.exchange(a.handle)};
          client_.call(KFD_NR_FREE_MEMORY, f);
        }
        return;
      }
      case 1: {
        kfd_free_memory f{handle};
        client_.call(KFD_NR_FREE_MEMORY, f);
        return;
      }
      case 2:
      case 3: {
        kfd_map_memory m{handle, reinterpret_cast<uint64_t>(&id), 1, 0};
        client_.call(random_below(2) == 0 ? KFD_NR_MAP_MEMORY : KFD_NR_UNMAP_MEMORY, m);
        return;
      }
      case 4:
        return create_queue(random_below(kObjects), id, random);
      case 5: {
        kfd_destroy_queue d{random_below(kObjects), 0};
        client_.call(KFD_NR_DESTROY_QUEUE, d);
        return;
      }
      case 6: {
        const uint32_t ring = random_below(kObjects);
        kfd_update_queue u{};
        u.ring_base_address = random_below(3) == 0 ? 0 : rings_[ring].va();
        u.queue_id = random_below(kObjects);
        u.ring_size = kRingBytes;
        u.queue_percentage = random_below(2) * 100;
        u.queue_priority = random_below(16);
        client_.call(KFD_NR_UPDATE_QUEUE, u);
        return;
      }
      case 7:
      case 8: {
        const auto hook =
            client_.system().process().attach_doorbell(client_.doorbells(gpu) + 8 * random_below(1024));
        if (hook)
          hook->ring(hook->context,
                     random_below(2) == 0 ? random_below(kRingBytes) & ~3u : random() * uint64_t{random()});
        return;
      }
      case 9: {
        kfd_create_event e{};
        e.auto_reset = random_below(2);
        if (client_.call(KFD_NR_CREATE_EVENT, e) == 0 && e.event_id > kObjects) {
          kfd_event_ref ref{e.event_id, 0};
          client_.call(KFD_NR_DESTROY_EVENT, ref);
        }
        return;
      }
      case 10: {
        constexpr uint32_t kCalls[] = {KFD_NR_SET_EVENT, KFD_NR_RESET_EVENT, KFD_NR_DESTROY_EVENT};
        kfd_event_ref ref{1 + random_below(kObjects), 0};
        client_.call(kCalls[random_below(3)], ref);
        return;
      }
      case 11: {
        kfd_event_data data[3]{};
        for (kfd_event_data& d : data) d.event_id = 1 + random_below(kObjects);
        kfd_wait_events w{reinterpret_cast<uint64_t>(data), 1 + random_below(3), random_below(2),
                          random_below(3), 0};
        client_.call(KFD_NR_WAIT_EVENTS, w);
        return;
      }
      default: {
        // Replaces memory that is mapped on GPUs.
        void* out = nullptr;
        client_.system().mmap(userptr_ + 4096 * random_below(15), 4096, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0, &out);
        kfd_export_dmabuf exported{handle, O_CLOEXEC | O_RDWR, 0};
        if (client_.call(KFD_NR_EXPORT_DMABUF, exported) != 0) return;
        kfd_import_dmabuf import{kFreeVa + (1 << 20), 0, id, exported.dmabuf_fd};
        if (client_.call(KFD_NR_IMPORT_DMABUF, import) == 0) {
          kfd_free_memory f{import.handle};
          client_.call(KFD_NR_FREE_MEMORY, f);
        }
        ::close(static_cast<int>(exported.dmabuf_fd));
      }
    }
  }

 private:
  static bool is_aql(uint32_t ring) { return ring % 2 != 0; }

  uint64_t result(std::minstd_rand& random) const { return results_.va() + random() % 32 * 64; }

  void fill_ring(uint32_t ring, std::minstd_rand& random) {
    const auto words = reinterpret_cast<uint32_t*>(rings_[ring].host);
    std::memset(words, 0, kRingBytes);
    if (is_aql(ring)) {
      for (uint32_t at = 0; at < kRingBytes / 4; at += 16) {
        words[at] = 3 | random() % 2 << 8;
        const uint64_t after = random() % 3 == 0 ? result(random) : 0, completion = result(random);
        std::memcpy(words + at + 2, &after, 8);
        std::memcpy(words + at + 14, &completion, 8);
      }
      return;
    }
    for (uint32_t at = 0; at + 8 <= kRingBytes / 4;) {
      const uint64_t to = result(random) + 8;
      const auto low = static_cast<uint32_t>(to), high = static_cast<uint32_t>(to >> 32);
      const uint32_t packets[4][8] = {{5, low, high, 0},
                                      {10 | 47u << 25, low, high, 1, 0, 0, 0, 0},
                                      {6, static_cast<uint32_t>(random() % kObjects)},
                                      {8 | 1u << 31 | 3u << 28, low, high, 0, 0, 0}};
      constexpr uint32_t kDwords[4] = {4, 8, 2, 6};
      const uint32_t packet = random() % 4;
      std::memcpy(words + at, packets[packet], kDwords[packet] * 4);
      at += kDwords[packet];
    }
  }

  void create_queue(uint32_t ring, uint32_t id, std::minstd_rand& random) {
    const Board::SaveArea area = client_.system().process().gpu(0).gpu().board.save_area();
    kfd_create_queue a{};
    a.ring_base_address = rings_[ring].va();
    a.ring_size = kRingBytes;
    const Client::Memory& pointers = pointers_[random() % kObjects];
    a.write_pointer_address = pointers.va() + 0x38;
    a.read_pointer_address = pointers.va() + 0x80;
    a.gpu_id = id;
    a.queue_type = is_aql(ring) ? KFD_QUEUE_AQL : KFD_QUEUE_SDMA;
    a.queue_percentage = 100;
    if (is_aql(ring)) {
      a.eop_buffer_address = eop_.va();
      a.eop_buffer_size = 4096;
      a.ctx_save_restore_address = save_.va();
      a.ctx_save_restore_size = area.context_bytes;
      a.ctl_stack_size = area.control_stack_bytes;
    }
    if (client_.call(KFD_NR_CREATE_QUEUE, a) != 0 || a.queue_id < kObjects) return;
    kfd_destroy_queue d{a.queue_id, 0};
    client_.call(KFD_NR_DESTROY_QUEUE, d);
  }

  Client& client_;
  std::vector<Client::Memory> rings_, pointers_;
  Client::Memory results_, eop_, save_;
  std::byte* userptr_ = nullptr;
  std::atomic<uint64_t> handles_[kObjects]{};
};

TEST(VgpuStress, DriverSurvivesUncoordinatedThreads) {
  const char* const setting = std::getenv("VGPU_STRESS_SECONDS");
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(setting == nullptr ? 1 : std::atoi(setting));
  Client client("gfx900:vram=64M,gfx900:vram=64M");
  RandomCalls random_calls(client);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::minstd_rand random(static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed()) * 5 +
                              t + 1);
      while (std::chrono::steady_clock::now() < end) random_calls.run_call(random);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint32_t id = 0; id < kObjects; ++id) {
    kfd_destroy_queue d{id, 0};
    client.call(KFD_NR_DESTROY_QUEUE, d);
  }
  for (uint32_t gpu = 0; gpu < client.gpu_count(); ++gpu) {
    ClientQueue queue(client, gpu, false, true), copies(client, gpu, true, true);
    const Client::Memory memory = client.share(4096);
    const ClientSignal done(memory, 0);
    done.value().store(2);
    queue.barrier({}, done.handle());
    copies.copy(memory.va() + 2048, memory.va() + 1024, 512, done);
    done.wait("a barrier and a copy");
    client.release(memory);
  }
}

}  // namespace
}  // namespace rigel::vgpu
