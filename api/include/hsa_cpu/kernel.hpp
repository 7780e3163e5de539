// Kernels for the CPU backend in C++: a kernel is the code of one work-group, with a loop over the work-items
// for each section between barriers.
//
//   struct SaxpyArgs { float a; uint32_t n; const float* x; float* y; };  // as in the kernarg segment
//
//   HSA_CPU_KERNEL(saxpy, SaxpyArgs) {
//     group.for_each_below(args.n, [&](auto item) {
//       const size_t i = item.global_id(0);
//       args.y[i] += args.a * args.x[i];
//     });
//   }
//
// The macro defines the kernel descriptor saxpy.kd and the entry. Options follow the type of the arguments:
//
//   - hsa_cpu::Size<16, 16>: the required work-group size; loops get constant bounds
//   - hsa_cpu::Shared<Tile>: group memory with the layout of Tile for each work-group: group.shared()
//
// The body has the variables `group` (Group<...>) and `args` (a copy of the arguments).
//   - Code outside for_each, for_each_first and for_each_below runs once per work-group. Its variables belong
//     to the work-group.
//   - The body of for_each runs once per work-item, in any order and vectorized. Two work-items of one
//     for_each must not race, as between two barriers on a GPU.
//   - The end of a for_each is a barrier: stores before it are visible after it.
//   - Values of a work-item that live across barriers are in group.per_item<T>().
//   - The initial contents of group memory are undefined.
//
// Compile with -O2 or more: the compiler inlines everything into one function and vectorizes the loop over x.
#pragma once

#include <hsa_cpu/kernel.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__clang__)
#define HSA_CPU_INDEPENDENT_ _Pragma("clang loop vectorize(assume_safety) interleave(assume_safety)")
#else
#define HSA_CPU_INDEPENDENT_ _Pragma("GCC ivdep")
#endif

namespace hsa_cpu {

/// The value of HSA_AGENT_INFO_WORKGROUP_MAX_SIZE of every CPU agent.
constexpr size_t kMaxWorkgroupSize = 4096;

/// For a kernel without arguments.
struct NoArgs {};

/// Option: the work-group size that dispatches must have, in work-items.
template <uint32_t X, uint32_t Y = 1, uint32_t Z = 1>
struct Size {
  static_assert(X > 0 && Y > 0 && Z > 0 && size_t{X} * Y * Z <= kMaxWorkgroupSize);
};

/// Option: the type of the work-group's shared memory. It is not constructed.
template <class T>
struct Shared {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64);
};

namespace detail {

template <class... Options>
struct Shape {
  static constexpr uint32_t kRequired[3] = {0, 0, 0};
  static constexpr size_t kMaxItems = kMaxWorkgroupSize;
  using SharedType = NoArgs;
  static constexpr uint32_t kSharedSize = 0;
};

template <uint32_t X, uint32_t Y, uint32_t Z, class... Rest>
struct Shape<Size<X, Y, Z>, Rest...> : Shape<Rest...> {
  static constexpr uint32_t kRequired[3] = {X, Y, Z};
  static constexpr size_t kMaxItems = size_t{X} * Y * Z;
};

template <class T, class... Rest>
struct Shape<Shared<T>, Rest...> : Shape<Rest...> {
  using SharedType = T;
  static constexpr uint32_t kSharedSize = (sizeof(T) + 15) / 16 * 16;
};

template <class Args>
constexpr size_t kernarg_size() {
  static_assert(std::is_trivially_copyable_v<Args> && alignof(Args) <= 16);
  return std::is_empty_v<Args> ? 0 : sizeof(Args);
}

}  // namespace detail

template <class Shape>
class Group;

/// One work-item. Dimensions are 0 (x), 1 (y) and 2 (z); pass constants.
template <class Shape>
class Item {
 public:
  Item(const Group<Shape>& group, size_t x, size_t y, size_t z) : group_(group), local_{x, y, z} {}

  size_t local_id(unsigned dimension) const { return local_[dimension]; }
  inline size_t global_id(unsigned dimension) const;
  /// Returns its index in a full work-group, with x as the fastest dimension.
  inline size_t flat_id() const;

 private:
  const Group<Shape>& group_;
  size_t local_[3];
};

/// A value for each work-item of a work-group.
template <class T, class Shape>
class PerItem {
 public:
  T& operator[](const Item<Shape>& item) { return values_[item.flat_id()]; }
  const T& operator[](const Item<Shape>& item) const { return values_[item.flat_id()]; }

 private:
  static_assert(std::is_trivial_v<T>);
  static_assert(sizeof(T) * Shape::kMaxItems <= 256 * 1024, "too large for the stack: use a smaller Size");
  alignas(64) T values_[Shape::kMaxItems];
};

/// The work-group that a kernel is running.
template <class Shape>
class Group {
 public:
  Group(const hsa_cpu_dispatch_t& dispatch, const hsa_cpu_worker_t& worker, uint64_t number)
      : dispatch_(dispatch), worker_(worker) {
    id_[0] = number % dispatch.workgroup_count[0];
    number /= dispatch.workgroup_count[0];
    id_[1] = number % dispatch.workgroup_count[1];
    id_[2] = number / dispatch.workgroup_count[1];
    for (unsigned d = 0; d < 3; ++d) place(d);
  }

  size_t id(unsigned dimension) const { return id_[dimension]; }
  /// Work-groups in the grid.
  size_t count(unsigned dimension) const { return dispatch_.workgroup_count[dimension]; }
  /// Returns the work-items of this work-group. The last work-group of a dimension can have fewer than
  /// full_size().
  size_t size(unsigned dimension) const { return size_[dimension]; }
  size_t full_size(unsigned dimension) const {
    if constexpr (kFixed) return Shape::kRequired[dimension];
    return dispatch_.workgroup_size[dimension];
  }
  /// Work-items in the grid.
  size_t grid_size(unsigned dimension) const { return dispatch_.grid_size[dimension]; }
  /// The global id of its first work-item.
  size_t base(unsigned dimension) const { return base_[dimension]; }

  /// The group memory that the option Shared describes.
  typename Shape::SharedType& shared() const {
    static_assert(Shape::kSharedSize != 0, "the kernel needs the option hsa_cpu::Shared<...>");
    return *static_cast<typename Shape::SharedType*>(worker_.group_segment);
  }
  /// Returns the dynamic group memory that the packet requests beyond that of the kernel.
  template <class T>
  T* dynamic_shared() const {
    static_assert(alignof(T) <= 16);
    return reinterpret_cast<T*>(static_cast<std::byte*>(worker_.group_segment) + Shape::kSharedSize);
  }
  size_t dynamic_shared_size() const { return dispatch_.group_segment_size - Shape::kSharedSize; }

  /// Returns uninitialised storage that lives across barriers: `auto sum = group.per_item<float>();`.
  template <class T>
  PerItem<T, Shape> per_item() const {
    PerItem<T, Shape> values;  // {} would clear them
    return values;
  }

  /// Runs `body(Item)` for each work-item. The end is a barrier.
  template <class Body>
  void for_each(Body&& body) const {
    run(body, size_[0]);
  }

  /// Runs `body` for the work-items with local_id(0) < count. It is faster than an `if` in the body, which
  /// needs a mask for each load and store of the vector loop.
  template <class Body>
  void for_each_first(size_t count, Body&& body) const {
    run(body, count < size_[0] ? count : size_[0]);
  }

  /// Runs `body` for the work-items with global_id(0) < limit.
  template <class Body>
  void for_each_below(size_t limit, Body&& body) const {
    for_each_first(limit > base_[0] ? limit - base_[0] : 0, body);
  }

  const hsa_cpu_dispatch_t& dispatch() const { return dispatch_; }

  /// Moves to the next work-group of the range. For the entry.
  void advance() {
    if (++id_[0] == dispatch_.workgroup_count[0]) {
      id_[0] = 0;
      if (++id_[1] == dispatch_.workgroup_count[1]) {
        id_[1] = 0;
        ++id_[2];
        place(2);
      }
      place(1);
    }
    place(0);
  }

 private:
  static constexpr bool kFixed = Shape::kRequired[0] != 0;

  void place(unsigned d) {
    base_[d] = id_[d] * full_size(d);
    const size_t left = grid_size(d) - base_[d];
    size_[d] = left < full_size(d) ? left : full_size(d);
  }

  // The bounds are constants if the kernel requires a size and the work-group is full.
  template <class Body>
  void run(Body& body, size_t nx) const {
    if constexpr (kFixed) {
      constexpr auto& full = Shape::kRequired;
      if (nx == full[0] && size_[1] == full[1] && size_[2] == full[2]) {
        loop(body, full[0], full[1], full[2]);
        return;
      }
    }
    loop(body, nx, size_[1], size_[2]);
  }

  template <class Body>
  void loop(Body& body, size_t nx, size_t ny, size_t nz) const {
    for (size_t z = 0; z < nz; ++z) {
      for (size_t y = 0; y < ny; ++y) {
        HSA_CPU_INDEPENDENT_
        for (size_t x = 0; x < nx; ++x) body(Item<Shape>(*this, x, y, z));
      }
    }
  }

  const hsa_cpu_dispatch_t& dispatch_;
  const hsa_cpu_worker_t& worker_;
  size_t id_[3];
  size_t base_[3];
  size_t size_[3];
};

template <class Shape>
size_t Item<Shape>::global_id(unsigned dimension) const {
  return group_.base(dimension) + local_[dimension];
}

template <class Shape>
size_t Item<Shape>::flat_id() const {
  return local_[0] + group_.full_size(0) * (local_[1] + group_.full_size(1) * local_[2]);
}

/// Adds to a variable in group memory; returns the previous value. All work-items of a work-group run on one
/// thread, so this costs an addition without a bus lock, but it prevents vectorization.
template <class T, class V>
T group_atomic_add(T& variable, V value) {
  volatile T& cell = variable;
  const T old = cell;
  cell = static_cast<T>(old + value);
  return old;
}

/// Adds to a variable in global memory, atomically and relaxed; returns the previous value.
template <class T, class V>
T atomic_add(T& variable, V value) {
  static_assert(std::is_integral_v<T>);
  return __atomic_fetch_add(&variable, static_cast<T>(value), __ATOMIC_RELAXED);
}

namespace detail {

template <class Kernel, class Args, class Shape>
inline void run(const hsa_cpu_dispatch_t* dispatch, const hsa_cpu_worker_t* worker, uint64_t first_group,
                uint64_t group_count) {
  // No pointer refers to this copy, so stores through pointers cannot change it and it stays in registers.
  Args args;
  if constexpr (kernarg_size<Args>() != 0) std::memcpy(&args, dispatch->kernarg, sizeof args);
  Group<Shape> group(*dispatch, *worker, first_group);
  for (uint64_t left = group_count; left > 0; --left) {
    Kernel::work_group(static_cast<const Group<Shape>&>(group), static_cast<const Args&>(args));
    group.advance();
  }
}

}  // namespace detail
}  // namespace hsa_cpu

/// HSA_CPU_KERNEL(name, Args, options...) { code of a work-group }: see the head of this file.
#define HSA_CPU_KERNEL(name, Args, ...)                                                                      \
  namespace {                                                                                                \
  struct hsa_cpu_kernel_##name {                                                                             \
    using Shape = ::hsa_cpu::detail::Shape<__VA_ARGS__>;                                                     \
    static inline void work_group(const ::hsa_cpu::Group<Shape>& group, const Args& args);                   \
  };                                                                                                         \
  }                                                                                                          \
  HSA_CPU_ENTRY(name) {                                                                                      \
    ::hsa_cpu::detail::run<hsa_cpu_kernel_##name, Args, hsa_cpu_kernel_##name::Shape>(                       \
        dispatch, worker, first_group, group_count);                                                         \
  }                                                                                                          \
  HSA_CPU_DESCRIBE(name, ::hsa_cpu::detail::kernarg_size<Args>(), hsa_cpu_kernel_##name::Shape::kSharedSize, \
                   0, hsa_cpu_kernel_##name::Shape::kRequired[0],                                            \
                   hsa_cpu_kernel_##name::Shape::kRequired[1], hsa_cpu_kernel_##name::Shape::kRequired[2]);  \
  inline void hsa_cpu_kernel_##name::work_group(                                                             \
      [[maybe_unused]] const ::hsa_cpu::Group<hsa_cpu_kernel_##name::Shape>& group,                          \
      [[maybe_unused]] const Args& args)
