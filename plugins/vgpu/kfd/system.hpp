// The virtual GPU as seen by a program: the system calls on its files. Both front ends (the driver transport
// and the preload library) are thin layers above it.
//
// Every file is a real descriptor of an anonymous file, so that the program can duplicate, poll, pass and
// inherit it. A table in this object has its meaning.
//
// Threads: all functions from any thread. Fork: the parent calls before_fork() and after_fork_in_parent(). In
// the child, abandon_in_child() makes operations on inherited descriptors fail with EBADF and closes the
// device's descriptors. No other function may be called there: the object is leaked, because threads that
// held its locks do not exist in the child.
// Errors: functions return negated error numbers and do not set errno.
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

/// A virtual system and the files of its driver. Immutable, so several System objects can share it.
struct Hardware {
  Hardware(Machine system, const HostProperties& host_properties);
  const Machine virtual_system;
  const HostProperties host;
  const FileTree files;
};

class System final : public OpenFiles {
 public:
  System(std::shared_ptr<const Hardware> hardware, const ProcessOptions& options, std::unique_ptr<Log> log);
  System(Machine virtual_system, const ProcessOptions& options, const HostProperties& host,
         std::unique_ptr<Log> log);
  ~System() override;
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  /// The paths that the virtual GPU answers for.
  const FileTree& files() const { return hardware_->files; }

  /// Opens a canonical path that files().owns().
  int open(std::string_view path, int flags);
  /// Whether `fd` is in the table. The C library closes descriptors of its streams without calling the hooks,
  /// so the number may have been reused for another file. `is_sure`: the caller knows that it was not.
  bool has(int fd, bool is_sure = false) const;
  /// A quick test for has(), without a lock; it may return true wrongly.
  bool may_have(int fd) const noexcept;
  /// close(2) of a descriptor in the table.
  int close(int fd);
  /// Removes a descriptor that the caller closes or replaces.
  void forget(int fd);
  /// `to` has become a duplicate of `from`. Adds it if `from` is in the table. Throws std::bad_alloc; `to` is
  /// unknown then.
  void note_duplicate(int from, int to);
  int duplicate(int fd, int minimum);
  int ioctl(int fd, uint64_t request, void* argument);
  int mmap(void* address, uint64_t bytes, int protection, int flags, int fd, uint64_t offset, void** out);
  int munmap(void* address, uint64_t bytes);
  int mremap(void* address, uint64_t bytes, uint64_t new_bytes, int flags, void* fixed, void** out);
  /// fstat(2) and stat(2) for device nodes and directories, whose backing files have other properties.
  bool stat(int fd, struct stat& out) const;
  bool stat(std::string_view canonical_path, struct stat& out) const;
  /// fstat(2) for a regular file of the tree, which is not in the table. `out` has the result of the real
  /// fstat(2).
  bool stat_plain_file(int fd, struct stat& out) const;
  /// Device and inode numbers of the files in stat(2) and readdir(3).
  static dev_t files_device();  ///< A number that no file system uses.
  static uint64_t inode_of(std::string_view canonical_path);
  /// The path of the directory that a descriptor refers to, or empty.
  std::string directory_of(int fd) const;

  /// The kind of a descriptor that is not in the table of this process. kKfd and kDrmNode are device nodes
  /// that another process opened, or this process before exec. kNone is any other file.
  enum class ForeignFile : uint8_t { kNone, kKfd, kDrmNode };
  static ForeignFile foreign_file(int fd);

  Process& process() { return process_; }
  Log& log() { return *log_; }

  // The lock is held from before_fork() to after_fork_in_parent(), which the thread-safety analysis cannot
  // follow.
  void before_fork() RIGEL_UNCHECKED_LOCKS { files_mutex_.lock(); }
  void after_fork_in_parent() RIGEL_UNCHECKED_LOCKS { files_mutex_.unlock(); }
  void abandon_in_child() {
    abandoned_.store(true, std::memory_order_release);
    InternalFd::close_in_child();
    // The lock stores its writer's thread id, which differs in the child, so it cannot be unlocked.
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
    dev_t device = 0;  // device number of the backing file
    ino_t inode = 0;
    std::unique_ptr<vgpu::RenderNode> node;
  };
  std::shared_ptr<OpenFile> find(int fd) const;
  /// Sets or removes (null) the table entry of `fd`; returns the previous one.
  std::shared_ptr<OpenFile> replace(int fd, std::shared_ptr<OpenFile> file) RIGEL_REQUIRES(files_mutex_);
  void leak_if_abandoned(std::shared_ptr<OpenFile>& file);
  /// Implements mmap(). If it throws std::bad_alloc, the mapping has been removed again.
  int map(void* address, uint64_t bytes, int protection, int flags, int fd, uint64_t offset, void** out);
  int make_file(const std::string& name, int flags);
  static void fill(const FileNode& node, struct stat& out);
  std::string vram_in_use(const FileNode::VramUse& use);

  const std::shared_ptr<const Hardware> hardware_;
  std::unique_ptr<Log> log_;
  Process process_;
  mutable SharedMutex files_mutex_;
  std::map<int, std::shared_ptr<OpenFile>> files_ RIGEL_GUARDED_BY(files_mutex_);
  /// One bit per descriptor number in the table, except for very high ones.
  std::array<std::atomic<uint64_t>, 1024> descriptor_bits_{};
  uint64_t next_file_id_ RIGEL_GUARDED_BY(files_mutex_) = 1;
  std::atomic<dev_t> plain_files_device_{
      0};  // of the backing files of regular files; 0: none was created yet
  std::atomic<bool> abandoned_{false};
};

/// Creates the system; returns null and adds diagnostics if the settings have errors. `sink` receives its
/// log.
std::unique_ptr<System> make_system(const Settings& settings, Diagnostics& diagnostics, LogSink sink = {});

}  // namespace rigel::vgpu
