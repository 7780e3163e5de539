#include "backends/common/gpu_device.hpp"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

#include <hsa_plugin/kfd_abi.h>

#include "api/support/mutex.hpp"
#include "api/support/page_size.hpp"
#include "backends/common/copy_engines.hpp"
#include "backends/common/generation.hpp"
#include "backends/common/quirks.hpp"
#include "backends/common/scratch_keeper.hpp"
#include "backends/common/trap_handler.hpp"

namespace rigel::gfx {
namespace {

constexpr size_t kSpareQueues = 8;
constexpr uint64_t kScratchPoolBytes = uint64_t{4} << 30;  // range of 32 bits of offset
constexpr uint64_t kScratchAlignment = 64 << 10;           // the base's register does not contain lower bits

hsabe_driver_facts_t facts_of(const hsabe_host_t* host) {
  hsabe_driver_facts_t facts{};
  facts.struct_size = sizeof facts;
  host->driver->facts(host->self, &facts);
  return facts;
}

// Copies properties, which outlive their node.
NodeFacts own_facts(const hsabe_node_t& node) {
  NodeFacts facts = read_node_facts(node);
  facts.name = {};
  return facts;
}

uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

hsabe_status_t refuse(const hsabe_host_t* host, hsabe_status_t status, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return hsabe::fail(host, status, text);
}

// Blocks -------------------------------------------------------------------------------------------------

hsabe_status_t Block::allocate(const hsabe_host_t* host, uint32_t kind, uint32_t flags, uint64_t size,
                               Block& out) {
  out.reset();
  const hsabe_status_t status =
      host->driver->allocate(host->self, kind, flags, page_up(size), kPageBytes, &out.block_);
  if (status == HSA_STATUS_SUCCESS) out.host_ = host;
  return status;
}

hsabe_status_t Block::allocate_at(const hsabe_host_t* host, uint32_t kind, uint32_t flags, void* address,
                                  uint64_t size, Block& out) {
  out.reset();
  const hsabe_status_t status =
      host->driver->allocate_at(host->self, kind, flags, address, page_up(size), &out.block_);
  if (status == HSA_STATUS_SUCCESS) out.host_ = host;
  return status;
}

void Block::reset() {
  if (host_ != nullptr) host_->driver->release(host_->self, &block_);
  host_ = nullptr;
}

// The device ---------------------------------------------------------------------------------------------

Device::Device(const Family& device_family, const hsabe_host_t* device_host, const Chip& device_chip,
               const NodeFacts& node_facts)
    : host(device_host),
      family(device_family),
      chip(device_chip),
      facts(node_facts),
      quirks(find_quirks(device_family.quirks, node_facts)),
      driver(facts_of(device_host)) {
  spare_.reserve(kSpareQueues);
}

hsabe_status_t Device::open(const Family& family, const hsabe_host_t* host, const hsabe_node_t& node,
                            std::unique_ptr<Device>& out) {
  if (!HSABE_HAS(host, hsabe_host_t, driver) || host->driver == nullptr) {
    return refuse(host, HSA_STATUS_ERROR_INVALID_AGENT, "not an amdkfd node");
  }
  const NodeFacts facts = own_facts(node);
  const Chip* chip = find_chip(family, facts.version);
  if (chip == nullptr) return refuse(host, HSA_STATUS_ERROR_INVALID_AGENT, "unknown chip");
  std::unique_ptr<Device> device(new Device(family, host, *chip, facts));
  if (family.generation->scratch_by_pool) {
    if (const auto status = device->reserve_scratch_pool(); status != HSA_STATUS_SUCCESS) return status;
  }
  kfd_get_clock_counters clocks{};
  if (const int32_t problem = device->read_clocks_together(clocks); problem != 0) {
    return refuse(host, HSA_STATUS_ERROR, "the clock cannot be read: %s", std::strerror(-problem));
  }
  device->first_ticks_ = clocks.gpu_clock_counter;
  device->first_ns_ = clocks.system_clock_counter;
  device->scratch_ = std::make_unique<ScratchKeeper>(*device);
  device->traps_ = TrapHandler::install(*device);
  device->copies_ = std::make_unique<CopyEngines>(*device);
  out = std::move(device);
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t Device::reserve_scratch_pool() {
  const hsabe_status_t status =
      host->driver->reserve(host->self, kScratchPoolBytes, kScratchAlignment, &scratch_pool_);
  if (status != HSA_STATUS_SUCCESS)
    return refuse(host, status, "addresses for scratch memory cannot be reserved");
  kfd_set_scratch_backing_va arguments{scratch_base() >> 16, driver.gpu_id, 0};
  const int32_t problem = ioctl(KFD_NR_SET_SCRATCH_BACKING_VA, arguments);
  if (problem == 0) return HSA_STATUS_SUCCESS;
  return refuse(host, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "AMDKFD_IOC_SET_SCRATCH_BACKING_VA failed: %s",
                std::strerror(-problem));
}

Device::~Device() {
  copies_.reset();  // releases the memory of its queues
  traps_.reset();
  scratch_.reset();
  spare_.clear();
  if (scratch_pool_ != nullptr) {
    host->driver->release_addresses(host->self, scratch_pool_, kScratchPoolBytes);
  }
}

// Reads two clocks at nearly the same time: uses the shortest of several readings.
int32_t Device::read_clocks_together(kfd_get_clock_counters& clocks) const {
  constexpr uint64_t kTogetherNs = 5'000;
  constexpr int kAttempts = 50;
  uint64_t least = UINT64_MAX;
  for (int attempt = 0; attempt < kAttempts && least > kTogetherNs; ++attempt) {
    kfd_get_clock_counters reading{};
    reading.gpu_id = driver.gpu_id;
    const uint64_t begin = monotonic_ns();
    if (const int32_t problem = ioctl(KFD_NR_GET_CLOCK_COUNTERS, reading); problem != 0) return problem;
    const uint64_t took = monotonic_ns() - begin;
    if (took < least) {
      least = took;
      clocks = reading;
    }
  }
  return 0;
}

hsabe_status_t Device::read_clock(uint64_t* ticks, uint64_t* ticks_per_second) {
  kfd_get_clock_counters clocks{};
  clocks.gpu_id = driver.gpu_id;
  if (const int32_t problem = ioctl(KFD_NR_GET_CLOCK_COUNTERS, clocks); problem != 0) {
    return refuse(host, HSA_STATUS_ERROR, "AMDKFD_IOC_GET_CLOCK_COUNTERS failed: %s",
                  std::strerror(-problem));
  }
  *ticks = clocks.gpu_clock_counter;
  const MutexLock lock(mutex_);
  if (frequency_ == 0) frequency_ = measure_frequency();
  *ticks_per_second = frequency_;
  return HSA_STATUS_SUCCESS;
}

// The driver does not report the frequency, which is measured by two readings far enough apart. Known
// frequencies are multiples of 1 MHz, or 0.25 MHz for old crystals.
uint64_t Device::measure_frequency() const {
  constexpr uint64_t kApartNs = 2'000'000;
  kfd_get_clock_counters last{};
  do {
    if (read_clocks_together(last) != 0) return 0;
  } while (last.system_clock_counter - first_ns_ < kApartNs);
  const double exact = static_cast<double>(last.gpu_clock_counter - first_ticks_) * 1e9 /
                       static_cast<double>(last.system_clock_counter - first_ns_);
  constexpr double kStep = 250'000;
  const double rounded = std::round(exact / kStep) * kStep;
  return static_cast<uint64_t>(rounded > 0 && std::abs(exact - rounded) < exact * 0.005 ? rounded : exact);
}

// Queue memory -------------------------------------------------------------------------------------------

hsabe_status_t Device::take_queue_memory(uint64_t ring_bytes, QueueMemory& out) {
  {
    const MutexLock lock(mutex_);
    // Prefers one with a ring of the size, because the ring is the smaller part.
    auto best = std::find_if(spare_.begin(), spare_.end(),
                             [&](const QueueMemory& one) { return one.ring.size() == ring_bytes; });
    if (best == spare_.end() && !spare_.empty()) best = spare_.end() - 1;
    if (best != spare_.end()) {
      out = std::move(*best);
      spare_.erase(best);
    }
  }
  const auto get = [&](Block& block, uint32_t kind, uint32_t flags, uint64_t size) -> hsabe_status_t {
    if (block || size == 0) return HSA_STATUS_SUCCESS;
    return Block::allocate(host, kind, flags, size, block);
  };
  uint32_t ring_flags = HSABE_BLOCK_COHERENT | HSABE_BLOCK_EXECUTABLE;
  if (has_quirk(kQuirkRingDoubled)) ring_flags |= HSABE_BLOCK_TWICE;
  if (out.ring && out.ring.size() != ring_bytes) out.ring.reset();
  const SaveArea save = save_area(family, chip, facts);
  hsabe_status_t status = get(out.control, HSABE_BLOCK_HOST, HSABE_BLOCK_COHERENT, kPageBytes);
  if (status == HSA_STATUS_SUCCESS) status = get(out.ring, HSABE_BLOCK_HOST, ring_flags, ring_bytes);
  if (status == HSA_STATUS_SUCCESS) {
    const uint64_t bytes = end_of_pipe_bytes(family, facts);
    status = get(out.end_of_pipe, HSABE_BLOCK_LOCAL, 0, bytes);
    // If the program has allocated all local memory, uses host memory, as chips without local memory do.
    if (status == HSA_STATUS_ERROR_OUT_OF_RESOURCES)
      status = get(out.end_of_pipe, HSABE_BLOCK_HOST, HSABE_BLOCK_COHERENT, bytes);
  }
  if (status == HSA_STATUS_SUCCESS) {
    status = get(out.save_area, HSABE_BLOCK_HOST, HSABE_BLOCK_EXECUTABLE, save.allocation_bytes);
  }
  return status;
}

void Device::give_queue_memory(QueueMemory memory) noexcept {
  const MutexLock lock(mutex_);
  if (spare_.size() < kSpareQueues) spare_.push_back(std::move(memory));
}

// Scratch ------------------------------------------------------------------------------------------------

hsabe_status_t Device::allocate_scratch(uint64_t size, Block& out) {
  size = round_up(size, kScratchAlignment);
  if (scratch_pool_ == nullptr) {
    return Block::allocate(host, HSABE_BLOCK_LOCAL, HSABE_BLOCK_EXECUTABLE, size, out);
  }
  uint64_t begin = 0;
  {
    const MutexLock lock(mutex_);
    auto next = scratch_used_.begin();
    for (; next != scratch_used_.end() && next->begin - begin < size; ++next) {
      begin = next->begin + next->size;
    }
    if (size > kScratchPoolBytes - begin) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    try {
      scratch_used_.insert(next, {begin, size});
    } catch (const std::bad_alloc&) {
      return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
  }
  const hsabe_status_t status = Block::allocate_at(host, HSABE_BLOCK_LOCAL, HSABE_BLOCK_EXECUTABLE,
                                                   static_cast<std::byte*>(scratch_pool_) + begin, size, out);
  if (status != HSA_STATUS_SUCCESS) {
    const MutexLock lock(mutex_);
    std::erase_if(scratch_used_, [&](const Span& span) { return span.begin == begin; });
  }
  return status;
}

void Device::free_scratch(Block block) {
  if (!block) return;
  const uint64_t begin = block.address() - scratch_base();
  block.reset();
  if (scratch_pool_ == nullptr) return;
  const MutexLock lock(mutex_);
  std::erase_if(scratch_used_, [&](const Span& span) { return span.begin == begin; });
}

ScratchDevice scratch_device(const Device& device) {
  return scratch_device(device.family.generation->tmpring, device.facts);
}

}  // namespace rigel::gfx
