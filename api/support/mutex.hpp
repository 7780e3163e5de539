// Mutexes, locks and condition variables for clang's -Wthread-safety, and attributes that declare which lock
// guards a variable.
//
// The classes are those of the standard library with attributes: same cost, same behaviour. Builds with clang
// check them (cmake/RigelOptions.cmake); GCC ignores the attributes.
//
//   Mutex mutex_;
//   std::vector<Job> jobs_ RIGEL_GUARDED_BY(mutex_);       // read and written under mutex_ only
//   void drop(Job& job) RIGEL_REQUIRES(mutex_);            // the caller holds mutex_
//
// Every part of the project may use this header. It is not installed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#if defined(__clang__)
#define RIGEL_THREAD_ATTRIBUTE(...) __attribute__((__VA_ARGS__))
#else
#define RIGEL_THREAD_ATTRIBUTE(...)
#endif

/// For a variable: read and written only while the mutex is held (a SharedMutex held shared allows reads).
#define RIGEL_GUARDED_BY(mutex) RIGEL_THREAD_ATTRIBUTE(guarded_by(mutex))
/// For a pointer: the same for its target.
#define RIGEL_PT_GUARDED_BY(mutex) RIGEL_THREAD_ATTRIBUTE(pt_guarded_by(mutex))
/// For a function: its caller holds the mutexes, at least shared in the second form.
#define RIGEL_REQUIRES(...) RIGEL_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define RIGEL_REQUIRES_SHARED(...) RIGEL_THREAD_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))
/// For a function: its caller does not hold the mutexes.
#define RIGEL_EXCLUDES(...) RIGEL_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
/// For a function: it returns with the mutexes held, or released.
#define RIGEL_ACQUIRE(...) RIGEL_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define RIGEL_ACQUIRE_SHARED(...) RIGEL_THREAD_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define RIGEL_TRY_ACQUIRE(...) RIGEL_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define RIGEL_RELEASE(...) RIGEL_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define RIGEL_RELEASE_SHARED(...) RIGEL_THREAD_ATTRIBUTE(release_shared_capability(__VA_ARGS__))
#define RIGEL_RELEASE_ANY(...) RIGEL_THREAD_ATTRIBUTE(release_generic_capability(__VA_ARGS__))
/// For a function that returns a reference to a mutex: which one.
#define RIGEL_RETURNS_LOCK(mutex) RIGEL_THREAD_ATTRIBUTE(lock_returned(mutex))
/// For a function that the analysis cannot follow. A comment gives the reason why it is correct.
#define RIGEL_UNCHECKED_LOCKS RIGEL_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace rigel {

class RIGEL_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  constexpr Mutex() noexcept = default;
  void lock() RIGEL_ACQUIRE() { mutex_.lock(); }
  void unlock() RIGEL_RELEASE() { mutex_.unlock(); }
  bool try_lock() RIGEL_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

class RIGEL_THREAD_ATTRIBUTE(capability("mutex")) SharedMutex {
 public:
  void lock() RIGEL_ACQUIRE() { mutex_.lock(); }
  void unlock() RIGEL_RELEASE() { mutex_.unlock(); }
  void lock_shared() RIGEL_ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() RIGEL_RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

/// Holds a Mutex while it lives, except between unlock() and lock(): std::unique_lock.
class RIGEL_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) RIGEL_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  /// Adopts a Mutex that the caller holds, for example after try_lock().
  MutexLock(Mutex& mutex, std::adopt_lock_t adopt) RIGEL_REQUIRES(mutex) : lock_(mutex.mutex_, adopt) {}
  ~MutexLock() RIGEL_RELEASE() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  void lock() RIGEL_ACQUIRE() { lock_.lock(); }
  void unlock() RIGEL_RELEASE() { lock_.unlock(); }

 private:
  friend class Condition;
  std::unique_lock<std::mutex> lock_;
};

/// Releases a held Mutex while it lives, for a function that must not hold it for a time.
class RIGEL_THREAD_ATTRIBUTE(scoped_lockable) MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) RIGEL_RELEASE(mutex) : mutex_(mutex) { mutex_.unlock(); }
  // The analysis's attribute for "reverts the constructor".
  ~MutexUnlock() RIGEL_RELEASE() { relock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  void relock() RIGEL_UNCHECKED_LOCKS { mutex_.lock(); }
  Mutex& mutex_;
};

/// Holds a SharedMutex exclusively while it lives.
class RIGEL_THREAD_ATTRIBUTE(scoped_lockable) WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) RIGEL_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~WriterLock() RIGEL_RELEASE() { mutex_.unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

/// Holds a SharedMutex shared while it lives.
class RIGEL_THREAD_ATTRIBUTE(scoped_lockable) ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) RIGEL_ACQUIRE_SHARED(mutex) : mutex_(mutex) {
    mutex_.lock_shared();
  }
  ~ReaderLock() RIGEL_RELEASE_ANY() { mutex_.unlock_shared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

/// std::condition_variable. Its waits take no predicate, because the analysis does not treat lambdas as part
/// of the enclosing function: write `while (!ready_) condition_.wait(lock);`.
class Condition {
 public:
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }
  void wait(MutexLock& lock) { condition_.wait(lock.lock_); }
  template <class Rep, class Period>
  std::cv_status wait_for(MutexLock& lock, const std::chrono::duration<Rep, Period>& time) {
    return condition_.wait_for(lock.lock_, time);
  }
  template <class Clock, class Duration>
  std::cv_status wait_until(MutexLock& lock, const std::chrono::time_point<Clock, Duration>& time) {
    return condition_.wait_until(lock.lock_, time);
  }

 private:
  std::condition_variable condition_;
};

}  // namespace rigel
