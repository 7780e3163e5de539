// An allocator that maps every block separately and unmaps it at once, as other allocators do with large
// blocks. It serves the program and all its libraries, including the front end and the virtual GPU.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

struct alignas(16) Block {  // directly before the program's block
  void* mapping;
  size_t mapped_bytes, bytes;
};

void* allocate(size_t alignment, size_t bytes) {
  alignment = std::max(alignment, alignof(Block));
  const size_t mapped_bytes = bytes + alignment + sizeof(Block);
  if (mapped_bytes < bytes) return nullptr;
  void* const mapping =
      ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    errno = ENOMEM;
    return nullptr;
  }
  const uintptr_t first = reinterpret_cast<uintptr_t>(mapping) + sizeof(Block);
  auto* const block = reinterpret_cast<Block*>((first + alignment - 1) / alignment * alignment);
  block[-1] = {mapping, mapped_bytes, bytes};
  return block;
}

}  // namespace

extern "C" {

void* malloc(size_t bytes) {
  return allocate(0, bytes);
}
void free(void* p) {
  if (p == nullptr) return;
  const int error = errno;
  const Block block = static_cast<Block*>(p)[-1];
  ::munmap(block.mapping, block.mapped_bytes);
  errno = error;
}
void* calloc(size_t count, size_t bytes) {
  return allocate(0, count * bytes);  // pages are zeroed
}
void* realloc(void* p, size_t bytes) {
  void* const other = allocate(0, bytes);
  if (p == nullptr || other == nullptr) return other;
  std::memcpy(other, p, std::min(bytes, static_cast<Block*>(p)[-1].bytes));
  free(p);
  return other;
}
void* memalign(size_t alignment, size_t bytes) {
  return allocate(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return allocate(alignment, bytes);
}
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  *out = allocate(alignment, bytes);
  return *out == nullptr ? ENOMEM : 0;
}
}
