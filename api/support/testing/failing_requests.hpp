// For tests of what happens when memory runs out: of the requests that a thread makes, one fails. Replaces operator new
// of the test's program, whose sources may each include this. Not under sanitizers, which have their own.
#pragma once

#include <hsa_backend/sanitizer.h>

#include <cstdlib>
#include <new>

#if HSABE_SANITIZER == HSABE_SANITIZER_NONE
// Which of the thread's next requests fails, from 0 on. Negative: none.
inline thread_local int request_that_fails = -1;

// Weak, as they may not be inline.
[[gnu::weak]] void* operator new(size_t size) {
  if (request_that_fails >= 0 && request_that_fails-- == 0) throw std::bad_alloc();
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::weak]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::weak]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
#endif
