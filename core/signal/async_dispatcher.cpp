#include "core/signal/async_dispatcher.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "core/base/clock.hpp"
#include "core/base/log.hpp"
#include "core/base/program_signals.hpp"
#include "core/base/spin.hpp"
#include "core/signal/handler_thread.hpp"
#include "core/signal/poll_interval.hpp"
#include "core/signal/shared_signals.hpp"
#include "core/signal/wait_node.hpp"

namespace rigel {

[[gnu::tls_model("initial-exec")]] constinit thread_local bool detail::calls_handlers = false;

namespace {

// After it has called something, the thread looks for more this long before it sleeps: putting it to sleep
// and waking it costs it and the signaller more.
constexpr uint64_t kSpinNs = 5'000;

struct Registration : HandlerNode {
  Signal* signal = nullptr;
  hsa_amd_signal_handler handler = nullptr;
  void* argument = nullptr;
  bool polled = false;
  Registration* previous_registered = nullptr;
  Registration* next_registered = nullptr;
};

struct Function : ReadyItem {
  void (*function)(void*) = nullptr;
  void* argument = nullptr;
};

}  // namespace

// One thread and what it works on. Shared by the dispatcher and the thread, which may outlive it when it is
// stopped in a handler.
class AsyncDispatcher::Worker {
 public:
  // Null if there is no memory or no thread to be had.
  static std::shared_ptr<Worker> start(void (*after_each)() noexcept) noexcept {
    try {
      auto worker = std::make_shared<Worker>();
      worker->after_each_ = after_each;
      auto* reference = new std::shared_ptr<Worker>(worker);  // the thread's own
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
      enlist(*registration);
      asymmetric_fence::heavy();
      registration->polled = needs_polling(signal);
      if (registration->polled) {
        polled_ += 1;
        poke();
      }
    }
    // The last look. From here on the registration may be gone: it is the signal's list that is looked at.
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
      // The handler that this is in goes on, and then the thread ends. What belongs to it besides ends here:
      // the caller may free what functions work on.
      pthread_detach(thread_);
      finish();
    } else {
      pthread_join(thread_, nullptr);
    }
  }

 private:
  static void* enter(void* reference) noexcept {
    const std::unique_ptr<std::shared_ptr<Worker>> worker(static_cast<std::shared_ptr<Worker>*>(reference));
    detail::calls_handlers = true;
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
        BellListener bells;
        look_at_silent_signals(bells);
        sleep(system_time_ns() + interval.next(), bells);
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

  void sleep(uint64_t deadline, const BellListener& bells) noexcept {
    queue_.prepare_to_sleep();
    if (!queue_.empty() || stopping()) return;
    if (deadline == UINT64_MAX && polled_.load() != 0) return;
    queue_.sleep(deadline, bells);
  }

  bool call_what_is_due() noexcept {
    due_ = queue_.take_all();
    if (due_ == nullptr) return false;
    call_due();
    return true;
  }

  // Also called by `finish` within one of the calls that this makes.
  void call_due() noexcept {
    while (due_ != nullptr) {
      ReadyItem& item = *due_;
      due_ = item.next_ready;  // the item may be back in the queue, or gone, afterwards
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

  // From here on the bells of what is looked at are listened to.
  void look_at_silent_signals(BellListener& bells) noexcept {
    const MutexLock lock(mutex_);
    const auto for_each = [first = registered_](auto&& body) {
      for (auto* item = first; item != nullptr; item = item->next_registered) {
        if (item->polled) body(*item->signal);
      }
    };
    for_each([&](Signal& signal) {
      if (!signal.has_attribute(kSignalIpc)) return;
      if (ChangeBell* const bell = shared_signals::bell_of(signal)) bells.listen(*bell);
    });
    for_each([](Signal& signal) { signal.notify_here(); });
  }

  // The end, of the thread or in the last call that it makes: afterwards nothing is called any more.
  void finish() noexcept {
    if (finished_) return;
    finished_ = true;
    {
      const MutexLock lock(mutex_);
      // Signallers push under the signal's lock, so a registration that is out of its list is pushed no more.
      for (auto* item = registered_; item != nullptr; item = item->next_registered) {
        unlink_handler(*item->signal, *item);
      }
    }
    // Since stopping_ was set nobody posts any more either: these are the last. Handlers are passed over.
    call_due();
    call_what_is_due();
    const MutexLock lock(mutex_);
    for (Registration *item = registered_, *next; item != nullptr; item = next) {
      next = item->next_registered;
      if (item == running_) continue;
      delist(*item);
      delete item;
    }
  }

  void enlist(Registration& registration) noexcept RIGEL_REQUIRES(mutex_) {
    registration.next_registered = registered_;
    if (registered_ != nullptr) registered_->previous_registered = &registration;
    registered_ = &registration;
  }

  void delist(Registration& registration) noexcept RIGEL_REQUIRES(mutex_) {
    if (registration.polled) polled_ -= 1;
    if (registration.next_registered != nullptr) {
      registration.next_registered->previous_registered = registration.previous_registered;
    }
    if (registration.previous_registered != nullptr) {
      registration.previous_registered->next_registered = registration.next_registered;
    } else {
      registered_ = registration.next_registered;
    }
  }

  void poke() noexcept {
    if (queue_.poke()) futex_wake_one(queue_.address());
  }

  pthread_t thread_{};
  void (*after_each_)() noexcept = nullptr;
  const pid_t process_ = getpid();
  ReadyQueue queue_;
  // Guards the list of registrations, and posting against the end. Before a wake lock, never after one.
  Mutex mutex_;
  Registration* registered_ RIGEL_GUARDED_BY(mutex_) = nullptr;
  std::atomic<uint32_t> polled_{0};  // how many of them are
  std::atomic<bool> stopping_{false};
  // The thread's own.
  ReadyItem* due_ = nullptr;         // what it has taken from the queue and not called yet
  Registration* running_ = nullptr;  // whose handler it is in
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
