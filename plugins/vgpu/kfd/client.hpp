// A client of the driver that uses only its system calls, like a runtime: memory that GPUs can use, AQL and
// SDMA queues. For stress tests and benchmarks; an error ends the program with a message.
//
// Requires gfx9 or later, whose doorbells are 64 bits wide.
// Threads: a Client from any thread, a ClientQueue from one thread at a time.
// Ownership: queues and memory are destroyed before their client.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hsa_backend/sanitizer.h"
#include "hsa_plugin/kfd_abi.h"
#include "plugins/vgpu/kfd/system.hpp"

namespace rigel::vgpu {

inline constexpr bool kThreadSanitizer = HSABE_SANITIZER == HSABE_SANITIZER_THREAD;

[[noreturn]] inline void fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::abort();
}

class Client {
 public:
  explicit Client(const std::string& gpus, const ProcessOptions& options = {}) {
    auto virtual_system = parse_machine(gpus, PeerLink::kPcie);
    if (!virtual_system) fail(virtual_system.error());
    HostProperties host;
    host.memory_bytes = uint64_t{1} << 32;
    system_ = std::make_unique<System>(std::move(*virtual_system), options, host,
                                       std::make_unique<Log>("none", ""));
    kfd_ = system_->open("/dev/kfd", O_RDWR | O_CLOEXEC);
    for (uint32_t i = 0; i < gpu_count(); ++i) {
      render_.push_back(system_->open("/dev/dri/renderD" + std::to_string(128 + i), O_RDWR | O_CLOEXEC));
      kfd_acquire_vm a{static_cast<uint32_t>(render_.back()), gpu_id(i)};
      must(KFD_NR_ACQUIRE_VM, a, "ACQUIRE_VM");
      const uint64_t bytes = system_->process().gpu(i).gpu().board.doorbell_slice_bytes();
      void* page = nullptr;
      if (system_->mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, kfd_,
                        KFD_MMAP_TYPE_DOORBELL | KFD_MMAP_GPU_ID(gpu_id(i)), &page) != 0) {
        fail("doorbells cannot be mapped");
      }
      doorbells_.push_back(static_cast<std::byte*>(page));
    }
  }
  ~Client() {
    for (uint32_t i = 0; i < gpu_count(); ++i) {
      system_->munmap(doorbells_[i], system_->process().gpu(i).gpu().board.doorbell_slice_bytes());
    }
    for (const int fd : render_) system_->close(fd);
    system_->close(kfd_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  System& system() { return *system_; }
  uint32_t gpu_count() { return static_cast<uint32_t>(system_->process().gpu_count()); }
  uint32_t gpu_id(uint32_t i) { return system_->process().gpu(i).gpu().gpu_id; }
  std::byte* doorbells(uint32_t gpu) { return doorbells_[gpu]; }
  int render(uint32_t gpu) { return render_[gpu]; }

  template <class T>
  int call(uint32_t number, T& arguments) {
    return system_->ioctl(kfd_, 3u << 30 | uint64_t{sizeof(T)} << 16 | KFD_ABI_IOCTL_TYPE << 8 | number,
                          &arguments);
  }
  template <class T>
  void must(uint32_t number, T& arguments, const char* call_name) {
    if (const int error = call(number, arguments); error != 0) {
      fail(std::string(call_name) + ": " + strerrorname_np(-error));
    }
  }

  /// Memory of the program that is mapped on every GPU at the same address.
  struct Memory {
    std::byte* host = nullptr;
    uint64_t handle = 0, bytes = 0;
    uint64_t va() const { return reinterpret_cast<uint64_t>(host); }
    template <class T>
    std::atomic<T>& at(size_t offset) const {
      return *reinterpret_cast<std::atomic<T>*>(host + offset);
    }
  };
  Memory share(uint64_t bytes) {
    bytes = (bytes + 4095) & ~uint64_t{4095};
    void* const p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto va = reinterpret_cast<uint64_t>(p);
    return {static_cast<std::byte*>(p),
            allocate(0, KFD_MEM_USERPTR | KFD_MEM_WRITABLE | KFD_MEM_EXECUTABLE, bytes, va, va), bytes};
  }
  void release(const Memory& memory) {
    free(memory.handle);
    ::munmap(memory.host, memory.bytes);
  }

  /// Allocates a buffer, maps it on every GPU and returns its handle.
  uint64_t allocate(uint32_t gpu, uint32_t flags, uint64_t bytes, uint64_t va, uint64_t program = 0) {
    kfd_alloc_memory a{va, bytes, 0, program, gpu_id(gpu), flags};
    must(KFD_NR_ALLOC_MEMORY, a, "ALLOC_MEMORY");
    std::vector<uint32_t> ids;
    for (uint32_t i = 0; i < gpu_count(); ++i) ids.push_back(gpu_id(i));
    kfd_map_memory m{a.handle, reinterpret_cast<uint64_t>(ids.data()), gpu_count(), 0};
    must(KFD_NR_MAP_MEMORY, m, "MAP_MEMORY");
    return a.handle;
  }
  void free(uint64_t handle) {
    std::vector<uint32_t> ids;
    for (uint32_t i = 0; i < gpu_count(); ++i) ids.push_back(gpu_id(i));
    kfd_map_memory m{handle, reinterpret_cast<uint64_t>(ids.data()), gpu_count(), 0};
    while (m.n_success < m.n_devices && call(KFD_NR_UNMAP_MEMORY, m) != 0)
      ++m.n_success;  // on the GPUs that have it
    kfd_free_memory f{handle};
    must(KFD_NR_FREE_MEMORY, f, "FREE_MEMORY");
  }

  /// An event that GPUs set by a store to its mailbox and an interrupt. make_event() is not thread-safe.
  struct Event {
    uint32_t id = 0;
    uint64_t mailbox_va = 0;
  };
  Event make_event() {
    constexpr uint64_t kPageVa = 0x500000000000;
    kfd_create_event e{};
    e.auto_reset = 1;
    if (!has_event_page_) {
      e.event_page_offset = allocate(0, KFD_MEM_GTT | KFD_MEM_WRITABLE, KFD_EVENT_PAGE_BYTES, kPageVa);
      has_event_page_ = true;
    }
    must(KFD_NR_CREATE_EVENT, e, "CREATE_EVENT");
    return {e.event_id, kPageVa + uint64_t{e.event_id} * 8};
  }
  void wait(const Event& event) {
    kfd_event_data data{};
    data.event_id = event.id;
    kfd_wait_events w{reinterpret_cast<uint64_t>(&data), 1, 0, UINT32_MAX, 0};
    must(KFD_NR_WAIT_EVENTS, w, "WAIT_EVENTS");
  }

 private:
  std::unique_ptr<System> system_;
  int kfd_ = -1;
  std::vector<int> render_;
  std::vector<std::byte*> doorbells_;
  bool has_event_page_ = false;
};

/// An AQL signal: its handle is its address, its value the second word.
class ClientSignal {
 public:
  ClientSignal(const Client::Memory& memory, size_t index) : at_(memory.host + index * 64) {}
  uint64_t handle() const { return reinterpret_cast<uint64_t>(at_); }
  uint64_t value_va() const { return handle() + 8; }
  std::atomic<int64_t>& value() const { return *reinterpret_cast<std::atomic<int64_t>*>(at_ + 8); }
  /// Completion also sets the event.
  void interrupts(const Client::Event& event) const {
    std::memcpy(at_ + 16, &event.mailbox_va, 8);
    std::memcpy(at_ + 24, &event.id, 4);
  }
  /// The start time of the packet that completed it, if the queue records times.
  uint64_t start_ticks() const {
    uint64_t ticks = 0;
    std::memcpy(&ticks, at_ + 32, 8);
    return ticks;
  }
  void wait(const char* operation) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (int i = 0; value().load(std::memory_order_acquire) > 0; ++i) {
      if (i < 20000) {
        __builtin_ia32_pause();
        continue;
      }
      std::this_thread::yield();
      if (i % 1024 == 0 && std::chrono::steady_clock::now() > end)
        fail(std::string(operation) + ": not done");
    }
  }

 private:
  std::byte* at_;
};

class ClientQueue {
 public:
  static constexpr uint32_t kBytes = 65536, kPackets = kBytes / 64;

  ClientQueue(Client& client, uint32_t gpu, bool sdma, bool hooked)
      : client_(client), ring_(client.share(kBytes)), pointers_(client.share(4096)) {
    const Board::SaveArea area = client.system().process().gpu(gpu).gpu().board.save_area();
    kfd_create_queue a{};
    if (sdma) {
      std::memset(ring_.host, 0, kBytes);
    } else {
      for (uint32_t i = 0; i < kPackets; ++i) ring_.at<uint16_t>(i * 64).store(1, std::memory_order_relaxed);
      eop_ = client.share(4096);
      save_ = client.share(area.context_bytes + area.debug_bytes);
      a.eop_buffer_address = eop_.va();
      a.eop_buffer_size = 4096;
      a.ctx_save_restore_address = save_.va();
      a.ctx_save_restore_size = area.context_bytes;
      a.ctl_stack_size = area.control_stack_bytes;
    }
    pointers_.at<uint32_t>(0x88).store(0x80);  // amd_queue_t: the read index's offset
    a.ring_base_address = ring_.va();
    a.write_pointer_address = pointers_.va() + 0x38;
    a.read_pointer_address = pointers_.va() + 0x80;
    a.ring_size = kBytes;
    a.gpu_id = client.gpu_id(gpu);
    a.queue_type = sdma ? KFD_QUEUE_SDMA : KFD_QUEUE_AQL;
    a.queue_percentage = 100;
    a.queue_priority = 7;
    client.must(KFD_NR_CREATE_QUEUE, a, "CREATE_QUEUE");
    id_ = a.queue_id;
    doorbell_ =
        reinterpret_cast<std::atomic<uint64_t>*>(client.doorbells(gpu) + (a.doorbell_offset & 0x1fff));
    // ThreadSanitizer does not relate the program's and the device's mapping of the doorbell page. Only AQL
    // packets are also ordered by their headers.
    if (hooked || (sdma && kThreadSanitizer)) hook_ = *client.system().process().attach_doorbell(doorbell_);
  }
  ~ClientQueue() {
    kfd_destroy_queue d{id_, 0};
    client_.must(KFD_NR_DESTROY_QUEUE, d, "DESTROY_QUEUE");
    for (const Client::Memory* memory : {&ring_, &pointers_, &eop_, &save_}) {
      if (memory->host != nullptr) client_.release(*memory);
    }
  }
  ClientQueue(const ClientQueue&) = delete;
  ClientQueue& operator=(const ClientQueue&) = delete;

  /// The doorbell call, if created with `hooked`.
  const Process::DoorbellHook& hook() const { return hook_; }

  /// Requests time stamps in the signals of AQL packets.
  void record_times() { pointers_.at<uint32_t>(0xb4).fetch_or(8); }

  /// Submits an AQL barrier-AND packet; `completion` 0: no signal.
  void barrier(std::initializer_list<uint64_t> after, uint64_t completion, bool in_order = true) {
    constexpr uint16_t kBarrierAnd = 3, kInOrder = 1 << 8;
    while (next_ - pointers_.at<uint64_t>(0x80).load(std::memory_order_acquire) >= kPackets) {
      std::this_thread::yield();
    }
    std::byte* const packet = ring_.host + next_ % kPackets * 64;
    std::memset(packet + 2, 0, 62);
    size_t at = 8;
    for (const uint64_t handle : after) std::memcpy(packet + at, &handle, 8), at += 8;
    std::memcpy(packet + 56, &completion, 8);
    reinterpret_cast<std::atomic<uint16_t>*>(packet)->store(
        static_cast<uint16_t>(kBarrierAnd | (in_order ? kInOrder : 0)), std::memory_order_release);
    ring(next_++);
  }

  /// Copies with packets of at most 4 MiB, then decrements the signal.
  void copy(uint64_t to, uint64_t from, uint64_t bytes, const ClientSignal& done) {
    constexpr uint64_t kMaxPacketBytes = 0x3fffe0;
    while (bytes > 0) {
      const uint64_t packet_bytes = std::min(bytes, kMaxPacketBytes);
      write_packet({1, static_cast<uint32_t>(packet_bytes - 1), 0, low(from), high(from), low(to), high(to)});
      from += packet_bytes;
      to += packet_bytes;
      bytes -= packet_bytes;
    }
    constexpr uint32_t kAtomicAdd64 = 10 | 47u << 25;
    write_packet({kAtomicAdd64, low(done.value_va()), high(done.value_va()), ~0u, ~0u, 0, 0, 0});
    pointers_.at<uint64_t>(0x38).store(next_, std::memory_order_release);
    ring(next_);
  }

 private:
  static uint32_t low(uint64_t v) { return static_cast<uint32_t>(v); }
  static uint32_t high(uint64_t v) { return static_cast<uint32_t>(v >> 32); }

  void write_packet(std::initializer_list<uint32_t> words) {
    const uint64_t bytes = words.size() * 4;
    while (kBytes - next_ % kBytes < bytes) {  // packets do not wrap: zeros are NOPs
      wait_for_room(4);
      std::memset(ring_.host + next_ % kBytes, 0, 4);
      next_ += 4;
    }
    wait_for_room(bytes);
    std::memcpy(ring_.host + next_ % kBytes, words.begin(), bytes);
    next_ += bytes;
  }
  void wait_for_room(uint64_t bytes) {
    while (next_ + bytes - pointers_.at<uint64_t>(0x80).load(std::memory_order_acquire) >= kBytes) {
      std::this_thread::yield();
    }
  }
  void ring(uint64_t value) {
    if (hook_.ring != nullptr) {
      hook_.ring(hook_.context, value);
    } else {
      doorbell_->store(value, std::memory_order_release);
    }
  }

  Client& client_;
  Client::Memory ring_, pointers_, eop_, save_;
  uint32_t id_ = 0;
  std::atomic<uint64_t>* doorbell_ = nullptr;
  Process::DoorbellHook hook_{};
  uint64_t next_ = 0;
};

}  // namespace rigel::vgpu
