// An allocator whose every block is a mapping of its own, given back at once by munmap(2): what others do
// with large blocks and now and then. Linked into a program it is that of all its libraries, the preload
// face's and the virtual GPU's too.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

struct alignas(16) Block {  // right before what the program gets
  void* mapping;
  size_t mapped, bytes;
};

void* allocate(size_t alignment, size_t bytes) {
  alignment = std::max(alignment, alignof(Block));
  const size_t mapped = bytes + alignment + sizeof(Block);
  if (mapped < bytes) return nullptr;
  void* const mapping = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    errno = ENOMEM;
    return nullptr;
  }
  const uintptr_t first = reinterpret_cast<uintptr_t>(mapping) + sizeof(Block);
  auto* const given = reinterpret_cast<Block*>((first + alignment - 1) / alignment * alignment);
  given[-1] = {mapping, mapped, bytes};
  return given;
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
  ::munmap(block.mapping, block.mapped);
  errno = error;
}
void* calloc(size_t count, size_t bytes) {
  return allocate(0, count * bytes);  // pages are of zeros
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
