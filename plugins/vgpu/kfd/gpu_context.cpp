#include "plugins/vgpu/kfd/gpu_context.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>

#include "api/support/mutex.hpp"
#include "api/support/page_size.hpp"
#include "api/support/undo.hpp"
#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/kfd/doorbell_watch.hpp"
#include "plugins/vgpu/kfd/process.hpp"

namespace rigel::vgpu {
namespace {

uint32_t exception_code(QueueError error) {
  switch (error) {
    case QueueError::kBadDimensions:
      return 16;
    case QueueError::kGroupMemory:
      return 17;
    case QueueError::kBadCodeObject:
      return 18;
    case QueueError::kBadPacket:
      return 20;
    case QueueError::kWorkGroupTooLarge:
      return 21;
    case QueueError::kTooManyRegisters:
      return 22;
    case QueueError::kBadVendorPacket:
      return 23;
    case QueueError::kAperture:
      return 6;
    case QueueError::kIllegalInstruction:
      return 4;
    case QueueError::kTrap:
      return 2;
    case QueueError::kScratchWave64:
    case QueueError::kScratchWave32:
    case QueueError::kReclaimScratch:
      return 0;
  }
  return 0;
}

// Returns the number of bits of an interrupt's context id that name an event.
unsigned valid_id_bits(const Board& board, InterruptSource source) {
  switch (source) {
    case InterruptSource::kEndOfPipe:
      return board.driver().end_of_pipe_event_bits;
    case InterruptSource::kSdmaTrap:
      return 28;
    case InterruptSource::kWaveMessage:
      return board.driver().wave_message_event_bits;
  }
  return 0;
}

LogCategory category_of(TraceTopic topic) {
  switch (topic) {
    case TraceTopic::kQueue:
      return LogCategory::kQueue;
    case TraceTopic::kAql:
      return LogCategory::kAql;
    case TraceTopic::kPm4:
      return LogCategory::kPm4;
    case TraceTopic::kSdma:
      return LogCategory::kSdma;
    case TraceTopic::kDispatch:
      return LogCategory::kDispatch;
  }
  return LogCategory::kQueue;
}

}  // namespace

GpuContext::GpuContext(const Gpu& gpu, uint32_t index, Events& events, Log& log, DoorbellWatch& watch,
                       MakeShaderCores cores, bool threads, uint64_t seed)
    : gpu_(gpu),
      index_(index),
      events_(events),
      log_(log),
      watch_(watch),
      make_cores_(cores),
      threads_(threads),
      seed_(seed) {}

GpuContext::~GpuContext() {
  // The command processors are destroyed first, because they use all other members.
  processor_.store(nullptr, std::memory_order_release);
  owned_processor_.reset();
  cores_.reset();
}

GpuApertures GpuContext::apertures() const {
  constexpr uint64_t k4GiB = uint64_t{1} << 32;
  constexpr uint64_t kGpuVmBase = 0x1000000;
  const DriverTraits& driver = gpu_.board.driver();
  const uint64_t lds = driver.lds_aperture, scratch = driver.scratch_aperture;
  return {lds,        lds + k4GiB - 1,
          scratch,    scratch + k4GiB - 1,
          kGpuVmBase, (uint64_t{1} << driver.address_bits) - 1};
}

bool GpuContext::can_map(uint64_t va, uint64_t bytes) const {
  const uint64_t limit = apertures().gpuvm_limit;
  return bytes != 0 && va % kPageBytes == 0 && bytes % kPageBytes == 0 && va >= kPageBytes && va <= limit &&
         bytes - 1 <= limit - va;
}

void GpuContext::flush_translations() noexcept {
  epoch_.fetch_add(1, std::memory_order_acq_rel);
  scopes_.wait_until_quiet();
}

Translation GpuContext::translate(uint64_t va, uint64_t bytes, Access access) noexcept {
  const Translation mapped = table_.translate(va, bytes, access);
  if (mapped.reason != FaultReason::kNotPresent || process_ == nullptr) return mapped;
  return process_->retry_translation(va, bytes, access);
}

void GpuContext::unmap(uint64_t va, uint64_t bytes) {
  // Also if the table throws for lack of memory when it splits a large page: a part may have been unmapped.
  const Undo flush([this] { flush_translations(); });
  table_.unmap(va, bytes);
}

void GpuContext::remap(uint64_t va, uint64_t bytes, std::byte* host, PageTable::Rights rights) {
  try {
    if (table_.remap(va, bytes, host, rights) == PageTable::Translations::kValid) return;
  } catch (...) {
    flush_translations();
    throw;
  }
  flush_translations();
}

ErrnoOr<std::shared_ptr<MemoryObject>> GpuContext::doorbells() {
  const MutexLock lock(creation_mutex_);
  if (doorbells_ == nullptr) {
    auto page = MemoryObject::allocate(MemoryObject::Kind::kDoorbell, gpu_.board.doorbell_slice_bytes(), 0,
                                       index_, gpu_.gpu_id);
    if (!page) return page;
    // Packet 0 rings with the value 0, so a slot that was never rung needs another value.
    std::memset((*page)->host(), 0xff, (*page)->bytes());
    doorbells_ = std::move(*page);
  }
  return doorbells_;
}

ErrnoOr<std::shared_ptr<MemoryObject>> GpuContext::mmio_page() {
  const MutexLock lock(creation_mutex_);
  if (mmio_ == nullptr) {
    auto page = MemoryObject::allocate(MemoryObject::Kind::kMmio, kPageBytes, 0, index_, gpu_.gpu_id);
    if (!page) return page;
    mmio_ = std::move(*page);
  }
  return mmio_;
}

CommandProcessor& GpuContext::processor() {
  const MutexLock lock(creation_mutex_);
  if (owned_processor_ == nullptr) {
    const Board& board = gpu_.board;
    DeviceConfig config;
    config.gfx_target_version = board.gfx_target_version;
    config.sdma_engines = board.sdma_engines();
    config.xcc_count = board.shader.xcc_count;
    config.shader_engines = board.shader_engines();
    config.arrays_per_engine = board.shader.arrays_per_engine;
    const uint32_t arrays = board.shader.array_count;
    config.processors_per_array = (board.compute_units() / 2 + arrays - 1) / arrays;
    config.units_per_array = (board.compute_units() + arrays - 1) / arrays;
    config.max_lds_bytes = board.shader.lds_kb * 1024;
    config.flat_group_base = apertures().lds_base;
    config.flat_private_base = apertures().scratch_base;
    config.threads = threads_;
    config.seed = seed_;
    cores_ = make_cores_(gpu_, *this);
    owned_processor_ = std::make_unique<CommandProcessor>(config, *this, *cores_);
    processor_.store(owned_processor_.get(), std::memory_order_release);
  }
  return *owned_processor_;
}

bool GpuContext::start_sampling(const hsadrv_sampler_t& sampler) {
  const MutexLock lock(sampler_mutex_);
  if (sampler_.take != nullptr) return false;
  sampler_ = sampler;
  const MutexLock sampling(sampling_mutex_);
  session_of_sampler_ = ++sampling_.session;
  sampling_.interval = sampler.interval;
  is_sampled_.store(true, std::memory_order_relaxed);
  return true;
}

bool GpuContext::stop_sampling() {
  const MutexLock lock(sampler_mutex_);
  if (sampler_.take == nullptr) return false;
  sampler_ = {};
  const MutexLock sampling(sampling_mutex_);
  sampling_.interval = 0;
  is_sampled_.store(false, std::memory_order_relaxed);
  return true;
}

PcSampling GpuContext::sampling() noexcept {
  if (!is_sampled_.load(std::memory_order_relaxed)) return {};
  const MutexLock lock(sampling_mutex_);
  return sampling_;
}

void GpuContext::take_samples(uint64_t session, uint32_t queue_id, uint64_t packet_id,
                              std::span<const PcSample> samples, uint64_t lost) noexcept {
  constexpr size_t kMostPerCall = 256;
  hsadrv_sample_t records[kMostPerCall];
  const uint64_t dispatch = uint64_t{queue_id} << 32 | static_cast<uint32_t>(packet_id);
  const MutexLock lock(sampler_mutex_);
  if (sampler_.take == nullptr || session_of_sampler_ != session) return;
  do {
    const auto part = samples.first(std::min(samples.size(), kMostPerCall));
    std::ranges::transform(part, records, [&](const PcSample& sample) -> hsadrv_sample_t {
      return {
          sample.pc, sample.exec, dispatch, {sample.group[0], sample.group[1], sample.group[2]}, sample.wave};
    });
    samples = samples.subspan(part.size());
    sampler_.take(sampler_.context, records, part.size(), samples.empty() ? lost : 0);
  } while (!samples.empty());
}

void GpuContext::note_queue(uint32_t queue_id, QueueNote note) {
  const MutexLock lock(notes_mutex_);
  notes_[queue_id] = note;
}

void GpuContext::forget_queue(uint32_t queue_id) {
  const MutexLock lock(notes_mutex_);
  notes_.erase(queue_id);
}

void GpuContext::set_trap_handler(TrapHandler handler) {
  trap_data_.store(handler.data_va, std::memory_order_relaxed);
  trap_code_.store(handler.code_va, std::memory_order_release);
}

DeviceBus::TrapHandler GpuContext::trap_handler() const noexcept {
  const uint64_t code = trap_code_.load(std::memory_order_acquire);
  return {code, trap_data_.load(std::memory_order_relaxed)};
}

uint32_t GpuContext::doorbell_index(uint32_t queue_id) noexcept {
  const MutexLock lock(notes_mutex_);
  const auto it = notes_.find(queue_id);
  return it == notes_.end() ? 0 : it->second.doorbell_index;
}

void GpuContext::report_fault(const VmFault& fault) noexcept {
  constexpr const char* kReasons[] = {"", "not mapped", "read-only", "not executable"};
  constexpr const char* kAccesses[] = {"reading", "writing", "executing"};
  log_(LogCategory::kFault, "gpu {} (node {}), queue {}: memory fault {} {:#x} ({})", gpu_.board.name,
       gpu_.node, fault.queue_id, kAccesses[static_cast<size_t>(fault.access)], fault.va,
       kReasons[static_cast<size_t>(fault.reason)]);
  kfd_memory_exception exception{};
  exception.va = page_down(fault.va);
  exception.gpu_id = gpu_.gpu_id;
  exception.not_present = fault.reason == FaultReason::kNotPresent;
  exception.read_only = fault.reason == FaultReason::kReadOnly;
  exception.no_execute = fault.reason == FaultReason::kNoExecute;
  events_.smi().memory_fault(index_);
  if (!events_.memory_fault(exception)) {
    log_(LogCategory::kWarning,
         "gpu {} (node {}): memory fault at {:#x}: the program has no event to receive it", gpu_.board.name,
         gpu_.node, fault.va);
  }
}

void GpuContext::raise_interrupt(InterruptSource source, uint32_t context_id, uint32_t queue_id) noexcept {
  constexpr const char* kSources[] = {"end of pipe", "SDMA trap", "wave message"};
  log_(LogCategory::kEvent, "gpu {}, queue {}: interrupt ({}), context id {:#x}", index_, queue_id,
       kSources[static_cast<size_t>(source)], context_id);
  events_.interrupt(context_id, valid_id_bits(gpu_.board, source));
}

bool GpuContext::read(uint64_t va, void* to, size_t bytes) {
  const TranslationScope scope(*this);
  for (auto* out = static_cast<std::byte*>(to); bytes > 0;) {
    const Translation t = translate(va, bytes, Access::kRead);
    if (t.host == nullptr || !guarded_read(out, t.host, t.bytes)) return false;
    out += t.bytes;
    va += t.bytes;
    bytes -= t.bytes;
  }
  return true;
}

bool GpuContext::take_queue_error(uint32_t queue_id, QueueError error) noexcept {
  QueueNote note;
  {
    const MutexLock lock(notes_mutex_);
    const auto it = notes_.find(queue_id);
    if (it == notes_.end()) return false;
    note = it->second;
  }
  const uint32_t code = exception_code(error);
  if (!note.runtime_enabled || note.save_area_va == 0 || code == 0) return false;
  // From the header of the context save area: the address for the reason, and the event to signal.
  struct {
    uint64_t reason_va;
    uint32_t event_id;
    uint32_t reserved;
  } report{};
  constexpr uint64_t kErrorReasonOffset = 24;
  if (!read(note.save_area_va + kErrorReasonOffset, &report, sizeof report) || report.reason_va == 0)
    return false;
  {
    const TranslationScope scope(*this);
    const Translation t = translate(report.reason_va, 8, Access::kWrite);
    if (t.host == nullptr || t.bytes < 8 || report.reason_va % 8 != 0) return false;
    auto* const reason = reinterpret_cast<uint64_t*>(t.host);
    uint64_t seen = 0;
    for (bool done = false; !done;) {
      if (!guarded_compare_exchange(reason, seen, seen | uint64_t{1} << (code - 1), done)) return false;
    }
  }
  events_.signal(report.event_id);
  return true;
}

void GpuContext::queue_stopped(uint32_t queue_id, std::string_view reason) noexcept {
  report(Severity::kError, queue_id, reason);
}

void GpuContext::report(Severity severity, std::optional<uint32_t> queue_id,
                        std::string_view problem) noexcept {
  const LogCategory category = severity == Severity::kError ? LogCategory::kError : LogCategory::kWarning;
  if (queue_id) {
    log_(category, "gpu {} (node {}), queue {}: {}", gpu_.board.name, gpu_.node, *queue_id, problem);
  } else {
    log_(category, "gpu {} (node {}): {}", gpu_.board.name, gpu_.node, problem);
  }
}

std::string GpuContext::describe_address(uint64_t va) {
  return process_ == nullptr ? std::string() : process_->describe_address(*this, va);
}

const void* GpuContext::code_objects() const noexcept {
  return process_ == nullptr ? nullptr : process_->code_objects();
}

uint64_t GpuContext::gpu_clock() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  // Seconds and nanoseconds separately, so that nothing overflows; the result is exact to a tick.
  const uint64_t khz = gpu_.board.clocks.reference_khz;
  return static_cast<uint64_t>(now.tv_sec) * khz * 1000 +
         static_cast<uint64_t>(now.tv_nsec) * khz / 1'000'000;
}

void GpuContext::watch_doorbells() noexcept {
  watch_.engine_sleeps(index_);
}

void GpuContext::doorbells_unwatched() noexcept {
  watch_.engine_wakes(index_);
}

bool GpuContext::trace_enabled(TraceTopic topic) const noexcept {
  return log_.enabled(category_of(topic));
}

void GpuContext::trace(TraceTopic topic, std::string_view line) noexcept {
  log_(category_of(topic), "gpu {}: {}", index_, line);
}

}  // namespace rigel::vgpu
