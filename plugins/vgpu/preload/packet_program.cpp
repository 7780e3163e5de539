// A program that uses the GPU without a runtime, like tinygrad's AMD backend: amdkfd's ioctls, PM4 and SDMA
// on gfx10.3. Order of calls, sizes and packets are those of tinygrad 0.10.2 (KFDIface, AMDComputeQueue and
// AMDCopyQueue in tinygrad/runtime/ops_amd.py).
#include <array>
#include <initializer_list>
#include <map>
#include <span>

#include "driver_program.hpp"

namespace {

using namespace driver_program;

std::map<std::string, uint64_t> properties_of_gpu() {
  std::map<std::string, uint64_t> properties;
  std::ifstream file("/sys/devices/virtual/kfd/kfd/topology/nodes/1/properties");
  for (std::string name; file >> name;) file >> properties[name];
  return properties;
}

uint32_t low(uint64_t value) {
  return static_cast<uint32_t>(value);
}
uint32_t high(uint64_t value) {
  return static_cast<uint32_t>(value >> 32);
}

struct Buffer {
  std::byte* memory;
  uint64_t bytes, handle;
  uint64_t va() const { return reinterpret_cast<uint64_t>(memory); }
  uint32_t* words() const { return reinterpret_cast<uint32_t*>(memory); }
};

struct Queue {
  Buffer ring;
  std::atomic<uint64_t>*read, *write, *doorbell;
  uint64_t end = 0;  // write index, in units of the doorbell
};

class Device {
 public:
  Device() {
    kfd_ = open("/dev/kfd", O_RDWR);
    properties_ = properties_of_gpu();
    std::ifstream("/sys/devices/virtual/kfd/kfd/topology/nodes/1/gpu_id") >> gpu_;
    render_ = open(("/dev/dri/renderD" + std::to_string(properties_["drm_render_minor"])).c_str(), O_RDWR);
    EXPECT(kfd_ >= 0 && render_ >= 0 && gpu_ != 0);
    kfd_get_version version{};
    EXPECT(call(kfd_, KFD_NR_GET_VERSION, version) == 0);
    kfd_acquire_vm acquire{static_cast<uint32_t>(render_), gpu_};
    EXPECT(call(kfd_, KFD_NR_ACQUIRE_VM, acquire) == 0);
    if (version.minor >= 14) {
      kfd_runtime_enable enable{};
      EXPECT(call(kfd_, KFD_NR_RUNTIME_ENABLE, enable) == 0);
    }
    const Buffer page = allocate(0x8000, KFD_MEM_GTT | kUncached);
    kfd_create_event page_event{};
    page_event.event_page_offset = page.handle;
    EXPECT(call(kfd_, KFD_NR_CREATE_EVENT, page_event) == 0);
    kfd_create_event event{};
    event.auto_reset = 1;
    EXPECT(call(kfd_, KFD_NR_CREATE_EVENT, event) == 0);
    event_ = event.event_id;
    mailbox_ = page.va() + event.event_slot_index * 8;
    for (const uint32_t type : {8u, 3u}) {  // memory faults, hardware exceptions
      kfd_create_event fault{};
      fault.event_type = type;
      EXPECT(call(kfd_, KFD_NR_CREATE_EVENT, fault) == 0);
    }
    compute_ = make_queue(KFD_QUEUE_PM4);
    copy_ = make_queue(KFD_QUEUE_SDMA);
  }

  static constexpr uint32_t kUncached = KFD_MEM_COHERENT | KFD_MEM_UNCACHED | KFD_MEM_PUBLIC;

  Buffer allocate(uint64_t bytes, uint32_t flags) {
    flags |= KFD_MEM_WRITABLE | KFD_MEM_EXECUTABLE | KFD_MEM_NO_SUBSTITUTE;
    const bool is_userptr = (flags & KFD_MEM_USERPTR) != 0;
    void* const at =
        is_userptr ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
                   : mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT(at != MAP_FAILED);
    const auto va = reinterpret_cast<uint64_t>(at);
    kfd_alloc_memory a{va, bytes, 0, is_userptr ? va : 0, gpu_, flags};
    EXPECT(call(kfd_, KFD_NR_ALLOC_MEMORY, a) == 0);
    if (!is_userptr) {
      EXPECT(mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, render_,
                  static_cast<off_t>(a.mmap_offset)) == at);
    }
    kfd_map_memory m{a.handle, reinterpret_cast<uint64_t>(&gpu_), 1, 0};
    EXPECT(call(kfd_, KFD_NR_MAP_MEMORY, m) == 0 && m.n_success == 1);
    return {static_cast<std::byte*>(at), bytes, a.handle};
  }

  uint32_t event() const { return event_; }
  uint64_t mailbox() const { return mailbox_; }

  // The write index is in dwords for compute queues, and in bytes for copy queues.
  void submit_compute(std::span<const uint32_t> words) {
    write_words(compute_, words, compute_.end);
    compute_.end += words.size();
    ring(compute_);
  }
  void submit_copy(std::span<const uint32_t> words) {
    write_words(copy_, words, copy_.end / 4);
    copy_.end += words.size() * 4;
    ring(copy_);
  }

  // Sleeps until the queue's event is set, or for 200 ms.
  void sleep() {
    kfd_event_data event{};
    event.event_id = event_;
    kfd_wait_events wait{reinterpret_cast<uint64_t>(&event), 1, 0, 200, 0};
    EXPECT(call(kfd_, KFD_NR_WAIT_EVENTS, wait) == 0);
  }

 private:
  Queue make_queue(uint32_t type) {
    constexpr uint32_t kRing = 0x800000;
    const Buffer ring = allocate(kRing, KFD_MEM_GTT | kUncached),
                 pointers = allocate(0x1000, KFD_MEM_GTT | kUncached);
    kfd_create_queue a{};
    a.ring_base_address = ring.va();
    a.ring_size = kRing;
    a.write_pointer_address = pointers.va();
    a.read_pointer_address = pointers.va() + 8;
    a.gpu_id = gpu_;
    a.queue_type = type;
    a.queue_percentage = 100;
    a.queue_priority = 7;
    if (type == KFD_QUEUE_PM4) {
      const auto round_up = [](uint64_t n, uint64_t to) { return (n + to - 1) / to * to; };
      const uint64_t units = properties_["simd_count"] / properties_["simd_per_cu"];
      const uint64_t waves = units * properties_["max_waves_per_simd"] * properties_["simd_per_cu"];
      // Sizes for all waves; gfx10's limit of 0x7000 is ignored.
      const uint64_t control = round_up(12 * waves + 48, 4096);
      const uint64_t state = round_up((0x40000 + 0x4000 + 0x10000 + 0x1000) * units, 4096);
      a.ctl_stack_size = static_cast<uint32_t>(control);
      a.ctx_save_restore_size = static_cast<uint32_t>(state + control);
      a.ctx_save_restore_address =
          allocate(round_up(state + control + round_up(waves * 32, 64), 4096), KFD_MEM_VRAM).va();
      a.eop_buffer_size = 0x1000;
      a.eop_buffer_address = allocate(0x1000, KFD_MEM_VRAM).va();
    }
    EXPECT(call(kfd_, KFD_NR_CREATE_QUEUE, a) == 0);
    constexpr uint64_t kDoorbells = 0x2000;
    if (doorbells_ == nullptr) {
      void* const mapped = mmap(nullptr, kDoorbells, PROT_READ | PROT_WRITE, MAP_SHARED, kfd_,
                                static_cast<off_t>(a.doorbell_offset & ~(kDoorbells - 1)));
      EXPECT(mapped != MAP_FAILED);
      doorbells_ = static_cast<std::byte*>(mapped);
    }
    const auto at = [](std::byte* place) { return reinterpret_cast<std::atomic<uint64_t>*>(place); };
    return {ring, at(pointers.memory + 8), at(pointers.memory),
            at(doorbells_ + a.doorbell_offset % kDoorbells)};
  }
  static void write_words(const Queue& queue, std::span<const uint32_t> words, uint64_t dword) {
    for (const uint32_t word : words) queue.ring.words()[dword++ % (queue.ring.bytes / 4)] = word;
  }
  static void ring(const Queue& queue) {
    queue.write->store(queue.end);
    queue.doorbell->store(queue.end);
  }

  int kfd_ = -1, render_ = -1;
  uint32_t gpu_ = 0, event_ = 0;
  uint64_t mailbox_ = 0;
  std::byte* doorbells_ = nullptr;
  std::map<std::string, uint64_t> properties_;
  Queue compute_, copy_;
};

// PM4 of gfx10.3 -----------------------------------------------------------------------------------------

constexpr uint32_t kAll = ~0u, kNotLess = 5;

class Packets {
 public:
  std::vector<uint32_t> words;

  void packet(uint32_t opcode, std::initializer_list<uint32_t> body) {
    words.push_back(3u << 30 | static_cast<uint32_t>(body.size() - 1) << 16 | opcode << 8);
    words.insert(words.end(), body);
  }
  void set(uint32_t address, std::initializer_list<uint32_t> values) {
    std::vector<uint32_t> body{address - 0x2c00};
    body.insert(body.end(), values);
    words.push_back(3u << 30 | static_cast<uint32_t>(body.size() - 1) << 16 | 0x76 << 8);
    words.insert(words.end(), body.begin(), body.end());
  }
  void acquire_memory() { packet(0x58, {0, kAll, kAll, 0, 0, 0, 0x3ffc0}); }
  void release_memory(uint64_t va, uint64_t value, uint32_t data, uint32_t interrupt, uint32_t context = 0) {
    packet(0x49, {0x14 | 5 << 8 | 0x38f << 12, data << 29 | interrupt << 24, low(va), high(va), low(value),
                  high(value), context});
  }
  // Flushes the host's writes: writes a register, and waits for another.
  void memory_barrier() {
    packet(0x3c, {kNotLess | 1 << 6, 0xe26, 0xe27, kAll, kAll, 4});
    acquire_memory();
  }
  void wait(uint64_t va, uint32_t value) {
    packet(0x3c, {kNotLess | 1 << 4, low(va), high(va), value, kAll, 4});
  }
  void execute(uint64_t code, uint64_t arguments, uint32_t groups) {
    acquire_memory();
    set(0x2e0c, {low(code >> 8), high(code >> 8)});
    constexpr uint32_t kRsrc1 = 0x60000000, kRsrc2 = 2 << 1 | 1 << 7;  // two user registers, work-group id
    set(0x2e12, {kRsrc1, kRsrc2});
    set(0x2e28, {0});
    set(0x2e18, {0});
    set(0x32db, {0x20});  // CP_COHER_START_DELAY, outside of the packet's range
    set(0x2e1b, {0, 0, 0, 0});
    set(0x2e16, {kAll, kAll});
    set(0x2e19, {kAll, kAll});
    set(0x2e40, {low(arguments), high(arguments)});
    set(0x2e04, {0, 0, 0, 32, 1, 1, 0, 0});
    set(0x2e15, {0});
    packet(0x15, {groups, 1, 1, 1 | 1 << 2 | 1 << 15});
    packet(0x46, {7 | 4 << 8});
  }
  void signal(const Device& device, uint64_t va, uint32_t value) {
    release_memory(va, value, 1, 2);
    release_memory(device.mailbox(), device.event(), 1, 2, device.event());
  }
  void timestamp(uint64_t va) { release_memory(va, 0, 3, 0); }
};

// Work-item i: to[i] = from[i] + 1.
constexpr uint32_t kCode[] = {
    0xf4080100, 0xfa000000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0xd7460000, 0x04010a02,  // v_lshl_add_u32 v0, s2, 5, v0
    0x34000082,              // v_lshlrev_b32_e32 v0, 2, v0
    0xbf8cc07f,              // s_waitcnt lgkmcnt(0)
    0xdc308000, 0x01040000,  // global_load_dword v1, v0, s[4:5]
    0xbf8c3f70,              // s_waitcnt vmcnt(0)
    0x4a020281,              // v_add_nc_u32_e32 v1, 1, v1
    0xdc708000, 0x00060100,  // global_store_dword v0, v1, s[6:7]
    0xbf810000,              // s_endpgm
};

std::vector<uint32_t> copy_words(const Device& device, uint64_t to, uint64_t from, uint32_t bytes,
                                 uint64_t signal, uint32_t wait_for, uint32_t value, uint64_t timestamp) {
  return {
      8 | kNotLess << 28 | 1u << 31,
      low(signal),
      high(signal),
      wait_for,
      kAll,
      4 | 0xfff << 16,  // POLL_REGMEM
      13 | 2 << 8,
      low(timestamp),
      high(timestamp),  // TIMESTAMP_GET_GLOBAL
      1,
      bytes - 1,
      0,
      low(from),
      high(from),
      low(to),
      high(to),  // COPY_LINEAR
      5 | 3 << 16,
      low(signal),
      high(signal),
      value,  // FENCE
      5 | 3 << 16,
      low(device.mailbox()),
      high(device.mailbox()),
      device.event(),  // FENCE
      6,
      device.event(),  // TRAP
  };
}

}  // namespace

int main() {
  Device device;
  constexpr uint32_t kGroups = 64, kBytes = kGroups * 32 * 4;
  const Buffer signals = device.allocate(16 * 65536, KFD_MEM_USERPTR | Device::kUncached);
  const Buffer staging = device.allocate(kBytes, KFD_MEM_USERPTR | KFD_MEM_PUBLIC);
  const Buffer from = device.allocate(kBytes, KFD_MEM_VRAM), to = device.allocate(kBytes, KFD_MEM_VRAM);
  const Buffer program = device.allocate(0x1000, KFD_MEM_VRAM | KFD_MEM_PUBLIC);
  const Buffer arguments = device.allocate(0x1000, KFD_MEM_VRAM | KFD_MEM_PUBLIC);
  std::memcpy(program.memory, kCode, sizeof kCode);
  const uint64_t pointers[] = {from.va(), to.va()};
  std::memcpy(arguments.memory, pointers, sizeof pointers);
  auto& timeline = *reinterpret_cast<std::atomic<uint32_t>*>(signals.memory);
  auto* const timestamps = reinterpret_cast<volatile uint64_t*>(signals.memory + 16);
  const auto timestamp_va = [&](int i) { return signals.va() + 16 + static_cast<uint64_t>(i) * 8; };
  const auto wait_for_timeline = [&](uint32_t value) {
    for (int i = 0; timeline.load() < value; ++i) {
      EXPECT(i < 100);
      device.sleep();
    }
  };
  uint32_t timeline_value = 0;
  for (uint32_t round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < kBytes / 4; ++i) staging.words()[i] = i * 7 + round;
    device.submit_copy(copy_words(device, from.va(), staging.va(), kBytes, signals.va(), timeline_value,
                                  timeline_value + 1, timestamp_va(0)));
    ++timeline_value;
    Packets packets;
    packets.wait(signals.va(), timeline_value);
    packets.memory_barrier();
    packets.timestamp(timestamp_va(1));
    packets.execute(program.va(), arguments.va(), kGroups);
    packets.timestamp(timestamp_va(2));
    packets.signal(device, signals.va(), ++timeline_value);
    // First from the ring, then from an indirect buffer.
    if (round == 0) {
      device.submit_compute(packets.words);
    } else {
      const Buffer page = device.allocate(0x1000, KFD_MEM_GTT | Device::kUncached);
      EXPECT(packets.words.size() * 4 <= page.bytes);
      std::memcpy(page.memory, packets.words.data(), packets.words.size() * 4);
      const uint32_t length = static_cast<uint32_t>(packets.words.size());
      device.submit_compute(std::array<uint32_t, 4>{3u << 30 | 2 << 16 | 0x3f << 8, low(page.va()),
                                                    high(page.va()), length | 1 << 23});
    }
    device.submit_copy(copy_words(device, staging.va(), to.va(), kBytes, signals.va(), timeline_value,
                                  timeline_value + 1, timestamp_va(3)));
    wait_for_timeline(++timeline_value);
    for (uint32_t i = 0; i < kBytes / 4; ++i) EXPECT(staging.words()[i] == i * 7 + round + 1);
    for (int i = 0; i < 3; ++i) EXPECT(timestamps[i] != 0 && timestamps[i] <= timestamps[i + 1]);
  }
  std::puts("right");
}
