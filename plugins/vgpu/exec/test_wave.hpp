// A single wave for tests. It runs code from a buffer on the test's thread.
#pragma once

#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plugins/vgpu/cp/fake_bus.hpp"
#include "plugins/vgpu/exec/core.hpp"
#include "plugins/vgpu/exec/float_environment.hpp"
#include "plugins/vgpu/exec/global_data_share.hpp"
#include "plugins/vgpu/exec/global_wave_sync.hpp"
#include "plugins/vgpu/exec/translated_code.hpp"
#include "plugins/vgpu/exec/wave.hpp"
#include "plugins/vgpu/exec/wave_memory.hpp"

namespace rigel::vgpu::exec::testing {

inline isa::Target gfx(uint8_t major, uint8_t minor, uint8_t stepping, bool wave32 = false) {
  isa::Target target;
  target.major = major;
  target.minor = minor;
  target.stepping = stepping;
  target.wave32 = wave32;
  return target;
}

class TestWave final : public Core {
 public:
  explicit TestWave(isa::Target target, uint32_t wave_size = 64, uint32_t vgprs = 32,
                    SimdLevel level = best_simd_level())
      : memory_(bus) {
    target.wave32 = wave_size == 32;
    key_.target = target;
    key_.layout = {wave_size, vgprs};
    key_.level = level;
    code_buffer = bus.allocate(65536);
    key_.entry_va = code_buffer.va;
    registers_.reset(static_cast<std::byte*>(std::aligned_alloc(64, (key_.layout.bytes() + 63) / 64 * 64)));
    std::memset(registers_.get(), 0, key_.layout.bytes());
    lds_.reset(static_cast<std::byte*>(std::aligned_alloc(64, 65536 + kLdsMargin)));
    std::memset(lds_.get(), 0, 65536 + kLdsMargin);
    group.lds = lds_.get();
    group.lds_bytes = 65536;
    group.waves = &wave;
    group.wave_count = 1;
    wave.layout = key_.layout;
    wave.registers = registers_.get();
    wave.memory = &memory_;
    wave.group = &group;
    wave.core = this;
    wave.mode = 0x3f0;  // denormals kept, DX10_CLAMP, IEEE
    wave.shared_aperture_hi = 0x10000;
    wave.private_aperture_hi = 0x20000;
    wave.launched_exec = wave.mask();
    set_exec(wave.mask());
  }

  /// Sets the number of SGPRs; affects code that is translated later.
  void set_sgprs(uint32_t count) { key_.layout.sgprs = wave.layout.sgprs = count; }

  /// Writes code to the code buffer. `offset` is in bytes.
  void put(const std::vector<uint32_t>& words, uint64_t offset = 0) {
    std::memcpy(code_buffer.host + offset, words.data(), words.size() * 4);
  }

  /// Runs `words` and an s_endpgm after them. Returns why the wave stopped.
  Stop run(std::vector<uint32_t> words) {
    words.push_back(0xbf810000);
    put(words);
    code = std::make_unique<TranslatedCode>(key_, bus);
    return run_at(code_buffer.va);
  }

  Stop run_at(uint64_t pc, int64_t budget = 1 << 20) {
    if (code == nullptr) code = std::make_unique<TranslatedCode>(key_, bus);
    const WaveMemory::Scope scope(memory_);
    wave.op = code->find(pc, variant_of(wave));
    return resume(budget);
  }

  Stop resume(int64_t budget = 1 << 20) {
    const uint32_t mxcsr = get_mxcsr();
    set_mxcsr(mxcsr_of(wave.mode));
    wave.budget = budget;
    run_wave(&wave);
    set_mxcsr(mxcsr);
    executed = budget - wave.budget;
    return wave.stop;
  }

  uint32_t& s(uint32_t index) { return wave.scalars()[index]; }
  uint64_t s64(uint32_t index) { return wave.pair(index); }
  void set_s64(uint32_t index, uint64_t value) { std::memcpy(&s(index), &value, 8); }
  void set_exec(uint64_t value) { set_s64(126, value); }
  uint32_t& v(uint32_t index, uint32_t lane) {
    return reinterpret_cast<uint32_t*>(registers_.get() + key_.layout.vgpr_offset(index))[lane];
  }

  /// State that instructions can read: scalars by hardware code, and the rows of the VGPRs.
  std::span<const std::byte> scalars() const { return {registers_.get(), scalar_offset(kScalarTemporary)}; }
  std::span<const std::byte> rows() const {
    return {registers_.get() + key_.layout.vgpr_offset(0),
            size_t{key_.layout.vgprs} * key_.layout.row_bytes()};
  }
  std::span<const std::byte> lds() const { return {lds_.get(), 65536}; }

  uint64_t reference_clock() override { return ++clock_; }
  uint64_t shader_clock() override { return ++clock_; }
  void send_interrupt(Wave&, uint32_t payload) override { messages.push_back(payload); }
  void invalidate_instructions(Wave&) override { code->renew(); }
  TrapHandler trap_handler() override { return trap; }
  uint32_t doorbell_index(Wave&) override { return 5; }
  GlobalWaveSync* global_wave_sync() override { return &sync_; }
  GlobalDataShare* global_data_share() override { return share_.get(); }

  vgpu::testing::FakeBus bus;
  vgpu::testing::Buffer code_buffer;
  std::unique_ptr<TranslatedCode> code;
  Wave wave;
  WorkGroup group;
  std::vector<uint32_t> messages;
  TrapHandler trap;
  int64_t executed = 0;  // instructions of the last run

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  WaveMemory memory_;
  GlobalWaveSync sync_;
  std::unique_ptr<GlobalDataShare> share_ = std::make_unique<GlobalDataShare>();
  CodeKey key_;
  std::unique_ptr<std::byte[], Free> registers_;
  std::unique_ptr<std::byte[], Free> lds_;
  uint64_t clock_ = 0;
};

}  // namespace rigel::vgpu::exec::testing
