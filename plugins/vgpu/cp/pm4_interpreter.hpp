// Executes PM4: the ring of a compute PM4 queue, an indirect buffer named by an AQL packet, or the words of
// an AQL slot on gfx8. It supports the packets that HSA runtimes and profilers emit; any other stops the
// queue with an error that names the packet.
//
// Lifetime: belongs to one compute queue and runs in its steps. Registers persist as long as the object.
// Compute registers have their effect; user-configuration registers are storage only.
#pragma once

#include <array>
#include <bitset>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/vgpu/cp/compute_queue.hpp"

namespace rigel::vgpu {

class Pm4Interpreter {
 public:
  explicit Pm4Interpreter(ComputeQueue& queue) : queue_(queue) {}

  /// Starts a stream of at most 16 dwords, which are copied. The rest of an earlier stream is dropped.
  void begin(std::span<const uint32_t> words);

  /// Makes a ring the stream. Positions are in dwords, only grow, and wrap in the ring.
  void begin_ring(uint64_t va, uint64_t dwords, uint64_t position);
  void move_ring(uint64_t va, uint64_t dwords);
  void set_ring_end(uint64_t position);
  uint64_t ring_position() const { return levels_[0].position; }

  /// Whether all words have been executed.
  bool at_end() const;

  /// Whether an indirect buffer is running.
  bool in_buffer() const { return depth_ != 0; }

  /// Executes one packet, or a part of a long one. Returns kStopped after an error, and kIdle if the ring
  /// holds only the start of a packet.
  Outcome run_packet();

  /// Whether a gfx8 RELEASE_MEM has released the AQL slot since begin().
  bool released_slot() const { return released_slot_; }

 private:
  struct Level {
    bool inline_words = false;  // the words are in `words_`
    uint64_t va = 0;            // address of word 0
    uint64_t position = 0;      // in dwords
    uint64_t end = 0;
    uint64_t ring_mask = 0;  // dwords - 1, or 0 if not a ring
  };

  bool fetch(uint64_t offset, uint32_t count, uint32_t* to);
  Outcome fail(std::string reason);
  Outcome memory_fault(std::string_view packet);
  void advance(uint64_t dwords);
  Outcome execute(uint32_t header, std::span<const uint32_t> body);

  Outcome write_data(std::span<const uint32_t> body);
  Outcome copy_data(std::span<const uint32_t> body);
  Outcome wait_reg_mem(std::span<const uint32_t> body, bool wide);
  Outcome indirect_buffer(std::span<const uint32_t> body);
  Outcome event_write(std::span<const uint32_t> body);
  Outcome release_mem(std::span<const uint32_t> body);
  Outcome event_write_eop(std::span<const uint32_t> body);
  Outcome end_of_pipe(std::string_view packet, uint64_t va, uint32_t data_select, uint64_t data,
                      uint32_t interrupt_select, uint32_t context_id);
  Outcome dma_data(std::span<const uint32_t> body);
  Outcome atomic_mem(std::span<const uint32_t> body);
  Outcome cond_exec(std::span<const uint32_t> body);
  Outcome set_sh_registers(std::span<const uint32_t> body);
  Outcome set_uconfig_registers(std::span<const uint32_t> body);
  Outcome pred_exec(uint32_t word);
  Outcome dispatch(const uint32_t (&dims)[3], uint32_t initiator);

  bool read_register(uint32_t address, uint32_t& value) const;
  bool write_register(uint32_t address, uint32_t value);
  void report_unknown(const UnknownEvent& event);
  uint32_t compute_register(uint32_t address) const;

  ComputeQueue& queue_;
  std::array<Level, 3> levels_{};
  uint32_t depth_ = 0;  // index of the running level
  std::array<uint32_t, 16> words_{};
  std::vector<uint32_t> body_;
  std::array<uint32_t, 0x80> compute_{};
  std::unordered_map<uint32_t, uint32_t> uconfig_;
  uint32_t hdp_flushed_ = 0;      // GPU_HDP_FLUSH_DONE: the last requested value
  std::bitset<0x10000> ignored_;  // registers of ignored SET_SH_REG writes, by the number in the packet
  uint64_t atomic_return_ = 0;
  uint64_t copied_ = 0;  // number of bytes of the current DMA_DATA that have been copied or filled
  uint32_t skip_ = 0;    // dwords to skip after the current packet (COND_EXEC, PRED_EXEC)
  uint64_t dispatches_ = 0;
  std::string_view fidelity_field_;  // the field that describes the packet's fidelity; empty: the packet
  bool released_slot_ = false;
  std::vector<UnknownEvent> unknown_events_;  // reported
  uint32_t die_ = 0;                          // first die in the mask of the last PRED_EXEC
};

}  // namespace rigel::vgpu
