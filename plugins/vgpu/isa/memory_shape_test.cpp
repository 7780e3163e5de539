// Compares the rows of memory_shapes.inc with a separate parser of operation names, and with the registers
// that the decoder finds (which llvm_test.cpp compares with LLVM's tools).
#include "plugins/vgpu/isa/memory_shape.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "plugins/vgpu/isa/fidelity.hpp"
#include "plugins/vgpu/isa/instruction_tables.hpp"
#include "plugins/vgpu/isa/op_class.hpp"
#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::isa {

std::ostream& operator<<(std::ostream& out, const MemoryShape& s) {
  return out << "verb " << int(s.verb) << " space " << int(s.space) << " bytes " << int(s.bytes)
             << " components " << int(s.components) << " sign " << s.sign << " d16 " << s.d16 << " high "
             << s.high << " addtid " << s.addtid << " pair " << s.pair << " far " << s.far_pair << " returns "
             << s.returns << " source2 " << s.source2 << " transposes " << s.transposes << " block "
             << s.is_block << " atomic " << int(s.atomic);
}

namespace {

// Parses a name from the left.
class Name {
 public:
  explicit Name(std::string_view text) : text_(text) {}

  bool take(std::string_view word) {
    if (text_.substr(0, word.size()) != word) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  bool done() const { return text_.empty(); }

 private:
  std::string_view text_;
};

struct Width {
  std::string_view word;
  uint8_t bytes;
  bool sign;
};

// Longer words come before their prefixes.
constexpr Width kWidths[] = {
    {"dwordx16", 64, false}, {"dwordx8", 32, false}, {"dwordx4", 16, false}, {"dwordx3", 12, false},
    {"dwordx2", 8, false},   {"dword", 4, false},    {"ubyte", 1, false},    {"sbyte", 1, true},
    {"ushort", 2, false},    {"sshort", 2, true},    {"byte", 1, false},     {"short", 2, false},
};
constexpr Width kDsWidths[] = {
    {"b128", 16, false}, {"b96", 12, false}, {"b64", 8, false}, {"b32", 4, false}, {"b16", 2, false},
    {"u16", 2, false},   {"i16", 2, true},   {"b8", 1, false},  {"u8", 1, false},  {"i8", 1, true},
};

template <size_t kCount>
bool take_width(Name& name, const Width (&widths)[kCount], MemoryShape& shape) {
  for (const Width& width : widths) {
    if (!name.take(width.word)) continue;
    shape.bytes = width.bytes;
    shape.sign = width.sign;
    shape.d16 = name.take("_d16");
    shape.high = name.take("_hi");
    shape.addtid = name.take("_addtid");
    return name.done();
  }
  return false;
}

struct AtomicName {
  std::string_view word;
  Atomic atomic;
};

constexpr AtomicName kAtomics[] = {
    {"swap", Atomic::kSwap},
    {"cmpswap", Atomic::kCmpSwap},
    {"add_f32", Atomic::kFloatAdd},
    {"add_f64", Atomic::kFloatAdd},
    {"add", Atomic::kAdd},
    {"sub_clamp_u32", Atomic::kClampSub},
    {"cond_sub_u32", Atomic::kCondSub},
    {"sub", Atomic::kSub},
    {"smin", Atomic::kSmin},
    {"umin", Atomic::kUmin},
    {"smax", Atomic::kSmax},
    {"umax", Atomic::kUmax},
    {"and", Atomic::kAnd},
    {"or", Atomic::kOr},
    {"xor", Atomic::kXor},
    {"inc", Atomic::kInc},
    {"dec", Atomic::kDec},
    {"csub", Atomic::kClampSub},
    {"fcmpswap", Atomic::kFloatCmpSwap},
    {"fmin", Atomic::kFloatMin},
    {"fmax", Atomic::kFloatMax},
    {"min_f64", Atomic::kFloatMin},
    {"max_f64", Atomic::kFloatMax},
    {"pk_add_f16", Atomic::kPackedAddF16},
    {"pk_add_bf16", Atomic::kPackedAddBf16},
};

bool take_atomic(Name name, std::string_view text, MemoryShape& shape) {
  for (const AtomicName& known : kAtomics) {
    Name rest = name;
    if (!rest.take(known.word)) continue;
    shape.atomic = known.atomic;
    const bool wide = rest.take("_x2") || text.ends_with("_f64");
    shape.bytes = wide ? 8 : 4;
    if (rest.done()) return true;
  }
  return false;
}

struct DsAtomicName {
  std::string_view word;
  Atomic integer, floating;
};

constexpr DsAtomicName kDsAtomics[] = {
    {"add", Atomic::kAdd, Atomic::kFloatAdd},
    {"sub_clamp", Atomic::kClampSub, Atomic::kClampSub},
    {"cond_sub", Atomic::kCondSub, Atomic::kCondSub},
    {"sub", Atomic::kSub, Atomic::kSub},
    {"rsub", Atomic::kReverseSub, Atomic::kReverseSub},
    {"inc", Atomic::kInc, Atomic::kInc},
    {"dec", Atomic::kDec, Atomic::kDec},
    {"min", Atomic::kUmin, Atomic::kFloatMin},
    {"max", Atomic::kUmax, Atomic::kFloatMax},
    {"and", Atomic::kAnd, Atomic::kAnd},
    {"or", Atomic::kOr, Atomic::kOr},
    {"xor", Atomic::kXor, Atomic::kXor},
    {"mskor", Atomic::kMaskOr, Atomic::kMaskOr},
    {"cmpst", Atomic::kCmpSwap, Atomic::kFloatCmpSwap},
    {"wrap", Atomic::kWrap, Atomic::kWrap},
    {"condxchg32", Atomic::kCondXchg, Atomic::kCondXchg},
};

// Parses [2][st64] of wrxchg and similar.
void take_pair(Name& name, MemoryShape& shape) {
  shape.pair = name.take("2");
  shape.far_pair = shape.pair && name.take("st64");
}

bool take_ds(Name name, MemoryShape& shape) {
  // take_ds_addtid() handles them.
  if (name.take("read_addtid_") || name.take("write_addtid_")) return false;
  Name plain = name;
  const bool load = plain.take("read");
  if (load || plain.take("write")) {
    shape.verb = load ? Verb::kLoad : Verb::kStore;
    take_pair(plain, shape);
    if (plain.take("_") && take_width(plain, kDsWidths, shape)) return true;
    shape = MemoryShape{};
  }
  shape.verb = Verb::kAtomic;
  plain = name;
  if (plain.take("wrxchg") || plain.take("write_src2")) {
    take_pair(plain, shape);
    shape.atomic = Atomic::kSwap;
    shape.returns = plain.take("_rtn");
    shape.source2 = !shape.returns;
    const bool wide = plain.take("_b64");
    shape.bytes = wide ? 8 : 4;
    return wide ? plain.done() : plain.take("_b32") && plain.done();
  }
  plain = name;
  if (plain.take("pk_add_")) {
    shape.bytes = 4;
    shape.returns = plain.take("rtn_");
    shape.atomic = plain.take("b") ? Atomic::kPackedAddBf16 : Atomic::kPackedAddF16;
    return plain.take("f16") && plain.done();
  }
  for (const DsAtomicName& known : kDsAtomics) {
    Name rest = name;
    if (!rest.take(known.word) || !rest.take("_")) continue;
    shape.returns = rest.take("rtn_");
    shape.source2 = rest.take("src2_");
    const bool is_float = rest.take("f");
    const bool is_signed = !is_float && rest.take("i");
    if (!is_float && !is_signed && !rest.take("u") && !rest.take("b")) continue;
    const bool wide = rest.take("64");
    if ((!wide && !rest.take("32")) || !rest.done()) continue;
    shape.bytes = wide ? 8 : 4;
    shape.atomic = is_float ? known.floating : known.integer;
    if (is_signed && shape.atomic == Atomic::kUmin) shape.atomic = Atomic::kSmin;
    if (is_signed && shape.atomic == Atomic::kUmax) shape.atomic = Atomic::kSmax;
    return true;
  }
  return false;
}

bool take_ds_addtid(Name name, MemoryShape& shape) {
  shape.addtid = true;
  shape.verb = name.take("read") ? Verb::kLoad : Verb::kStore;
  if (shape.verb == Verb::kStore && !name.take("write")) return false;
  return name.take("_addtid_b32") && name.done();
}

bool take_format(Name& name, MemoryShape& shape) {
  if (!name.take("format_")) return false;
  shape.bytes = 0;
  shape.d16 = name.take("d16_");
  shape.high = name.take("hi_");
  for (const std::string_view component : {"x", "y", "z", "w"}) shape.components += name.take(component);
  return name.done();
}

std::optional<MemoryShape> read_name(std::string_view text) {
  Name name(text);
  MemoryShape shape;
  if (name.take("ds_")) {
    bool known = take_ds(name, shape);
    if (!known) {
      shape = MemoryShape{};
      known = take_ds_addtid(name, shape);
    }
    shape.space = Space::kLds;
    return known ? std::optional(shape) : std::nullopt;
  }
  const bool is_scalar = name.take("s_");
  const bool is_typed = name.take("t");
  if (name.take("buffer_")) {
    shape.space = Space::kBuffer;
  } else if (name.take("scratch_")) {
    shape.space = Space::kScratch;
  } else if (name.take("flat_")) {
    shape.space = Space::kFlat;
  } else if (!name.take("global_") && !is_scalar) {
    return std::nullopt;
  }
  if (name.take("load_")) {
    shape.verb = Verb::kLoad;
  } else if (name.take("store_")) {
    shape.verb = Verb::kStore;
  } else if (name.take("atomic_")) {
    shape.verb = Verb::kAtomic;
    if (take_atomic(name, text, shape)) return shape;
    return std::nullopt;
  } else {
    return std::nullopt;
  }
  if (take_format(name, shape)) return shape;
  shape.is_block = name.take("block");
  if (shape.is_block) return name.done() ? std::optional(shape) : std::nullopt;
  shape.transposes = name.take("tr_");
  if (shape.transposes) return take_width(name, kDsWidths, shape) ? std::optional(shape) : std::nullopt;
  if (shape.verb != Verb::kAtomic) name.take("lds_");
  // Scalar loads of gfx12 have the names of LDS accesses.
  if (is_typed || (!take_width(name, kWidths, shape) && !(is_scalar && take_width(name, kDsWidths, shape))))
    return std::nullopt;
  return shape;
}

// Name prefixes of operations that do not transfer between memory and registers.
bool moves_nothing(std::string_view name) {
  for (const std::string_view start : {"s_dcache",   "s_gl1",        "s_atc",
                                       "s_mem",      "s_get_waveid", "buffer_wb",
                                       "buffer_gl",  "buffer_inv",   "ds_nop",
                                       "ds_permute", "ds_bpermute",  "ds_swizzle",
                                       "ds_bvh",     "ds_add_gs",    "ds_sub_gs",
                                       "ds_append",  "ds_consume",   "ds_gws",
                                       "ds_ordered", "s_prefetch",   "s_buffer_prefetch",
                                       "global_inv", "global_wb",    "global_atomic_ordered"}) {
    if (name.starts_with(start)) return true;
  }
  return false;
}

bool is_of_memory(OpClass op_class) {
  return op_class == OpClass::kScalarMemory || op_class == OpClass::kVectorMemory ||
         op_class == OpClass::kDataShare || op_class == OpClass::kGlobalSync;
}

TEST(IsaMemoryShape, MatchesOperationName) {
  size_t rows = 0;
  for (size_t i = 0; i != kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    const MemoryShape* const shape = memory_shape(op);
    const std::optional<MemoryShape> read = is_of_memory(op_class(op)) ? read_name(name(op)) : std::nullopt;
    ASSERT_EQ(shape != nullptr, read.has_value()) << name(op);
    EXPECT_EQ(shape == nullptr, !is_of_memory(op_class(op)) || moves_nothing(name(op))) << name(op);
    if (shape == nullptr) continue;
    EXPECT_EQ(*shape, *read) << name(op);
    ++rows;
  }
  EXPECT_GT(rows, 400u);
  EXPECT_EQ(memory_shape(Op::none), nullptr);
  EXPECT_EQ(memory_shape(static_cast<Op>(kOpCount)), nullptr);
}

bool has_two_values(Atomic atomic) {
  return atomic == Atomic::kCmpSwap || atomic == Atomic::kFloatCmpSwap || atomic == Atomic::kMaskOr ||
         atomic == Atomic::kWrap;
}

// Checks an operand if it exists.
void expect_dwords(const Operand& operand, unsigned dwords, const std::string& label) {
  if (operand.exists()) {
    EXPECT_EQ(operand.dwords, dwords) << label;
  }
}

TEST(IsaMemoryShape, MatchesRegistersOfEveryEncoding) {
  const auto rows = tables::rows();
  size_t compared = 0;
  for (uint16_t row = 0; row != rows.size(); ++row) {
    const MemoryShape* const shape = memory_shape(rows[row].op);
    if (shape == nullptr) continue;
    for (const Target& target : all_targets()) {
      if (!rows[row].chips.intersects(chip_set(target))) continue;
      Instruction in;
      ASSERT_TRUE(plain_instruction(target, row, in)) << tables::mnemonic(row);
      const std::string label = std::string(name(in.op)) + " of " + name(target);
      if (in.lds) continue;  // Its destination is LDS.
      ++compared;
      const bool is_ds = in.encoding == Encoding::kDs;
      EXPECT_EQ(shape->space == Space::kLds, is_ds) << label;
      EXPECT_EQ(shape->space == Space::kFlat, in.encoding == Encoding::kFlat) << label;
      EXPECT_TRUE(in.encoding != Encoding::kMtbuf || shape->components != 0) << label;
      const bool is_half = shape->transposes && !target.wave32;
      unsigned dwords = shape->registers() / (is_half ? 2 : 1);
      if (shape->components != 0) {
        const bool packs = shape->d16 && find_traits(target)->packs_d16;
        dwords = packs ? (shape->components + 1u) / 2 : shape->components;
      }
      const bool has_old = shape->verb == Verb::kAtomic;
      const unsigned values = has_old && !is_ds && has_two_values(shape->atomic) ? 2 : 1;
      const unsigned elements = shape->pair && shape->verb != Verb::kStore ? 2 : 1;
      const bool is_scalar = in.encoding == Encoding::kSmem;
      expect_dwords(in.vdst, dwords * (has_old && is_scalar ? values : elements), label + ": result");
      expect_dwords(in.vdata, dwords * values, label + ": data");
      expect_dwords(in.vdata2, dwords, label + ": second data");
      // Checks which operands exist.
      if (shape->verb == Verb::kLoad) {
        EXPECT_TRUE(in.vdst.exists() && !in.vdata.exists()) << label;
      } else if (shape->verb == Verb::kStore) {
        EXPECT_EQ(in.vdata.exists(), in.op != Op::buffer_store_lds_dword) << label;
        EXPECT_FALSE(in.vdst.exists()) << label;
      } else if (is_ds) {
        EXPECT_EQ(in.vdst.exists(), shape->returns) << label;
        EXPECT_EQ(in.vdata.exists(), !shape->source2) << label;
      }
      if (is_ds) {
        const bool has_two =
            shape->pair ? shape->verb != Verb::kLoad : has_old && has_two_values(shape->atomic);
        EXPECT_EQ(in.vdata2.exists(), has_two) << label;
      }
    }
  }
  EXPECT_GT(compared, 5000u);
}

// Compares classes with encodings.
TEST(IsaOpClass, MatchesEncodings) {
  for (const tables::Row& row : tables::rows()) {
    const tables::Shape& shape = tables::shapes()[row.shape];
    const OpClass actual = op_class(row.op);
    switch (shape.encoding) {
      case Encoding::kSop1:
      case Encoding::kSop2:
      case Encoding::kSopk:
      case Encoding::kSopc:
      case Encoding::kSopp:
        EXPECT_EQ(actual, OpClass::kScalar) << name(row.op);
        break;
      case Encoding::kSmem:
        EXPECT_EQ(actual, OpClass::kScalarMemory) << name(row.op);
        break;
      case Encoding::kDs:
        EXPECT_EQ(actual, name(row.op).starts_with("ds_gws_") ? OpClass::kGlobalSync : OpClass::kDataShare)
            << name(row.op);
        break;
      case Encoding::kFlat:
      case Encoding::kGlobal:
      case Encoding::kScratch:
      case Encoding::kMubuf:
      case Encoding::kMtbuf:
        EXPECT_EQ(actual, OpClass::kVectorMemory) << name(row.op);
        break;
      case Encoding::kMimg:
        EXPECT_EQ(actual, OpClass::kImage) << name(row.op);
        break;
      case Encoding::kExp:
        EXPECT_EQ(actual, OpClass::kExport) << name(row.op);
        break;
      default: {
        const std::string_view text = name(row.op);
        bool approximate = false;
        for (const std::string_view start :
             {"v_rcp_", "v_rsq_", "v_sqrt_", "v_exp_", "v_log_", "v_sin_", "v_cos_", "v_s_"}) {
          approximate = approximate || text.starts_with(start);
        }
        EXPECT_EQ(actual == OpClass::kTranscendental, approximate) << text;
        EXPECT_EQ(actual == OpClass::kMatrix, text.starts_with("v_mfma") || text.starts_with("v_smfmac") ||
                                                  text.starts_with("v_accvgpr") ||
                                                  text.starts_with("v_wmma") || text.starts_with("v_swmmac"))
            << text;
        EXPECT_EQ(actual == OpClass::kInterpolation, text.starts_with("v_interp") || text.starts_with("lds_"))
            << text;
        EXPECT_TRUE(actual == OpClass::kVector || actual == OpClass::kTranscendental ||
                    actual == OpClass::kMatrix || actual == OpClass::kInterpolation)
            << text;
      }
    }
  }
  EXPECT_EQ(op_class(Op::none), OpClass::kNone);
}

}  // namespace
}  // namespace rigel::vgpu::isa
