#include "plugins/vgpu/exec/whole_kernels/model_run.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "plugins/vgpu/exec/reference/control.hpp"
#include "plugins/vgpu/exec/reference/model.hpp"
#include "plugins/vgpu/exec/whole_kernels/contents.hpp"
#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/disassembler.hpp"

namespace rigel::vgpu::exec::whole {
namespace {

using reference::Hardware;
using reference::Next;
using reference::Outcome;
using reference::State;
using reference::World;

constexpr uint32_t kPatience = 1 << 16;  // instructions of a wave

struct ModelWave {
  State state;
  Hardware hardware;
  bool ended = false;
  uint32_t executed = 0;
};

// Whether other results would have been right as well.
bool is_open(const isa::Instruction& in, const State& state) {
  if (!in.dst[0].is_vgpr() || in.dst[0].dwords > 2 || in.dst[0].vgpr() + in.dst[0].dwords > state.vgpr.size())
    return false;
  const uint64_t exec = state.exec();
  for (unsigned lane = 0; lane < state.wave_size; ++lane) {
    const reference::LaneNote& note = state.notes[lane];
    if ((exec >> lane & 1) == 0) continue;
    if (note.any || !note.also.empty()) return true;
    uint64_t value = state.vgpr[in.dst[0].vgpr()][lane];
    if (in.dst[0].dwords == 2) value |= uint64_t{state.vgpr[in.dst[0].vgpr() + 1u][lane]} << 32;
    const auto is_nan_at = [&](const reference::Format& format, unsigned shift) {
      const unsigned bits = static_cast<unsigned>(format.bits());
      const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
      return reference::is_nan(format, value >> shift & mask);
    };
    if (note.any_nan && is_nan_at(note.format, note.shift)) return true;
    if (note.halves && (is_nan_at(reference::kHalf, 0) || is_nan_at(reference::kHalf, 16))) return true;
  }
  return false;
}

class Model {
 public:
  Model(const Kernel& kernel, const std::vector<uint32_t>& code, const std::vector<std::byte>& out)
      : kernel_(kernel), code_(code), dispatch_(dispatch_of(kernel)) {
    std::vector<std::byte> in(size_t{kernel.in_bytes} + kInSlack), arguments(argument::kBytes);
    fill_in(kernel, in);
    fill_arguments(kernel, arguments);
    map(kOutVa - kGuardBytes, out);
    map(kAtomicsVa, std::vector<std::byte>(kAtomicsBytes));
    map(kInVa, in);
    map(kKernargVa, arguments);
    world_.shared_aperture_hi = kSharedApertureHigh;
    world_.private_aperture_hi = kPrivateApertureHigh;
    world_.scratch_base = dispatch_.scratch_base;
    world_.scratch_lane_bytes = dispatch_.scratch_wave_bytes / kernel.wave_size();
  }

  ModelRun run() {
    uint32_t counts[3], group[3];
    for (int i = 0; i < 3; ++i) counts[i] = (kernel_.grid[i] + kernel_.group[i] - 1) / kernel_.group[i];
    for (group[2] = 0; group[2] < counts[2]; ++group[2]) {
      for (group[1] = 0; group[1] < counts[1]; ++group[1]) {
        for (group[0] = 0; group[0] < counts[0]; ++group[0]) {
          run_group(group);
          if (!result_.failure.empty()) return std::move(result_);
        }
      }
    }
    result_.out = bytes_of(0);
    result_.atomics = bytes_of(1);
    return std::move(result_);
  }

 private:
  void map(uint64_t va, const std::vector<std::byte>& bytes) {
    World::Region& region = world_.regions.emplace_back();
    region.va = va;
    region.bytes.resize(bytes.size());
    std::memcpy(region.bytes.data(), bytes.data(), bytes.size());
  }
  std::vector<std::byte> bytes_of(size_t region) const {
    const std::vector<uint8_t>& bytes = world_.regions[region].bytes;
    std::vector<std::byte> copy(bytes.size());
    std::memcpy(copy.data(), bytes.data(), bytes.size());
    return copy;
  }

  void run_group(const uint32_t (&group)[3]) {
    uint32_t size[3];
    for (int i = 0; i < 3; ++i)
      size[i] = std::min(kernel_.group[i], kernel_.grid[i] - group[i] * kernel_.group[i]);
    const uint32_t items = size[0] * size[1] * size[2], lanes = kernel_.wave_size();
    std::vector<ModelWave> waves((items + lanes - 1) / lanes);
    world_.lds.assign(kernel_.lds_bytes, 0);
    if (kernel_.private_bytes != 0) {
      world_.regions.resize(4);
      map(kScratchVa, std::vector<std::byte>(waves.size() * dispatch_.scratch_wave_bytes));
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
    const uint32_t lanes = kernel_.wave_size();
    state.target = kernel_.target;
    state.wave_size = lanes;
    state.mode = kernel_.mode;
    state.pc = kCodeVa;
    std::copy_n(dispatch_.user_sgprs.begin(), dispatch_.user_sgpr_count, state.scalar.begin());
    uint32_t next = dispatch_.user_sgpr_count;
    for (uint32_t i = 0; i < (kernel_.has_dimensions() ? 3 : 1); ++i) state.scalar[next++] = group[i];
    if (kernel_.private_bytes != 0) state.scalar[next] = w * dispatch_.scratch_wave_bytes;
    state.vgpr.resize(allocated_vgprs(kernel_));
    for (auto& row : state.vgpr) row.fill(0);
    uint64_t exec = 0;
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      const uint32_t item = w * lanes + lane;
      if (item >= items) break;
      exec |= uint64_t{1} << lane;
      state.vgpr[0][lane] = item % size[0];
      if (!kernel_.has_dimensions()) continue;
      state.vgpr[1][lane] = item / size[0] % size[1];
      state.vgpr[2][lane] = item / size[0] / size[1];
    }
    state.set_pair(isa::code::kExecLo, exec);
    wave.hardware.vgprs = static_cast<uint32_t>(state.vgpr.size());
    wave.hardware.lds_bytes = kernel_.lds_bytes;
  }

  // The world without what it remembers of the last instruction.
  World renewed() {
    World world;
    world.regions = std::move(world_.regions);
    world.lds = std::move(world_.lds);
    world.shared_aperture_hi = world_.shared_aperture_hi;
    world.private_aperture_hi = world_.private_aperture_hi;
    world.scratch_base = world_.scratch_base;
    world.scratch_lane_bytes = world_.scratch_lane_bytes;
    return world;
  }

  static bool accesses_memory(isa::Encoding encoding) {
    return encoding == isa::Encoding::kSmem || encoding >= isa::Encoding::kDs;
  }

  void run_to_barrier(ModelWave& wave, uint32_t w) {
    for (;;) {
      State& state = wave.state;
      const uint64_t at = (state.pc - kCodeVa) / 4;
      isa::Instruction in;
      if (at >= code_.size() ||
          isa::decode(kernel_.target, code_.data() + at, code_.size() - at, in) != isa::DecodeStatus::kOk) {
        result_.failure = "no instruction";
        return;
      }
      if (++wave.executed > kPatience) {
        result_.failure = "does not end";
        return;
      }
      const auto fail = [&](const std::string& what) {
        result_.failure = what + ": " + isa::disassemble(kernel_.target, in);
      };
      // Arithmetic copies the state, which is to be small then.
      const bool memory = accesses_memory(in.encoding);
      if (memory) {
        state.world = renewed();
        state.world.id_in_group = w;
        std::copy_n(wave.hardware.flat_scratch, 2, state.world.flat_scratch);
      }
      const Outcome outcome = reference::execute(in, state);
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
      if (reference::execute_control(in, state, wave.hardware, next) != Outcome::kDone)
        return fail("not modelled");
      if (next == Next::kEnds) wave.ended = true;
      if (next == Next::kEnds || next == Next::kBarrier) return;
      if (next != Next::kGoesOn && next != Next::kSleeps) return fail("stops");
    }
  }

  const Kernel& kernel_;
  const std::vector<uint32_t>& code_;
  const Dispatch dispatch_;
  World world_;
  ModelRun result_;
};

}  // namespace

ModelRun run_on_model(const Kernel& kernel, const std::vector<uint32_t>& code,
                      const std::vector<std::byte>& out) {
  return Model(kernel, code, out).run();
}

}  // namespace rigel::vgpu::exec::whole
