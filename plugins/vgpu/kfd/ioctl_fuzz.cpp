// Fuzzes ioctls of /dev/kfd and of render nodes with arbitrary arguments in any order. The driver must return
// from each, and must not access memory outside of what it was given.
//
// The input is a list of calls: a byte that selects the call, a byte of flags, and the arguments (missing
// bytes are zeros). Some words are replaced by values that exist only at run time:
//
//   f00dXXXX XXXXXXXX   an address in the scratch memory
//   f00eXXXX XXXXXXXX   the handle of an existing buffer
//   f00f00XX            the id of a GPU
//   f01000XX            the descriptor of a render node
//   f01100XX            an exported descriptor
//
// All other words that are mapped addresses of this process are replaced by addresses in the scratch memory.
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

enum CallFlags : uint8_t {
  kDirections = 3,  // inverted, so that 0 means in and out, as for every amdkfd ioctl
  kAtEndOfMemory = 4,
  kShorter = 8,
  kLonger = 16,
};

// Calls to the fuzzer itself.
enum Special : uint8_t { kFirstDrm = 0x90, kFill = 0xfd, kMmap = 0xfe, kStep = 0xff };

// Maps memory between two inaccessible regions.
std::byte* make_scratch() {
  void* const p = mmap(nullptr, kScratchBytes + 2 * kGuardBytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) std::abort();
  auto* const scratch = static_cast<std::byte*>(p) + kGuardBytes;
  if (mprotect(scratch, kScratchBytes, PROT_READ | PROT_WRITE) != 0) std::abort();
  return scratch;
}

std::shared_ptr<const Hardware> make_hardware() {
  HostProperties host;
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
    // Shared, because the files are expensive to create and ioctls do not use them.
    static const std::shared_ptr<const Hardware> hardware = make_hardware();
    system_ =
        std::make_unique<System>(hardware, options, std::make_unique<Log>(log == nullptr ? "none" : log, ""));
    kfd_ = system_->open("/dev/kfd", O_RDWR | O_CLOEXEC);
    for (uint32_t i = 0; i < hardware->virtual_system.gpus.size(); ++i) {
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
    constexpr int kMaxCalls = 200;
    for (int i = 0; i < kMaxCalls && size_ > 0; ++i) run_call();
  }

 private:
  uint8_t read_byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  void read_input(void* to, size_t bytes) {
    const size_t available = std::min(bytes, size_);
    std::memset(to, 0, bytes);
    if (available != 0) std::memcpy(to, data_, available);
    data_ += available;
    size_ -= available;
  }

  bool in_scratch(uint64_t address) const {
    return address - reinterpret_cast<uint64_t>(scratch_) < kScratchBytes;
  }
  uint64_t scratch_at(uint64_t replace_word) const {
    return reinterpret_cast<uint64_t>(scratch_) + replace_word % kScratchBytes;
  }
  uint64_t scratch_bytes_from(uint64_t address) const {
    return reinterpret_cast<uint64_t>(scratch_) + kScratchBytes - address;
  }

  uint64_t replace_word(uint64_t w) const {
    if (w >> 48 == 0xf00d) return scratch_at(w);
    if (w >> 48 == 0xf00e) return handles_.empty() ? 0 : handles_[w % handles_.size()];
    if (!in_scratch(w) && program_has(w, 1)) return scratch_at(w);
    const uint64_t low = replace_half(static_cast<uint32_t>(w)),
                   high = replace_half(static_cast<uint32_t>(w >> 32));
    return high << 32 | low;
  }
  uint32_t replace_half(uint32_t w) const {
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

  // Limits a range of the program to the scratch memory.
  void confine(uint64_t address, uint64_t& bytes) const {
    if (in_scratch(address)) bytes = std::min(bytes, scratch_bytes_from(address));
  }

  void run_call() {
    const uint8_t op = read_byte();
    const uint8_t flags = read_byte();
    if (op == kFill) {
      uint64_t words[8];
      read_input(words, sizeof words);
      for (uint64_t& w : words) w = replace_word(w);
      std::memcpy(scratch_ + flags * sizeof words, words, sizeof words);
      return;
    }
    if (op == kStep) {
      for (size_t i = 0; i < system_->process().gpu_count(); ++i) {
        if (CommandProcessor* cp = system_->process().gpu(i).processor_if_made()) cp->run(flags);
      }
      return;
    }
    if (op == kMmap) return map(flags);
    op < kFirstDrm ? call_kfd(op, flags) : call_drm(op - kFirstDrm, flags);
  }

  void map(uint8_t flags) {
    uint64_t words[2];
    read_input(words, sizeof words);
    const uint64_t bytes = words[1] % (1 << 20);
    void* out = nullptr;
    const int fd = flags % 4 == 0 ? kfd_ : render_[flags % render_.size()];
    if (system_->mmap(nullptr, bytes, (flags & 16) != 0 ? PROT_NONE : PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                      replace_word(words[0]), &out) == 0) {
      mapped_.emplace_back(out, bytes);
    }
  }

  // Returns the address of the arguments: as they are, or at the end of the scratch memory.
  std::byte* place_arguments(std::byte* arguments, size_t bytes, uint8_t flags) const {
    if ((flags & kAtEndOfMemory) == 0) return arguments;
    std::byte* const at = scratch_ + kScratchBytes - std::min<size_t>(bytes, 24);
    std::memcpy(at, arguments, std::min<size_t>(bytes, 24));
    return at;
  }

  static size_t size_of(size_t bytes, uint8_t flags) {
    if ((flags & kShorter) != 0) return bytes / 2;
    return (flags & kLonger) != 0 ? bytes + 32 : bytes;
  }

  void call_kfd(uint8_t number, uint8_t flags) {
    const IoctlEntry* const entry = find_kfd_ioctl(number);
    const size_t bytes = size_of(entry == nullptr ? 16 : entry->bytes, flags);
    alignas(8) std::byte arguments[kMaxArgumentBytes] = {};
    read_input(arguments, bytes);
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
    std::byte* const at = place_arguments(arguments, bytes, flags);
    const uint64_t request = static_cast<uint64_t>(~flags & kDirections) << 30 | uint64_t{bytes} << 16 |
                             KFD_ABI_IOCTL_TYPE << 8 | number;
    if (system_->ioctl(kfd_, request, at) != 0 || at != arguments || (~flags & 2) == 0) return;
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

  void call_drm(uint8_t index, uint8_t flags) {
    const auto table = drm_ioctls();
    const DrmIoctlEntry& entry = table[index % table.size()];
    const size_t bytes = size_of(entry.bytes, flags);
    alignas(8) std::byte arguments[kMaxArgumentBytes] = {};
    read_input(arguments, bytes);
    translate(arguments);
    if (entry.number == kDrmGemUserptr) {
      uint64_t address = 0, length = 0;
      std::memcpy(&address, arguments, 8);
      std::memcpy(&length, arguments + 8, 8);
      confine(address, length);
      std::memcpy(arguments + 8, &length, 8);
    }
    std::byte* const at = place_arguments(arguments, bytes, flags);
    const uint64_t request =
        static_cast<uint64_t>(~flags & kDirections) << 30 | uint64_t{bytes} << 16 | 'd' << 8 | entry.number;
    const int fd = render_[(flags >> 5) % render_.size()];
    if (system_->ioctl(fd, request, at) != 0 || at != arguments || (~flags & 2) == 0) return;
    if (entry.number == kDrmPrimeHandleToFd && bytes >= 12) {
      int exported = -1;
      std::memcpy(&exported, arguments + 8, 4);
      exported_.push_back(exported);
    }
  }

  void translate(std::byte* arguments) const {
    for (size_t i = 0; i + 8 <= kMaxArgumentBytes; i += 8) {
      uint64_t w = 0;
      std::memcpy(&w, arguments + i, 8);
      if (w == 0) continue;
      w = replace_word(w);
      std::memcpy(arguments + i, &w, 8);
    }
  }

  static constexpr size_t kMaxArgumentBytes = 1024;
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
