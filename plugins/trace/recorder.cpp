#include "plugins/trace/recorder.hpp"

#include <hsa_plugin/hsa_tool_calls.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include "api/support/futex.hpp"

namespace trace {
namespace {

// The last session number, which is unique in this process and its parents.
constinit std::atomic<uint32_t> sessions{0};

struct ThreadState {
  ThreadRing* ring = nullptr;
  uint32_t session = 0;  // session that the ring was prepared for
};
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadState thread_state;

// A key whose destructor releases the ring when the thread ends.
pthread_key_t leaving_key;
bool has_leaving_key = false;

void leave(void* ring) {
  thread_state = {};
  static_cast<ThreadRing*>(ring)->state.store(ThreadRing::kLeft, std::memory_order_release);
}

}  // namespace

Recorder::Recorder(std::vector<FunctionInfo> functions)
    : functions_(std::move(functions)), shown_(new std::atomic<bool>[functions_.size()]) {}

void Recorder::start(const hsatool_host_t* host, const std::vector<bool>& shown, size_t ring_words) {
  if (!has_leaving_key && pthread_key_create(&leaving_key, leave) != 0) throw std::bad_alloc();
  has_leaving_key = true;
  host_.store(host, std::memory_order_relaxed);
  for (size_t i = 0; i < functions_.size(); ++i) shown_[i].store(shown[i], std::memory_order_relaxed);
  ring_words_ = ring_words;
  session_.store(sessions.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_release);
}

void Recorder::stop() noexcept {
  session_.store(0, std::memory_order_release);
}

// --- A thread's ring ---------------------------------------------------------------------------------------

ThreadRing* Recorder::ring() noexcept {
  const uint32_t session = session_.load(std::memory_order_acquire);
  if (thread_state.session == session && session != 0) [[likely]]
    return thread_state.ring;
  return attach();
}

ThreadRing* Recorder::attach() noexcept {
  const uint32_t session = session_.load(std::memory_order_acquire);
  if (session == 0) return nullptr;
  ThreadRing* thread_ring = thread_state.ring;
  if (thread_ring == nullptr || &thread_ring->owner != this) {
    try {
      thread_ring = find_ring();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    // If this fails, the ring is not reused after the thread's end.
    pthread_setspecific(leaving_key, thread_ring);
  }
  thread_ring->open_calls = 0;
  thread_state = {thread_ring, session};
  return thread_ring;
}

ThreadRing* Recorder::find_ring() {
  const auto tid = static_cast<uint32_t>(::syscall(SYS_gettid));
  for (ThreadRing* ring = rings(); ring != nullptr; ring = ring->next) {
    uint32_t free = ThreadRing::kFree;
    if (ring->state.load(std::memory_order_relaxed) != free) continue;
    if (!ring->state.compare_exchange_strong(free, ThreadRing::kOwned, std::memory_order_acquire)) continue;
    ring->tid.store(tid, std::memory_order_relaxed);
    return ring;
  }
  auto* const ring = new ThreadRing(*this, ring_words_);
  ring->tid.store(tid, std::memory_order_relaxed);
  ring->next = rings_.load(std::memory_order_relaxed);
  while (!rings_.compare_exchange_weak(ring->next, ring, std::memory_order_release)) {
  }
  return ring;
}

// --- Records -----------------------------------------------------------------------------------------------

// Times of a thread increase strictly, so that a nested call starts after the outer one.
uint64_t Recorder::time(ThreadRing& thread_ring) const noexcept {
  thread_ring.last_time = std::max(host().services->now(), thread_ring.last_time + 1);
  return thread_ring.last_time;
}

uint64_t* Recorder::begin_record(ThreadRing& thread_ring, size_t words, size_t reserved_words) noexcept {
  uint64_t* const record = thread_ring.ring.reserve(words, reserved_words);
  if (record == nullptr) {
    thread_ring.lost.store(thread_ring.lost.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    wake();
  }
  return record;
}

void Recorder::end_record(ThreadRing& thread_ring, size_t words) noexcept {
  thread_ring.ring.commit(words);
  if (thread_ring.ring.fills_up()) [[unlikely]]
    wake();
}

void Recorder::enter(hsatool_call_t& call) noexcept {
  const FunctionInfo& info = functions_[call.function->index];
  if (!is_shown(call.function->index)) return;
  ThreadRing* const thread_ring = ring();
  if (thread_ring == nullptr) return;
  const auto* const arguments = static_cast<const char*>(call.arguments);
  const size_t argument_words = (info.argument_bytes + size_t{7}) / 8;
  size_t words = 3 + argument_words;
  const char* texts[FunctionInfo::kMaxTexts];
  size_t lengths[FunctionInfo::kMaxTexts];
  for (size_t i = 0; i < info.texts; ++i) {
    std::memcpy(&texts[i], arguments + info.text_offsets[i], sizeof texts[i]);
    lengths[i] = texts[i] == nullptr ? 0 : ::strnlen(texts[i], kMaxTextBytes);
    words += text_words(lengths[i]);
    if (words > Ring::kLongest) {  // omit the text
      words -= text_words(lengths[i]);
      lengths[i] = 0;
      words += text_words(0);
    }
  }
  uint64_t* const record =
      begin_record(*thread_ring, words, kCallEndWords * (size_t{thread_ring->open_calls} + 1));
  if (record == nullptr) return;
  store_head(record, {RecordType::kCallBegins, static_cast<uint8_t>(words),
                      static_cast<uint16_t>(call.function->index), 0});
  record[1] = time(*thread_ring);
  record[2] = call.id;
  const size_t whole = info.argument_bytes / 8;
  for (size_t i = 0; i < whole; ++i) std::memcpy(&record[3 + i], arguments + 8 * i, 8);
  if (whole != argument_words) {
    record[3 + whole] = 0;
    std::memcpy(&record[3 + whole], arguments + 8 * whole, info.argument_bytes % 8u);
  }
  uint64_t* at = record + 3 + argument_words;
  for (size_t i = 0; i < info.texts; ++i) {
    store_text(at, lengths[i] == 0 ? "" : texts[i], lengths[i]);
    at += text_words(lengths[i]);
  }
  end_record(*thread_ring, words);
  ++thread_ring->open_calls;
  call.data = 1;
}

namespace {

template <class T>
T load(const void* from, size_t offset = 0) noexcept {
  T value;
  std::memcpy(&value, static_cast<const char*>(from) + offset, sizeof value);
  return value;
}

uint64_t result_of(const hsatool_call_t& call) noexcept {
  uint64_t result = 0;
  if (call.result != nullptr)
    std::memcpy(&result, call.result, std::min<size_t>(sizeof result, call.function->result.size));
  return result;
}

// Stores the outputs that arguments point to. Returns their number.
uint32_t outputs_of(const FunctionInfo& info, const hsatool_call_t& call, uint64_t result,
                    uint64_t* outputs) noexcept {
  const bool returns_status = call.function->result.kind == HSATOOL_KIND_STATUS;
  if (returns_status && static_cast<uint32_t>(result) != HSA_STATUS_SUCCESS) return 0;
  switch (info.role) {
    case FunctionRole::kCreates:
    case FunctionRole::kAllocates: {
      const auto* const output = load<const void*>(call.arguments, info.output);
      if (output == nullptr) return 0;
      outputs[0] = load<uint64_t>(output);
      return 1;
    }
    case FunctionRole::kWaitsForAny:
    case FunctionRole::kWaitsForAll: {
      const auto* const signals = load<const uint64_t*>(call.arguments, info.output);
      const auto count = load<uint32_t>(call.arguments);
      if (static_cast<uint32_t>(result) >= count || signals == nullptr) return 0;  // timeout
      if (info.role == FunctionRole::kWaitsForAny) {
        outputs[0] = signals[static_cast<uint32_t>(result)];
        return 1;
      }
      const auto copied = std::min<uint32_t>(count, kMaxOutputs);
      std::copy_n(signals, copied, outputs);
      return copied;
    }
    default:
      return 0;
  }
}

}  // namespace

void Recorder::exit(hsatool_call_t& call) noexcept {
  const FunctionInfo& info = functions_[call.function->index];
  const uint64_t result = result_of(call);
  if (info.role == FunctionRole::kFreezes && static_cast<uint32_t>(result) == HSA_STATUS_SUCCESS)
    record_kernel_names(hsatool::arguments<hsatool_hsa_executable_freeze_args_t>(call).executable);
  if (call.data == 0) return;  // the start was not recorded
  ThreadRing* const thread_ring = ring();
  if (thread_ring == nullptr) return;
  uint64_t* const record = begin_record(*thread_ring, kCallEndWords, 0);
  if (thread_ring->open_calls > 0) --thread_ring->open_calls;
  if (record == nullptr) return;
  const uint32_t outputs = outputs_of(info, call, result, record + 4);
  const size_t words = 4 + size_t{outputs};
  store_head(record, {RecordType::kCallEnds, static_cast<uint8_t>(words),
                      static_cast<uint16_t>(call.function->index), outputs});
  record[1] = time(*thread_ring);
  record[2] = call.id;
  record[3] = result;
  end_record(*thread_ring, words);
}

void Recorder::enqueued(uint64_t queue_id, uint64_t index, const void* packet) noexcept {
  ThreadRing* const thread_ring = ring();
  if (thread_ring == nullptr) return;
  uint64_t* const record =
      begin_record(*thread_ring, kEnqueuedWords, kCallEndWords * size_t{thread_ring->open_calls});
  if (record == nullptr) return;
  store_head(record, {RecordType::kEnqueued, kEnqueuedWords, 0, 0});
  record[1] = time(*thread_ring);
  record[2] = queue_id;
  record[3] = index;
  std::memcpy(record + 4, packet, 64);
  end_record(*thread_ring, kEnqueuedWords);
}

void Recorder::done(const hsatool_activity_t& activity) noexcept {
  ThreadRing* const thread_ring = ring();
  if (thread_ring == nullptr) return;
  // Set before the record, so that a writer that sees later records reads this ring first.
  thread_ring->has_activities.store(true, std::memory_order_relaxed);
  uint64_t* const record =
      begin_record(*thread_ring, kActivityWords, kCallEndWords * size_t{thread_ring->open_calls});
  if (record == nullptr) return;
  store_head(record, {RecordType::kActivity, kActivityWords, 0, 0});
  record[1] = time(*thread_ring);
  record[2] = activity.kind;
  record[3] = activity.begin;
  record[4] = activity.end;
  record[5] = activity.call;
  record[6] = activity.agent.handle;
  record[7] = activity.queue_id;
  record[8] = activity.index;
  record[9] = HSATOOL_HAS(&activity, hsatool_activity_t, completion) ? activity.completion.handle : 0;
  record[10] = activity.source.handle;
  record[11] = activity.destination.handle;
  record[12] = activity.bytes;
  if (activity.packet != nullptr) {
    std::memcpy(record + 13, activity.packet, 64);
  } else {
    std::memset(record + 13, 0, 64);
  }
  end_record(*thread_ring, kActivityWords);
}

void Recorder::mark(MarkerOperation operation, const char* text, uint64_t range) noexcept {
  ThreadRing* const thread_ring = ring();
  if (thread_ring == nullptr) return;
  const size_t bytes = text == nullptr ? 0 : ::strnlen(text, kMaxMarkerBytes);
  const size_t words = 3 + text_words(bytes);
  uint64_t* const record = begin_record(*thread_ring, words, kCallEndWords * size_t{thread_ring->open_calls});
  if (record == nullptr) return;
  store_head(record, {RecordType::kMarker, static_cast<uint8_t>(words), static_cast<uint16_t>(operation), 0});
  record[1] = time(*thread_ring);
  record[2] = range;
  store_text(record + 3, bytes == 0 ? "" : text, bytes);
  end_record(*thread_ring, words);
}

// --- Kernels -----------------------------------------------------------------------------------------------

void Recorder::record_kernel_names(hsa_executable_t executable) noexcept try {
  struct Search {
    const CoreApiTable& core;
    KernelNames& names;
    uint64_t now;
  } search{*static_cast<const HsaApiTable*>(host().tables)->core_, kernels_, host().services->now()};
  search.core.hsa_executable_iterate_symbols_fn(
      executable,
      [](hsa_executable_t, hsa_executable_symbol_t symbol, void* data) {
        const auto& [core, names, since] = *static_cast<Search*>(data);
        const auto get = [&core = core, symbol](hsa_executable_symbol_info_t attribute, void* value) {
          return core.hsa_executable_symbol_get_info_fn(symbol, attribute, value) == HSA_STATUS_SUCCESS;
        };
        hsa_symbol_kind_t kind{};
        uint64_t object = 0;
        uint32_t length = 0;
        if (!get(HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind) || kind != HSA_SYMBOL_KIND_KERNEL ||
            !get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object) ||
            !get(HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length)) {
          return HSA_STATUS_SUCCESS;
        }
        try {
          std::string name(size_t{length} + 1, '\0');
          if (get(HSA_EXECUTABLE_SYMBOL_INFO_NAME, name.data())) {
            name.resize(std::strlen(name.c_str()));
            names.add(object, demangled(name), since);
          }
        } catch (const std::bad_alloc&) {
          return HSA_STATUS_ERROR_OUT_OF_RESOURCES;  // the trace will contain the address
        }
        return HSA_STATUS_SUCCESS;
      },
      &search);
} catch (const std::bad_alloc&) {
}

// --- The writer's sleep ------------------------------------------------------------------------------------

void Recorder::sleep(uint32_t milliseconds) noexcept {
  if (woken_.load(std::memory_order_acquire) == 0)
    rigel::futex_wait(woken_, 0, uint64_t{milliseconds} * 1'000'000);
  woken_.store(0, std::memory_order_relaxed);
}

void Recorder::wake() noexcept {
  if (woken_.exchange(1, std::memory_order_release) == 0) rigel::futex_wake_one(&woken_);
}

}  // namespace trace
