#include "plugins/vgpu/exec/memory_ops/shape.hpp"

#include <string_view>

namespace rigel::vgpu::exec {
namespace {

// Reads a name from the left.
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

// Longer words before their beginnings.
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
bool take_width(Name& name, const Width (&widths)[kCount], Shape& shape) {
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
};

bool take_atomic(Name name, std::string_view text, Shape& shape) {
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

// Of wrxchg and the like: [2][st64], then the rest.
void take_pair(Name& name, Shape& shape) {
  shape.pair = name.take("2");
  shape.far_pair = shape.pair && name.take("st64");
}

bool take_ds(Name name, Shape& shape) {
  if (name.take("read_addtid_") || name.take("write_addtid_")) return false;  // see take_ds_addtid
  Name plain = name;
  const bool load = plain.take("read");
  if (load || plain.take("write")) {
    shape.verb = load ? Verb::kLoad : Verb::kStore;
    take_pair(plain, shape);
    if (plain.take("_") && take_width(plain, kDsWidths, shape)) return true;
    shape = Shape{};
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

bool take_ds_addtid(Name name, Shape& shape) {
  shape.addtid = true;
  shape.verb = name.take("read") ? Verb::kLoad : Verb::kStore;
  if (shape.verb == Verb::kStore && !name.take("write")) return false;
  return name.take("_addtid_b32") && name.done();
}

}  // namespace

std::optional<Shape> shape_of(isa::Op op) {
  const std::string_view text = isa::name(op);
  Name name(text);
  Shape shape;
  if (name.take("ds_")) {
    if (take_ds(name, shape)) return shape;
    shape = Shape{};
    if (take_ds_addtid(name, shape)) return shape;
    return std::nullopt;
  }
  if (name.take("s_")) {
    (void)(name.take("buffer_") || name.take("scratch_"));
  } else if (!name.take("flat_") && !name.take("global_") && !name.take("scratch_") &&
             !name.take("buffer_")) {
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
  if (!take_width(name, kWidths, shape)) return std::nullopt;
  return shape;
}

}  // namespace rigel::vgpu::exec
