// Builds handlers from functions on lanes, and the table entries with which the lowering finds them.
#pragma once

#include <span>
#include <tuple>
#include <utility>

#include "plugins/vgpu/exec/vector/values.hpp"
#include "plugins/vgpu/exec/wave.hpp"
#include "plugins/vgpu/isa/instruction.hpp"

// Continues with another handler, in the same stack frame.
#if defined(__clang__)
#define RIGEL_BECOME(handler, op, wave, registers, exec) \
  [[clang::musttail]] return handler((op), (wave), (registers), (exec))
#else
#define RIGEL_BECOME(handler, op, wave, registers, exec) return handler((op), (wave), (registers), (exec))
#endif

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

/// Kinds of operations for the lowering.
enum class Form : uint8_t {
  kLanewise,       ///< dst[0] is a function of the same lane of the sources; dst[1] may be a lane mask.
  kCompare,        ///< dst[0] is a lane mask.
  kCompareToExec,  ///< dst[0] and EXEC are a lane mask.
  kPacked,         ///< VOP3P: imm has op_sel, op_sel_hi, neg and neg_hi of the sources.
  kMix,            ///< VOP3P: sources are single precision or halves; imm has the same fields.
};

/// MXCSR that a handler needs.
enum class FloatUnit : uint8_t {
  kNone,      ///< Any, or the mode of single precision, which is the default.
  kDouble,    ///< The mode of double precision.
  kNearest,   ///< Rounding to nearest; denormals have no influence.
  kFlushing,  ///< Rounding of single precision; denormals are flushed in every mode.
  kNarrowing  ///< Mode of single precision, except that the handler flushes operands itself.
};

struct Entry {
  isa::Op op;
  Form form = Form::kLanewise;
  uint8_t sources = 0;
  uint8_t row_sources = 0;  ///< Number of leading sources that are VGPR rows; the rest are lane masks.
  FloatUnit unit = FloatUnit::kNone;
  uint8_t half_sources = 0;    ///< Bit i: source i is 16 bits wide.
  bool half_result = false;    ///< 16 bits wide; the generation determines the other half.
  bool float_sources = false;  ///< abs and neg apply.
  bool signed_by_neg = false;  ///< neg means that the parts of an integer source are signed.
  bool float_result = false;   ///< Floating-point omod and clamp apply.
  bool has_test = false;       ///< dst[1] is a lane mask.
  uint8_t result_rows = 1;
  bool takes_clamp = false;        ///< The handler evaluates kClamp itself.
  bool whole_sources = false;      ///< kPacked without op_sel.
  bool reads_destination = false;  ///< The result depends on the destination's previous value.
  bool returns_operand = false;    ///< The result is one of the sources (min, max, med3).
  uint32_t fixed_aux = 0;          ///< aux fields that the operation always has.
  Handler generic = nullptr;       ///< All kinds of sources and modifiers.
  Handler clamped = nullptr;       ///< Integer operations with clamp: the same with saturation.
  Handler fast[8] = {};            ///< Without modifiers; index bit i: source i is uniform. May be null.
};

// Indices of Entry::fast for kPacked: handlers for VGPR rows and the default modes.
constexpr unsigned kInOrder = 0, kSelected = 1;

using Table = std::span<const Entry>;

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class C, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <class R, class... A>
struct Signature<R (*)(A...)> {
  using Result = R;
  template <template <class...> class T, class... Leading>
  using Apply = T<Leading..., A...>;
};

template <class... A>
struct Parameters {
  static constexpr bool kHasControl = (std::is_same_v<A, Control> || ...);
  static constexpr bool kReadsDestination = (std::is_same_v<A, Old> || ...);
  static constexpr uint8_t kInputs = sizeof...(A) - (kHasControl ? 1 : 0);
  static constexpr uint8_t kSources = kInputs - (kReadsDestination ? 1 : 0);
  static constexpr uint8_t kRowSources = kSources - ((kIsMask<A> ? 1 : 0) + ...);
  static constexpr uint8_t kHalfSources = [] {
    uint8_t bits = 0, bit = 1;
    ((bits = static_cast<uint8_t>(kIsHalf<A> ? bits | bit : bits), bit = static_cast<uint8_t>(bit << 1)),
     ...);
    return bits;
  }();
  static constexpr bool kAnyDouble = (std::is_same_v<A, F64> || ...);
  static constexpr bool kAnyFloat = (kIsFloat<A> || ...);
  static constexpr int kChunk =
      ((std::is_same_v<A, Control> ? false : kLanesOf<A> < kLanes) || ...) ? kLanes / 2 : kLanes;
};
template <auto Fn>
using ParametersOf = typename Signature<decltype(Fn)>::template Apply<Parameters>;
template <auto Fn>
using ResultOf = typename Signature<decltype(Fn)>::Result;

/// Calls body(lane, bits) for each chunk with active lanes.
template <int Chunk, class Body>
[[gnu::always_inline]] inline void each_chunk_of_wave(uint32_t aux, uint64_t exec, Body body) {
  constexpr uint32_t kAll = (uint64_t{1} << Chunk) - 1;
  const uint32_t lanes = (aux & aux::kWave64) != 0 ? 64 : 32;
  for (size_t lane = 0; lane < lanes; lane += Chunk) {
    const uint32_t bits = static_cast<uint32_t>(exec >> lane) & kAll;
    if (bits != 0) body(lane, bits);
  }
}

/// The same for operations on single lanes. Compiled kernels process one vector of lanes at a time and
/// handle EXEC separately.
template <int Chunk, class Body>
[[gnu::always_inline]] inline void each_chunk(uint32_t aux, uint64_t exec, Body body) {
#ifdef RIGEL_KERNEL_CODE
  RIGEL_UNROLL
  for (size_t lane = 0; lane < kLanes; lane += Chunk) body(lane, uint32_t{(uint64_t{1} << Chunk) - 1});
#else
  each_chunk_of_wave<Chunk>(aux, exec, body);
#endif
}

/// The same for a full EXEC, unrolled.
template <int Chunk, class Body>
[[gnu::always_inline]] inline void each_full_chunk(uint32_t aux, Body body) {
  constexpr uint32_t kAll = (uint64_t{1} << Chunk) - 1;
  RIGEL_UNROLL
  for (size_t lane = 0; lane < 32; lane += Chunk) body(lane, kAll);
  if ((aux & aux::kWave64) != 0) {
    RIGEL_UNROLL
    for (size_t lane = 32; lane < 64; lane += Chunk) body(lane, kAll);
  }
}

[[gnu::always_inline]] inline bool is_full(uint32_t aux, uint64_t exec) {
  return exec == ((aux & aux::kWave64) != 0 ? ~uint64_t{0} : 0xffffffff);
}

template <auto Fn, class... Inputs>
[[gnu::always_inline]] inline auto apply_at(size_t lane, Control control, const Inputs&... inputs) {
  if constexpr (ParametersOf<Fn>::kHasControl) {
    return Fn(inputs.at(lane, control)..., control);
  } else {
    return Fn(inputs.at(lane, control)...);
  }
}

/// Calls body(inputs...) with Fn's inputs. Uniform is a mask of uniform sources, or -1: determined at run
/// time.
template <auto Fn, bool Modified, int Uniform, class Body>
[[gnu::always_inline]] inline void with_inputs(const MicroOp* op, const std::byte* registers, Body body) {
  auto expand = [&]<class... A, size_t... I>(Parameters<A...>*, std::index_sequence<I...>)
      __attribute__((always_inline)) {
    using Types = std::tuple<A...>;
    body(Input < std::tuple_element_t<I, Types>,
         Uniform < 0               ? Kind::kAny
         : (Uniform >> I & 1) != 0 ? Kind::kUniform
                                   : Kind::kRow,
         Modified > (op, registers, I)...);
  };
  expand(static_cast<ParametersOf<Fn>*>(nullptr), std::make_index_sequence<ParametersOf<Fn>::kInputs>());
}

/// Stores a lane mask, in which inactive lanes must be 0. It is one store, like the loads of masks: a load
/// that spans two stores stalls until both are in the cache.
[[gnu::always_inline]] inline void put_mask(std::byte* at, uint32_t aux, uint64_t mask) {
  if ((aux & aux::kWave64) != 0) {
    std::memcpy(at, &mask, 8);
  } else {
    std::memcpy(at, &mask, 4);
  }
}

template <class T>
struct ValueOf {
  using Type = T;
  static constexpr bool kHasTest = false;
};
template <class T, class M>
struct ValueOf<WithTest<T, M>> {
  using Type = T;
  static constexpr bool kHasTest = true;
};

template <auto Fn, bool Modified, int Uniform, bool Full>
[[gnu::always_inline]] inline void run_lanes(const MicroOp* op, std::byte* registers, uint64_t exec,
                                             Control control) {
  using Value = ValueOf<ResultOf<Fn>>;
  const Output<typename Value::Type, Modified> output(op, registers);
  uint64_t tested = 0;
  with_inputs<Fn, Modified, Uniform>(
      op, registers, [&](const auto&... inputs) __attribute__((always_inline)) {
        const auto chunk = [&](size_t lane, uint32_t bits) __attribute__((always_inline)) {
          const auto result = apply_at<Fn>(lane, control, inputs...);
          if constexpr (Value::kHasTest) {
            tested |= uint64_t{result.test.bits} << lane;
            output.put_at(lane, result.value, bits, control);
          } else {
            output.put_at(lane, result, bits, control);
          }
        };
        if constexpr (!Full) {
          each_chunk<ParametersOf<Fn>::kChunk>(op->aux, exec, chunk);
        } else {
          each_full_chunk<ParametersOf<Fn>::kChunk>(op->aux, chunk);
        }
      });
  if constexpr (Value::kHasTest) put_mask(registers + op->dst2, op->aux, tested & exec);
}

template <auto Fn>
[[gnu::flatten]] void generic_lanes(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  run_lanes<Fn, true, -1, false>(op, registers, exec, Control{op->aux});
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

/// Without modifiers, for all kinds of sources and any EXEC.
template <auto Fn>
[[gnu::noinline, gnu::flatten]] void masked_lanes(const MicroOp* op, Wave* wave, std::byte* registers,
                                                  uint64_t exec) {
  run_lanes<Fn, false, -1, false>(op, registers, exec, Control{op->aux});
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

/// Without modifiers, for fixed kinds of sources and a full EXEC, which is the common case.
template <auto Fn, int Uniform>
[[gnu::flatten]] void fast_lanes(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  if (__builtin_expect(!is_full(op->aux, exec), 0)) {
    RIGEL_BECOME(masked_lanes<Fn>, op, wave, registers, exec);
  }
  run_lanes<Fn, false, Uniform, true>(op, registers, exec, Control{op->aux});
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// Comparisons evaluate all lanes and clear inactive ones.
template <auto Fn, bool Modified, int Uniform, bool ToExec>
[[gnu::flatten]] void compare_lanes(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const Control control{op->aux};
  uint64_t tested = 0;
  with_inputs<Fn, Modified, Uniform>(
      op, registers, [&](const auto&... inputs) __attribute__((always_inline)) {
        const auto chunk = [&](size_t lane, uint32_t) __attribute__((always_inline)) {
          tested |= uint64_t{apply_at<Fn>(lane, control, inputs...).bits} << lane;
        };
        if constexpr (Uniform < 0) {
          each_chunk<ParametersOf<Fn>::kChunk>(op->aux, exec, chunk);
        } else {
          each_full_chunk<ParametersOf<Fn>::kChunk>(op->aux, chunk);
        }
      });
  tested &= exec;
  put_mask(registers + op->dst, op->aux, tested);
  if constexpr (ToExec) {
    put_mask(registers + scalar_offset(isa::code::kExecLo), op->aux, tested);
    RIGEL_NEXT(op + 1, wave, registers, tested);
  } else {
    RIGEL_NEXT(op + 1, wave, registers, exec);
  }
}

/// Entry of an operation with one handler for all cases.
template <auto Fn, bool ToExec = false>
constexpr Entry rare(isa::Op op) {
  using P = ParametersOf<Fn>;
  using R = typename ValueOf<ResultOf<Fn>>::Type;
  Entry entry{op};
  entry.sources = P::kSources;
  entry.row_sources = P::kRowSources;
  entry.unit = std::is_same_v<R, F64> || P::kAnyDouble ? FloatUnit::kDouble
               : std::is_same_v<R, Half>               ? FloatUnit::kNearest
                                                       : FloatUnit::kNone;
  entry.half_sources = P::kHalfSources;
  entry.half_result = kIsHalf<R>;
  entry.float_sources = P::kAnyFloat;
  entry.float_result = kIsFloat<R>;
  entry.result_rows = kRowsOf<R>;
  entry.has_test = ValueOf<ResultOf<Fn>>::kHasTest;
  entry.reads_destination = P::kReadsDestination;
  if constexpr (kIsTest<R>) {
    entry.form = ToExec ? Form::kCompareToExec : Form::kCompare;
    entry.generic = compare_lanes<Fn, true, -1, ToExec>;
  } else {
    entry.generic = generic_lanes<Fn>;
  }
  return entry;
}

/// Entry of an operation with additional handlers for each combination of rows and uniform sources. The
/// baseline level omits them: few hosts need it, and they take most of the compile time.
template <auto Fn, bool ToExec = false>
constexpr Entry hot(isa::Op op) {
  Entry entry = rare<Fn, ToExec>(op);
#if RIGEL_SIMD_LEVEL > 0 && !defined(RIGEL_KERNEL_CODE)
  auto fill = [&]<int... Uniform>(std::integer_sequence<int, Uniform...>) {
    if constexpr (kIsTest<ResultOf<Fn>>) {
      ((entry.fast[Uniform] = compare_lanes<Fn, false, Uniform, ToExec>), ...);
    } else {
      ((entry.fast[Uniform] = fast_lanes<Fn, Uniform>), ...);
    }
  };
  constexpr int kKinds = 1 << ParametersOf<Fn>::kRowSources;
  fill(std::make_integer_sequence < int, kKinds == 2 ? 2 : kKinds - 1 > ());
#endif
  return entry;
}

template <auto Fn>
constexpr Entry saturating(Entry entry) {
  entry.clamped = generic_lanes<Fn>;
  return entry;
}

constexpr Entry return_operand(Entry entry) {
  entry.returns_operand = true;
  return entry;
}

constexpr Entry with_unit(Entry entry, FloatUnit unit) {
  entry.unit = unit;
  return entry;
}

Table integer32_operations();
Table float32_operations();
Table float64_operations();
Table float16_operations();
Table integer16_64_operations();
Table convert_operations();
Table carry_operations();
Table packed_operations();
Table packed32_operations();
Table dot_operations();
Table division_operations();
Table transcendental_operations();
Table byte_operations();
Table compare_operations();

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
