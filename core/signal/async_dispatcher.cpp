#include "core/signal/async_dispatcher.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include <boost/intrusive/list.hpp>

#include "api/support/clock.hpp"
#include "api/support/log.hpp"
#include "api/support/program_signals.hpp"
#include "api/support/spin.hpp"
#include "core/signal/handler_thread.hpp"
#include "core/signal/poll_interval.hpp"
#include "core/signal/shared_signals.hpp"
#include "core/signal/wait_node.hpp"

namespace rigel {

[[gnu::tls_model("initial-exec")]] constinit thread_local bool detail::calls_handlers = false;

namespace {

// Time for which the idle thread spins after a call before it sleeps. Sleep and wake-up cost more, for the
// thread and for the signaller.
constexpr uint64_t kSpinNs = 5'000;

struct Registration
    : HandlerNode,
      boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
  Signal* signal = nullptr;
  hsa_amd_signal_handler handler = nullptr;
  void* argument = nullptr;
  bool polled = false;
};
using Registrations = boost::intrusive::list<Registration, boost::intrusive::constant_time_size<false>>;

struct Function : ReadyItem {
  void (*function)(void*) = nullptr;
  void* argument = nullptr;
};

}  // namespace

// One thread and its state. Shared by the dispatcher and the thread, which may outlive the dispatcher if it
// is stopped in a handler.
class AsyncDispatcher::Worker {
 public:
  // Returns null if out of memory, or if the thread cannot be started.
  static std::shared_ptr<Worker> start(void (*after_each)() noexcept) noexcept {
    try {
      auto worker = std::make_shared<Worker>();
      worker->after_each_ = after_each;
      auto* reference = new std::shared_ptr<Worker>(worker);  // owned by the thread
      const ProgramSignalsBlocked blocked;
      const int failure = pthread_create(&worker->thread_, nullptr, enter, reference);
      if (failure == 0) {
        pthread_setname_np(worker->thread_, "hsa-async");
        return worker;
      }
      delete reference;
      log_message(LogLevel::kError, LogTopic::kSignal,
                  "asynchronous handlers: their thread cannot be started: {}", std::strerror(failure));
    } catch (...) {
      log_message(LogLevel::kError, LogTopic::kSignal,
                  "asynchronous handlers: out of memory for their thread");
    }
    return nullptr;
  }

  Status watch(Signal& signal, SignalCondition condition, int64_t compare, hsa_amd_signal_handler handler,
               void* argument) noexcept {
    auto* registration = new (std::nothrow) Registration;
    if (registration == nullptr) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    registration->condition = condition;
    registration->compare = compare;
    registration->owner = WaitNode::Owner::kHandler;
    registration->queue = &queue_;
    registration->signal = &signal;
    registration->handler = handler;
    registration->argument = argument;
    {
      const MutexLock lock(mutex_);
      if (stopping()) {
        delete registration;
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
      }
      const uint32_t generation = signal.generation.load(std::memory_order_acquire);
      if (!link_waiter(signal, *registration, generation)) {
        delete registration;
        return HSA_STATUS_ERROR_INVALID_SIGNAL;
      }
      registered_.push_front(*registration);
      asymmetric_fence::heavy();
      registration->polled = needs_polling(signal);
      if (registration->polled) {
        polled_ += 1;
        poke();
      }
    }
    // The last check. The registration may be freed from here on, so the check uses the signal's list.
    signal.notify_here();
    return HSA_STATUS_SUCCESS;
  }

  Status post(void (*function)(void*), void* argument) noexcept {
    auto* item = new (std::nothrow) Function;
    if (item == nullptr) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    item->kind = ReadyItem::Kind::kFunction;
    item->function = function;
    item->argument = argument;
    const MutexLock lock(mutex_);
    if (stopping_) {
      delete item;
      return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    if (queue_.push(*item)) futex_wake_one(queue_.address());
    return HSA_STATUS_SUCCESS;
  }

  bool is_this_thread() const noexcept { return pthread_equal(pthread_self(), thread_) != 0; }
  bool is_of_this_process() const noexcept { return process_ == getpid(); }

  void stop() noexcept {
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
      poke();
    }
    if (is_this_thread()) {
      // The running handler continues, and the thread ends after it. All other cleanup happens here: the
      // caller may free the data of its functions.
      pthread_detach(thread_);
      finish();
    } else {
      pthread_join(thread_, nullptr);
    }
  }

 private:
  static void* enter(void* reference) noexcept {
    const std::unique_ptr<std::shared_ptr<Worker>> worker(static_cast<std::shared_ptr<Worker>*>(reference));
    become_handler_thread();
    (*worker)->work();
    return nullptr;
  }

  void work() noexcept {
    PollInterval interval;
    bool idle = false;
    while (!stopping()) {
      if (call_what_is_due()) {
        idle = false;
        interval = {};
      } else if (!idle) {
        spin();
        idle = true;
      } else if (polled_.load() != 0) {
        ChangeListener listener;
        poll_silent_signals(listener);
        sleep(system_time_ns() + interval.next(), listener);
      } else {
        sleep(UINT64_MAX, {});
      }
    }
    finish();
  }

  bool stopping() const noexcept { return stopping_.load(); }

  void spin() const noexcept {
    const uint64_t end = system_time_ns() + kSpinNs;
    while (queue_.empty() && system_time_ns() < end) cpu_relax();
  }

  void sleep(uint64_t deadline, const ChangeListener& listener) noexcept {
    queue_.prepare_to_sleep();
    if (!queue_.empty() || stopping()) return;
    if (deadline == UINT64_MAX && polled_.load() != 0) return;
    queue_.sleep(deadline, listener);
  }

  bool call_what_is_due() noexcept {
    due_ = queue_.take_all();
    if (due_ == nullptr) return false;
    call_due();
    return true;
  }

  // Also called by `finish`, within a call that this function makes.
  void call_due() noexcept {
    while (due_ != nullptr) {
      ReadyItem& item = *due_;
      due_ = item.next_ready;  // the item may be queued again or freed by its call
      if (item.kind == ReadyItem::Kind::kFunction) {
        call(static_cast<Function&>(item));
      } else if (!stopping()) {
        call(static_cast<Registration&>(static_cast<HandlerNode&>(item)));
      }
    }
  }

  void call(Function& item) noexcept {
    item.function(item.argument);
    delete &item;
    if (after_each_ != nullptr) after_each_();
  }

  void call(Registration& registration) noexcept {
    int64_t value;
    const bool fires = take_handler(*registration.signal, registration, value);
    running_ = &registration;
    const bool again = fires && registration.handler(value, registration.argument);
    running_ = nullptr;
    if (after_each_ != nullptr) after_each_();
    if (again && !finished_ && rearm_handler(*registration.signal, registration)) return;
    unlink_handler(*registration.signal, registration);
    const MutexLock lock(mutex_);
    delist(registration);
    delete &registration;
  }

  // Starts to listen to the notifiers of the signals before it polls them.
  void poll_silent_signals(ChangeListener& listener) noexcept {
    const MutexLock lock(mutex_);
    for (const Registration& item : registered_) {
      if (!item.polled || !item.signal->has_attribute(kSignalIpc)) continue;
      if (ChangeNotifier* const notifier = shared_signals::notifier_of(*item.signal))
        listener.listen(*notifier);
    }
    for (const Registration& item : registered_) {
      if (item.polled) item.signal->notify_here();
    }
  }

  // Final cleanup by the thread, perhaps within its last call: no call starts afterwards.
  void finish() noexcept {
    if (finished_) return;
    finished_ = true;
    {
      const MutexLock lock(mutex_);
      // Signallers push under the signal's lock, so an unlinked registration is never pushed.
      for (Registration& item : registered_) unlink_handler(*item.signal, item);
    }
    // `post` fails since stopping_ was set: these are the last items. Handlers are skipped.
    call_due();
    call_what_is_due();
    const MutexLock lock(mutex_);
    for (auto next = registered_.begin(); next != registered_.end();) {
      Registration& item = *next++;
      if (&item == running_) continue;
      delist(item);
      delete &item;
    }
  }

  void delist(Registration& registration) noexcept RIGEL_REQUIRES(mutex_) {
    if (registration.polled) polled_ -= 1;
    registered_.erase(registered_.iterator_to(registration));
  }

  void poke() noexcept {
    if (queue_.poke()) futex_wake_one(queue_.address());
  }

  pthread_t thread_{};
  void (*after_each_)() noexcept = nullptr;
  const pid_t process_ = getpid();
  ReadyQueue queue_;
  // Guards the list of registrations, and `post` against the end. Acquired before a wake lock.
  Mutex mutex_;
  Registrations registered_ RIGEL_GUARDED_BY(mutex_);
  std::atomic<uint32_t> polled_{0};  // number of registrations whose signals are polled
  std::atomic<bool> stopping_{false};
  // Owned by the thread:
  ReadyItem* due_ = nullptr;         // taken from the queue and not called yet
  Registration* running_ = nullptr;  // registration whose handler is running
  bool finished_ = false;
};

std::shared_ptr<AsyncDispatcher::Worker> AsyncDispatcher::worker() noexcept {
  const MutexLock lock(mutex_);
  if (worker_ == nullptr) worker_ = Worker::start(after_each_);
  return worker_;
}

Status AsyncDispatcher::watch(Signal& signal, SignalCondition condition, int64_t compare,
                              hsa_amd_signal_handler handler, void* argument) noexcept {
  const auto worker_now = worker();
  if (worker_now == nullptr) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  return worker_now->watch(signal, condition, compare, handler, argument);
}

Status AsyncDispatcher::post(void (*function)(void*), void* argument) noexcept {
  const auto worker_now = worker();
  if (worker_now == nullptr) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  return worker_now->post(function, argument);
}

void AsyncDispatcher::quiesce() noexcept {
  std::shared_ptr<Worker> worker_now;
  {
    const MutexLock lock(mutex_);
    worker_now = worker_;
  }
  if (worker_now == nullptr || worker_now->is_this_thread() || !worker_now->is_of_this_process()) return;
  Parker parker(Parker::Until::kFirst);
  const auto release = [](void* waiting) {
    auto& waiter = *static_cast<Parker*>(waiting);
    const void* const address = waiter.address();
    if (waiter.post() == Parker::Wake::kOnWord) futex_wake_one(address);
  };
  if (worker_now->post(release, &parker) == HSA_STATUS_SUCCESS) parker.park(UINT64_MAX);
}

void AsyncDispatcher::leave(std::shared_ptr<Worker> worker) noexcept {
  alignas(std::shared_ptr<Worker>) std::byte place[sizeof worker];
  new (place) std::shared_ptr<Worker>(std::move(worker));
}

void AsyncDispatcher::stop() noexcept {
  std::shared_ptr<Worker> last;
  {
    const MutexLock lock(mutex_);
    last = std::move(worker_);
  }
  if (last == nullptr) return;
  if (last->is_of_this_process()) {
    last->stop();
  } else {
    leave(std::move(last));
  }
}

void AsyncDispatcher::reset_after_fork() noexcept {
  new (&mutex_) Mutex;
  const MutexLock lock(mutex_);
  if (worker_ != nullptr) leave(std::move(worker_));
}

}  // namespace rigel
