// For tests of out-of-memory handling: makes one of a thread's requests fail. Replaces operator new of the
// test program, whose sources may each include this. Not for sanitizers, which have their own operator new.
#pragma once

#include <hsa_backend/sanitizer.h>

#include <cstdlib>
#include <new>

#if HSABE_SANITIZER == HSABE_SANITIZER_NONE
// Index of the thread's next request that fails, from 0. Negative: none.
inline thread_local int request_that_fails = -1;

// Weak, because they must not be inline.
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
