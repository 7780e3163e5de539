// A program for the HSA runtime that the system has (ROCr), which knows nothing of the virtual GPU: what it
// can do on a GPU without running a kernel, with everything checked.
//
//   rocr_program barriers|handlers|copies|rectangles|fault|gone|gone_signal|signals|bad_packet|queues|wait
//   [SEED]
//
// Exit status 0: all was as it should be. What was not is printed.
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

void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS) return;
  const char* text = "?";
  hsa_status_string(status, &text);
  std::printf("%s: %s\n", what, text);
  std::fflush(stdout);
  std::_Exit(1);
}
#define CHECK(call) check(call, #call)

[[noreturn]] void fail(const std::string& what) {
  std::printf("%s\n", what.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

hsa_agent_t cpu{}, gpu{};
hsa_amd_memory_pool_t system_pool{}, vram{};

hsa_status_t note_agent(hsa_agent_t agent, void*) {
  hsa_device_type_t type;
  CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  hsa_agent_t& slot = type == HSA_DEVICE_TYPE_CPU ? cpu : gpu;
  if (slot.handle == 0) slot = agent;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t note_pool(hsa_amd_memory_pool_t pool, void* out) {
  hsa_amd_segment_t segment;
  CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
  auto* const slot = static_cast<hsa_amd_memory_pool_t*>(out);
  if (segment == HSA_AMD_SEGMENT_GLOBAL && slot->handle == 0) *slot = pool;
  return HSA_STATUS_SUCCESS;
}

void start() {
  CHECK(hsa_init());
  CHECK(hsa_iterate_agents(note_agent, nullptr));
  if (gpu.handle == 0) fail("there is no GPU");
  CHECK(hsa_amd_agent_iterate_memory_pools(cpu, note_pool, &system_pool));
  CHECK(hsa_amd_agent_iterate_memory_pools(gpu, note_pool, &vram));
}

hsa_signal_t new_signal(hsa_signal_value_t value) {
  hsa_signal_t signal;
  CHECK(hsa_signal_create(value, 0, nullptr, &signal));
  return signal;
}

constexpr uint64_t kSeconds = 30;

void await(hsa_signal_t signal, const char* what) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kSeconds);
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, 100'000'000, HSA_WAIT_STATE_BLOCKED) >
         0) {
    if (std::chrono::steady_clock::now() > end) fail(std::string(what) + ": not done");
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
  std::vector<int> after;  // below 0: gate -1 - n; else a node before this one
  bool any = false;
  hsa_signal_t done{};
};

// A graph of barriers over several queues, held up by gates that are opened one after the other. After each,
// exactly what can be done is done: queues are worked off in order, a barrier waits for its dependencies.
void run_barriers(unsigned seed, bool handlers) {
  constexpr int kQueues = 4, kNodes = 400, kGates = 8;
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
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
    node.any = below(3) == 0;
    for (int n = below(6); n > 0; --n) {
      node.after.push_back(i == 0 || below(40) == 0 ? -1 - below(kGates) : i - 1 - below(std::min(i, 60)));
    }
    if (i == below(kQueues)) node.after = {-1};
    if (handlers) {
      CHECK(hsa_amd_signal_async_handler(
          node.done, HSA_SIGNAL_CONDITION_LT, 1,
          [](hsa_signal_value_t, void* count) {
            static_cast<std::atomic<int>*>(count)->fetch_add(1);
            return false;
          },
          &handled));
    }
    const int queue = below(kQueues);
    order[static_cast<size_t>(queue)].push_back(i);
    hsa_barrier_and_packet_t packet{};
    for (size_t k = 0; k < node.after.size(); ++k) {
      const int a = node.after[k];
      packet.dep_signal[k] = a < 0 ? gates[static_cast<size_t>(-1 - a)] : nodes[static_cast<size_t>(a)].done;
    }
    packet.completion_signal = node.done;
    submit(queues[static_cast<size_t>(queue)], packet,
           node.any ? HSA_PACKET_TYPE_BARRIER_OR : HSA_PACKET_TYPE_BARRIER_AND, below(2) == 0);
  }

  std::vector<bool> open(kGates, false), done(kNodes, false);
  std::vector<size_t> next(kQueues, 0);
  const auto satisfied = [&](const Node& node) {
    size_t met = 0;
    for (const int a : node.after)
      met += a < 0 ? open[static_cast<size_t>(-1 - a)] : done[static_cast<size_t>(a)];
    return node.after.empty() || (node.any ? met > 0 : met == node.after.size());
  };
  for (int step = 0; step <= kGates; ++step) {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t q = 0; q < kQueues; ++q) {
        while (next[q] < order[q].size() && satisfied(nodes[static_cast<size_t>(order[q][next[q]])])) {
          done[static_cast<size_t>(order[q][next[q]++])] = true;
          moved = true;
        }
      }
    }
    for (size_t i = 0; i < kNodes; ++i) {
      if (done[i]) await(nodes[i].done, "a barrier whose dependencies are met");
    }
    // Time for barriers to be done wrongly.
    std::this_thread::sleep_for(milliseconds(2));
    for (size_t i = 0; i < kNodes; ++i) {
      const bool is_done = hsa_signal_load_scacquire(nodes[i].done) == 0;
      if (is_done != done[i]) fail("barrier " + std::to_string(i) + " did not wait for its dependencies");
    }
    if (step == kGates) break;
    const auto closed = [&] {
      size_t g = static_cast<size_t>(below(kGates));
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
  hsa_amd_agents_allow_access(2, agents, nullptr, p);  // VRAM may not be visible to the CPU
  return static_cast<T*>(p);
}

// There and back again, in pieces of every size at every offset, each copy after those before it.
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
    const size_t most = random() % 8 == 0 ? kBytes : random() % 3 == 0 ? 64 : 8192;
    const size_t bytes = std::min<size_t>(1 + random() % most, kBytes - at);
    const hsa_signal_t there = new_signal(1), again = new_signal(1);
    CHECK(hsa_amd_memory_async_copy(device + at, gpu, from + at, cpu, bytes, 0, nullptr, there));
    hsa_signal_t after[2] = {there, there};
    uint32_t count = 1;
    if (!signals.empty() && random() % 2 == 0) after[count++] = signals[random() % signals.size()];
    CHECK(hsa_amd_memory_async_copy(back + at, cpu, device + at, gpu, bytes, count, after, again));
    signals.push_back(there);
    signals.push_back(again);
    at += bytes;
  }
  for (const hsa_signal_t signal : signals) {
    await(signal, "a copy");
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
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  auto* const from = allocate<unsigned char>(system_pool, kLayer * kLayers);
  auto* const back = allocate<unsigned char>(system_pool, kLayer * kLayers);
  auto* const device = allocate<unsigned char>(vram, kLayer * kLayers);
  for (uint32_t i = 0; i < kLayer * kLayers; ++i) from[i] = static_cast<unsigned char>(random());
  for (int round = 0; round < 40; ++round) {
    std::memset(back, 0, kLayer * kLayers);
    const hsa_dim3_t at{below(64) * 4, below(48), below(2)};
    const hsa_dim3_t size{(1 + below(kPitch / 4 - at.x / 4)) * 4, 1 + below(kRows - at.y),
                          1 + below(kLayers - at.z)};
    const hsa_pitched_ptr_t host{from, kPitch, kLayer}, there{device, kPitch, kLayer},
        again{back, kPitch, kLayer};
    const hsa_signal_t first = new_signal(1), second = new_signal(1);
    CHECK(hsa_amd_memory_async_copy_rect(&there, &at, &host, &at, &size, gpu, hsaHostToDevice, 0, nullptr,
                                         first));
    CHECK(hsa_amd_memory_async_copy_rect(&again, &at, &there, &at, &size, gpu, hsaDeviceToHost, 1, &first,
                                         second));
    await(second, "a rectangle");
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

constexpr uint64_t kNowhere = 0x123456789000;
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

void await_fault(uint64_t first, uint64_t last) {
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
  packet.dep_signal[0].handle = kNowhere;
  submit(queue, packet, HSA_PACKET_TYPE_BARRIER_AND, false);
  await_fault(kNowhere, kNowhere);
  std::fflush(stdout);
  std::_Exit(0);  // a process after a fault is not one to shut down
}

// Memory that a GPU was given and that free() gives back to the system, which nobody is told of.
void run_gone(bool copy) {
  constexpr size_t kBytes = 8 << 20;
  expect_faults();
  hsa_queue_t *queue = nullptr, *other = nullptr;
  CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue));
  CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &other));
  auto* const mine = static_cast<unsigned char*>(std::malloc(kBytes));
  std::memset(mine, 1, kBytes);
  auto* const device = allocate<unsigned char>(vram, kBytes);
  // All that the runtime maps for itself is mapped before: nothing is to take the place.
  const hsa_signal_t ready = new_signal(1);
  CHECK(hsa_amd_memory_async_copy(device, gpu, allocate<unsigned char>(system_pool, kBytes), cpu, kBytes, 0,
                                  nullptr, ready));
  await(ready, "a copy");
  void* locked = nullptr;
  CHECK(hsa_amd_memory_lock(mine, kBytes, &gpu, 1, &locked));
  const uint64_t va = reinterpret_cast<uint64_t>(locked) & ~uint64_t{4095};
  std::free(mine);
  if (copy) {
    CHECK(hsa_amd_memory_async_copy(device, gpu, locked, cpu, kBytes / 2, 0, nullptr, new_signal(1)));
  } else {
    hsa_barrier_and_packet_t packet{};
    packet.dep_signal[0].handle = (va + kBytes / 2) & ~uint64_t{63};
    submit(queue, packet, HSA_PACKET_TYPE_BARRIER_AND, false);
  }
  await_fault(va, va + kBytes);
  hsa_barrier_and_packet_t packet{};
  packet.completion_signal = new_signal(1);
  submit(other, packet, HSA_PACKET_TYPE_BARRIER_AND, false);
  await(packet.completion_signal, "a barrier on another queue");
  std::fflush(stdout);
  std::_Exit(0);  // a process after a fault is not one to shut down
}

// A queue with a packet that is none ends with an error, and every other goes on.
void run_bad_packet() {
  std::atomic<int> error{0};
  hsa_queue_t *bad = nullptr, *good = nullptr;
  const auto note = [](hsa_status_t status, hsa_queue_t*, void* out) {
    static_cast<std::atomic<int>*>(out)->store(static_cast<int>(status));
  };
  CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, note, &error, UINT32_MAX, UINT32_MAX, &bad));
  CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &good));
  constexpr uint16_t kNoType = 77;
  submit(bad, {}, kNoType, false);
  for (int i = 0; error.load() == 0; ++i) {
    if (i == 10000) fail("no error was reported");
    std::this_thread::sleep_for(milliseconds(1));
  }
  if (error.load() != HSA_STATUS_ERROR_INVALID_PACKET_FORMAT)
    fail("another error: " + std::to_string(error.load()));
  hsa_barrier_and_packet_t packet{};
  packet.completion_signal = new_signal(1);
  submit(good, packet, HSA_PACKET_TYPE_BARRIER_AND, false);
  await(packet.completion_signal, "a barrier on another queue");
  CHECK(hsa_queue_destroy(good));
  CHECK(hsa_queue_destroy(bad));
}

// A program with a handler of SIGSEGV of its own, which blocks all signals where it rings doorbells.
sigjmp_buf way_out;
void* volatile own_fault = nullptr;

void run_signals() {
  struct sigaction action {
  }, now{};
  action.sa_sigaction = [](int, siginfo_t* info, void*) {
    own_fault = info->si_addr;
    siglongjmp(way_out, 1);
  };
  action.sa_flags = SA_SIGINFO;
  hsa_queue_t* queue = nullptr;
  CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue));
  if (sigaction(SIGSEGV, &action, nullptr) != 0) fail("no handler");
  if (sigaction(SIGSEGV, nullptr, &now) != 0 || now.sa_sigaction != action.sa_sigaction) {
    fail("the handler is another");
  }
  auto* const page = static_cast<char*>(mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  sigset_t all, before;
  sigfillset(&all);
  for (int i = 0; i < 10; ++i) {
    // The device falls asleep in between.
    std::this_thread::sleep_for(milliseconds(5));
    pthread_sigmask(SIG_BLOCK, &all, &before);
    hsa_barrier_and_packet_t packet{};
    packet.completion_signal = new_signal(1);
    submit(queue, packet, HSA_PACKET_TYPE_BARRIER_AND, false);
    await(packet.completion_signal, "a barrier");
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    own_fault = nullptr;
    if (sigsetjmp(way_out, 1) == 0) *static_cast<volatile char*>(page + i) = 1;
    if (own_fault != page + i) fail("its own fault is not what the program saw");
    CHECK(hsa_signal_destroy(packet.completion_signal));
  }
  CHECK(hsa_queue_destroy(queue));
}

// Queues that come and go. hsa_queue_destroy waits for an event that ROCr's own thread waits for as well: see
// Latecomers in plugins/vgpu/kfd/events.hpp.
void run_queues() {
  for (int i = 0; i < 200; ++i) {
    hsa_queue_t* queue = nullptr;
    CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue));
    CHECK(hsa_queue_destroy(queue));
  }
}

// Has something of everything, says so, and stays until it is killed.
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
  // Until it is killed.
  for (;;) std::this_thread::sleep_for(milliseconds(1000));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const unsigned seed = argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 0)) : 1;
  start();
  if (what == "barriers") {
    run_barriers(seed, false);
  } else if (what == "handlers") {
    run_barriers(seed, true);
  } else if (what == "copies") {
    run_copies(seed);
  } else if (what == "rectangles") {
    run_rectangles(seed);
  } else if (what == "fault") {
    run_fault();
  } else if (what == "gone") {
    run_gone(true);
  } else if (what == "gone_signal") {
    run_gone(false);
  } else if (what == "signals") {
    run_signals();
  } else if (what == "bad_packet") {
    run_bad_packet();
  } else if (what == "queues") {
    run_queues();
  } else if (what == "wait") {
    run_wait();
  } else {
    fail("what?");
  }
  CHECK(hsa_shut_down());
  return 0;
}
