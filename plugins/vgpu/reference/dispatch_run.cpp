#include "plugins/vgpu/reference/dispatch_run.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/disassembler.hpp"
#include "plugins/vgpu/isa/traits.hpp"
#include "plugins/vgpu/reference/control.hpp"
#include "plugins/vgpu/reference/model.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

constexpr uint32_t kMostInstructions = 1 << 16;  // Maximum number of instructions of a wave.

struct ModelWave {
  State state;
  Hardware hardware;
  bool ended = false;
  uint32_t executed = 0;
};

// Whether the manuals allow other results, too.
bool is_open(const isa::Instruction& in, const State& state) {
  if (!in.dst[0].is_vgpr() || in.dst[0].dwords > 2 || in.dst[0].vgpr() + in.dst[0].dwords > state.vgpr.size())
    return false;
  const uint64_t exec = state.exec();
  for (unsigned lane = 0; lane < state.wave_size; ++lane) {
    const LaneNote& note = state.notes[lane];
    if ((exec >> lane & 1) == 0) continue;
    if (note.any || !note.also.empty()) return true;
    uint64_t value = state.vgpr[in.dst[0].vgpr()][lane];
    if (in.dst[0].dwords == 2) value |= uint64_t{state.vgpr[in.dst[0].vgpr() + 1u][lane]} << 32;
    const auto is_nan_at = [&](const Format& format, unsigned shift) {
      const unsigned bits = static_cast<unsigned>(format.bits());
      const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
      return is_nan(format, value >> shift & mask);
    };
    if (note.any_nan && is_nan_at(note.format, note.shift)) return true;
    if (note.halves && (is_nan_at(kHalf, 0) || is_nan_at(kHalf, 16))) return true;
  }
  return false;
}

class Model {
 public:
  Model(const isa::Target& target, const Dispatch& dispatch, World& world)
      : target_(target), dispatch_(dispatch), world_(world), regions_(world.regions.size()) {
    world_.shared_aperture_hi = static_cast<uint32_t>(dispatch.flat_group_base >> 32);
    world_.private_aperture_hi = static_cast<uint32_t>(dispatch.flat_private_base >> 32);
    world_.scratch_base = dispatch.scratch_base;
    world_.scratch_lane_bytes = dispatch.scratch_wave_bytes / dispatch.wave_size;
    target_.wave32 = dispatch.wave_size == 32;
    const bool eights = dispatch.wave_size == 32;
    vgprs_ = std::min(((dispatch.pgm_rsrc1 & 0x3f) + 1) * (eights ? 8 : 4), 256u);
    // The other registers of the file are AGPRs.
    if (isa::traits_of(target).has_unified_vgprs) vgprs_ = ((dispatch.pgm_rsrc3 & 0x3f) + 1) * 4;
    if (target.major < 10) sgprs_ = std::min(((dispatch.pgm_rsrc1 >> 6 & 0xf) / 2 + 1) * 16, 106u);
    mode_ = dispatch.pgm_rsrc1 >> 12 & 0xff;
    if (target.major < 12) mode_ |= (dispatch.pgm_rsrc1 >> 21 & 1) << 8 | (dispatch.pgm_rsrc1 >> 23 & 1) << 9;
    if (target.major >= 9) mode_ |= (dispatch.pgm_rsrc1 >> 26 & 1) << 23;
  }

  DispatchRun run() {
    uint32_t counts[3], group[3];
    for (int i = 0; i < 3; ++i) {
      counts[i] = (dispatch_.grid_size[i] + dispatch_.work_group_size[i] - 1) / dispatch_.work_group_size[i];
    }
    for (group[2] = 0; group[2] < counts[2]; ++group[2]) {
      for (group[1] = 0; group[1] < counts[1]; ++group[1]) {
        for (group[0] = 0; group[0] < counts[0]; ++group[0]) {
          run_group(group);
          if (!result_.failure.empty()) return std::move(result_);
        }
      }
    }
    return std::move(result_);
  }

 private:
  void run_group(const uint32_t (&group)[3]) {
    uint32_t size[3];
    for (int i = 0; i < 3; ++i)
      size[i] = std::min(dispatch_.work_group_size[i],
                         dispatch_.grid_size[i] - group[i] * dispatch_.work_group_size[i]);
    const uint32_t items = size[0] * size[1] * size[2], lanes = dispatch_.wave_size;
    std::vector<ModelWave> waves((items + lanes - 1) / lanes);
    world_.lds.assign(dispatch_.lds_bytes, 0);
    if (dispatch_.private_bytes != 0) {
      world_.regions.resize(regions_);
      World::Region& scratch = world_.regions.emplace_back();
      scratch.va = dispatch_.scratch_va;
      scratch.bytes.resize(waves.size() * dispatch_.scratch_wave_bytes);
    }
    for (uint32_t w = 0; w < waves.size(); ++w) start(waves[w], w, group, size, items);
    for (bool goes_on = true; goes_on && result_.failure.empty();) {
      goes_on = false;
      for (uint32_t w = 0; w < waves.size() && result_.failure.empty(); ++w) {
        if (waves[w].ended) continue;
        run_to_barrier(waves[w], w);
        goes_on = true;
      }
    }
  }

  void start(ModelWave& wave, uint32_t w, const uint32_t (&group)[3], const uint32_t (&size)[3],
             uint32_t items) {
    State& state = wave.state;
    const uint32_t lanes = dispatch_.wave_size;
    state.target = target_;
    state.wave_size = lanes;
    state.mode = mode_;
    state.pc = dispatch_.entry_va;
    std::copy_n(dispatch_.user_sgprs.begin(), dispatch_.user_sgpr_count, state.scalar.begin());
    uint32_t next = dispatch_.user_sgpr_count;
    const uint32_t rsrc2 = dispatch_.pgm_rsrc2, id_rows = (rsrc2 >> 11 & 3) + 1;
    const bool gfx12 = target_.major == 12;
    if (gfx12) {  // TTMP9, TTMP7 and TTMP8
      state.scalar[108 + 9] = group[0];
      state.scalar[108 + 7] = (group[1] & 0xffff) | group[2] << 16;
      state.scalar[108 + 8] = w << 25;
    }
    for (uint32_t i = 0; i < 3 && !gfx12; ++i) {
      if ((rsrc2 >> (7 + i) & 1) != 0) state.scalar[next++] = group[i];
    }
    if ((rsrc2 >> 10 & 1) != 0 && !gfx12)
      state.scalar[next++] = (items + lanes - 1) / lanes | (w == 0 ? 1u << 31 : 0);
    const isa::Traits& traits = isa::traits_of(target_);
    if (traits.has_launched_flat_scratch) {
      const uint64_t scratch = dispatch_.scratch_va + w * uint64_t{dispatch_.scratch_wave_bytes};
      wave.hardware.flat_scratch[0] = static_cast<uint32_t>(scratch);
      wave.hardware.flat_scratch[1] = static_cast<uint32_t>(scratch >> 32);
    } else if ((rsrc2 & 1) != 0) {
      state.scalar[next] = w * dispatch_.scratch_wave_bytes;
    }
    state.sgprs = sgprs_;
    state.vgpr.resize(vgprs_);
    for (auto& row : state.vgpr) row.fill(0);
    uint64_t exec = 0;
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      const uint32_t item = w * lanes + lane;
      if (item >= items) break;
      exec |= uint64_t{1} << lane;
      const uint32_t ids[] = {item % size[0], item / size[0] % size[1], item / size[0] / size[1]};
      if (traits.packs_work_item_ids) {
        state.vgpr[0][lane] = ids[0] | (id_rows > 1 ? ids[1] << 10 : 0) | (id_rows > 2 ? ids[2] << 20 : 0);
        continue;
      }
      for (uint32_t i = 0; i < std::min(id_rows, 3u); ++i) state.vgpr[i][lane] = ids[i];
    }
    state.set_pair(isa::code::kExecLo, exec);
    wave.hardware.vgprs = static_cast<uint32_t>(state.vgpr.size());
    wave.hardware.lds_bytes = dispatch_.lds_bytes;
  }

  // Returns the world without the records of the last instruction.
  World world_without_records() {
    World world;
    world.regions = std::move(world_.regions);
    world.lds = std::move(world_.lds);
    world.shared_aperture_hi = world_.shared_aperture_hi;
    world.private_aperture_hi = world_.private_aperture_hi;
    world.scratch_base = world_.scratch_base;
    world.scratch_lane_bytes = world_.scratch_lane_bytes;
    return world;
  }

  size_t fetch(uint64_t pc, uint32_t (&words)[isa::kMaxInstructionDwords]) const {
    for (const World::Region& region : world_.regions) {
      if (pc - region.va >= region.bytes.size()) continue;
      const size_t bytes = std::min<size_t>(sizeof words, region.bytes.size() - (pc - region.va));
      std::memcpy(words, region.bytes.data() + (pc - region.va), bytes);
      return bytes / 4;
    }
    return 0;
  }

  static bool accesses_memory(isa::Encoding encoding) {
    return encoding == isa::Encoding::kSmem ||
           (encoding >= isa::Encoding::kDs && encoding <= isa::Encoding::kMimg);
  }

  void run_to_barrier(ModelWave& wave, uint32_t w) {
    for (;;) {
      State& state = wave.state;
      uint32_t words[isa::kMaxInstructionDwords];
      const size_t count = fetch(state.pc, words);
      isa::Instruction in;
      if (isa::decode(target_, words, count, in) != isa::DecodeStatus::kOk) {
        result_.failure = "no instruction";
        return;
      }
      if (++wave.executed > kMostInstructions) {
        result_.failure = "does not end";
        return;
      }
      const auto fail = [&](const std::string& reason) {
        result_.failure = reason + ": " + isa::disassemble(target_, in);
      };
      DispatchRun::Count& executions = result_.counts[state.pc];
      ++executions.waves;
      const uint64_t exec = state.wave_size == 32 ? state.exec() & 0xffffffff : state.exec();
      executions.lanes += static_cast<uint32_t>(std::popcount(exec));
      // Arithmetic copies the state, which therefore has the world only for memory instructions.
      const bool memory = accesses_memory(in.encoding);
      if (memory) {
        state.world = world_without_records();
        state.world.id_in_group = w;
        state.world.private_va = dispatch_.scratch_va + w * uint64_t{dispatch_.scratch_wave_bytes};
        std::copy_n(wave.hardware.flat_scratch, 2, state.world.flat_scratch);
      }
      const Outcome outcome = execute(in, state);
      if (memory) {
        world_ = std::move(state.world);
        state.world = {};
        if (!world_.faults.empty()) return fail("a fault");
        result_.is_open |= world_.open;
      }
      if (outcome == Outcome::kDone) {
        result_.is_open |= is_open(in, state);
        state.pc += in.bytes;
        continue;
      }
      Next next{};
      if (execute_control(in, state, wave.hardware, next) != Outcome::kDone) return fail("not modelled");
      if (next == Next::kEnds) wave.ended = true;
      if (next == Next::kEnds || next == Next::kBarrier) return;
      if (next != Next::kContinues && next != Next::kSleeps) return fail("stops");
    }
  }

  isa::Target target_;
  const Dispatch& dispatch_;
  World& world_;
  const size_t regions_;
  uint32_t vgprs_ = 0, sgprs_ = 106, mode_ = 0;
  DispatchRun result_;
};

}  // namespace

DispatchRun run_dispatch(const isa::Target& target, const Dispatch& dispatch, World& world) {
  return Model(target, dispatch, world).run();
}

}  // namespace rigel::vgpu::exec::reference
