#include "core/sampling/pc_sampling.hpp"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "api/support/clock.hpp"
#include "api/support/fence.hpp"
#include "api/support/program_signals.hpp"
#include "core/signal/handler_thread.hpp"

namespace rigel {
namespace {

using Sample = perf_sample_hosttrap_v1_t;

constexpr hsa_ven_amd_pcs_configuration_t kConfiguration{
    .method = HSA_VEN_AMD_PCS_METHOD_HOSTTRAP_V1,
    .units = HSA_VEN_AMD_PCS_INTERVAL_UNITS_INSTRUCTIONS,
    .min_interval = 1,
    .max_interval = UINT32_MAX,
    .flags = 0,
};

// Samples that a session keeps while the client is slow; further ones are lost.
constexpr size_t kKeptBuffers = 64;

}  // namespace

class PcSampling::Session {
 public:
  Session(SamplingDriver& driver, uint32_t gpu_id, uint64_t interval, size_t buffer_size,
          hsa_ven_amd_pcs_data_ready_callback_t callback, void* data)
      : driver_(driver),
        gpu_id_(gpu_id),
        interval_(interval),
        samples_per_call_(buffer_size / sizeof(Sample)),
        callback_(callback),
        data_(data) {
    const ProgramSignalsBlocked blocked;
    thread_ = std::thread([this] { serve(); });
    pthread_setname_np(thread_.native_handle(), "hsa-sampling");
  }
  ~Session() { end(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Afterwards the client is not called. Threads that have found the session earlier may still hold it. One
  // thread at a time.
  void end() {
    {
      const std::lock_guard lock(state_mutex_);
      is_destroyed_ = true;
      stop_driver();
    }
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    const std::lock_guard calling(calling_mutex_);  // waits for a flush
  }

  Status start() {
    const std::lock_guard lock(state_mutex_);
    if (is_destroyed_)
      return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "PC sampling: the session is destroyed");
    if (is_on_) return HSA_STATUS_SUCCESS;
    const hsadrv_sampler_t sampler{sizeof sampler, interval_, take, this};
    const int problem = driver_.start(gpu_id_, sampler);
    if (problem == -EBUSY)
      return fail(static_cast<Status>(HSA_STATUS_ERROR_RESOURCE_BUSY),
                  "PC sampling: another session of GPU {} is on", gpu_id_);
    if (problem != 0)
      return fail(HSA_STATUS_ERROR, "PC sampling: GPU {}: {}", gpu_id_, std::strerror(-problem));
    is_on_ = true;
    return HSA_STATUS_SUCCESS;
  }

  void stop() {
    const std::lock_guard lock(state_mutex_);
    stop_driver();
  }

  // Offers the samples that are there now. Later ones are left to the session's thread.
  void flush() {
    const std::lock_guard calling(calling_mutex_);
    size_t due = 0;
    {
      const std::lock_guard lock(mutex_);
      due = ready_.size();
      if (due == 0 && lost_ == 0) return;
    }
    for (;;) {
      const size_t removed = call_client(due);
      due -= removed;
      if (removed == 0 || due == 0) return;
    }
  }

 private:
  // The holder of state_mutex_ calls it.
  void stop_driver() {
    if (std::exchange(is_on_, false)) driver_.stop(gpu_id_);
  }

  // Called by the driver.
  static void take(void* context, const hsadrv_sample_t* samples, uint64_t count, uint64_t lost) {
    static_cast<Session*>(context)->add(samples, count, lost);
  }

  void add(const hsadrv_sample_t* samples, uint64_t count, uint64_t lost) noexcept {
    const uint64_t now = system_time_ns();
    bool is_full = false;
    {
      const std::lock_guard lock(mutex_);
      const size_t limit = kKeptBuffers * samples_per_call_;
      uint64_t kept = 0;
      try {
        for (; kept < count && ready_.size() < limit; ++kept) {
          Sample sample{};
          sample.pc = samples[kept].pc;
          sample.exec_mask = samples[kept].exec;
          sample.workgroup_id_x = samples[kept].group[0];
          sample.workgroup_id_y = samples[kept].group[1];
          sample.workgroup_id_z = samples[kept].group[2];
          sample.wave_in_wg = samples[kept].wave & 0x3f;
          sample.timestamp = now;
          sample.correlation_id = samples[kept].dispatch;
          ready_.push_back(sample);
        }
      } catch (const std::bad_alloc&) {
      }
      lost_ += lost + (count - kept);
      ++arrivals_;
      is_full = ready_.size() >= samples_per_call_;
    }
    if (is_full) changed_.notify_all();
  }

  void serve() noexcept {
    become_handler_thread();
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ends_ || needs_call(); });
        if (ends_) return;
      }
      const std::lock_guard calling(calling_mutex_);
      {
        const std::lock_guard lock(mutex_);
        if (!needs_call()) continue;  // a flush was faster
      }
      call_client(samples_per_call_);
    }
  }

  // Whether a buffer is full, and samples have arrived since the client last copied none. The holder of
  // mutex_ calls it.
  bool needs_call() const { return ready_.size() >= samples_per_call_ && refused_at_ != arrivals_; }

  struct Copying {
    const std::vector<Sample>& samples;
    size_t copied = 0;  // bytes
  };

  // Calls the client, unless the session ends, with at most a buffer and at most `limit` samples; keeps those
  // that it has not copied. If that fails, they are lost. Returns the number of samples that are copied or
  // lost. The holder of calling_mutex_ calls it.
  size_t call_client(size_t limit) noexcept {
    std::vector<Sample> batch;
    uint64_t arrivals = 0, lost = 0;
    size_t removed = 0;
    {
      const std::lock_guard lock(mutex_);
      if (ends_) return 0;
      const size_t size = std::min({limit, samples_per_call_, ready_.size()});
      const auto end = ready_.begin() + static_cast<ptrdiff_t>(size);
      try {
        batch.assign(ready_.begin(), end);
      } catch (const std::bad_alloc&) {
        removed = size;
        lost_ += size;
      }
      ready_.erase(ready_.begin(), end);
      lost = std::exchange(lost_, 0);
      arrivals = arrivals_;
    }
    Copying copying{batch};
    const auto copy = [](void* argument, size_t size, void* destination) -> hsa_status_t {
      auto& from = *static_cast<Copying*>(argument);
      if (size == 0) return HSA_STATUS_SUCCESS;
      if (destination == nullptr || size % sizeof(Sample) != 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
      if (size > from.samples.size() * sizeof(Sample) - from.copied) return HSA_STATUS_ERROR_EXCEPTION;
      std::memcpy(destination, reinterpret_cast<const std::byte*>(from.samples.data()) + from.copied, size);
      from.copied += size;
      return HSA_STATUS_SUCCESS;
    };
    bool has_thrown = false;
    try {
      callback_(data_, batch.size() * sizeof(Sample), lost, copy, &copying);
    } catch (...) {
      status_of_exception(LogTopic::kApi);
      has_thrown = true;
    }
    const size_t copied = copying.copied / sizeof(Sample);
    const auto rest = batch.begin() + static_cast<ptrdiff_t>(copied);
    const std::lock_guard lock(mutex_);
    bool is_kept = false;
    if (!has_thrown) {
      try {
        ready_.insert(ready_.begin(), rest, batch.end());
        is_kept = true;
      } catch (const std::bad_alloc&) {
      }
    }
    if (!is_kept) lost_ += batch.size() - copied;
    if (has_thrown) lost_ += lost;
    removed += is_kept ? copied : batch.size();
    refused_at_ = removed == 0 ? std::optional(arrivals) : std::nullopt;
    return removed;
  }

  SamplingDriver& driver_;
  const uint32_t gpu_id_;
  const uint64_t interval_;
  const size_t samples_per_call_;
  const hsa_ven_amd_pcs_data_ready_callback_t callback_;
  void* const data_;

  std::mutex state_mutex_;  // guards the following two, and is held while the driver starts and stops
  bool is_on_ = false;
  bool is_destroyed_ = false;

  std::mutex calling_mutex_;  // held while the client is called
  std::mutex mutex_;          // guards the following
  std::condition_variable changed_;
  std::deque<Sample> ready_;
  uint64_t lost_ = 0;
  uint64_t arrivals_ = 0;               // calls of the driver
  std::optional<uint64_t> refused_at_;  // arrivals_ when samples were taken of which the client copied none
  bool ends_ = false;

  std::thread thread_;
};

PcSampling::PcSampling(const Machine& machine, std::unique_ptr<SamplingDriver> driver)
    : machine_(machine), driver_(std::move(driver)) {}

void PcSampling::end() {
  for (;;) {
    std::shared_ptr<Session> ended;
    {
      const MutexLock lock(mutex_);
      if (sessions_.empty()) return;
      const auto first = sessions_.begin();
      ended = std::move(first->second);
      sessions_.erase(first);
    }
    ended->end();
  }
}

bool PcSampling::supports(const Agent& agent) const {
  return agent.caps().device_type == HSA_DEVICE_TYPE_GPU && driver_->find_gpu(agent).has_value();
}

Result<uint32_t> PcSampling::find_gpu(hsa_agent_t agent, Status if_unsupported) const {
  const Agent* const of = machine_.find_agent(agent);
  if (of == nullptr) return no_such_agent(agent);
  if (of->caps().device_type != HSA_DEVICE_TYPE_GPU)
    return fail(HSA_STATUS_ERROR_INVALID_AGENT, "PC sampling: the agent is not a GPU");
  const auto gpu = driver_->find_gpu(*of);
  if (!gpu) return fail(if_unsupported, "PC sampling: the driver does not support it");
  return *gpu;
}

Result<std::shared_ptr<PcSampling::Session>> PcSampling::find(hsa_ven_amd_pcs_t session) const {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(session.handle);
  if (found == sessions_.end())
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "PC sampling session {}: invalid handle", session.handle);
  return found->second;
}

Status PcSampling::iterate_configuration(hsa_agent_t agent,
                                         hsa_ven_amd_pcs_iterate_configuration_callback_t callback,
                                         void* data) const {
  const auto gpu = find_gpu(agent, HSA_STATUS_ERROR);
  if (!gpu) return gpu.error();
  if (callback == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "PC sampling: callback is NULL");
  callback(&kConfiguration, data);
  return HSA_STATUS_SUCCESS;
}

Status PcSampling::create(hsa_agent_t agent, hsa_ven_amd_pcs_method_kind_t method,
                          hsa_ven_amd_pcs_units_t units, size_t interval, size_t, size_t buffer_size,
                          hsa_ven_amd_pcs_data_ready_callback_t callback, void* data,
                          hsa_ven_amd_pcs_t* session) {
  const auto gpu = find_gpu(agent, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  if (!gpu) return gpu.error();
  if (callback == nullptr || session == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "PC sampling: a pointer is NULL");
  if (method != kConfiguration.method || units != kConfiguration.units ||
      interval < kConfiguration.min_interval || interval > kConfiguration.max_interval)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                "PC sampling: no configuration has method {}, unit {}, interval {}",
                static_cast<uint32_t>(method), static_cast<uint32_t>(units), interval);
  if (buffer_size == 0 || buffer_size % (2 * sizeof(Sample)) != 0)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "PC sampling: buffer size {} is not a multiple of {}",
                buffer_size, 2 * sizeof(Sample));
  try {
    auto created = std::make_shared<Session>(*driver_, *gpu, interval, buffer_size, callback, data);
    const MutexLock lock(mutex_);
    session->handle = next_handle_++;
    sessions_.emplace(session->handle, std::move(created));
  } catch (const std::system_error& problem) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "PC sampling: {}", problem.what());
  }
  return HSA_STATUS_SUCCESS;
}

Status PcSampling::create_from_id(uint32_t id, hsa_agent_t agent, hsa_ven_amd_pcs_method_kind_t method,
                                  hsa_ven_amd_pcs_units_t units, size_t interval, size_t latency,
                                  size_t buffer_size, hsa_ven_amd_pcs_data_ready_callback_t callback,
                                  void* data, hsa_ven_amd_pcs_t* session) {
  const auto gpu = find_gpu(agent, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  if (!gpu) return gpu.error();
  static_cast<void>(std::tie(method, units, interval, latency, buffer_size, callback, data, session));
  return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "PC sampling: the driver has no session {}", id);
}

Status PcSampling::destroy(hsa_ven_amd_pcs_t session) {
  const auto found = find(session);
  if (!found) return found.error();
  {
    const MutexLock lock(mutex_);
    // Of several threads that destroy the session, one ends it.
    if (sessions_.erase(session.handle) == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  (*found)->end();
  return HSA_STATUS_SUCCESS;
}

Status PcSampling::start(hsa_ven_amd_pcs_t session) {
  const auto found = find(session);
  return found ? (*found)->start() : found.error();
}

Status PcSampling::stop(hsa_ven_amd_pcs_t session) {
  const auto found = find(session);
  if (!found) return found.error();
  (*found)->stop();
  return HSA_STATUS_SUCCESS;
}

Status PcSampling::flush(hsa_ven_amd_pcs_t session) {
  const auto found = find(session);
  if (!found) return found.error();
  (*found)->flush();
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel
