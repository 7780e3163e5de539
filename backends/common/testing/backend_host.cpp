#include "backends/common/testing/backend_host.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa_plugin/kfd_abi.h>

#include "api/support/mutex.hpp"

namespace rigel::gfx::testing {
namespace {

// Whether queues of this type are queues of copy engines.
bool is_of_engine(uint32_t queue_type) {
  return queue_type == KFD_QUEUE_SDMA || queue_type == KFD_QUEUE_SDMA_XGMI;
}

std::atomic_ref<int64_t> value_of(uint64_t signal) {
  return std::atomic_ref(const_cast<int64_t&>(reinterpret_cast<amd_signal_t*>(signal)->value));
}

bool holds(const hsabe_wait_t& wait) {
  const int64_t value = value_of(wait.signal).load(std::memory_order_acquire);
  switch (wait.condition) {
    case HSA_SIGNAL_CONDITION_EQ:
      return value == wait.value;
    case HSA_SIGNAL_CONDITION_NE:
      return value != wait.value;
    case HSA_SIGNAL_CONDITION_LT:
      return value < wait.value;
    default:
      return value >= wait.value;
  }
}

}  // namespace

struct BackendHostServices {
  static BackendHost& of(void* self) { return BackendHost::of(self); }

  static constexpr hsabe_host_log_t kLog{sizeof(hsabe_host_log_t),
                                         [](void*, uint32_t) -> int32_t { return 0; },
                                         [](void*, uint32_t, hsabe_str_t) {}};

  static constexpr hsabe_host_memory_t kMemory{sizeof(hsabe_host_memory_t),
                                               [](void* self, uint64_t size, void** out) -> hsabe_status_t {
                                                 *out = of(self).gpu_.share(size);
                                                 return HSA_STATUS_SUCCESS;
                                               },
                                               [](void*, void*) {}};

  static constexpr hsabe_host_signal_t kSignal{
      sizeof(hsabe_host_signal_t),
      [](void* self, int64_t value, uint64_t* out) -> hsabe_status_t {
        auto* const signal = of(self).gpu_.share_object<amd_signal_t>();
        signal->kind = AMD_SIGNAL_KIND_USER;
        *out = reinterpret_cast<uint64_t>(signal);
        value_of(*out).store(value, std::memory_order_release);
        return HSA_STATUS_SUCCESS;
      },
      [](void* self, uint64_t signal) {
        const MutexLock lock(of(self).mutex_);
        std::erase_if(of(self).watches_, [&](const auto& watch) { return watch.wait.signal == signal; });
      },
      [](void*, uint64_t signal, int64_t value) { value_of(signal).store(value, std::memory_order_release); },
      [](void*, uint64_t signal, int64_t value) {
        value_of(signal).fetch_sub(value, std::memory_order_acq_rel);
      },
      [](void*, const hsabe_wait_t* waits, uint32_t count, uint64_t timeout_ns, uint64_t) -> uint32_t {
        const auto end = std::chrono::steady_clock::now() +
                         std::chrono::nanoseconds(std::min<uint64_t>(timeout_ns, uint64_t{1} << 40));
        do {
          for (uint32_t i = 0; i < count; ++i)
            if (holds(waits[i])) return i;
          std::this_thread::yield();
        } while (std::chrono::steady_clock::now() < end);
        return HSABE_WAIT_TIMED_OUT;
      },
      [](void* self, const hsabe_wait_t* wait, hsa_amd_signal_handler handler,
         void* argument) -> hsabe_status_t {
        const MutexLock lock(of(self).mutex_);
        of(self).watches_.push_back({*wait, handler, argument, of(self).watches_made_++});
        return HSA_STATUS_SUCCESS;
      },
      [](void* self) { const MutexLock lock(of(self).handling_); }};

  static constexpr hsabe_host_events_t kEvents{sizeof(hsabe_host_events_t),
                                               [](void* self, uint64_t cookie, hsabe_status_t status) {
                                                 const MutexLock lock(of(self).mutex_);
                                                 of(self).errors_.emplace_back(cookie, status);
                                               },
                                               [](void* self, hsabe_str_t text) {
                                                 const MutexLock lock(of(self).mutex_);
                                                 of(self).report_ = hsabe::view(text);
                                               },
                                               [](void* self, hsabe_scratch_event_t* event) {
                                                 if (of(self).on_scratch_) of(self).on_scratch_(*event);
                                                 const MutexLock lock(of(self).mutex_);
                                                 of(self).scratch_events_.push_back(*event);
                                               }};

  static bool has_memory(const BackendHost& host, uint32_t kind, uint64_t size) {
    return kind != HSABE_BLOCK_LOCAL || size <= host.largest_block_;
  }

  static hsabe_status_t allocate(BackendHost& host, uint32_t flags, uint64_t size, hsabe_block_t* out) {
    const bool twice = (flags & HSABE_BLOCK_TWICE) != 0;
    void* const memory = twice ? host.gpu_.share(size, size / 2, KFD_MEM_AQL_QUEUE) : host.gpu_.share(size);
    *out = {sizeof(*out), memory, size, 0, 0};
    const MutexLock lock(host.mutex_);
    if (twice) host.mapped_twice_.push_back(reinterpret_cast<uint64_t>(memory));
    return HSA_STATUS_SUCCESS;
  }

  static constexpr hsabe_host_driver_t kDriver{
      sizeof(hsabe_host_driver_t),
      [](void* self, hsabe_driver_facts_t* facts) {
        const std::vector<uint32_t>& units = of(self).own_units_;
        const uint64_t known =
            of(self).knows_own_units_ ? sizeof(*facts) : HSABE_END(hsabe_driver_facts_t, exceptions);
        const uint64_t size = std::min<uint64_t>(facts->struct_size, known);
        const hsabe_driver_facts_t own{size,
                                       KFD_ABI_VERSION_MAJOR,
                                       of(self).interface_,
                                       of(self).gpu_.gpu_id(),
                                       1,
                                       uint64_t{1} << 48,
                                       uint64_t{2} << 48,
                                       (uint64_t{1} << 40) - 1,
                                       of(self).exceptions_,
                                       units.data(),
                                       units.size() * 32};
        std::memcpy(facts, &own, size);
      },
      [](void* self, uint32_t number, void* argument, uint64_t size) -> int32_t {
        BackendHost& host = of(self);
        if (number == KFD_NR_CREATE_QUEUE &&
            is_of_engine(static_cast<kfd_create_queue*>(argument)->queue_type)) {
          ++host.engine_requests_;
          if (host.no_engines_) return -ENOMEM;
        }
        if (number == KFD_NR_UPDATE_QUEUE) return host.update_queue(argument, size);
        if (number == KFD_NR_SET_CU_MASK) {
          const auto& mask = *static_cast<const kfd_set_cu_mask*>(argument);
          const auto* const words = reinterpret_cast<const uint32_t*>(mask.cu_mask_ptr);
          const MutexLock lock(host.mutex_);
          host.cu_mask_.assign(words, words + mask.num_cu_mask / 32);
        }
        const int32_t result = host.gpu_.call(number, argument, size);
        if (number == KFD_NR_DESTROY_QUEUE && host.after_destroying_)
          std::exchange(host.after_destroying_, {})();
        return result;
      },
      [](void* self, uint32_t kind, uint32_t flags, uint64_t size, uint64_t,
         hsabe_block_t* out) -> hsabe_status_t {
        if (!has_memory(of(self), kind, size)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
        return allocate(of(self), flags, size, out);
      },
      [](void* self, uint32_t kind, uint32_t, void* address, uint64_t size,
         hsabe_block_t* out) -> hsabe_status_t {
        if (!has_memory(of(self), kind, size)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
        *out = {sizeof(*out), address, size, of(self).gpu_.share_at(address, size, size, 0), 1};
        return HSA_STATUS_SUCCESS;
      },
      [](void* self, const hsabe_block_t* block) {
        if (of(self).before_freeing_) std::exchange(of(self).before_freeing_, {})();
        if (block->at_reserved != 0) of(self).gpu_.take_back(block->handle);
      },
      [](void* self, uint64_t size, uint64_t, void** address) -> hsabe_status_t {
        *address = of(self).gpu_.reserve(size);
        return HSA_STATUS_SUCCESS;
      },
      [](void*, void*, uint64_t) {},
      [](void* self, uint64_t offset, uint32_t queue_id) -> void* {
        return of(self).gpu_.doorbell(offset, queue_id);
      },
      [](void*) -> void* { return nullptr; },
      [](void* self, void* doorbell, hsabe_bell_t* bell) { *bell = of(self).gpu_.bell(doorbell); }};

  static constexpr hsabe_host_config_t kConfig{sizeof(hsabe_host_config_t),
                                               [](void*, hsabe_str_t, int64_t fallback) { return fallback; },
                                               [](void*, hsabe_str_t, int32_t fallback) { return fallback; },
                                               [](void* self, hsabe_str_t key, hsabe_str_t fallback) {
                                                 for (const auto& [name, value] : of(self).options_)
                                                   if (name == hsabe::view(key)) return hsabe::str(value);
                                                 return fallback;
                                               }};
};

BackendHost::BackendHost(VirtualGpu& gpu) : gpu_(gpu), host_{} {
  host_.struct_size = sizeof(host_);
  host_.abi_major = HSABE_ABI_MAJOR;
  host_.abi_minor = HSABE_ABI_MINOR;
  host_.self = this;
  host_.log = &BackendHostServices::kLog;
  host_.memory = &BackendHostServices::kMemory;
  host_.signal = &BackendHostServices::kSignal;
  host_.events = &BackendHostServices::kEvents;
  host_.config = &BackendHostServices::kConfig;
  host_.driver = &BackendHostServices::kDriver;
  thread_ = std::thread([this] { look(); });
}

BackendHost::~BackendHost() {
  ending_ = true;
  thread_.join();
}

int32_t BackendHost::update_queue(void* argument, uint64_t size) {
  ++updates_;
  const auto refused = [&] {
    if (updates_left_-- <= 0) return true;
    const MutexLock lock(mutex_);
    const uint64_t ring = static_cast<const kfd_update_queue*>(argument)->ring_base_address;
    return interface_ >= 17 && std::ranges::find(mapped_twice_, ring) != mapped_twice_.end();
  };
  const int32_t result = refused() ? -EFAULT : gpu_.call(KFD_NR_UPDATE_QUEUE, argument, size);
  if (result != 0) ++failed_updates_;
  return result;
}

void BackendHost::look() {
  while (!ending_) {
    {
      const MutexLock handling(handling_);
      std::vector<Watch> ready;
      {
        const MutexLock lock(mutex_);
        for (const Watch& watch : watches_)
          if (holds(watch.wait)) ready.push_back(watch);
      }
      for (const Watch& watch : ready) {
        const bool again = watch.handler(value_of(watch.wait.signal).load(), watch.argument);
        if (again) continue;
        const MutexLock lock(mutex_);
        std::erase_if(watches_, [&](const Watch& other) { return other.number == watch.number; });
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

std::vector<hsabe_scratch_event_t> BackendHost::scratch_events() const {
  const MutexLock lock(mutex_);
  return scratch_events_;
}

std::vector<std::pair<uint64_t, hsabe_status_t>> BackendHost::queue_errors() const {
  const MutexLock lock(mutex_);
  return errors_;
}

void BackendHost::stop_queue(uint64_t inactive_signal, int64_t value) {
  value_of(inactive_signal).store(value, std::memory_order_release);
  eventually([&] {
    const MutexLock handling(handling_);
    const MutexLock lock(mutex_);
    return std::ranges::none_of(watches_,
                                [&](const Watch& watch) { return watch.wait.signal == inactive_signal; });
  });
}

void BackendHost::stop_queues(int64_t value) {
  const MutexLock lock(mutex_);
  for (const Watch& watch : watches_) value_of(watch.wait.signal).store(value, std::memory_order_release);
}

std::vector<uint64_t> BackendHost::watched() const {
  const MutexLock lock(mutex_);
  std::vector<uint64_t> signals;
  for (const Watch& watch : watches_) signals.push_back(watch.wait.signal);
  return signals;
}

std::vector<uint32_t> BackendHost::cu_mask() const {
  const MutexLock lock(mutex_);
  return cu_mask_;
}

std::string BackendHost::last_report() const {
  const MutexLock lock(mutex_);
  return report_;
}

}  // namespace rigel::gfx::testing
