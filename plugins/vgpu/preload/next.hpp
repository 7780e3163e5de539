// The libc functions behind the hooks.
#pragma once

#include <dlfcn.h>

#include <atomic>

/// Returns the function that the program would call without the hook; looked up once.
#define NEXT(name)                                      \
  [] {                                                  \
    static constinit std::atomic<void*> found{nullptr}; \
    void* f = found.load(std::memory_order_relaxed);    \
    if (f == nullptr) {                                 \
      f = dlsym(RTLD_NEXT, #name);                      \
      found.store(f, std::memory_order_relaxed);        \
    }                                                   \
    return reinterpret_cast<decltype(&::name)>(f);      \
  }()
