#include "plugins/vgpu/reference/compare.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>

#include "plugins/vgpu/exec/float_environment.hpp"
#include "plugins/vgpu/isa/disassembler.hpp"

namespace rigel::vgpu::exec::reference {

namespace {

constexpr const char* kLevelNames[] = {"baseline", "avx2", "avx512"};

bool is_first_destination(const isa::Instruction& in, unsigned n) {
  return in.dst[0].is_vgpr() && in.dst[0].dwords <= 2 && n >= in.dst[0].vgpr() &&
         n < in.dst[0].vgpr() + in.dst[0].dwords;
}

std::string operands_of(const isa::Instruction& in, const State& s, unsigned lane) {
  std::ostringstream text;
  for (unsigned i = 0; i < 3; ++i) {
    const isa::Operand& operand = in.src[i];
    if (!operand.exists()) continue;
    text << "\n    src[" << i << "] (code " << operand.code << ", type " << static_cast<int>(operand.type)
         << ") ";
    if (operand.is_vgpr() && operand.vgpr() + operand.dwords > s.vgpr.size()) {
      text << "beyond the VGPRs";
    } else if (operand.is_vgpr()) {
      for (unsigned part = operand.dwords; part-- > 0;)
        text << hex(s.vgpr[operand.vgpr() + part][lane]) << ' ';
    } else {
      text << hex(scalar_value(operand, in, s));
    }
  }
  if (in.dst[0].is_vgpr() && in.dst[0].vgpr() < s.vgpr.size())
    text << "\n    old dst " << hex(s.vgpr[in.dst[0].vgpr()][lane]);
  return text.str();
}

}  // namespace

uint64_t number_from_environment(const char* name, uint64_t default_value) {
  const char* text = std::getenv(name);
  return text == nullptr ? default_value : std::strtoull(text, nullptr, 0);
}

isa::Target target_of(const Chip& chip) {
  isa::Target target = *isa::target_of(chip.name);
  target.wave32 = chip.wave32;
  return target;
}

void for_each_row(const Chip& chip, const std::set<isa::Encoding>& encodings,
                  const std::function<void(uint16_t row, isa::Op op)>& visit) {
  const char* const wanted = std::getenv("RIGEL_OP");
  const isa::ChipSet chips = isa::chip_set(target_of(chip));
  const auto rows = isa::tables::rows();
  if (wanted != nullptr &&
      std::ranges::none_of(rows, [&](const auto& row) { return isa::name(row.op) == wanted; }))
    throw std::invalid_argument(std::string("RIGEL_OP: unknown operation '") + wanted + "'");
  for (uint16_t row = 0; row < rows.size(); ++row) {
    const isa::Op op = rows[row].op;
    const bool chosen = wanted == nullptr || isa::name(op) == wanted;
    if (chosen && rows[row].chips.intersects(chips) &&
        encodings.contains(isa::tables::shapes()[rows[row].shape].encoding)) {
      visit(row, op);
    }
  }
}

bool is_of_one_operation() {
  return std::getenv("RIGEL_OP") != nullptr;
}

uint64_t draws_per_row() {
  return number_from_environment("RIGEL_DRAWS", 6);
}

Draw draw_for(const Chip& chip) {
  const isa::Target target = target_of(chip);
  return Draw(number_from_environment("RIGEL_SEED", 1) * 1000 + target.major * 16u + target.stepping +
              (chip.wave32 ? 8 : 0));
}

void restrict_to_host(State& state) {
  if (kHasDenormalModes) return;
  for (const unsigned unit : {4u, 6u}) {
    if ((state.mode >> unit & 3) != 0) state.mode |= 3u << unit;
  }
}

std::string hex(uint64_t x) {
  std::ostringstream text;
  text << "0x" << std::hex << x;
  return text.str();
}

std::string difference(const isa::Instruction& in, const State& before, const State& expected,
                       const State& actual) {
  std::ostringstream text;
  const bool gfx10 = expected.target.family() >= isa::Family::kGfx10;
  for (unsigned code = 0; code < 128; ++code) {
    if (gfx10 && code == isa::code::kNull) continue;
    if (code >= expected.sgprs && code < 102) continue;  // These are never read.
    if (expected.scalar[code] == actual.scalar[code]) continue;
    text << "  scalar " << code << " is " << hex(actual.scalar[code]) << ", not "
         << hex(expected.scalar[code]) << " (was " << hex(before.scalar[code]) << ")";
    const uint32_t wrong = expected.scalar[code] ^ actual.scalar[code];
    for (unsigned lane = 0; lane < 32; ++lane) {
      if ((wrong >> lane & 1) != 0 && in.dst[0].type == isa::Type::kMask) {
        text << " lane " << lane << operands_of(in, before, lane);
        break;
      }
    }
    return text.str() + (in.dst[0].is_vgpr() ? "" : operands_of(in, before, 0));
  }
  if (expected.scc != actual.scc) {
    text << "  SCC is " << actual.scc << ", not " << expected.scc << operands_of(in, before, 0);
    return text.str();
  }
  for (unsigned n = 0; n < expected.vgpr.size(); ++n) {
    for (unsigned lane = 0; lane < expected.wave_size; ++lane) {
      uint64_t e = expected.vgpr[n][lane], a = actual.vgpr[n][lane];
      if (e == a) continue;
      if (is_first_destination(in, n)) {
        if (in.dst[0].dwords == 2) {
          const unsigned low = in.dst[0].vgpr();
          e = expected.vgpr[low][lane] | uint64_t{expected.vgpr[low + 1][lane]} << 32;
          a = actual.vgpr[low][lane] | uint64_t{actual.vgpr[low + 1][lane]} << 32;
        }
        if (expected.notes[lane].allows(e, a)) continue;
      }
      text << "  v" << n << " of lane " << lane << " is " << hex(a) << ", not " << hex(e)
           << ((before.exec() >> lane & 1) != 0 ? "" : " (an inactive lane)")
           << operands_of(in, before, lane);
      return text.str();
    }
  }
  return {};
}

std::string describe(const isa::Instruction& in, const Chip& chip, SimdLevel level, const State& before,
                     const uint32_t (&words)[5]) {
  std::ostringstream text;
  text << isa::name(in.op) << " on " << chip.name << (chip.wave32 ? " wave32" : "") << ", "
       << "handlers of " << kLevelNames[static_cast<int>(level)] << ": "
       << isa::disassemble(before.target, in) << " [" << hex(words[0]) << " " << hex(words[1]) << "], MODE "
       << hex(before.mode) << ", EXEC " << hex(before.exec());
  if (in.lanes == isa::LaneMode::kDpp)
    text << ", DPP " << hex(in.dpp_ctrl) << (in.bound_ctrl ? " BC" : "") << (in.fetch_inactive ? " FI" : "");
  return text.str();
}

std::string difference(const World& before, const World& expected, const World& actual) {
  std::ostringstream text;
  const auto compare = [&](Space space, const char* name, uint64_t va, const std::vector<uint8_t>& old_bytes,
                           const std::vector<uint8_t>& e, const std::vector<uint8_t>& a) {
    if (e == a) return true;
    for (size_t i = 0; i < e.size(); ++i) {
      if (e[i] == a[i]) continue;
      const std::vector<uint8_t>* const candidates = expected.given(space, va + i);
      bool allowed = false;
      for (size_t n = 0; candidates != nullptr && n < candidates->size(); ++n)
        allowed |= (*candidates)[n] == a[i];
      if (allowed) continue;
      text << "  byte " << hex(va + i) << " of " << name << " is " << hex(a[i]) << ", not " << hex(e[i])
           << " (was " << hex(old_bytes[i]) << ")";
      return false;
    }
    return true;
  };
  for (size_t i = 0; i < expected.regions.size(); ++i) {
    if (!compare(Space::kGlobal, "memory", expected.regions[i].va, before.regions[i].bytes,
                 expected.regions[i].bytes, actual.regions[i].bytes))
      return text.str();
  }
  if (!compare(Space::kLds, "LDS", 0, before.lds, expected.lds, actual.lds)) return text.str();
  if (!compare(Space::kGds, "GDS", 0, before.gds, expected.gds, actual.gds)) return text.str();
  for (size_t i = 0; i < expected.gws.size(); ++i) {
    if (expected.gws[i] == actual.gws[i]) continue;
    text << "  counter " << i << " of GWS is " << actual.gws[i] << ", not " << expected.gws[i];
    return text.str();
  }
  return {};
}

}  // namespace rigel::vgpu::exec::reference
