#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "plugins/vgpu/exec/native/native.hpp"

namespace rigel::vgpu::exec::native {
namespace {

constexpr size_t kPieceBytes = size_t{64} << 10;

std::byte* map(int fd, size_t bytes, int protection) {
  void* const at = ::mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

}  // namespace

CodeMemory::~CodeMemory() {
  for (const Piece& piece : pieces_) {
    ::munmap(piece.writable, piece.bytes);
    ::munmap(piece.executable, piece.bytes);
  }
}

bool CodeMemory::grow(size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  bytes = (std::max(bytes, kPieceBytes) + page - 1) / page * page;
  const int fd = static_cast<int>(::syscall(SYS_memfd_create, "vgpu-native", MFD_CLOEXEC));
  if (fd < 0) return false;
  Piece piece;
  piece.bytes = bytes;
  if (::ftruncate(fd, static_cast<off_t>(bytes)) == 0) {
    piece.writable = map(fd, bytes, PROT_READ | PROT_WRITE);
    piece.executable = map(fd, bytes, PROT_READ | PROT_EXEC);
  }
  ::syscall(SYS_close, fd);
  if (piece.writable == nullptr || piece.executable == nullptr) {
    if (piece.writable != nullptr) ::munmap(piece.writable, bytes);
    if (piece.executable != nullptr) ::munmap(piece.executable, bytes);
    return false;
  }
  pieces_.push_back(piece);
  return true;
}

const std::byte* CodeMemory::add(std::span<const std::byte> code) {
  constexpr size_t kAlignment = 64;
  const size_t bytes = (code.size() + kAlignment - 1) / kAlignment * kAlignment;
  if (pieces_.empty() || pieces_.back().bytes - pieces_.back().used < bytes) {
    if (refused_ || !grow(bytes)) {
      refused_ = true;
      return nullptr;
    }
  }
  Piece& piece = pieces_.back();
  std::memcpy(piece.writable + piece.used, code.data(), code.size());
  const std::byte* const at = piece.executable + piece.used;
  piece.used += bytes;
  return at;
}

}  // namespace rigel::vgpu::exec::native
