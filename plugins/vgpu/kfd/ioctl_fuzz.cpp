// Any bytes as calls on /dev/kfd and on render nodes, in any order: whatever they say, the driver answers,
// and touches no memory that it was not given.
//
// The input is a list of calls: a byte that chooses the call, a byte of how it is made, and the arguments, as
// many bytes as the call has (missing ones are zeros). So that random bytes get anywhere, some words stand
// for things that only exist when the program runs:
//
//   f00dXXXX XXXXXXXX   an address in the scratch memory
//   f00eXXXX XXXXXXXX   the handle of a buffer that was made before
//   f00f00XX            the id of a GPU
//   f01000XX            the descriptor of a render node
//   f01100XX            a descriptor that was exported before
//
// Every other word that is the address of something in this process is replaced: what the driver may write
// to is the scratch memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "hsa_plugin/kfd_abi.h"
#include "plugins/vgpu/kfd/ioctl.hpp"
#include "plugins/vgpu/kfd/render_node.hpp"
#include "plugins/vgpu/kfd/system.hpp"
#include "plugins/vgpu/kfd/user_copy.hpp"

namespace rigel::vgpu {
namespace {

constexpr uint64_t kScratchBytes = 1 << 20;
constexpr uint64_t kGuardBytes = 1 << 16;
constexpr uint64_t kDrmGemUserptr = 0x40 + 0x11;
constexpr uint64_t kDrmPrimeHandleToFd = 0x2d;

enum How : uint8_t {
  kDirections = 3,  // inverted: 0 is what every amdkfd ioctl is, in and out
  kAtEndOfMemory = 4,
  kShorter = 8,
  kLonger = 16,
};

// Calls of the harness itself.
enum Special : uint8_t { kFirstDrm = 0x90, kFill = 0xfd, kMmap = 0xfe, kStep = 0xff };

// Memory between two pages that nobody can touch.
std::byte* make_scratch() {
  void* const p = mmap(nullptr, kScratchBytes + 2 * kGuardBytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) std::abort();
  auto* const scratch = static_cast<std::byte*>(p) + kGuardBytes;
  if (mprotect(scratch, kScratchBytes, PROT_READ | PROT_WRITE) != 0) std::abort();
  return scratch;
}

std::shared_ptr<const Hardware> make_hardware() {
  HostFacts host;
  host.memory_bytes = 1 << 30;
  return std::make_shared<const Hardware>(
      *parse_machine("gfx900:vram=64M,gfx803:vram=64M,gfx1030:vram=64M:bar=small", PeerLink::kPcie), host);
}

class Caller {
 public:
  Caller(const uint8_t* data, size_t size, std::byte* scratch) : data_(data), size_(size), scratch_(scratch) {
    ProcessOptions options;
    options.threads = false;
    const char* const log = std::getenv("VGPU_LOG");  // VGPU_LOG=ioctl shows what an input does
    // The files are dear to make, and a call never looks at them.
    static const std::shared_ptr<const Hardware> hardware = make_hardware();
    system_ =
        std::make_unique<System>(hardware, options, std::make_unique<Log>(log == nullptr ? "none" : log, ""));
    kfd_ = system_->open("/dev/kfd", O_RDWR | O_CLOEXEC);
    for (uint32_t i = 0; i < hardware->machine.gpus.size(); ++i) {
      render_.push_back(system_->open("/dev/dri/renderD" + std::to_string(128 + i), O_RDWR | O_CLOEXEC));
    }
  }
  ~Caller() {
    for (const auto& [address, bytes] : mapped_) system_->munmap(address, bytes);
    for (const int fd : exported_) ::close(fd);
    for (const int fd : render_) system_->close(fd);
    system_->close(kfd_);
  }

  void run() {
    constexpr int kMostCalls = 200;
    for (int i = 0; i < kMostCalls && size_ > 0; ++i) one();
  }

 private:
  uint8_t byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  void take(void* to, size_t bytes) {
    const size_t there = std::min(bytes, size_);
    std::memset(to, 0, bytes);
    if (there != 0) std::memcpy(to, data_, there);
    data_ += there;
    size_ -= there;
  }

  bool in_scratch(uint64_t address) const {
    return address - reinterpret_cast<uint64_t>(scratch_) < kScratchBytes;
  }
  uint64_t scratch_at(uint64_t word) const {
    return reinterpret_cast<uint64_t>(scratch_) + word % kScratchBytes;
  }
  uint64_t left_from(uint64_t address) const {
    return reinterpret_cast<uint64_t>(scratch_) + kScratchBytes - address;
  }

  uint64_t word(uint64_t w) const {
    if (w >> 48 == 0xf00d) return scratch_at(w);
    if (w >> 48 == 0xf00e) return handles_.empty() ? 0 : handles_[w % handles_.size()];
    if (!in_scratch(w) && program_has(w, 1)) return scratch_at(w);
    const uint64_t low = half(static_cast<uint32_t>(w)), high = half(static_cast<uint32_t>(w >> 32));
    return high << 32 | low;
  }
  uint32_t half(uint32_t w) const {
    const uint32_t i = w & 0xff;
    switch (w >> 16) {
      case 0xf00f:
        return i < system_->process().gpu_count() ? system_->process().gpu(i).gpu().gpu_id : i;
      case 0xf010:
        return static_cast<uint32_t>(render_[i % render_.size()]);
      case 0xf011:
        return exported_.empty() ? ~0u : static_cast<uint32_t>(exported_[i % exported_.size()]);
      default:
        return w;
    }
  }

  // What a range of the program may be: scratch memory and no more.
  void confine(uint64_t address, uint64_t& bytes) const {
    if (in_scratch(address)) bytes = std::min(bytes, left_from(address));
  }

  void one() {
    const uint8_t op = byte();
    const uint8_t how = byte();
    if (op == kFill) {
      uint64_t words[8];
      take(words, sizeof words);
      for (uint64_t& w : words) w = word(w);
      std::memcpy(scratch_ + how * sizeof words, words, sizeof words);
      return;
    }
    if (op == kStep) {
      for (size_t i = 0; i < system_->process().gpu_count(); ++i) {
        if (CommandProcessor* cp = system_->process().gpu(i).processor_if_made()) cp->run(how);
      }
      return;
    }
    if (op == kMmap) return map(how);
    op < kFirstDrm ? call_kfd(op, how) : call_drm(op - kFirstDrm, how);
  }

  void map(uint8_t how) {
    uint64_t words[2];
    take(words, sizeof words);
    const uint64_t bytes = words[1] % (1 << 20);
    void* out = nullptr;
    const int fd = how % 4 == 0 ? kfd_ : render_[how % render_.size()];
    if (system_->mmap(nullptr, bytes, (how & 16) != 0 ? PROT_NONE : PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                      word(words[0]), &out) == 0) {
      mapped_.emplace_back(out, bytes);
    }
  }

  // The arguments, where the call says they are.
  std::byte* place(std::byte* arguments, size_t bytes, uint8_t how) const {
    if ((how & kAtEndOfMemory) == 0) return arguments;
    std::byte* const at = scratch_ + kScratchBytes - std::min<size_t>(bytes, 24);
    std::memcpy(at, arguments, std::min<size_t>(bytes, 24));
    return at;
  }

  static size_t size_of(size_t bytes, uint8_t how) {
    if ((how & kShorter) != 0) return bytes / 2;
    return (how & kLonger) != 0 ? bytes + 32 : bytes;
  }

  void call_kfd(uint8_t number, uint8_t how) {
    const IoctlEntry* const entry = find_kfd_ioctl(number);
    const size_t bytes = size_of(entry == nullptr ? 16 : entry->bytes, how);
    alignas(8) std::byte arguments[kMost] = {};
    take(arguments, bytes);
    translate(arguments);
    switch (number) {
      case KFD_NR_WAIT_EVENTS:
        reinterpret_cast<kfd_wait_events*>(arguments)->timeout = 0;
        break;
      case KFD_NR_ALLOC_MEMORY: {
        auto& a = *reinterpret_cast<kfd_alloc_memory*>(arguments);
        if ((a.flags & KFD_MEM_USERPTR) != 0) confine(a.mmap_offset, a.size);
        break;
      }
      case KFD_NR_SVM: {
        auto& a = *reinterpret_cast<kfd_svm*>(arguments);
        confine(a.start_addr, a.size);
        break;
      }
      case KFD_NR_IPC_IMPORT_HANDLE:
        reinterpret_cast<kfd_ipc_import_handle*>(arguments)->share_handle[0] =
            static_cast<uint32_t>(getpid());
        break;
      default:
        break;
    }
    std::byte* const at = place(arguments, bytes, how);
    const uint64_t request = static_cast<uint64_t>(~how & kDirections) << 30 | uint64_t{bytes} << 16 |
                             KFD_ABI_IOCTL_TYPE << 8 | number;
    if (system_->ioctl(kfd_, request, at) != 0 || at != arguments || (~how & 2) == 0) return;
    switch (number) {
      case KFD_NR_ALLOC_MEMORY:
        handles_.push_back(reinterpret_cast<kfd_alloc_memory*>(arguments)->handle);
        break;
      case KFD_NR_IMPORT_DMABUF:
        handles_.push_back(reinterpret_cast<kfd_import_dmabuf*>(arguments)->handle);
        break;
      case KFD_NR_IPC_IMPORT_HANDLE:
        handles_.push_back(reinterpret_cast<kfd_ipc_import_handle*>(arguments)->handle);
        break;
      case KFD_NR_EXPORT_DMABUF:
        exported_.push_back(static_cast<int>(reinterpret_cast<kfd_export_dmabuf*>(arguments)->dmabuf_fd));
        break;
      case KFD_NR_SMI_EVENTS:
        exported_.push_back(static_cast<int>(reinterpret_cast<kfd_smi_events*>(arguments)->anon_fd));
        break;
      default:
        break;
    }
  }

  void call_drm(uint8_t index, uint8_t how) {
    const auto table = drm_ioctls();
    const DrmIoctlEntry& entry = table[index % table.size()];
    const size_t bytes = size_of(entry.bytes, how);
    alignas(8) std::byte arguments[kMost] = {};
    take(arguments, bytes);
    translate(arguments);
    if (entry.number == kDrmGemUserptr) {
      uint64_t address = 0, length = 0;
      std::memcpy(&address, arguments, 8);
      std::memcpy(&length, arguments + 8, 8);
      confine(address, length);
      std::memcpy(arguments + 8, &length, 8);
    }
    std::byte* const at = place(arguments, bytes, how);
    const uint64_t request =
        static_cast<uint64_t>(~how & kDirections) << 30 | uint64_t{bytes} << 16 | 'd' << 8 | entry.number;
    const int fd = render_[(how >> 5) % render_.size()];
    if (system_->ioctl(fd, request, at) != 0 || at != arguments || (~how & 2) == 0) return;
    if (entry.number == kDrmPrimeHandleToFd && bytes >= 12) {
      int exported = -1;
      std::memcpy(&exported, arguments + 8, 4);
      exported_.push_back(exported);
    }
  }

  void translate(std::byte* arguments) const {
    for (size_t i = 0; i + 8 <= kMost; i += 8) {
      uint64_t w = 0;
      std::memcpy(&w, arguments + i, 8);
      if (w == 0) continue;
      w = word(w);
      std::memcpy(arguments + i, &w, 8);
    }
  }

  static constexpr size_t kMost = 1024;
  const uint8_t* data_;
  size_t size_;
  std::byte* const scratch_;
  std::unique_ptr<System> system_;
  int kfd_ = -1;
  std::vector<int> render_, exported_;
  std::vector<uint64_t> handles_;
  std::vector<std::pair<void*, uint64_t>> mapped_;
};

}  // namespace
}  // namespace rigel::vgpu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static std::byte* const scratch = rigel::vgpu::make_scratch();
  std::memset(scratch, 0, rigel::vgpu::kScratchBytes);
  rigel::vgpu::Caller(data, size, scratch).run();
  return 0;
}
