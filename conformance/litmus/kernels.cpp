// The litmus kernels for AMD GPUs: one for each row of tests.inc and scope, and one for each row of
// tearing.inc.
#include "litmus/litmus.hpp"

#define KERNEL extern "C" __attribute__((amdgpu_kernel, visibility("protected")))
#define INLINE __attribute__((always_inline))
#define GLOBAL __attribute__((address_space(1)))

using namespace conformance;

namespace {

using Global = GLOBAL uint32_t*;

// The numbers of scopes in clang's builtins.
constexpr int kWave = 2;
constexpr int kScopeNumber[] = {3, 4, 5};
constexpr int kSystem = 5;

INLINE Global global(uint32_t* pointer) {
  return (Global)pointer;
}

// Returns when `waves` waves have arrived, or after `patience` polls. Meeting only makes races more frequent.
// Without sleeping: the virtual GPU would run other work-groups on this thread, and they would not race.
INLINE void meet(Global arrivals, uint32_t waves, bool is_first_lane, uint32_t patience) {
  if (!is_first_lane) return;
  __hip_atomic_fetch_add(arrivals, 1, __ATOMIC_RELAXED, kSystem);
  for (uint32_t i = 0; i < patience; ++i) {
    if (__hip_atomic_load(arrivals, __ATOMIC_RELAXED, kSystem) >= waves) return;
  }
}

// --- Ordering --------------------------------------------------------------------------------------------

// Variables in group memory.
__attribute__((address_space(3), loader_uninitialized)) uint32_t group_variables[kVariables * kMostLanes];

// A thread of a test. Word: the type of a pointer to a variable.
template <Scope kScope, class Word>
struct Thread {
  static constexpr int kNumber = kScopeNumber[static_cast<uint32_t>(kScope)];

  Word X, Y, Z;
  struct Register {
    uint32_t value = 0;
    bool is_read = false;
  };
  Register R0, R1, R2, R3, R4, R5;

  INLINE void store(Word place, uint32_t value, int order) {
    __hip_atomic_store(place, value, order, kNumber);
  }
  INLINE uint32_t load(Word place, int order) { return __hip_atomic_load(place, order, kNumber); }
  INLINE uint32_t exchange(Word place, uint32_t value, int order) {
    return __hip_atomic_exchange(place, value, order, kNumber);
  }
  INLINE uint32_t add(Word place, uint32_t value, int order) {
    return __hip_atomic_fetch_add(place, value, order, kNumber);
  }
  INLINE void plain_store(Word place, uint32_t value) {
    __hip_atomic_store(place, value, __ATOMIC_RELAXED, kWave);
  }
  INLINE uint32_t plain_load(Word place) { return __hip_atomic_load(place, __ATOMIC_RELAXED, kWave); }
  INLINE void read(Register& to, uint32_t value) { to = {value, true}; }

  // Stores the registers that were read to host memory, `apart` words from each other.
  INLINE void keep(Global registers, uint32_t apart) const {
    const Register* const all[] = {&R0, &R1, &R2, &R3, &R4, &R5};
    for (uint32_t i = 0; i < kRegisters; ++i) {
      if (all[i]->is_read) registers[i * apart] = all[i]->value;
    }
  }

// A macro, because clang requires the order of a fence before template instantiation.
#define LITMUS_FENCE(name, order)                   \
  INLINE void name() {                              \
    if constexpr (kScope == Scope::kWorkGroup) {    \
      __builtin_amdgcn_fence(order, "workgroup");   \
    } else if constexpr (kScope == Scope::kAgent) { \
      __builtin_amdgcn_fence(order, "agent");       \
    } else {                                        \
      __builtin_amdgcn_fence(order, "");            \
    }                                               \
  }
  LITMUS_FENCE(release, __ATOMIC_RELEASE)
  LITMUS_FENCE(acquire, __ATOMIC_ACQUIRE)
  LITMUS_FENCE(full_fence, __ATOMIC_SEQ_CST)
};

INLINE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// kInGroup: the variables are in group memory, and each wave of the work-group has one role.
template <Scope kScope, bool kInGroup, class Body>
INLINE void run(const LitmusArgs& args, Body body) {
  const uint32_t item = __builtin_amdgcn_workitem_id_x(), lane = item & (args.lanes - 1);
  uint32_t role = args.role;
  if (role == kByPlace)
    role = args.by_wave != 0 ? item >> args.lanes_bits : __builtin_amdgcn_workgroup_id_x();
  role = static_cast<uint32_t>(__builtin_amdgcn_readfirstlane(static_cast<int>(role)));
  const uint32_t instances = args.rounds << args.lanes_bits;
  for (uint32_t round = 0; round < args.rounds; ++round) {
    const uint32_t instance = (round << args.lanes_bits) + lane;
    Global const variables = global(args.variables) + instance, registers = global(args.registers) + instance;
    Global const arrivals = global(args.arrivals + round);
    if constexpr (kInGroup) {
      auto* const own = group_variables + lane;
      for (uint32_t i = 0; role == 0 && i < kVariables; ++i) own[i * kMostLanes] = 0;
      barrier();
      meet(arrivals, args.roles, lane == 0, round == 0 ? args.patience_at_first : args.patience);
      Thread<kScope, decltype(own + 0)> t{own, own + kMostLanes, own + 2 * kMostLanes};
      body(t, role, registers, instances);
      barrier();
      for (uint32_t i = 0; role == 0 && i < kVariables; ++i) variables[i * instances] = own[i * kMostLanes];
    } else {
      meet(arrivals, args.roles, lane == 0, round == 0 ? args.patience_at_first : args.patience);
      Thread<kScope, Global> t{variables, variables + instances, variables + 2 * instances};
      body(t, role, registers, instances);
    }
  }
}

// --- Tearing ---------------------------------------------------------------------------------------------

// An element of kParts equal parts.
template <class Part, uint32_t kParts>
struct Parts {
  typedef Part Element __attribute__((ext_vector_type(kParts)));

  INLINE static Element of(uint32_t value) { return Element(static_cast<Part>(value)); }
  INLINE static bool is_torn(Element element) {
    bool differs = false;
    for (uint32_t i = 1; i < kParts; ++i) differs |= element[i] != element[0];
    return differs;
  }
};
template <uint32_t kBytes>
struct ElementOf;
template <>
struct ElementOf<2> : Parts<uint8_t, 2> {};
template <>
struct ElementOf<4> : Parts<uint16_t, 2> {};
template <>
struct ElementOf<8> : Parts<uint32_t, 2> {};
template <>
struct ElementOf<16> : Parts<uint32_t, 4> {};

enum class Layout { one, dense, half, sparse, table, flat, scalar, buffer, texel };

typedef uint32_t Words __attribute__((ext_vector_type(4)));

INLINE Words buffer_of(void* memory, uint32_t bytes) {
  const auto address = reinterpret_cast<uint64_t>(memory);
#if defined(__GFX8__) || defined(__GFX9__)
  constexpr uint32_t kFormat = 0x27000;
#else
  constexpr uint32_t kFormat = 0x31016000;
#endif
  return {static_cast<uint32_t>(address), static_cast<uint32_t>(address >> 32) & 0xffff, bytes, kFormat};
}

typedef uint32_t ImageWords __attribute__((ext_vector_type(8)));
typedef uint32_t Place __attribute__((ext_vector_type(2)));
#if defined(__GFX8__) || defined(__GFX9__)
#define LITMUS_IMAGE "dmask:0xf unorm"
#else
#define LITMUS_IMAGE "dmask:0xf dim:SQ_RSRC_IMG_2D unorm"
#endif

template <uint32_t kBytes, Layout kLayout>
struct Elements {
  using Of = ElementOf<kBytes>;
  using Element = typename Of::Element;

  INLINE explicit Elements(const TearArgs& args)
      : memory(args.elements), image(args.image), lane(__builtin_amdgcn_workitem_id_x()) {
    number = kLayout == Layout::one || kLayout == Layout::scalar   ? 0
             : kLayout == Layout::sparse                           ? lane * (kSparseBytes / kBytes)
             : kLayout == Layout::table || kLayout == Layout::flat ? args.table[lane]
                                                                   : lane;
  }
  INLINE bool takes_part(bool stores) const {
    if (kLayout == Layout::half) return lane % 2 == 1;
    return !stores || (kLayout != Layout::one && kLayout != Layout::scalar) || lane == 0;
  }
  INLINE void store(Element element) const {
    if constexpr (kLayout == Layout::buffer) {
      const Words buffer = buffer_of(memory, kMostLanes * kBytes);
      const uint32_t offset = number * kBytes;
      if constexpr (kBytes == 8) {
        asm volatile("buffer_store_dwordx2 %0, %1, %2, 0 offen" ::"v"(element), "v"(offset), "s"(buffer)
                     : "memory");
      } else {
        asm volatile("buffer_store_dwordx4 %0, %1, %2, 0 offen" ::"v"(element), "v"(offset), "s"(buffer)
                     : "memory");
      }
    } else if constexpr (kLayout == Layout::texel) {
      asm volatile("image_store %0, %1, %2 " LITMUS_IMAGE
                   :
                   : "v"(element), "v"(Place{number, 0}), "s"(image_words())
                   : "memory");
    } else if constexpr (kLayout == Layout::flat) {
      *generic() = element;
    } else {
      ((GLOBAL Element*)memory)[number] = element;
    }
    asm volatile("" ::: "memory");
  }
  // Loads from memory instead of a stale cache.
  INLINE Element load() const {
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    Element element;
    if constexpr (kLayout == Layout::scalar && kBytes == 8) {
      asm volatile("s_dcache_inv\n\ts_load_dwordx2 %0, %1, 0x0\n\ts_waitcnt lgkmcnt(0)"
                   : "=&s"(element)
                   : "s"(memory)
                   : "memory");
    } else if constexpr (kLayout == Layout::scalar) {
      asm volatile("s_dcache_inv\n\ts_load_dwordx4 %0, %1, 0x0\n\ts_waitcnt lgkmcnt(0)"
                   : "=&s"(element)
                   : "s"(memory)
                   : "memory");
    } else if constexpr (kLayout == Layout::buffer) {
      const Words buffer = buffer_of(memory, kMostLanes * kBytes);
      const uint32_t offset = number * kBytes;
      if constexpr (kBytes == 8) {
        asm volatile("buffer_load_dwordx2 %0, %1, %2, 0 offen\n\ts_waitcnt vmcnt(0)"
                     : "=v"(element)
                     : "v"(offset), "s"(buffer)
                     : "memory");
      } else {
        asm volatile("buffer_load_dwordx4 %0, %1, %2, 0 offen\n\ts_waitcnt vmcnt(0)"
                     : "=v"(element)
                     : "v"(offset), "s"(buffer)
                     : "memory");
      }
    } else if constexpr (kLayout == Layout::texel) {
      asm volatile("image_load %0, %1, %2 " LITMUS_IMAGE "\n\ts_waitcnt vmcnt(0)"
                   : "=v"(element)
                   : "v"(Place{number, 0}), "s"(image_words())
                   : "memory");
    } else if constexpr (kLayout == Layout::flat) {
      element = *generic();
    } else {
      element = ((GLOBAL Element*)memory)[number];
    }
    asm volatile("" ::: "memory");
    return element;
  }

  void* memory;
  uint64_t image;
  uint32_t lane, number;

 private:
  INLINE ImageWords image_words() const {
    return *reinterpret_cast<const __attribute__((address_space(4))) ImageWords*>(image);
  }
  // A pointer whose address space is hidden from the compiler.
  INLINE Element* generic() const {
    Element* pointer = static_cast<Element*>(memory) + number;
    asm volatile("" : "+v"(pointer));
    return pointer;
  }
};

template <uint32_t kBytes, Layout kLayout, bool kLarge>
INLINE void tear(const TearArgs& args) {
  const Elements<kBytes, kLayout> elements(args);
  using Of = ElementOf<kBytes>;
  const uint32_t group = __builtin_amdgcn_workgroup_id_x();
  const bool stores = args.role == 2 ? group % 2 == 0 : args.role == 0;
  if (kLarge && args.rounds == 0) asm volatile(".rept 900\n\ts_nop 0\n\t.endr");
  if (!elements.takes_part(stores)) return;
  if (stores) {
    for (uint32_t round = 0; round < args.rounds; ++round) elements.store(Of::of(round * 3 + group));
    return;
  }
  uint32_t torn = 0, changes = 0;
  typename Of::Element before{}, example{};
  for (uint32_t round = 0; round < args.rounds; ++round) {
    const auto element = elements.load();
    if (Of::is_torn(element)) ++torn, example = element;
    if (element[0] != before[0]) ++changes;
    before = element;
  }
  auto* const seen = (GLOBAL TearResult*)args.seen;
  __hip_atomic_fetch_add(&seen->changes, changes, __ATOMIC_RELAXED, kSystem);
  if (torn == 0) return;
  __hip_atomic_fetch_add(&seen->torn, torn, __ATOMIC_RELAXED, kSystem);
  for (uint32_t i = 0; i < sizeof example / sizeof example[0]; ++i) seen->element[i] = example[i];
}

}  // namespace

#define LITMUS_KERNEL(name, suffix, scope, in_group, ...)                                             \
  KERNEL void name##_##suffix(LitmusArgs args) {                                                      \
    run<scope, in_group>(args, [](auto& t, uint32_t role, Global registers, uint32_t apart)           \
                                   INLINE { LITMUS_THREADS(t.keep(registers, apart), __VA_ARGS__) }); \
  }
#define LITMUS(name, verdict, outcome, ...)                               \
  LITMUS_KERNEL(name, group_memory, Scope::kWorkGroup, true, __VA_ARGS__) \
  LITMUS_KERNEL(name, work_group, Scope::kWorkGroup, false, __VA_ARGS__)  \
  LITMUS_KERNEL(name, agent, Scope::kAgent, false, __VA_ARGS__)           \
  LITMUS_KERNEL(name, system, Scope::kSystem, false, __VA_ARGS__)
#include "litmus/tests.inc"

#define TEAR(bytes, layout, large)                               \
  KERNEL void tear_##bytes##_##layout##_##large(TearArgs args) { \
    tear<bytes, Layout::layout, large>(args);                    \
  }
#include "litmus/tearing.inc"
