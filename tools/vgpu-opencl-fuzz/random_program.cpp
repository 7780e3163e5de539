#include "tools/vgpu-opencl-fuzz/random_program.hpp"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include "plugins/vgpu/reference/draw.hpp"

namespace rigel::vgpu::opencl_fuzz {
namespace {

using exec::reference::Draw;

constexpr uint32_t kLocalWordsOfItem = 4, kLocalSums = 8, kFreeWords = 16;

class Generator {
 public:
  Generator(Program& program, Draw& draw) : p_(program), draw_(draw) {}

  void run() {
    shape();
    p_.crosses_lanes = draw_.one_in(5);
    p_.calls_phases = draw_.one_in(4);
    const uint32_t functions = draw_.below(3);
    for (uint32_t i = 0; i < functions; ++i) p_.functions.push_back(function(i));
    const uint32_t phases = draw_.one_in(3) ? 1 : 2 + draw_.below(3);
    p_.rounds = phases > 1 && draw_.one_in(3) ? 1 + draw_.below(3) : 1;
    for (uint32_t i = 0; i < phases; ++i) {
      owns_local_ = i % 2 == 0;
      budget_ = 2 + draw_.below(10);
      p_.phases.push_back(statements(2 + draw_.below(8), 0));
    }
  }

 private:
  void shape() {
    if (draw_.one_in(4)) {
      p_.group[0] = one_of({4u, 8u, 16u, 5u});
      p_.group[1] = one_of({2u, 4u, 8u, 3u});
      p_.group[2] = draw_.one_in(2) ? 1 : one_of({2u, 4u});
      p_.groups[0] = 1 + draw_.below(3);
      p_.groups[1] = 1 + draw_.below(3);
      p_.groups[2] = p_.groups[0] * p_.groups[1] > 4 ? 1 : 1 + draw_.below(2);
    } else {
      p_.group[0] = one_of({64u, 64u, 64u, 128u, 256u, 32u, 192u, 1u + draw_.below(200)});
      p_.groups[0] = 1 + draw_.below(9);
    }
    if (draw_.one_in(4)) p_.absent = draw_.below(p_.group[0]);
    p_.limit = draw_.one_in(2) ? p_.total() : 1 + draw_.below(p_.total());
  }

  // Choice
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return *(list.begin() + draw_.below(static_cast<uint32_t>(list.size())));
  }
  uint32_t n(uint32_t end) { return draw_.below(end); }
  static std::string number(uint32_t value) { return fmt::format("{:#x}u", value); }

  // An index minus an offset that the surrounding expression adds back. If the addition becomes part of an
  // instruction, the register may hold a negative value.
  std::string displaced(const std::string& index) {
    if (!draw_.one_in(3)) return index;
    const uint32_t by = one_of({1u, 4u, 16u, 60u, 256u, 1000u, 3000u});
    return fmt::format("(opaque((int)({}) - {}) + {})", index, by, by);
  }

  // Expressions: of uint, int, ulong, float, double, half.
  std::string u(int depth) {
    if (depth <= 0 || draw_.one_in(4)) {
      switch (n(16)) {
        case 0:
          return number(draw_.value());
        case 1:
          return number(n(70));
        case 2:
          return "gid";
        case 3:
          return "lid";
        case 4:
          return "(uint)s->i" + std::to_string(n(3));
        case 5:
          return fmt::format("(uint)(s->l{} >> {})", n(2), one_of({0, 32, 13}));
        case 6:
          return fmt::format("s->v{}.{}", n(2), "xyzw"[n(4)]);
        case 7:
          return fmt::format("(uint)s->w{}", n(2));
        case 8:
          return "(uint)s->b0";
        case 9:
          return fmt::format("s->a[{}]",
                             displaced(fmt::format("({}) & 7", depth > -2 ? u(depth - 2) : "lid")));
        case 10:
          return fmt::format("f_bits(s->f{})", n(3));
        case 11:
          return fmt::format("s->p0.{}", "xy"[n(2)]);
        default:
          return "s->u" + std::to_string(n(4));
      }
    }
    const std::string a = u(depth - 1);
    switch (n(18)) {
      case 0:
      case 1:
        return fmt::format("({} + {})", a, u(depth - 1));
      case 2:
        return fmt::format("({} - {})", a, u(depth - 1));
      case 3:
        return fmt::format("({} * {})", a, u(depth - 1));
      case 4:
        return fmt::format("({} & {})", a, u(depth - 1));
      case 5:
        return fmt::format("({} | {})", a, u(depth - 1));
      case 6:
        return fmt::format("({} ^ {})", a, u(depth - 1));
      case 7:
        return fmt::format("({} << ({} & 31))", a, u(depth - 1));
      case 8:
        return fmt::format("({} >> ({} & 31))", a, u(depth - 1));
      case 9:
        // Operands are halved: clang 15 takes large numbers for small negative ones and divides them, and
        // multiplies them below, as if they had 24 bits.
        return draw_.one_in(2) ? fmt::format("(({} >> 1) / ({} >> 1 | 1u))", a, u(depth - 1))
                               : fmt::format("(({} >> 1) % {}u)", a, 1 + n(1000));
      case 10:
        return fmt::format("({} ? {} : {})", condition(depth - 1), a, u(depth - 1));
      case 11:
        return fmt::format("(uint)(((ulong)({} >> 1) * ({} >> 1)) >> 30)", a, u(depth - 1));
      case 12:
        return fmt::format("(uint)__builtin_popcount({})", a);
      case 13:
        return fmt::format("(uint)__builtin_clz({} | 1u)", a);
      case 14:
        return fmt::format("lesser({}, {})", a, u(depth - 1));
      case 15:
        return fmt::format("rotated({}, {})", a, u(depth - 1));
      case 16:
        return fmt::format("(({} >> {}) & {})", a, n(28), one_of({0xffu, 0xffffu, 0x1fu, 1u}));
      default:
        return "(~" + a + ")";
    }
  }
  std::string i(int depth) {
    switch (n(6)) {
      case 0:
        return fmt::format("((int){} >> ({} & 31))", u(depth - 1), u(depth - 2));
      case 1:
        return fmt::format("((int){} / (int)(({} & 0x7fffu) + 2u))", u(depth - 1), u(depth - 2));
      case 2:
        return fmt::format("(int)(short){}", u(depth - 1));
      case 3:
        return fmt::format("(int)(char){}", u(depth - 1));
      case 4:
        return fmt::format("whole_f({})", f(depth - 1));
      default:
        return fmt::format("(int){}", u(depth));
    }
  }
  std::string l(int depth) {
    if (depth <= 0) return draw_.one_in(2) ? fmt::format("s->l{}", n(2)) : fmt::format("(ulong){}", u(0));
    const std::string a = l(depth - 1);
    switch (n(8)) {
      case 0:
        return fmt::format("({} + {})", a, l(depth - 1));
      case 1:
        return fmt::format("({} - {})", a, l(depth - 1));
      case 2:
        return fmt::format("({} * {})", a, l(depth - 1));
      case 3:
        return fmt::format("({} << ({} & 63))", a, u(depth - 1));
      case 4:
        return fmt::format("({} >> ({} & 63))", a, u(depth - 1));
      case 5:
        return fmt::format("(ulong)((long){} >> ({} & 63))", a, u(depth - 1));
      case 6:
        return fmt::format("({} ^ {})", a, l(depth - 1));
      default:
        return fmt::format("({} < {} ? {} : {})", a, l(depth - 1), l(0), l(0));
    }
  }
  std::string f(int depth) {
    if (depth <= 0 || draw_.one_in(4)) {
      switch (n(8)) {
        case 0:
          return fmt::format("(float)(int){}", u(depth - 1));
        case 1:
          return fmt::format("(float){}", u(depth - 1));
        case 2:
          return one_of({"1.5f", "(-0.25f)", "3e10f", "1e-30f", "0.0f", "16777217.0f"});
        case 3:
          return "(float)s->h" + std::to_string(n(2));
        case 4:
          return "(float)s->d" + std::to_string(n(2));
        case 5:
          return fmt::format("s->g0.{}", "xyzw"[n(4)]);
        default:
          return "s->f" + std::to_string(n(3));
      }
    }
    const std::string a = f(depth - 1);
    switch (n(8)) {
      case 0:
      case 1:
        return fmt::format("({} + {})", a, f(depth - 1));
      case 2:
        return fmt::format("({} - {})", a, f(depth - 1));
      case 3:
        return fmt::format("({} * {})", a, f(depth - 1));
      case 4:
        return draw_.one_in(2) ? fmt::format("({} / {})", a, f(depth - 1)) : "(-" + a + ")";
      case 5:
        return fmt::format("__builtin_fmaf({}, {}, {})", a, f(depth - 1), f(depth - 2));
      case 6:
        return fmt::format("({} ? {} : {})", condition(depth - 1), a, f(depth - 1));
      default:
        return fmt::format("__builtin_fabsf({})", a);
    }
  }
  std::string d(int depth) {
    if (depth <= 0 || draw_.one_in(4)) {
      switch (n(4)) {
        case 0:
          return fmt::format("(double)(int){}", u(depth - 1));
        case 1:
          return fmt::format("(double){}", f(depth - 1));
        case 2:
          return one_of({"1.5", "(-1e300)", "0.1", "4294967297.0"});
        default:
          return "s->d" + std::to_string(n(2));
      }
    }
    const std::string a = d(depth - 1);
    switch (n(5)) {
      case 0:
        return fmt::format("({} + {})", a, d(depth - 1));
      case 1:
        return fmt::format("({} * {})", a, d(depth - 1));
      case 2:
        return fmt::format("__builtin_fma({}, {}, {})", a, d(depth - 1), d(0));
      case 3:
        return draw_.one_in(3) ? fmt::format("({} / {})", a, d(depth - 1)) : "(-" + a + ")";
      default:
        return fmt::format("({} ? {} : {})", condition(depth - 1), a, d(0));
    }
  }
  std::string h(int depth) {
    if (depth <= 0) {
      return draw_.one_in(3) ? fmt::format("(half)({} & 0x7ffu)", u(0)) : fmt::format("s->h{}", n(2));
    }
    const std::string a = h(depth - 1);
    switch (n(5)) {
      case 0:
        return fmt::format("({} + {})", a, h(depth - 1));
      case 1:
        return fmt::format("({} - {})", a, h(depth - 1));
      case 2:
        return fmt::format("({} * {})", a, h(depth - 1));
      case 3:
        return fmt::format("half_f({})", f(depth - 1));
      default:
        return fmt::format("({} ? {} : {})", condition(depth - 1), a, h(0));
    }
  }
  std::string condition(int depth) {
    switch (n(6)) {
      case 0:
        return fmt::format("({} < {})", u(depth - 1), u(depth - 1));
      case 1:
        return fmt::format("({} > {})", i(depth - 1), i(depth - 1));
      case 2:
        return fmt::format("({} < {})", f(depth - 1), f(depth - 1));
      case 3:
        return fmt::format("(({} & {}) != 0)", u(depth - 1), one_of({1, 2, 3, 64}));
      case 4:
        return fmt::format("({} <= {})", d(depth - 2), d(0));
      default:
        return fmt::format("(lid % {}u == {}u)", 2 + n(5), n(3));
    }
  }
  std::string uniform() {
    return draw_.one_in(2) ? fmt::format("((n >> {}) & 1u)", n(4))
                           : fmt::format("(in[{}] > {})", n(64), number(draw_.value()));
  }

  // Statements
  std::vector<Statement> statements(uint32_t count, uint32_t depth) {
    std::vector<Statement> list;
    for (uint32_t k = 0; k < count && budget_ > 0; ++k, --budget_) list.push_back(statement(depth));
    return list;
  }
  static Statement simple(std::string text) { return {std::move(text) + ";", false, {}, {}}; }

  Statement statement(uint32_t depth) {
    switch (n(depth >= 3 ? 17 : 24)) {
      case 0:
      case 1:
      case 2:
        return simple(fmt::format("s->u{} = {}", n(4), u(3)));
      case 3:
        return simple(fmt::format("s->i{} = {}", n(3), i(3)));
      case 4:
        return simple(fmt::format("s->l{} = {}", n(2), l(2)));
      case 5:
      case 6:
        return simple(fmt::format("s->f{} = clean_f({})", n(3), f(3)));
      case 7:
        return simple(fmt::format("s->d{} = clean_d({})", n(2), d(2)));
      case 8:
        return simple(fmt::format("s->h{} = clean_h({})", n(2), h(2)));
      case 9:
        return small();
      case 10:
        return vectors();
      case 11:
        return simple(
            fmt::format("s->a[{}] {} {}", displaced(u(1) + " & 7"), one_of({"=", "+=", "^="}), u(2)));
      case 12:
      case 13:
        return load();
      case 14:
        return own();
      case 15:
        return local();
      case 16:
        return p_.crosses_lanes ? exchange() : sum();
      case 17:
      case 18: {
        Statement made{"if (" + (draw_.one_in(4) ? uniform() : condition(2)) + ")", true, {}, {}};
        made.body = statements(1 + n(3), depth + 1);
        if (draw_.one_in(2)) made.otherwise = statements(1 + n(2), depth + 1);
        return made;
      }
      case 19:
      case 20:
        return loop(depth);
      case 21:
        if (!p_.functions.empty()) {
          return simple(fmt::format("s->u{} = call{}({}, {}, s)", n(4),
                                    n(static_cast<uint32_t>(p_.functions.size())), u(2), u(1)));
        }
        return sum();
      case 22:
        return sum();
      default:
        return local();
    }
  }

  Statement small() {
    switch (n(4)) {
      case 0:
        return simple(fmt::format("s->w{} = (ushort){}", n(2), u(2)));
      case 1:
        return simple(fmt::format("s->b0 = (uchar){}", u(2)));
      case 2:
        return simple(fmt::format("s->c0.{} = (uchar){}", "xyzw"[n(4)], u(2)));
      default:
        return simple(fmt::format("s->w{} = (ushort)(s->w0 * s->w1 + (ushort)s->c0.{})", n(2), "xyzw"[n(4)]));
    }
  }

  std::string swizzle() {
    std::string text;
    for (int k = 0; k < 4; ++k) text += "xyzw"[n(4)];
    return text;
  }
  Statement vectors() {
    switch (n(9)) {
      case 0:
        return simple(fmt::format("s->v{} = s->v{}.{} {} s->v{}", n(2), n(2), swizzle(),
                                  one_of({"+", "*", "^", "&", "-"}), n(2)));
      case 1:
        return simple(fmt::format("s->v{0} = s->v{1} >> (s->v{0} & 31u)", n(2), n(2)));
      case 2:
        return simple(fmt::format("s->v{}.{} = {}", n(2), "xyzw"[n(4)], u(2)));
      case 3:
        return simple(fmt::format("s->v{} = __builtin_shufflevector(s->v0, s->v1, {}, {}, {}, {})", n(2),
                                  n(8), n(8), n(8), n(8)));
      case 4:
        return simple(fmt::format("s->g0 = clean_f4(s->g0.{} {} s->g0)", swizzle(), one_of({"+", "*", "-"})));
      case 5:
        return simple(fmt::format("s->g0.{} = clean_f({})", "xyzw"[n(4)], f(2)));
      case 6:
        return simple(
            fmt::format("s->v{} = __builtin_convertvector(s->c0, uint4) * {}", n(2), number(draw_.value())));
      case 7:
        return simple(
            fmt::format("s->c0 = __builtin_convertvector(s->v{} >> {}u, uchar4)", n(2), one_of({0, 8, 24})));
      default:
        return simple(fmt::format("s->p0 = s->v{}.{}", n(2), one_of({"xy", "zw", "wx", "yy"})));
    }
  }

  struct Access {
    const char* type;
    const char* variable;
    uint32_t bytes, alignment;
  };
  Access access() {
    static constexpr Access kKinds[] = {{"uint", "u0", 4, 4},
                                        {"uint", "u1", 4, 4},
                                        {"uint4", "v0", 16, 16},
                                        {"uint4_of_words", "v1", 16, 4},
                                        {"uint2", "p0", 8, 8},
                                        {"uchar", "b0", 1, 1},
                                        {"ushort", "w0", 2, 2},
                                        {"uchar4", "c0", 4, 4},
                                        {"ulong", "l0", 8, 8},
                                        {"uint4_of_bytes", "v0", 16, 1},
                                        {"int", "i0", 4, 4},
                                        {"uint_of_bytes", "u2", 4, 1},
                                        {"uint2_of_words", "p0", 8, 4},
                                        {"ulong_of_words", "l1", 8, 4},
                                        {"char", "i1", 1, 1},
                                        {"short", "i2", 2, 2}};
    return kKinds[n(16)];
  }

  // From the input: random, strided or uniform addresses.
  Statement load() {
    const Access a = access();
    const uint32_t bytes = kInputWords * 4;
    std::string at;
    switch (n(5)) {
      case 0:
        at = u(2);
        break;
      case 1:
        at = number(draw_.below(bytes));
        break;
      case 2:
        at = fmt::format("gid * {}u + {}u", a.alignment * (1 + n(5)), a.alignment * n(8));
        break;
      case 3:
        at = fmt::format("n * {}u", a.alignment);
        break;
      default:
        at = fmt::format("gid * {}u", a.bytes);
        break;
    }
    const uint32_t mask = (bytes - 1) & ~(a.alignment - 1);
    const uint32_t half = a.alignment < a.bytes ? mask >> 1 & ~(a.alignment - 1) : mask;
    if (draw_.one_in(6)) {
      return simple(
          fmt::format("s->f{} = clean_f(bits_f(*(GLOBAL const uint *)((GLOBAL const uchar *)in + ({}))))",
                      n(3), displaced(fmt::format("({}) & {}u", at, (bytes - 1) & ~3u))));
    }
    return simple(fmt::format("s->{} = *(GLOBAL const {} *)((GLOBAL const uchar *)in + ({}))", a.variable,
                              a.type, displaced(fmt::format("({}) & {}u", at, half))));
  }

  // In the work-item's part of the output.
  Statement own() {
    const Access a = access();
    const uint32_t first = (kRecordWords - kFreeWords) * 4;
    const uint32_t at = first + n((kFreeWords * 4 - a.bytes) / a.alignment + 1) * a.alignment;
    const std::string place =
        fmt::format("*(GLOBAL {} *)((GLOBAL uchar *)(out + gid * {}u) + {}u)", a.type, kRecordWords, at);
    if (draw_.one_in(3)) return simple(fmt::format("s->{} = {}", a.variable, place));
    return simple(fmt::format("{} = s->{}", place, a.variable));
  }

  Statement local() {
    const Access a = access();
    const std::string type = a.type;
    const uint32_t words = p_.items() * kLocalWordsOfItem;
    if (owns_local_ && draw_.one_in(4)) {
      return simple(fmt::format("SUM_{}((LOCAL uint *)lds + {}u + ({} & {}u), {})", "ADD", words, u(1),
                                kLocalSums - 1, u(2)));
    }
    std::string at;
    if (owns_local_) {
      const uint32_t inside = n((kLocalWordsOfItem * 4 - a.bytes) / a.alignment + 1) * a.alignment;
      at = fmt::format("lid * {}u + {}u", kLocalWordsOfItem * 4, inside);
    } else {
      const uint32_t places = (words * 4 - a.bytes) / std::max(a.alignment, 1u) + 1;
      const std::string who =
          draw_.one_in(2)
              ? u(1)
              : fmt::format("(lid ^ {}u) * {}u + {}u", one_of({1, 2, 4, 16, 31, 63}), 16 / a.alignment, n(3));
      at = fmt::format("(({}) % {}u) * {}u", who, places, a.alignment);
    }
    const std::string place = fmt::format("*(LOCAL {} *)((LOCAL uchar *)lds + {})", type, displaced(at));
    if (owns_local_ && !draw_.one_in(4)) return simple(fmt::format("{} = s->{}", place, a.variable));
    if (!owns_local_ && draw_.one_in(6)) {
      return simple(fmt::format("s->u{} += lds[{}u + ({} & {}u)]", n(4), words, u(1), kLocalSums - 1));
    }
    return simple(fmt::format("s->{} = {}", a.variable, place));
  }

  Statement sum() {
    static constexpr const char* kKinds[] = {"ADD", "MIN", "MAX", "AND", "OR", "XOR"};
    const uint32_t kind = n(6);
    return simple(fmt::format("SUM_{}(sums + {}u + ({} & 7u), {})", kKinds[kind], kind * 8, u(1), u(2)));
  }

  // Between lanes of a wave. The compiler chooses the active lanes, so they are equal on all execution paths.
  Statement exchange() {
    switch (n(4)) {
      case 0:
        return simple(fmt::format("s->u{} = (uint)__builtin_amdgcn_ds_bpermute((int)({} * 4u), (int){})",
                                  n(4), u(1), u(1)));
      case 1:
        return simple(fmt::format("s->u{} = (uint)__builtin_amdgcn_readfirstlane((int){})", n(4), u(1)));
      case 2:
        return simple(fmt::format("s->u{} = (uint)__builtin_amdgcn_ds_swizzle((int){}, {})", n(4), u(1),
                                  one_of({0x041f, 0x081f, 0x101f, 0x401f, 0x8055, 0x801b})));
      default:
        return simple(fmt::format("s->u{} = (uint)__builtin_amdgcn_mov_dpp((int){}, {}, 0xf, 0xf, 1)", n(4),
                                  u(1), one_of({0xb1, 0x4e, 0x111, 0x11f, 0x128, 0x140, 0x141, 0x1b})));
    }
  }

  Statement loop(uint32_t depth) {
    const std::string name = "k" + std::to_string(loops_++);
    const std::string count = draw_.one_in(2)   ? std::to_string(1 + n(6)) + "u"
                              : draw_.one_in(2) ? fmt::format("({} & 7u)", u(1))
                                                : "(n & 3u)";
    Statement made{
        fmt::format("for (uint {0} = 0, {0}_end = {1}; {0} < {0}_end; ++{0})", name, count), true, {}, {}};
    made.body = statements(1 + n(3), depth + 1);
    made.body.push_back(simple(fmt::format("s->u{} += {}", n(4), name)));
    if (draw_.one_in(4))
      made.body.push_back(simple(fmt::format("if {} {}", condition(1), one_of({"break", "continue"}))));
    return made;
  }

  std::string function(uint32_t index) {
    return fmt::format("static NOINLINE uint call{}(uint gid, uint lid, PRIVATE S *s) {{ {} {} return {}; }}",
                       index, fmt::format("s->a[gid & 7] += {};", u(1)),
                       draw_.one_in(2) ? fmt::format("if {} s->i0 = {};", condition(1), i(1)) : "", u(2));
  }

  Program& p_;
  Draw& draw_;
  bool owns_local_ = true;
  uint32_t budget_ = 8;
  uint32_t loops_ = 0;
};

void write(std::string& text, const std::vector<Statement>& list, uint32_t depth) {
  const std::string indent(depth * 2, ' ');
  for (const Statement& statement : list) {
    text += indent + statement.text;
    if (!statement.is_compound) {
      text += "\n";
      continue;
    }
    text += " {\n";
    write(text, statement.body, depth + 1);
    if (!statement.otherwise.empty()) {
      text += indent + "} else {\n";
      write(text, statement.otherwise, depth + 1);
    }
    text += indent + "}\n";
  }
}

}  // namespace

Program generate(uint64_t seed) {
  Draw draw(seed * 0x9e3779b97f4a7c15u + 3);
  Program program;
  program.seed = seed;
  Generator(program, draw).run();
  return program;
}

std::string prelude() {
  return R"(#ifdef HOST
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned uint;
typedef unsigned long ulong;
typedef _Float16 half;
#define GLOBAL
#define LOCAL
#define PRIVATE
#else
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned uint;
typedef unsigned long ulong;
#define GLOBAL __global
#define LOCAL __local
#define PRIVATE __private
#define BARRIER                                           \
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");  \
  __builtin_amdgcn_s_barrier();                           \
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup")
#endif
typedef uint uint2 __attribute__((ext_vector_type(2)));
typedef uint uint4 __attribute__((ext_vector_type(4)));
typedef uchar uchar4 __attribute__((ext_vector_type(4)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef uint4 uint4_of_words __attribute__((aligned(4)));
typedef uint4 uint4_of_bytes __attribute__((aligned(1)));
typedef uint2 uint2_of_words __attribute__((aligned(4)));
typedef uint uint_of_bytes __attribute__((aligned(1)));
typedef ulong ulong_of_words __attribute__((aligned(4)));
#define NOINLINE __attribute__((noinline))
#define SUM_ADD(p, x) (void)__atomic_fetch_add(p, x, __ATOMIC_RELAXED)
#define SUM_AND(p, x) (void)__atomic_fetch_and(p, x, __ATOMIC_RELAXED)
#define SUM_OR(p, x) (void)__atomic_fetch_or(p, x, __ATOMIC_RELAXED)
#define SUM_XOR(p, x) (void)__atomic_fetch_xor(p, x, __ATOMIC_RELAXED)
#define SUM_MIN(p, x) (void)__atomic_fetch_min(p, x, __ATOMIC_RELAXED)
#define SUM_MAX(p, x) (void)__atomic_fetch_max(p, x, __ATOMIC_RELAXED)
typedef struct {
  uint4 v0, v1;
  float4 g0;
  ulong l0, l1;
  double d0, d1;
  uint2 p0;
  uint u0, u1, u2, u3;
  int i0, i1, i2;
  float f0, f1, f2;
  uint a[8];
  uchar4 c0;
  half h0, h1;
  ushort w0, w1;
  uchar b0;
} S;
static inline uint f_bits(float x) { union { float f; uint u; } c; c.f = x; return c.u; }
static inline float bits_f(uint x) { union { float f; uint u; } c; c.u = x; return c.f; }
static inline uint h_bits(half x) { union { half h; ushort u; } c; c.h = x; return c.u; }
static inline ulong d_bits(double x) { union { double d; ulong u; } c; c.d = x; return c.u; }
static inline float clean_f(float x) { return x == x ? x : 1.25f; }
static inline double clean_d(double x) { return x == x ? x : 1.25; }
static inline half clean_h(half x) { return x == x ? x : (half)1.25f; }
static inline float4 clean_f4(float4 x) {
  float4 y = {clean_f(x.x), clean_f(x.y), clean_f(x.z), clean_f(x.w)};
  return y;
}
// From 16 on clang makes v_fma_mixlo_f16 with an addend of 0 of (half)(a * b), and 0 of -0:
// github.com/llvm/llvm-project/pull/214544 fixes it in 2026.
#if !defined HOST && __clang_major__ >= 16
static inline half half_f(float x) { __asm__("" : "+v"(x)); return (half)x; }
#else
static inline half half_f(float x) { return (half)x; }
#endif
#ifdef HOST
static inline int opaque(int x) { return x; }
#else
static inline int opaque(int x) { __asm__("" : "+v"(x)); return x; }
#endif
static inline int whole_f(float x) { return x > -2e9f && x < 2e9f ? (int)x : 7; }
static inline uint lesser(uint a, uint b) { return a < b ? a : b; }
static inline uint rotated(uint a, uint b) { return a << (b & 31) | a >> (-b & 31); }
static inline void begin(PRIVATE S *s, GLOBAL const uint *in, uint gid) {
  uint k = (gid * 7u) & 2047u;
  s->u0 = in[k]; s->u1 = in[k + 1]; s->u2 = in[k + 2]; s->u3 = gid;
  s->i0 = (int)in[k + 3]; s->i1 = (int)in[k + 4]; s->i2 = (int)gid;
  s->f0 = clean_f(bits_f(in[k + 5])); s->f1 = (float)(int)in[k + 6]; s->f2 = (float)gid;
  s->d0 = (double)(int)in[k + 7]; s->d1 = (double)s->f0;
  s->h0 = (half)(int)(in[k + 8] & 1023u); s->h1 = (half)0.5f;
  s->l0 = in[k + 9] | (ulong)in[k + 10] << 32; s->l1 = gid;
  s->v0 = *(GLOBAL const uint4 *)(in + (k & ~3u)); s->v1 = s->v0.wzyx;
  float4 g = {s->f0, s->f1, s->f2, 1.0f};
  s->g0 = g;
  s->p0 = s->v0.xy; s->c0 = __builtin_convertvector(s->v0, uchar4);
  s->w0 = (ushort)in[k + 11]; s->w1 = (ushort)gid; s->b0 = (uchar)in[k + 12];
  for (uint j = 0; j < 8; ++j) s->a[j] = in[k + 13 + j];
}
static inline void end(PRIVATE S *s, GLOBAL uint *to) {
  *(GLOBAL uint4 *)to = s->v0; *(GLOBAL uint4 *)(to + 4) = s->v1;
  to[8] = f_bits(s->g0.x); to[9] = f_bits(s->g0.y); to[10] = f_bits(s->g0.z); to[11] = f_bits(s->g0.w);
  *(GLOBAL ulong *)(to + 12) = s->l0; *(GLOBAL ulong *)(to + 14) = s->l1;
  *(GLOBAL ulong *)(to + 16) = d_bits(s->d0); *(GLOBAL ulong *)(to + 18) = d_bits(s->d1);
  *(GLOBAL uint2 *)(to + 20) = s->p0;
  to[22] = s->u0; to[23] = s->u1; to[24] = s->u2; to[25] = s->u3;
  to[26] = (uint)s->i0; to[27] = (uint)s->i1; to[28] = (uint)s->i2;
  to[29] = f_bits(s->f0); to[30] = f_bits(s->f1); to[31] = f_bits(s->f2);
  for (uint j = 0; j < 8; ++j) to[32 + j] = s->a[j];
  *(GLOBAL uchar4 *)(to + 40) = s->c0;
  to[41] = h_bits(s->h0); to[42] = h_bits(s->h1);
  ((GLOBAL ushort *)to)[86] = s->w0; ((GLOBAL ushort *)to)[87] = s->w1;
  ((GLOBAL uchar *)to)[176] = s->b0;
}
)";
}

std::string source(const Program& p, const std::string& name) {
  std::string text;
  // Functions of different programs in one file.
  for (size_t i = 0; i < p.functions.size(); ++i) {
    text += fmt::format("#define call{0} {1}_call{0}\n", i, name) + p.functions[i] + "\n";
  }
  const std::string parameters =
      "PRIVATE S *s, GLOBAL const uint *in, GLOBAL uint *out, GLOBAL uint *sums, LOCAL uint *lds, uint gid, "
      "uint lid, uint n";
  for (size_t i = 0; i < p.phases.size(); ++i) {
    text += fmt::format("static {} void {}_phase{}({}) {{\n  if (gid >= n) return;\n",
                        p.calls_phases ? "NOINLINE" : "inline", name, i, parameters);
    write(text, p.phases[i], 1);
    text += "}\n";
  }
  const uint32_t items = p.items(), words = items * kLocalWordsOfItem + kLocalSums;
  std::string phases, host_phases;
  for (size_t i = 0; i < p.phases.size(); ++i) {
    phases += fmt::format("    {}_phase{}(&s, in, out, sums, lds, gid, lid, n);\n", name, i);
    if (p.phases.size() > 1) phases += "    BARRIER;\n";
    host_phases += fmt::format(
        "      for (uint k = 0; k < count; ++k) {}_phase{}(&s[k], in, out, sums, lds, group * {}u + lids[k], "
        "lids[k], n);\n",
        name, i, items);
  }
  text += fmt::format(R"(#ifdef HOST
void {0}(const uint *in, uint *out, uint *sums, uint n) {{
  static uint lds[{1}] __attribute__((aligned(16)));
  static S s[{2}];
  static uint lids[{2}];
  for (uint group = 0; group < {3}u; ++group) {{
    uint gx = group % {4}u, count = 0;
    for (uint k = 0; k < {2}u; ++k) {{
      if (gx * {5}u + k % {5}u < {6}u) lids[count++] = k;
    }}
    for (uint k = 0; k < {1}u; ++k) lds[k] = k * 3u;
    for (uint k = 0; k < count; ++k) begin(&s[k], in, group * {2}u + lids[k]);
    for (uint round = 0; round < {7}u; ++round) {{
{8}    }}
    for (uint k = 0; k < count; ++k) end(&s[k], out + (group * {2}u + lids[k]) * {9}u);
  }}
}}
#else
)",
                      name, words, items, p.all_groups(), p.groups[0], p.group[0], p.grid(0), p.rounds,
                      host_phases, kRecordWords);
  text += fmt::format(R"(__kernel __attribute__((amdgpu_flat_work_group_size({2}, {2})))
void {0}(GLOBAL const uint *in, GLOBAL uint *out, GLOBAL uint *sums, uint n) {{
  __local uint lds[{1}] __attribute__((aligned(16)));
  uint x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y(), z = __builtin_amdgcn_workitem_id_z();
  uint gx = __builtin_amdgcn_workgroup_id_x();
  uint group = gx + {3}u * (__builtin_amdgcn_workgroup_id_y() + {4}u * __builtin_amdgcn_workgroup_id_z());
  uint lid = x + {5}u * (y + {6}u * z), gid = group * {2}u + lid;
  uint width = gx * {5}u + {5}u > {7}u ? {7}u - gx * {5}u : {5}u;
  for (uint k = x + width * (y + {6}u * z); k < {1}u; k += width * {10}u) lds[k] = k * 3u;
  BARRIER;
  S s;
  begin(&s, in, gid);
  for (uint round = 0; round < {8}u; ++round) {{
{9}  }}
  end(&s, out + gid * {11}u);
}}
#endif
)",
                      name, words, items, p.groups[0], p.groups[1], p.group[0], p.group[1], p.grid(0),
                      p.rounds, phases, p.group[1] * p.group[2], kRecordWords);
  for (size_t i = 0; i < p.functions.size(); ++i) text += fmt::format("#undef call{}\n", i);
  return text;
}

}  // namespace rigel::vgpu::opencl_fuzz
