// What the litmus kernels and the program that runs them share: arguments, the tables of tests, and their
// vocabulary.
//
// A litmus test is a few threads of a few accesses each, and an outcome that they reach or must not reach.
// tests.inc has one row a test. The kernels (kernels.cpp) and the threads of the host (ordering_test.cpp) are
// made of the same rows.
#pragma once

#include <stdint.h>  // not <cstdint>: compilers for GPUs come without a C++ library

namespace conformance {

/// How far apart the threads of a test are, and so which scope its accesses name.
enum class Scope : uint32_t { kWorkGroup, kAgent, kSystem };

constexpr uint32_t kVariables = 3;  // X, Y, Z
constexpr uint32_t kRegisters = 6;  // R0 … R5
constexpr uint32_t kMostRoles = 4;
/// What a register holds that no thread has written.
constexpr uint32_t kUnread = 0xffffffff;
/// No role: the kernel's waves or work-groups have one each.
constexpr uint32_t kByPlace = kMostRoles;

/// A kernel `<test>_<scope>` executes each of `rounds` times one instance of the test in each lane of a wave.
struct LitmusArgs {
  uint32_t* variables;  // [variable][instance], zero; an instance is round * lanes + lane
  uint32_t* registers;  // [register][instance], kUnread
  uint32_t* arrivals;   // [round], zero
  uint32_t lanes;       // a power of two
  uint32_t lanes_bits;  // of which this is the logarithm
  uint32_t rounds;
  uint32_t roles;
  uint32_t role;  // kByPlace: waves of a work-group have one each if `by_wave` is set, else work-groups
  uint32_t by_wave;
  uint32_t patience;           // how often a wave looks for the others before it begins a round …
  uint32_t patience_at_first;  // … and before the first one
};

/// A kernel `tear_<bytes>_<layout>` stores elements of equal parts `rounds` times, or loads them and counts
/// those whose parts differ. Even work-groups store and odd ones load, unless `role` says what all of them
/// do. Layouts: tearing.inc.
struct TearArgs {
  void* elements;
  const uint32_t* table;  // [lane]: the number of its element
  uint32_t* seen;         // TearResult
  uint64_t image;         // of a row of elements; layout `texel` alone
  uint32_t rounds;
  uint32_t role;  // 0: all store, 1: all load, 2: by work-group
};

/// What the loads of all work-groups saw, and a torn element.
struct TearResult {
  uint32_t torn;
  uint32_t changes;  // loads of another value than the one before
  uint32_t reserved[2];
  uint32_t element[4];
};

constexpr uint32_t kSparseBytes = 64;
constexpr uint32_t kMostLanes = 64;

}  // namespace conformance

// The vocabulary of tests.inc: what a row says of a thread `t`, which knows its scope.
#define SET(variable, value) t.store(t.variable, value, __ATOMIC_RELAXED)
#define SET_RELEASE(variable, value) t.store(t.variable, value, __ATOMIC_RELEASE)
#define SET_ORDERED(variable, value) t.store(t.variable, value, __ATOMIC_SEQ_CST)
#define GET(register, variable) t.read(t.register, t.load(t.variable, __ATOMIC_RELAXED))
#define GET_ACQUIRE(register, variable) t.read(t.register, t.load(t.variable, __ATOMIC_ACQUIRE))
#define GET_ORDERED(register, variable) t.read(t.register, t.load(t.variable, __ATOMIC_SEQ_CST))
#define SWAP(register, variable, value) t.read(t.register, t.exchange(t.variable, value, __ATOMIC_RELAXED))
#define SWAP_BOTH(register, variable, value) \
  t.read(t.register, t.exchange(t.variable, value, __ATOMIC_ACQ_REL))
#define SWAP_ORDERED(register, variable, value) \
  t.read(t.register, t.exchange(t.variable, value, __ATOMIC_SEQ_CST))
#define ADD(register, variable, value) t.read(t.register, t.add(t.variable, value, __ATOMIC_RELAXED))
// Accesses that are not atomic, as hardware has them: of no wider scope than a wave.
#define PLAIN_SET(variable, value) t.plain_store(t.variable, value)
#define PLAIN_GET(register, variable) t.read(t.register, t.plain_load(t.variable))
#define RELEASE t.release()
#define ACQUIRE t.acquire()
#define FENCE t.full_fence()

// Statements that let `role` do its part of a row, and then `end`.
#define LITMUS_COUNT_(a, b, c, d, count, ...) count
#define LITMUS_COUNT(...) LITMUS_COUNT_(__VA_ARGS__, 4, 3, 2, 1, 0)
#define LITMUS_THREADS_1(end, a) \
  if (role == 0) (void)a, end;
#define LITMUS_THREADS_2(end, a, b) LITMUS_THREADS_1(end, a) if (role == 1)(void) b, end;
#define LITMUS_THREADS_3(end, a, b, c) LITMUS_THREADS_2(end, a, b) if (role == 2)(void) c, end;
#define LITMUS_THREADS_4(end, a, b, c, d) LITMUS_THREADS_3(end, a, b, c) if (role == 3)(void) d, end;
#define LITMUS_JOINED_(a, b) a##b
#define LITMUS_JOINED(a, b) LITMUS_JOINED_(a, b)
#define LITMUS_THREADS(end, ...) LITMUS_JOINED(LITMUS_THREADS_, LITMUS_COUNT(__VA_ARGS__))(end, __VA_ARGS__)
