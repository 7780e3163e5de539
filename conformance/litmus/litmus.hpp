// Arguments of the litmus kernels, and the macros of the test tables.
//
// A litmus test is a few threads with a few accesses each, and an outcome that is allowed or forbidden.
// tests.inc has one row per test. The kernels (kernels.cpp) and the host threads (ordering_test.cpp) are
// generated from these rows.
#pragma once

#include <stdint.h>  // not <cstdint>: compilers for GPUs come without a C++ library

namespace conformance {

/// The distance of a test's threads, and the scope of its accesses.
enum class Scope : uint32_t { kWorkGroup, kAgent, kSystem };

constexpr uint32_t kVariables = 3;  // X, Y, Z
constexpr uint32_t kRegisters = 6;  // R0 … R5
constexpr uint32_t kMostRoles = 4;
/// The value of a register that no thread has written.
constexpr uint32_t kUnread = 0xffffffff;
/// Not a role: each wave or work-group of the kernel takes one role.
constexpr uint32_t kByPlace = kMostRoles;

/// Kernel `<test>_<scope>` executes, `rounds` times, one instance of the test in each lane of a wave.
struct LitmusArgs {
  uint32_t* variables;  // [variable][instance], zero; an instance is round * lanes + lane
  uint32_t* registers;  // [register][instance], kUnread
  uint32_t* arrivals;   // [round], zero
  uint32_t lanes;       // a power of two
  uint32_t lanes_bits;  // log2(lanes)
  uint32_t rounds;
  uint32_t roles;
  uint32_t role;  // kByPlace: one per wave of the work-group if `by_wave` is set, else one per work-group
  uint32_t by_wave;
  uint32_t patience;           // number of polls for the other waves before a round starts
  uint32_t patience_at_first;  // the same before the first round
};

/// Kernel `tear_<bytes>_<layout>` stores elements of equal parts `rounds` times, or loads them and counts
/// elements whose parts differ. tearing.inc lists the layouts.
struct TearArgs {
  void* elements;
  const uint32_t* table;  // [lane]: index of its element
  uint32_t* seen;         // TearResult
  uint64_t image;         // image of one row of elements, for layout `texel`
  uint32_t rounds;
  uint32_t role;  // 0: all store, 1: all load, 2: even work-groups store and odd ones load
};

/// The results of all work-groups' loads, and an example of a torn element.
struct TearResult {
  uint32_t torn;
  uint32_t changes;  // loads whose value differs from the previous one
  uint32_t reserved[2];
  uint32_t element[4];
};

constexpr uint32_t kSparseBytes = 64;
constexpr uint32_t kMostLanes = 64;

}  // namespace conformance

// The accesses of tests.inc, for a thread `t` that has a scope.
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
// Accesses that are not atomic: of wave scope in hardware.
#define PLAIN_SET(variable, value) t.plain_store(t.variable, value)
#define PLAIN_GET(register, variable) t.read(t.register, t.plain_load(t.variable))
#define RELEASE t.release()
#define ACQUIRE t.acquire()
#define FENCE t.full_fence()

// Statements that execute the thread of `role` in a row, and then `end`.
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
