#include "backends/common/copy_engines.hpp"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>

#include "api/support/mutex.hpp"
#include "api/support/program_signals.hpp"
#include "backends/common/blit.hpp"

namespace rigel::gfx {
namespace {

constexpr size_t kToDevice = 0, kFromDevice = 1, kHostEngines = 2;
/// Time after which the driver is asked again for an engine that it has rejected.
constexpr auto kAskAgainAfter = std::chrono::seconds(1);
/// Kernels copy only boxes with at most this number of rows, because each row needs a kernel.
constexpr uint64_t kMaxRows = 128;
/// Engines copy at most this number of bytes from device memory to device memory. Kernels are several times
/// as fast, but take longer to start.
constexpr uint64_t kEngineBytesWithin = 256 << 10;
/// Number of a queue's copies from which on a submission first removes those that are complete.
constexpr size_t kMaxKept = 64;
/// Interval at which the watcher checks open waits, and number of checks without one after which it sleeps.
constexpr auto kLookEvery = std::chrono::milliseconds(3);
constexpr int kLooksInVain = 30;
/// Pauses of a submission that waits for room in a ring: kShortPauses of kRoomAfter, then kRoomAfterLong
/// each.
constexpr auto kRoomAfter = std::chrono::microseconds(20);
constexpr auto kRoomAfterLong = std::chrono::milliseconds(1);
constexpr uint32_t kShortPauses = 500;

constexpr uint32_t kSystemFences = HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                                   HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
constexpr uint32_t kBarrierBit = 1u << HSA_PACKET_HEADER_BARRIER;
constexpr size_t kBarrierSignals = 5;

amd_signal_t& signal_of(uint64_t handle) {
  return *reinterpret_cast<amd_signal_t*>(handle);
}

/// Merges adjacent rows, and adjacent layers of one row, into longer rows.
hsabe_copy_t folded(hsabe_copy_t copy) {
  if (copy.height > 1 && copy.width == copy.source_pitch && copy.width == copy.destination_pitch) {
    copy.width *= copy.height;
    copy.height = 1;
    copy.source_pitch = copy.destination_pitch = copy.width;
  }
  if (copy.depth > 1 && copy.height == 1 && copy.width == copy.source_slice &&
      copy.width == copy.destination_slice) {
    copy.width *= copy.depth;
    copy.depth = 1;
  }
  if (copy.depth > 1 && copy.height == 1) {  // layers of one row are rows
    copy.height = copy.depth;
    copy.depth = 1;
    copy.source_pitch = copy.source_slice;
    copy.destination_pitch = copy.destination_slice;
  }
  return copy;
}

bool is_row(const hsabe_copy_t& copy) {
  return copy.height <= 1 && copy.depth <= 1;
}

/// Whether the copy is one row with a completion signal and without time stamps. Most copies are.
bool is_plain(const hsabe_copy_t& copy) {
  return is_row(copy) && copy.completion != 0 && copy.start_time == 0 && copy.end_time == 0;
}

SdmaCompletion completion_of(const hsabe_copy_t& copy) {
  if (copy.completion == 0) return {};
  const amd_signal_t& signal = signal_of(copy.completion);
  return {.value_va = reinterpret_cast<uint64_t>(&signal.value),
          .mailbox_va = signal.event_mailbox_ptr,
          .event_id = signal.event_id};
}

SdmaRect rect_of(const hsabe_copy_t& copy) {
  return {.source = copy.source,
          .source_pitch = copy.source_pitch,
          .source_slice = copy.source_slice,
          .destination = copy.destination,
          .destination_pitch = copy.destination_pitch,
          .destination_slice = copy.destination_slice,
          .width = static_cast<uint32_t>(copy.width),
          .height = static_cast<uint32_t>(copy.height),
          .depth = static_cast<uint32_t>(copy.depth)};
}

template <class Packet>
void put(pm4::Slot& slot, const Packet& packet) {
  static_assert(sizeof(packet) == sizeof(slot));
  std::memcpy(slot.data(), &packet, sizeof(slot));
}

void put_barrier(pm4::Slot& slot, std::span<const uint64_t> dependencies, uint64_t completion) {
  hsa_barrier_and_packet_t packet{};
  packet.header = static_cast<uint16_t>(HSA_PACKET_TYPE_BARRIER_AND | kBarrierBit | kSystemFences);
  for (size_t i = 0; i < dependencies.size(); ++i) packet.dep_signal[i].handle = dependencies[i];
  packet.completion_signal.handle = completion;
  put(slot, packet);
}

void put_kernel(pm4::Slot& slot, std::byte* place, const BlitLaunch& launch, uint64_t code, bool wait,
                uint64_t completion) {
  std::memcpy(place, &launch.arguments, sizeof(launch.arguments));
  hsa_kernel_dispatch_packet_t packet{};
  packet.header =
      static_cast<uint16_t>(HSA_PACKET_TYPE_KERNEL_DISPATCH | kSystemFences | (wait ? kBarrierBit : 0));
  packet.setup = 1;
  packet.workgroup_size_x = kBlitGroupSize;
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = launch.work_items;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.kernel_object = code + blit_descriptor_offset(launch.kernel);
  packet.kernarg_address = place;
  packet.completion_signal.handle = completion;
  put(slot, packet);
}

bool engines_wanted(const Device& device) {
  const hsabe_host_t* const host = device.host;
  auto wanted = hsabe::view(host->config->get_string(host->self, hsabe::str("sdma"), hsabe::str("auto")));
  if (wanted != "auto" && wanted != "on" && wanted != "off") {
    hsabe::warn(host,
                "option 'sdma': invalid value '" + std::string(wanted) + "'; ignored; use auto, on or off");
  }
  const char* const environment = std::getenv("HSA_ENABLE_SDMA");  // as in ROCr
  if (environment != nullptr && std::string_view(environment) == "0") wanted = "off";
  if (environment != nullptr && std::string_view(environment) == "1") wanted = "on";
  return sdma_serves(device.facts, device.quirks, wanted);
}

}  // namespace

CopyEngines::CopyEngines(Device& device)
    : device_(device),
      engines_usable_(engines_wanted(device)),
      engine_count_(std::min(kHostEngines + device.facts.sdma_xgmi_engines, kMaxEngines)) {}

CopyEngines::~CopyEngines() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  look_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

// Selection of an engine
// ------------------------------------------------------------------------------------------------

CopyEngines::Engine* CopyEngines::engine(size_t number) {
  Engine& engine = engines_[number];
  if (engine.queue != nullptr) return &engine;
  // The driver assigns engines in the order of the requests. If copies from the host must use the device's
  // engine 0, that engine is requested before all others.
  if (device_.has_quirk(kQuirkHostCopyOnEngine0) && number != kToDevice) this->engine(kToDevice);
  const auto now = Clock::now();
  if (engine.asked != Clock::time_point{} && now - engine.asked < kAskAgainAfter) return nullptr;
  engine.queue = CopyQueue::create(device_, number < kHostEngines ? KFD_QUEUE_SDMA : KFD_QUEUE_SDMA_XGMI);
  engine.asked = engine.queue == nullptr ? now : Clock::time_point{};
  return engine.queue == nullptr ? nullptr : &engine;
}

/// Whether a copy can wait in an engine's queue without delaying unrelated copies.
bool CopyEngines::may_take(size_t number, const Waits& waits) {
  const CopiesUnderway& copies = engines_[number].copies;
  if (!copies.open()) return true;
  return !waits.open && waits.behind == 1u << number;
}

CopyEngines::Engine* CopyEngines::engine_for(const hsabe_copy_t& copy, const Waits& waits) {
  if (!engines_usable_) return nullptr;
  if (copy.engines != 0) {  // as the caller requires
    const auto number = static_cast<size_t>(std::countr_zero(copy.engines));
    return number < engine_count_ && may_take(number, waits) ? engine(number) : nullptr;
  }
  const bool waits_openly = waits.open || waits.behind != 0;
  if (copy.from_host == 0 && copy.to_host == 0) {
    if (copy.width * copy.height * copy.depth > kEngineBytesWithin) return nullptr;
    // An engine that still executes a long copy is not used: a kernel is faster.
    for (const size_t number : {kFromDevice, kToDevice}) {
      Engine* const found = may_take(number, waits) && !waits_openly ? engine(number) : nullptr;
      if (found == nullptr) continue;
      if (found->large_end <= found->queue->known_read() || found->large_end <= found->queue->read())
        return found;
    }
    return nullptr;
  }
  const size_t best = copy.to_host != 0 ? kFromDevice : kToDevice;
  const size_t other = best == kToDevice ? kFromDevice : kToDevice;
  const bool either = !device_.has_quirk(kQuirkHostCopyOnEngine0);
  // A short copy that depends on the other engine's copies, and on none of this engine's, is queued after
  // them. It then finds their signals changed; the best engine would have to poll them.
  if (either && waits.on == 1u << other && !waits_openly && may_take(other, waits) &&
      copy.width * copy.height * copy.depth <= kEngineBytesWithin)
    return engine(other);
  if (may_take(best, waits)) return engine(best);
  // The best engine is in an open wait that this copy does not depend on. The other one copies in both
  // directions meanwhile.
  return either && !waits_openly && may_take(other, waits) ? engine(other) : nullptr;
}

/// Returns the queue for kernels, or null if there is none. Removes it first if it has failed.
ServiceQueue* CopyEngines::service() {
  if (service_ != nullptr && service_->failed()) end_service(HSA_STATUS_ERROR);
  return service_.get();
}

hsabe_status_t CopyEngines::make_service(std::shared_ptr<ServiceQueue>* out) {
  const MutexLock making(making_);
  std::vector<std::shared_ptr<ServiceQueue>> stopped;
  stopped.reserve(1);  // becomes the memory of stopped_: end_service() cannot report a failed allocation
  std::shared_ptr<ServiceQueue> queue;
  {
    const std::lock_guard lock(mutex_);
    if (service() != nullptr) queue = service_;
    stopped.swap(stopped_);
  }
  stopped.clear();
  if (queue == nullptr) {
    const hsabe_host_t* const host = device_.host;
    if (!blit_code_) {
      const auto code = device_.family.generation->blit_code();
      const hsabe_status_t status =
          Block::allocate(host, HSABE_BLOCK_HOST, HSABE_BLOCK_COHERENT | HSABE_BLOCK_EXECUTABLE,
                          code.size_bytes(), blit_code_);
      if (status != HSA_STATUS_SUCCESS) return refuse(host, status, "out of memory for the copy kernels");
      write_blit_code(code, device_.chip, blit_code_.data());
    }
    const hsabe_status_t status = ServiceQueue::create(
        device_, [this](hsa_status_t why) { service_stopped(why); }, queue);
    if (status != HSA_STATUS_SUCCESS) return status;
    const std::lock_guard lock(mutex_);
    service_ = queue;
  }
  if (out != nullptr) *out = std::move(queue);
  return HSA_STATUS_SUCCESS;
}

// Copies
// -----------------------------------------------------------------------------------------------------

/// Reserves memory for note(), which then cannot fail after the copy has been submitted.
[[gnu::always_inline]] inline void CopyEngines::make_room(Engine& engine) {
  if (engine.copies.size() >= kMaxKept) engine.copies.read(engine.queue->read());
  engine.copies.make_room();
}

[[gnu::always_inline]] inline void CopyEngines::note(Engine& engine, const hsabe_copy_t& copy) {
  CopyQueue& queue = *engine.queue;
  engine.copies.add(copy.completion, queue.written());
  if (copy.width * copy.height * copy.depth > kEngineBytesWithin) engine.large_end = queue.written();
}

[[gnu::always_inline]] inline CopyEngines::Result CopyEngines::plain_by_engine(Engine& engine,
                                                                               const hsabe_copy_t& copy) {
  CopyQueue& queue = *engine.queue;
  if (copy.width > queue.encoder().copy_max()) return Result::kNotThisWay;
  make_room(engine);
  if (!queue.plain_copy(copy.destination, copy.source, static_cast<uint32_t>(copy.width),
                        completion_of(copy)))
    return Result::kNoRoom;
  note(engine, copy);
  return Result::kDone;
}

/// Submits a copy between host and device without dependencies to its usual engine, the most frequent case.
/// Returns false, without an effect, if the copy needs the general path: submit_folded().
inline bool CopyEngines::submit_plain(const hsabe_copy_t& copy) {
  if (copy.dependency_count != 0 || copy.engines != 0 || (copy.from_host == 0 && copy.to_host == 0))
    return false;
  Engine& engine = engines_[copy.to_host != 0 ? kFromDevice : kToDevice];
  const std::lock_guard lock(mutex_);
  return engine.queue != nullptr && !engine.copies.open() && plain_by_engine(engine, copy) == Result::kDone;
}

hsabe_status_t CopyEngines::submit(const hsabe_copy_t& asked) {
  if (asked.width == 0 || asked.height == 0 || asked.depth == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (is_plain(asked) && submit_plain(asked)) return HSA_STATUS_SUCCESS;
  return is_row(asked) ? submit_folded(asked) : submit_folded(folded(asked));
}

hsabe_status_t CopyEngines::submit_folded(const hsabe_copy_t& copy) {
  const CopyQueue* full = nullptr;
  uint64_t read = 0;
  uint32_t pauses = 0;  // number of pauses since the engine of `full` last made progress
  for (;;) {
    Result result = Result::kNotThisWay;
    {
      const std::lock_guard lock(mutex_);
      const Waits waits = waits_of(copy);
      if (waits.failed) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
      Engine* const engine = engine_for(copy, waits);
      if (engine != nullptr) result = by_engine(*engine, copy, waits);
      if (result == Result::kNoRoom && (full != engine->queue.get() || read != engine->queue->known_read())) {
        full = engine->queue.get();
        read = full->known_read();
        pauses = 0;
      }
      if (result == Result::kNoRoom && pauses >= pauses_until_hung_) {
        hsabe::warn(device_.host, "copy engine: hung with a full ring; its copies fail");
        drop(*engine, HSA_STATUS_ERROR);
        continue;
      }
      // After an open wait, the engine makes room only when the program changes the signal, perhaps after
      // this call.
      if (result == Result::kNoRoom && engine->copies.open()) result = Result::kNotThisWay;
      const bool may_be_kernel = copy.engines == 0 || !engines_usable_;
      if (result == Result::kNotThisWay && may_be_kernel) result = by_kernel(copy, waits);
    }
    if (result == Result::kDone) return HSA_STATUS_SUCCESS;
    if (result == Result::kNotThisWay) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    if (result == Result::kNoRoom) {
      std::this_thread::sleep_for(pauses++ < kShortPauses ? std::chrono::nanoseconds(kRoomAfter)
                                                          : kRoomAfterLong);
    }
    if (result == Result::kNoService && make_service() != HSA_STATUS_SUCCESS)
      return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
}

CopyEngines::Waits CopyEngines::waits_of(const hsabe_copy_t& copy) {
  Waits waits;
  // Reads the engines' progress only if the copy has dependencies or an engine is in an open wait. Reading is
  // not free.
  const auto is_open = [](const Engine& engine) { return engine.copies.open(); };
  if (copy.dependency_count != 0 || std::any_of(engines().begin(), engines().end(), is_open)) {
    for (Engine& engine : engines()) {
      if (engine.queue == nullptr) continue;
      const uint64_t completed = engine.queue->completed();
      engine.copies.read(engine.queue->known_read(), completed);
    }
    if (service_ != nullptr) service_copies_.read(service_->read_index());
  }
  for (uint64_t i = 0; i < copy.dependency_count; ++i) {
    const uint64_t signal = copy.dependencies[i];
    int64_t value = signal_value(signal);
    if (value == 0) continue;
    int64_t promised = service_copies_.promised(signal).count;
    uint32_t behind = 0, on = 0;
    for (size_t e = 0; e < engine_count_; ++e) {
      const CopiesUnderway::Promise promise = engines_[e].copies.promised(signal);
      promised += promise.count;
      if (promise.count != 0) on |= 1u << e;
      if (promise.open) behind |= 1u << e;
    }
    if (promised < value) {
      value = signal_value(signal);  // its copy may have completed since the first load
      if (value == 0) continue;
      waits.open = true;
    }
    waits.failed |= value < 0;
    waits.behind |= behind;
    waits.on |= on;
    waits.signals.push_back({signal, value});
  }
  return waits;
}

CopyEngines::Result CopyEngines::by_engine(Engine& engine, const hsabe_copy_t& copy, const Waits& waits) {
  if (is_plain(copy) && waits.signals.empty()) {
    const Result result = plain_by_engine(engine, copy);
    if (result != Result::kNotThisWay) return result;
  }
  CopyQueue& queue = *engine.queue;
  const SdmaEncoder& encoder = queue.encoder();
  const bool row = is_row(copy);
  SdmaCompletion completion = completion_of(copy);
  completion.position_va = queue.position_va();

  const auto narrow = [&] {
    return copy.width <= UINT32_MAX && copy.height <= UINT32_MAX && copy.depth <= UINT32_MAX;
  };
  const size_t body = row        ? encoder.copy_dwords(copy.width)
                      : narrow() ? encoder.rect_dwords(rect_of(copy))
                                 : 0;
  if (body == 0 || body > CopyQueue::kDwordsMax / 2) return Result::kNotThisWay;

  size_t waiting = 0;
  for (const Wait& wait : waits.signals) waiting += encoder.wait_zero_dwords(wait.value);
  const size_t stamps = (copy.start_time != 0 ? 1 : 0) + (copy.end_time != 0 ? 1 : 0);
  const size_t dwords = waiting + encoder.begin_dwords() + body + encoder.end_dwords() +
                        stamps * SdmaEncoder::kTimestampDwords + encoder.completion_dwords(completion);
  if (dwords > CopyQueue::kDwordsMax) return Result::kNotThisWay;
  const bool opens = (waits.open || waits.behind != 0) && !engine.copies.open();
  std::vector<uint64_t> signals;
  if (opens) {
    if (!start_watcher()) return Result::kNotThisWay;
    for (const Wait& wait : waits.signals) signals.push_back(wait.signal);
  }
  make_room(engine);
  uint32_t* to = queue.begin(dwords);
  if (to == nullptr) return Result::kNoRoom;
  for (const Wait& wait : waits.signals)
    to = encoder.wait_zero(to, reinterpret_cast<uint64_t>(&signal_of(wait.signal).value), wait.value);
  to = encoder.begin(to);
  if (copy.start_time != 0) to = encoder.timestamp(to, copy.start_time);
  to = row ? encoder.copy(to, copy.destination, copy.source, copy.width) : encoder.rect(to, rect_of(copy));
  to = encoder.end(to);
  if (copy.end_time != 0) to = encoder.timestamp(to, copy.end_time);
  completion.position = queue.position_behind(dwords);
  encoder.completion(to, completion);
  const uint64_t begin = queue.submit(dwords);
  if (opens) {
    engine.copies.open_wait(begin, begin + waiting * 4, std::move(signals));
    look_after_open_waits();
  }
  note(engine, copy);
  return Result::kDone;
}

CopyEngines::Result CopyEngines::by_kernel(const hsabe_copy_t& copy, const Waits& waits) {
  if (waits.open || waits.behind != 0) return Result::kNotThisWay;
  const uint64_t rows = copy.height * copy.depth;
  if (rows > kMaxRows) return Result::kNotThisWay;
  ServiceQueue* const queue = service();
  if (queue == nullptr) return Result::kNoService;

  const size_t barriers = (waits.signals.size() + kBarrierSignals - 1) / kBarrierSignals;
  const size_t start = copy.start_time != 0 ? 1 : 0;
  const size_t end = copy.end_time != 0 ? 1 : 0;
  // The kernel of a single row without an end time decrements the completion signal itself. Otherwise a
  // barrier packet after the kernels does.
  const bool plain = rows == 1 && end == 0;
  const size_t slots = barriers + start + rows + end + (plain ? 0 : 1);
  if (slots > ServiceQueue::kSlotsMax) return Result::kNotThisWay;
  if (!queue->has_room(slots)) return Result::kNoRoom;

  const Generation& generation = *device_.family.generation;
  const auto stamp = [&](ServiceQueue::Entry& entry, uint64_t va) {
    auto* const words = reinterpret_cast<uint32_t*>(entry.place);
    const uint32_t* const stop = generation.release(words, {.va = va, .data = pm4::ReleaseData::kClock});
    entry.slot = generation.pm4_slot(reinterpret_cast<uint64_t>(words), static_cast<uint32_t>(stop - words),
                                     0, kBarrierBit | kSystemFences);
  };
  const uint32_t cus = device_.facts.compute_units();
  const auto fill = [&](ServiceQueue::Entry entry) {
    size_t at = entry.number;
    if (at < barriers) {
      uint64_t signals[kBarrierSignals];
      size_t count = 0;
      for (size_t i = at * kBarrierSignals; i < waits.signals.size() && count < kBarrierSignals; ++i)
        signals[count++] = waits.signals[i].signal;
      return put_barrier(entry.slot, std::span(signals, count), 0);
    }
    at -= barriers;
    if (at < start) return stamp(entry, copy.start_time);
    at -= start;
    if (at < rows) {
      const uint64_t y = at % copy.height, z = at / copy.height;
      const BlitLaunch launch =
          blit_copy(copy.destination + y * copy.destination_pitch + z * copy.destination_slice,
                    copy.source + y * copy.source_pitch + z * copy.source_slice, copy.width, cus);
      const bool wait = at == 0 && (barriers != 0 || start != 0);
      return put_kernel(entry.slot, entry.place, launch, blit_code_.address(), wait,
                        plain ? copy.completion : 0);
    }
    at -= rows;
    if (at < end) return stamp(entry, copy.end_time);
    put_barrier(entry.slot, {}, copy.completion);
  };
  const CompletionBefore completion = CompletionBefore::of(copy.completion);
  make_room(*queue);
  uint64_t position = 0;
  if (queue->submit(slots, fill, &position) != HSA_STATUS_SUCCESS) return Result::kNotThisWay;
  service_copies_.add(completion, position);
  return Result::kDone;
}

// Failures
// ------------------------------------------------------------------------------------------------

/// Destroys an engine's queue and fails its remaining copies. Stops the queue first, so that no copy both
/// completes and fails.
void CopyEngines::drop(Engine& engine, hsa_status_t status) {
  if (engine.queue == nullptr) return;
  engine.queue->stop();
  engine.copies.read(engine.queue->read());
  engine.queue.reset();
  engine.large_end = 0;
  engine.copies.fail(device_.host, status);
}

void CopyEngines::make_room(const ServiceQueue& queue) {
  if (service_copies_.size() >= kMaxKept) service_copies_.read(queue.read_index());
  service_copies_.make_room();
}

void CopyEngines::end_service(hsa_status_t status) {
  service_copies_.fail(device_.host, status);
  stopped_.push_back(std::move(service_));
}

void CopyEngines::service_stopped(hsa_status_t status) {
  const std::lock_guard lock(mutex_);
  // Another thread may already have removed the queue that stopped, and service_ may be its successor.
  if (service_ != nullptr && service_->failed()) end_service(status);
}

void CopyEngines::abandon(hsa_status_t status) {
  std::shared_ptr<ServiceQueue> service, control;
  {
    const MutexLock lock(control_mutex_);
    control = std::move(control_);
  }
  const std::lock_guard lock(mutex_);
  for (Engine& engine : engines()) drop(engine, status);
  service = std::move(service_);
  if (service != nullptr) service->stop();
  service_copies_.fail(device_.host, status);
}

/// Starts the watcher's thread unless it runs. Returns false if it cannot be started.
bool CopyEngines::start_watcher() {
  if (watcher_.joinable()) return true;
  const ProgramSignalsBlocked blocked;
  try {
    watcher_ = std::thread([this] { look_after(Lock(mutex_)); });
  } catch (const std::system_error&) {
    return false;
  }
  pthread_setname_np(watcher_.native_handle(), "hsa-copy-waits");
  return true;
}

void CopyEngines::look_after_open_waits() {
  // Wakes the watcher only if it sleeps without a timeout. Most waits are short and others follow, so waking
  // it for each would be most of a submission's time.
  if (!std::exchange(looking_, true)) look_.notify_one();
}

void CopyEngines::look_after(Lock lock) {
  const auto any_open = [&] {
    bool any = false;
    for (Engine& engine : engines()) {
      if (engine.queue != nullptr) engine.copies.read(engine.queue->read());
      any |= engine.copies.open();
    }
    return any;
  };
  for (int in_vain = 0; !ending_;) {
    in_vain = any_open() ? 0 : in_vain + 1;
    if (in_vain > kLooksInVain) {
      in_vain = 0;
      looking_ = false;
      look_.wait(lock, [&] { return ending_ || looking_; });
      continue;
    }
    for (Engine& engine : engines()) {
      if (engine.copies.wait_is_lost()) drop(engine, HSA_STATUS_ERROR);
    }
    look_.wait_for(lock, kLookEvery, [&] { return ending_; });
  }
}

// Fills
// -----------------------------------------------------------------------------------------------------

hsabe_status_t CopyEngines::fill(uint64_t destination, uint32_t value, uint64_t count, uint64_t completion) {
  if (destination % 4 != 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (;;) {
    bool full = false;
    {
      const std::lock_guard lock(mutex_);
      ServiceQueue* const queue = service();
      full = queue != nullptr && !queue->has_room(1);
      if (queue != nullptr && !full) {
        uint64_t position = 0;
        const auto put = [&](ServiceQueue::Entry entry) {
          if (count == 0) return put_barrier(entry.slot, {}, completion);
          const BlitLaunch launch = blit_fill(destination, value, count, device_.facts.compute_units());
          put_kernel(entry.slot, entry.place, launch, blit_code_.address(), false, completion);
        };
        const CompletionBefore before = CompletionBefore::of(completion);
        make_room(*queue);
        const hsabe_status_t status = queue->submit(1, put, &position);
        if (status == HSA_STATUS_SUCCESS) service_copies_.add(before, position);
        return status;
      }
    }
    if (full) {
      std::this_thread::sleep_for(kRoomAfter);
    } else if (make_service() != HSA_STATUS_SUCCESS) {
      return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
  }
}

void CopyEngines::engines(uint32_t* all, uint32_t* idle) {
  *all = *idle = 0;
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < engine_count_; ++i) {
    *all |= 1u << i;
    // Engines without a queue are reported too, as in ROCr, because HIP 6 rejects a device without engines.
    // They are idle.
    if (engines_[i].queue == nullptr || engines_[i].queue->idle()) *idle |= 1u << i;
  }
}

hsabe_status_t CopyEngines::invalidate_code() {
  if (device_.has_quirk(kQuirkCodeCacheByFirmware)) return HSA_STATUS_SUCCESS;
  uint32_t words[kPm4PacketMax];
  const uint32_t* const end = device_.family.generation->invalidate_code(words);
  const std::span<const uint32_t> packet(words, static_cast<size_t>(end - words));
  std::shared_ptr<ServiceQueue> queue;
  hsabe_status_t status = make_service(&queue);
  if (status != HSA_STATUS_SUCCESS) return status;
  bool busy = false;
  status = queue->run_pm4(packet, true, &busy);
  if (!busy) return status;
  // A copy in the queue for kernels may take long, or wait for one that does. The packet must not wait for
  // it, and runs in another queue.
  std::shared_ptr<ServiceQueue> control;
  {
    const MutexLock lock(control_mutex_);
    if (control_ != nullptr && control_->failed()) control_ = nullptr;
    if (control_ == nullptr) {
      status = ServiceQueue::create(
          device_, [](hsa_status_t) {}, control_);
      if (status != HSA_STATUS_SUCCESS) return status;
    }
    control = control_;
  }
  return control->run_pm4(packet, false, &busy);
}

}  // namespace rigel::gfx
