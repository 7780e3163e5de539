#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "plugins/vgpu/exec/native/native.hpp"

namespace rigel::vgpu::exec::native {

CodeMemory::~CodeMemory() {
  for (const Piece& piece : pieces_) ::munmap(piece.at, piece.bytes);
}

const std::byte* CodeMemory::add(std::span<const std::byte> code) {
  if (refused_) return nullptr;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t bytes = (code.size() + page - 1) / page * page;
  refused_ = true;
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  std::memcpy(at, code.data(), code.size());
  if (::mprotect(at, bytes, PROT_READ | PROT_EXEC) != 0) {
    ::munmap(at, bytes);
    return nullptr;
  }
  refused_ = false;
  pieces_.push_back({at, bytes});
  return static_cast<const std::byte*>(at);
}

}  // namespace rigel::vgpu::exec::native
