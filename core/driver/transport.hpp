// A driver transport: the system calls on /dev/kfd, the render nodes and their sysfs directories, implemented
// by the kernel or by a module in its place (hsa_plugin/hsa_driver.h).
//
// *Threads:* any thread. The caller holds no lock that an operation might wait for.
// *Errors:* results are those of the system calls, with the negated errno instead of -1.
// *Lifetime:* the caller closes every file that it opens before the transport ends.
#pragma once

#include <hsa_plugin/hsa_driver.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"

namespace rigel {

struct LoadedDriver;

class Transport {
 public:
  /// Creates the transport to the kernel: real system calls.
  static std::unique_ptr<Transport> system();
  /// Starts a loaded transport with its options, a JSON object. Fails with HSA_STATUS_ERROR or
  /// OUT_OF_RESOURCES, and the transport's messages, which are not in the log, one per line in `why`.
  static Result<std::unique_ptr<Transport>> start(const LoadedDriver& loaded, std::string_view config,
                                                  std::vector<std::string>& why);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  const std::string& name() const { return name_; }
  /// Whether this is the kernel, whose objects for this process live until it ends.
  bool is_system() const { return close_driver_ == nullptr; }

  int open(const std::string& path, int flags) const { return ops_.open(driver_, path.c_str(), flags); }
  int close(int fd) const { return ops_.close(driver_, fd); }
  /// Repeats interrupted calls.
  int ioctl(int fd, uint64_t request, void* argument) const;
  /// Returns null on failure, and the negated errno in *problem (if not null).
  void* mmap(void* address, uint64_t size, int protection, int flags, int fd, uint64_t offset,
             int* problem = nullptr) const;
  /// Maps a buffer for the host at `address`. A forked child does not inherit the mapping: it would keep
  /// memory that its parent frees, and its stores would reach the parent.
  void* mmap_buffer(void* address, uint64_t size, int protection, int fd, uint64_t offset,
                    int* problem = nullptr) const;
  int munmap(void* address, uint64_t size) const { return ops_.munmap(driver_, address, size); }
  /// Returns the call of a doorbell at an address of the doorbell page. False if the doorbell is rung by
  /// stores.
  bool attach(void* doorbell, hsadrv_doorbell_t& doorbell_call) const;
  /// Samples program counters of waves; see hsadrv_sampling_ops_t. -ENOTSUP if not supported.
  bool has_sampling() const { return sampling_.start != nullptr; }
  int start_sampling(uint32_t gpu_id, const hsadrv_sampler_t& sampler) const;
  int stop_sampling(uint32_t gpu_id) const;
  /// Function that a waiting thread may call instead of polling. Null if devices have processors. Stays
  /// callable after the transport has ended.
  hsa_driver_lend_thread_v1_fn lend_thread() const { return lend_thread_; }
  /// Returns the contents of a small file, at most 64 KiB; empty if it cannot be read.
  std::string read_file(const std::string& path) const;
  /// Returns the entries of a directory; numeric names are sorted as numbers. Empty if it cannot be read.
  std::vector<std::string> list_dir(const std::string& path) const;

 private:
  Transport(std::string name, const hsadrv_ops_t& ops);
  static void log_line(void* self, uint32_t level, hsadrv_str_t text);

  const std::string name_;
  const hsadrv_ops_t ops_;
  hsadrv_doorbell_ops_t doorbell_{};  // attach is null if not supported
  hsadrv_sampling_ops_t sampling_{};  // functions are null if not supported
  hsadrv_host_t host_;
  Mutex mutex_;
  /// Receives messages while the transport starts.
  std::vector<std::string>* errors_ RIGEL_GUARDED_BY(mutex_) = nullptr;
  void* driver_ = nullptr;
  void (*close_driver_)(void*) = nullptr;
  hsa_driver_lend_thread_v1_fn lend_thread_ = nullptr;
};

/// Returns the operations of Transport::system().
const hsadrv_ops_t& system_transport_ops() noexcept;

}  // namespace rigel
