// The virtual GPU as a program meets it: the system calls on its files. Both faces (the driver transport and
// the preload library) are thin layers over this.
//
// Every file is a real descriptor, backed by an anonymous file, so that the program can duplicate, poll, pass
// and inherit it; what it stands for is in a table here. Errors are negated error numbers; errno is not used.
//
// Threads: all functions from any thread. Fork: the parent calls before_fork() and after_fork_in_parent(); in
// the child abandon_in_child() makes every operation on inherited descriptors fail with EBADF and nothing
// else of this object may be used: it is leaked there, because threads that held its locks are gone. The
// device's own descriptors are closed in the child.
#pragma once

#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/devices/machine.hpp"
#include "plugins/vgpu/kfd/file_tree.hpp"
#include "plugins/vgpu/kfd/process.hpp"
#include "plugins/vgpu/kfd/render_node.hpp"
#include "plugins/vgpu/kfd/settings.hpp"
#include "plugins/vgpu/kfd/topology.hpp"

namespace rigel::vgpu {

/// A machine and the files that its driver shows. Never changed: programs that run on the same machine, one
/// after the other or at once, can share one.
struct Hardware {
  Hardware(Machine with, const HostFacts& on);
  const Machine machine;
  const HostFacts host;
  const FileTree files;
};

class System final : public OpenFiles {
 public:
  System(std::shared_ptr<const Hardware> hardware, const ProcessOptions& options, std::unique_ptr<Log> log);
  System(Machine machine, const ProcessOptions& options, const HostFacts& host, std::unique_ptr<Log> log);
  ~System() override;
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  /// What a path of the program is to us.
  const FileTree& files() const { return hardware_->files; }

  /// Opens a canonical path that files().owns().
  int open(std::string_view path, int flags);
  /// Whether `fd` is one of ours. The C library closes descriptors of its streams without telling anybody, so that
  /// the number of one of ours can be another file's; `is_sure`: whoever asks knows that it is not.
  bool has(int fd, bool is_sure = false) const;
  /// Whether that is worth asking: quickly, and without a lock.
  bool may_have(int fd) const noexcept;
  /// close(2), of a descriptor of ours.
  int close(int fd);
  /// Forgets a descriptor that somebody else closes or replaces.
  void forget(int fd);
  /// `to` has become a duplicate of `from`, if that is ours. Throws std::bad_alloc: nobody knows it then.
  void note_duplicate(int from, int to);
  int duplicate(int fd, int minimum);
  int ioctl(int fd, uint64_t request, void* argument);
  int mmap(void* address, uint64_t bytes, int protection, int flags, int fd, uint64_t offset, void** out);
  int munmap(void* address, uint64_t bytes);
  int mremap(void* address, uint64_t bytes, uint64_t new_bytes, int flags, void* fixed, void** out);
  /// fstat(2) and stat(2), for files whose backing would give them away: device nodes, and folders.
  bool stat(int fd, struct stat& out) const;
  bool stat(std::string_view canonical_path, struct stat& out) const;
  /// The same for a plain file, which is not in the table: `out` is what the system says of the descriptor.
  bool stat_plain_file(int fd, struct stat& out) const;
  /// What stands for a path's file in stat(2) and readdir(3).
  static dev_t files_device();  ///< One that no file system has.
  static uint64_t inode_of(std::string_view canonical_path);
  /// The folder that a descriptor stands for, or empty.
  std::string folder_of(int fd) const;

  /// What a descriptor is that no system of this process knows: a device node's that another process has
  /// opened, or this one before it became another program, or nothing of ours.
  enum class Stranger : uint8_t { kNone, kKfd, kDrmNode };
  static Stranger stranger(int fd);

  Process& process() { return process_; }
  Log& log() { return *log_; }

  // From the one to the other the lock is held: a fork comes in between, which the analysis does not know.
  void before_fork() RIGEL_UNCHECKED_LOCKS { files_mutex_.lock(); }
  void after_fork_in_parent() RIGEL_UNCHECKED_LOCKS { files_mutex_.unlock(); }
  void abandon_in_child() {
    abandoned_.store(true, std::memory_order_release);
    InternalFd::close_in_child();
    // The lock knows its writer by a thread's number, and that is another here: it cannot be unlocked.
    new (&files_mutex_) SharedMutex;
  }

  // OpenFiles.
  ErrnoOr<RenderNode> render_node(int fd) override;
  ErrnoOr<int> give_to_program(int fd, bool close_on_exec) override;

 private:
  struct OpenFile {
    FileNode::Kind kind;
    std::string path;
    uint64_t id = 0;
    uint32_t minor = 0;
    dev_t device = 0;  // of the file that backs it
    ino_t inode = 0;
    std::unique_ptr<vgpu::RenderNode> node;
  };
  std::shared_ptr<OpenFile> find(int fd) const;
  /// Puts a file into the table, or nothing; returns what was there.
  std::shared_ptr<OpenFile> replace(int fd, std::shared_ptr<OpenFile> file) RIGEL_REQUIRES(files_mutex_);
  void leak_if_abandoned(std::shared_ptr<OpenFile>& file);
  /// mmap(); throws std::bad_alloc where what it mapped is taken away again.
  int map(void* address, uint64_t bytes, int protection, int flags, int fd, uint64_t offset, void** out);
  int make_file(const std::string& name, int flags);
  static void fill(const FileNode& node, struct stat& out);
  std::string vram_in_use(const FileNode::VramUse& use);

  const std::shared_ptr<const Hardware> hardware_;
  std::unique_ptr<Log> log_;
  Process process_;
  mutable SharedMutex files_mutex_;
  std::map<int, std::shared_ptr<OpenFile>> files_ RIGEL_GUARDED_BY(files_mutex_);
  std::array<std::atomic<uint64_t>, 1024>
      numbers_{};  // a bit for each number in the table, but for very high ones
  uint64_t next_file_id_ RIGEL_GUARDED_BY(files_mutex_) = 1;
  std::atomic<dev_t> plain_files_device_{0};  // of the files that stand for them; 0: there were none yet
  std::atomic<bool> abandoned_{false};
};

/// The system that the settings ask for; null if they have errors, which are told. `sink`: of its log.
std::unique_ptr<System> make_system(const Settings& settings, Diagnostics& diagnostics, LogSink sink = {});

}  // namespace rigel::vgpu
