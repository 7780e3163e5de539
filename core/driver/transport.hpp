// A driver transport in use: the system calls on /dev/kfd, the render nodes and their folders in sysfs, as
// functions. Behind them is the kernel or a module that stands in its place (hsa_plugin/hsa_driver.h).
//
// Any thread; the caller holds no lock that an operation might wait for. Results are those of the system
// calls, with the negated errno in the place of -1. Whoever opens a file closes it, before the transport
// ends.
#pragma once

#include <hsa_plugin/hsa_driver.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"

namespace rigel {

struct LoadedDriver;

class Transport {
 public:
  /// The kernel's own: real system calls.
  static std::unique_ptr<Transport> system();
  /// Starts a loaded transport with its options, a JSON object. Fails with HSA_STATUS_ERROR, or OUT_OF_RESOURCES,
  /// and the reasons in `why`: the transport's own words, which are not in the log, each a line.
  static Result<std::unique_ptr<Transport>> start(const LoadedDriver& loaded, std::string_view config,
                                                  std::vector<std::string>& why);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  const std::string& name() const { return name_; }
  /// Behind it is the kernel, which knows this process as long as it lives.
  bool is_system() const { return close_driver_ == nullptr; }

  int open(const std::string& path, int flags) const { return ops_.open(driver_, path.c_str(), flags); }
  int close(int fd) const { return ops_.close(driver_, fd); }
  /// Repeats what was interrupted.
  int ioctl(int fd, uint64_t request, void* argument) const;
  /// Null and the negated errno in *problem (if it is wanted) on failure.
  void* mmap(void* address, uint64_t size, int protection, int flags, int fd, uint64_t offset,
             int* problem = nullptr) const;
  /// A buffer, at `address`, as the host is to see it. A child of fork does not have it: it would keep memory that its parent
  /// frees, and what it stores there would be its parent's.
  void* mmap_buffer(void* address, uint64_t size, int protection, int fd, uint64_t offset,
                    int* problem = nullptr) const;
  int munmap(void* address, uint64_t size) const { return ops_.munmap(driver_, address, size); }
  /// How to ring the doorbell at an address of the doorbell page by a call. False: it is stored to.
  bool attach(void* doorbell, hsadrv_doorbell_t& bell) const;
  /// What a thread that waits may call instead of looking again. Null where devices have processors of their
  /// own. Stays callable after the transport has ended.
  hsa_driver_lend_thread_v1_fn lend_thread() const { return lend_thread_; }
  /// The whole of a small file, at most 64 KiB; empty if it cannot be read.
  std::string read_file(const std::string& path) const;
  /// The entries of a folder, sorted as numbers where they are numbers. Empty if it cannot be read.
  std::vector<std::string> list_dir(const std::string& path) const;

 private:
  Transport(std::string name, const hsadrv_ops_t& ops);
  static void log_line(void* self, uint32_t level, hsadrv_str_t text);

  const std::string name_;
  const hsadrv_ops_t ops_;
  hsadrv_doorbell_ops_t doorbell_{};  // attach is null where there is none
  hsadrv_host_t host_;
  Mutex mutex_;
  /// Where errors go while the transport starts.
  std::vector<std::string>* errors_ RIGEL_GUARDED_BY(mutex_) = nullptr;
  void* driver_ = nullptr;
  void (*close_driver_)(void*) = nullptr;
  hsa_driver_lend_thread_v1_fn lend_thread_ = nullptr;
};

/// The operations of Transport::system().
const hsadrv_ops_t& system_transport_ops() noexcept;

}  // namespace rigel
