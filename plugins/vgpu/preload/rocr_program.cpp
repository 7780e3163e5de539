// A program for the system's HSA runtime (ROCr): uses a GPU without kernels, and checks all results.
//
//   rocr_program barriers|handlers|copies|rectangles|fault|gone|gone_signal|signals|bad_packet|queues|wait
//   [SEED]
//
// Exit status 0: success. Errors are printed.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using std::chrono::milliseconds;

void check(hsa_status_t status, const char* call) {
  if (status == HSA_STATUS_SUCCESS) return;
  const char* text = "?";
  hsa_status_string(status, &text);
  std::printf("%s: %s\n", call, text);
  std::fflush(stdout);
  std::_Exit(1);
}
#define CHECK(call) check(call, #call)

[[noreturn]] void fail(const std::string& message) {
  std::printf("%s\n", message.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

hsa_agent_t cpu{}, gpu{};
hsa_amd_memory_pool_t system_pool{}, vram{};

hsa_status_t find_agent(hsa_agent_t agent, void*) {
  hsa_device_type_t type;
  CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  hsa_agent_t& slot = type == HSA_DEVICE_TYPE_CPU ? cpu : gpu;
  if (slot.handle == 0) slot = agent;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t find_pool(hsa_amd_memory_pool_t pool, void* out) {
  hsa_amd_segment_t segment;
  CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
  auto* const slot = static_cast<hsa_amd_memory_pool_t*>(out);
  if (segment == HSA_AMD_SEGMENT_GLOBAL && slot->handle == 0) *slot = pool;
  return HSA_STATUS_SUCCESS;
}

void initialize() {
  CHECK(hsa_init());
  CHECK(hsa_iterate_agents(find_agent, nullptr));
  if (gpu.handle == 0) fail("there is no GPU");
  CHECK(hsa_amd_agent_iterate_memory_pools(cpu, find_pool, &system_pool));
  CHECK(hsa_amd_agent_iterate_memory_pools(gpu, find_pool, &vram));
}

hsa_signal_t new_signal(hsa_signal_value_t value) {
  hsa_signal_t signal;
  CHECK(hsa_signal_create(value, 0, nullptr, &signal));
  return signal;
}

constexpr uint64_t kSeconds = 30;

void wait_for(hsa_signal_t signal, const char* operation) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kSeconds);
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, 100'000'000, HSA_WAIT_STATE_BLOCKED) >
         0) {
    if (std::chrono::steady_clock::now() > end) fail(std::string(operation) + ": not done");
  }
}

void submit(hsa_queue_t* queue, const hsa_barrier_and_packet_t& packet, uint16_t type, bool barrier) {
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  auto* const slot = static_cast<hsa_barrier_and_packet_t*>(queue->base_address) + index % queue->size;
  std::memcpy(reinterpret_cast<char*>(slot) + 2, reinterpret_cast<const char*>(&packet) + 2,
              sizeof packet - 2);
  const auto header =
      static_cast<uint16_t>(type << HSA_PACKET_HEADER_TYPE | (barrier ? 1 : 0) << HSA_PACKET_HEADER_BARRIER |
                            HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_ACQUIRE_FENCE_SCOPE |
                            HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_RELEASE_FENCE_SCOPE);
  __atomic_store_n(&slot->header, header, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

// Barriers ------------------------------------------------------------------------------------------------

struct Node {
  std::vector<int> after;  // below 0: gate -1 - n; else an earlier node
  bool any = false;
  hsa_signal_t done{};
};

// A graph of barriers in several queues, held by gates that open one after the other. After each gate,
// exactly the expected barriers must be complete: queues are in order, and a barrier waits for its
// dependencies.
void run_barriers(unsigned seed, bool handlers) {
  constexpr int kQueues = 4, kNodes = 400, kGates = 8;
  std::mt19937 random(seed);
  const auto random_below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<hsa_queue_t*> queues(kQueues);
  for (auto& queue : queues) {
    CHECK(hsa_queue_create(gpu, 256, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue));
  }
  std::vector<hsa_signal_t> gates;
  for (int i = 0; i < kGates; ++i) gates.push_back(new_signal(1));
  std::vector<Node> nodes(kNodes);
  std::vector<std::vector<int>> order(kQueues);
  std::atomic<int> handled{0};
  for (int i = 0; i < kNodes; ++i) {
    Node& node = nodes[static_cast<size_t>(i)];
    node.done = new_signal(1);
    node.any = random_below(3) == 0;
    for (int n = random_below(6); n > 0; --n) {
      node.after.push_back(i == 0 || random_below(40) == 0 ? -1 - random_below(kGates)
                                                           : i - 1 - random_below(std::min(i, 60)));
    }
    if (i == random_below(kQueues)) node.after = {-1};
    if (handlers) {
      CHECK(hsa_amd_signal_async_handler(
          node.done, HSA_SIGNAL_CONDITION_LT, 1,
          [](hsa_signal_value_t, void* count) {
            static_cast<std::atomic<int>*>(count)->fetch_add(1);
            return false;
          },
          &handled));
    }
    const int queue = random_below(kQueues);
    order[static_cast<size_t>(queue)].push_back(i);
    hsa_barrier_and_packet_t packet{};
    for (size_t k = 0; k < node.after.size(); ++k) {
      const int a = node.after[k];
      packet.dep_signal[k] = a < 0 ? gates[static_cast<size_t>(-1 - a)] : nodes[static_cast<size_t>(a)].done;
    }
    packet.completion_signal = node.done;
    submit(queues[static_cast<size_t>(queue)], packet,
           node.any ? HSA_PACKET_TYPE_BARRIER_OR : HSA_PACKET_TYPE_BARRIER_AND, random_below(2) == 0);
  }

  std::vector<bool> open(kGates, false), done(kNodes, false);
  std::vector<size_t> next(kQueues, 0);
  const auto satisfied = [&](const Node& node) {
    size_t met_count = 0;
    for (const int a : node.after)
      met_count += a < 0 ? open[static_cast<size_t>(-1 - a)] : done[static_cast<size_t>(a)];
    return node.after.empty() || (node.any ? met_count > 0 : met_count == node.after.size());
  };
  for (int step = 0; step <= kGates; ++step) {
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      for (size_t q = 0; q < kQueues; ++q) {
        while (next[q] < order[q].size() && satisfied(nodes[static_cast<size_t>(order[q][next[q]])])) {
          done[static_cast<size_t>(order[q][next[q]++])] = true;
          is_changed = true;
        }
      }
    }
    for (size_t i = 0; i < kNodes; ++i) {
      if (done[i]) wait_for(nodes[i].done, "a barrier whose dependencies are met");
    }
    // Time for barriers to complete wrongly.
    std::this_thread::sleep_for(milliseconds(2));
    for (size_t i = 0; i < kNodes; ++i) {
      const bool is_done = hsa_signal_load_scacquire(nodes[i].done) == 0;
      if (is_done != done[i]) fail("barrier " + std::to_string(i) + " did not wait for its dependencies");
    }
    if (step == kGates) break;
    const auto closed = [&] {
      size_t g = static_cast<size_t>(random_below(kGates));
      while (open[g]) g = (g + 1) % kGates;
      return g;
    }();
    open[closed] = true;
    hsa_signal_store_screlease(gates[closed], 0);
  }
  for (size_t i = 0; i < kNodes; ++i) {
    if (!done[i]) fail("with every gate open something still waits");
  }
  for (int i = 0; handlers && handled.load() != kNodes; ++i) {
    if (i == 10000) fail(std::to_string(handled.load()) + " handlers ran");
    std::this_thread::sleep_for(milliseconds(1));
  }
  for (hsa_queue_t* queue : queues) CHECK(hsa_queue_destroy(queue));
  for (Node& node : nodes) CHECK(hsa_signal_destroy(node.done));
  for (const hsa_signal_t gate : gates) CHECK(hsa_signal_destroy(gate));
}

// Copies --------------------------------------------------------------------------------------------------

template <class T>
T* allocate(hsa_amd_memory_pool_t pool, size_t bytes) {
  void* p = nullptr;
  CHECK(hsa_amd_memory_pool_allocate(pool, bytes, 0, &p));
  const hsa_agent_t agents[] = {cpu, gpu};
  hsa_amd_agents_allow_access(2, agents, nullptr, p);  // VRAM may be invisible to the CPU
  return static_cast<T*>(p);
}

// To the device and back, in pieces of many sizes and offsets; each copy back depends on its copy to the
// device.
void run_copies(unsigned seed) {
  constexpr size_t kBytes = 6 << 20;
  std::mt19937 random(seed);
  auto* const from = allocate<unsigned char>(system_pool, kBytes);
  auto* const back = allocate<unsigned char>(system_pool, kBytes);
  auto* const device = allocate<unsigned char>(vram, kBytes);
  for (size_t i = 0; i < kBytes; ++i) from[i] = static_cast<unsigned char>(random());
  std::memset(back, 0, kBytes);
  std::vector<hsa_signal_t> signals;
  for (size_t at = 0; at < kBytes;) {
    const size_t max_bytes = random() % 8 == 0 ? kBytes : random() % 3 == 0 ? 64 : 8192;
    const size_t bytes = std::min<size_t>(1 + random() % max_bytes, kBytes - at);
    const hsa_signal_t copied_to_device = new_signal(1), copied_back = new_signal(1);
    CHECK(hsa_amd_memory_async_copy(device + at, gpu, from + at, cpu, bytes, 0, nullptr, copied_to_device));
    hsa_signal_t after[2] = {copied_to_device, copied_to_device};
    uint32_t count = 1;
    if (!signals.empty() && random() % 2 == 0) after[count++] = signals[random() % signals.size()];
    CHECK(hsa_amd_memory_async_copy(back + at, cpu, device + at, gpu, bytes, count, after, copied_back));
    signals.push_back(copied_to_device);
    signals.push_back(copied_back);
    at += bytes;
  }
  for (const hsa_signal_t signal : signals) {
    wait_for(signal, "a copy");
    if (hsa_signal_load_relaxed(signal) != 0) fail("a copy failed");
    CHECK(hsa_signal_destroy(signal));
  }
  if (std::memcmp(from, back, kBytes) != 0) fail("the data is not the same");
  CHECK(hsa_amd_memory_pool_free(from));
  CHECK(hsa_amd_memory_pool_free(back));
  CHECK(hsa_amd_memory_pool_free(device));
}

void run_rectangles(unsigned seed) {
  constexpr uint32_t kPitch = 256, kRows = 96, kLayers = 3, kLayer = kPitch * kRows;
  std::mt19937 random(seed);
  const auto random_below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  auto* const from = allocate<unsigned char>(system_pool, kLayer * kLayers);
  auto* const back = allocate<unsigned char>(system_pool, kLayer * kLayers);
  auto* const device = allocate<unsigned char>(vram, kLayer * kLayers);
  for (uint32_t i = 0; i < kLayer * kLayers; ++i) from[i] = static_cast<unsigned char>(random());
  for (int round = 0; round < 40; ++round) {
    std::memset(back, 0, kLayer * kLayers);
    const hsa_dim3_t at{random_below(64) * 4, random_below(48), random_below(2)};
    const hsa_dim3_t size{(1 + random_below(kPitch / 4 - at.x / 4)) * 4, 1 + random_below(kRows - at.y),
                          1 + random_below(kLayers - at.z)};
    const hsa_pitched_ptr_t host{from, kPitch, kLayer}, copied_to_device{device, kPitch, kLayer},
        copied_back{back, kPitch, kLayer};
    const hsa_signal_t first = new_signal(1), second = new_signal(1);
    CHECK(hsa_amd_memory_async_copy_rect(&copied_to_device, &at, &host, &at, &size, gpu, hsaHostToDevice, 0,
                                         nullptr, first));
    CHECK(hsa_amd_memory_async_copy_rect(&copied_back, &at, &copied_to_device, &at, &size, gpu,
                                         hsaDeviceToHost, 1, &first, second));
    wait_for(second, "a rectangle");
    CHECK(hsa_signal_destroy(first));
    CHECK(hsa_signal_destroy(second));
    for (uint32_t z = 0; z < kLayers; ++z) {
      for (uint32_t y = 0; y < kRows; ++y) {
        for (uint32_t x = 0; x < kPitch; ++x) {
          const bool inside = x >= at.x && x < at.x + size.x && y >= at.y && y < at.y + size.y && z >= at.z &&
                              z < at.z + size.z;
          const uint32_t i = z * kLayer + y * kPitch + x;
          if (back[i] != (inside ? from[i] : 0)) fail("a rectangle is not what was copied");
        }
      }
    }
  }
}

// Errors --------------------------------------------------------------------------------------------------

constexpr uint64_t kUnmappedAddress = 0x123456789000;
std::atomic<uint64_t> fault_address{0};
std::atomic<uint32_t> fault_reason{0};

void expect_faults() {
  CHECK(hsa_amd_register_system_event_handler(
      [](const hsa_amd_event_t* event, void*) {
        if (event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT) {
          fault_reason = event->memory_fault.fault_reason_mask;
          fault_address = event->memory_fault.virtual_address;
        }
        return HSA_STATUS_SUCCESS;
      },
      nullptr));
}

void wait_for_fault(uint64_t first, uint64_t last) {
  for (int i = 0; fault_address.load() == 0; ++i) {
    if (i == 10000) fail("no fault was reported");
    std::this_thread::sleep_for(milliseconds(1));
  }
  if (fault_address.load() < first || fault_address.load() > last) fail("the fault is at another address");
  if ((fault_reason.load() & HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT) == 0) fail("for another reason");
}

void run_fault() {
  expect_faults();
  hsa_queue_t* queue = nullptr;
  CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue));
  hsa_barrier_and_packet_t packet{};
  packet.dep_signal[0].handle = kUnmappedAddress;
  submit(queue, packet, HSA_PACKET_TYPE_BARRIER_AND, false);
  wait_for_fault(kUnmappedAddress, kUnmappedAddress);
  std::fflush(stdout);
  std::_Exit(0);  // a process cannot be shut down after a fault
}

// Memory that was mapped on a GPU and that free() has unmapped, which the driver does not notice.
void run_freed_memory(bool copy) {
  constexpr size_t kBytes = 8 << 20;
  expect_faults();
  hsa_queue_t *queue = nullptr, *other = nullptr;
  CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue));
  CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &other));
  auto* const host_memory = static_cast<unsigned char*>(std::malloc(kBytes));
  std::memset(host_memory, 1, kBytes);
  auto* const device = allocate<unsigned char>(vram, kBytes);
  // All of the runtime's mappings are created first, so that none reuses the address.
  const hsa_signal_t ready = new_signal(1);
  CHECK(hsa_amd_memory_async_copy(device, gpu, allocate<unsigned char>(system_pool, kBytes), cpu, kBytes, 0,
                                  nullptr, ready));
  wait_for(ready, "a copy");
  void* locked = nullptr;
  CHECK(hsa_amd_memory_lock(host_memory, kBytes, &gpu, 1, &locked));
  const uint64_t va = reinterpret_cast<uint64_t>(locked) & ~uint64_t{4095};
  std::free(host_memory);
  if (copy) {
    CHECK(hsa_amd_memory_async_copy(device, gpu, locked, cpu, kBytes / 2, 0, nullptr, new_signal(1)));
  } else {
    hsa_barrier_and_packet_t packet{};
    packet.dep_signal[0].handle = (va + kBytes / 2) & ~uint64_t{63};
    submit(queue, packet, HSA_PACKET_TYPE_BARRIER_AND, false);
  }
  wait_for_fault(va, va + kBytes);
  hsa_barrier_and_packet_t packet{};
  packet.completion_signal = new_signal(1);
  submit(other, packet, HSA_PACKET_TYPE_BARRIER_AND, false);
  wait_for(packet.completion_signal, "a barrier on another queue");
  std::fflush(stdout);
  std::_Exit(0);  // a process cannot be shut down after a fault
}

// A queue with an invalid packet stops with an error; other queues continue.
void run_bad_packet() {
  std::atomic<int> error{0};
  hsa_queue_t *bad = nullptr, *good = nullptr;
  const auto note = [](hsa_status_t status, hsa_queue_t*, void* out) {
    static_cast<std::atomic<int>*>(out)->store(static_cast<int>(status));
  };
  CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, note, &error, UINT32_MAX, UINT32_MAX, &bad));
  CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &good));
  constexpr uint16_t kInvalidType = 77;
  submit(bad, {}, kInvalidType, false);
  for (int i = 0; error.load() == 0; ++i) {
    if (i == 10000) fail("no error was reported");
    std::this_thread::sleep_for(milliseconds(1));
  }
  if (error.load() != HSA_STATUS_ERROR_INVALID_PACKET_FORMAT)
    fail("another error: " + std::to_string(error.load()));
  hsa_barrier_and_packet_t packet{};
  packet.completion_signal = new_signal(1);
  submit(good, packet, HSA_PACKET_TYPE_BARRIER_AND, false);
  wait_for(packet.completion_signal, "a barrier on another queue");
  CHECK(hsa_queue_destroy(good));
  CHECK(hsa_queue_destroy(bad));
}

// A program with a SIGSEGV handler that blocks all signals while it rings doorbells.
sigjmp_buf jump_target;
void* volatile fault_seen = nullptr;

void run_signals() {
  struct sigaction action {
  }, installed{};
  action.sa_sigaction = [](int, siginfo_t* info, void*) {
    fault_seen = info->si_addr;
    siglongjmp(jump_target, 1);
  };
  action.sa_flags = SA_SIGINFO;
  hsa_queue_t* queue = nullptr;
  CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue));
  if (sigaction(SIGSEGV, &action, nullptr) != 0) fail("no handler");
  if (sigaction(SIGSEGV, nullptr, &installed) != 0 || installed.sa_sigaction != action.sa_sigaction) {
    fail("the handler is another");
  }
  auto* const page = static_cast<char*>(mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  sigset_t all, before;
  sigfillset(&all);
  for (int i = 0; i < 10; ++i) {
    // The engine falls asleep in between.
    std::this_thread::sleep_for(milliseconds(5));
    pthread_sigmask(SIG_BLOCK, &all, &before);
    hsa_barrier_and_packet_t packet{};
    packet.completion_signal = new_signal(1);
    submit(queue, packet, HSA_PACKET_TYPE_BARRIER_AND, false);
    wait_for(packet.completion_signal, "a barrier");
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    fault_seen = nullptr;
    if (sigsetjmp(jump_target, 1) == 0) *static_cast<volatile char*>(page + i) = 1;
    if (fault_seen != page + i) fail("its own fault is not what the program saw");
    CHECK(hsa_signal_destroy(packet.completion_signal));
  }
  CHECK(hsa_queue_destroy(queue));
}

// Creates and destroys queues. hsa_queue_destroy waits for an event that a thread of ROCr waits for as well:
// see Latecomers in plugins/vgpu/kfd/events.hpp.
void run_queues() {
  for (int i = 0; i < 200; ++i) {
    hsa_queue_t* queue = nullptr;
    CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue));
    CHECK(hsa_queue_destroy(queue));
  }
}

// Uses all kinds of objects, prints a line, and waits until it is killed.
void run_wait() {
  hsa_queue_t* queue = nullptr;
  CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue));
  run_copies(1);
  hsa_barrier_and_packet_t packet{};
  packet.dep_signal[0] = new_signal(1);
  packet.completion_signal = new_signal(1);
  submit(queue, packet, HSA_PACKET_TYPE_BARRIER_AND, false);
  std::printf("waiting\n");
  std::fflush(stdout);
  for (;;) std::this_thread::sleep_for(milliseconds(1000));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string test = argc > 1 ? argv[1] : "";
  const unsigned seed = argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 0)) : 1;
  initialize();
  if (test == "barriers") {
    run_barriers(seed, false);
  } else if (test == "handlers") {
    run_barriers(seed, true);
  } else if (test == "copies") {
    run_copies(seed);
  } else if (test == "rectangles") {
    run_rectangles(seed);
  } else if (test == "fault") {
    run_fault();
  } else if (test == "gone") {
    run_freed_memory(true);
  } else if (test == "gone_signal") {
    run_freed_memory(false);
  } else if (test == "signals") {
    run_signals();
  } else if (test == "bad_packet") {
    run_bad_packet();
  } else if (test == "queues") {
    run_queues();
  } else if (test == "wait") {
    run_wait();
  } else {
    fail("what?");
  }
  CHECK(hsa_shut_down());
  return 0;
}
