// An AQL queue: the packet processor.
//
// A packet is read only after a doorbell that covers it, and starts when its header is valid. Packets start
// in order. Dispatches run concurrently with later packets unless a barrier bit is set. Slots are released in
// order, each when its packet and all preceding ones have completed, because a kernel may read its packet
// while it runs.
//
// Doorbells:
//  - gfx9 and later: 64 bits, the index of a packet. Several producers may ring in any order; the highest
//    counts.
//  - gfx8: 32 bits, the index plus one. Rings that go back are dropped. The ring is mapped twice.
//  - Tonga (as gfx7): the end of the packets as an offset in dwords into the ring and its second mapping.
//
// The amd_queue_t is found as firmware finds it: from the read index's address and the offset stored after
// it.
#pragma once

#include <deque>
#include <optional>

#include "plugins/vgpu/cp/aql_packets.hpp"
#include "plugins/vgpu/cp/pm4_interpreter.hpp"

namespace rigel::vgpu {

class AqlQueue final : public ComputeQueue {
 public:
  AqlQueue(QueueContext& context, const QueueConfig& config, std::function<void()> wake);

  void ring(uint64_t value) noexcept override;
  void set_ring(uint64_t va, uint64_t bytes) override;
  std::string describe() override;

 private:
  /// A packet that has started and whose slot is not released.
  struct Started {
    bool done = false;
    bool scratch_once = false;
    uint64_t completion_signal = 0;
    uint64_t start_ts = 0, end_ts = 0;  // 0: not timed
  };

  bool ready() const override;
  Outcome run(uint32_t budget) override;
  bool read_write_pointer() override;
  void ring_from_slot(uint64_t value) noexcept override;
  void deliver() override;

  bool find_queue();
  bool take_results();
  bool retire();
  std::string describe_next();
  Outcome run_packet();
  Outcome execute(const aql::Packet& packet);
  Outcome barrier(const aql::Packet& packet, bool needs_all);
  Outcome barrier_value(const aql::Packet& packet);
  Outcome run_pm4();
  Outcome begin_pm4(const aql::Packet& packet);
  Outcome dispatch(const aql::Packet& packet);
  Outcome wait_for_scratch();
  Outcome request_scratch(QueueError request);

  void start_packet(const aql::Packet& packet);
  Outcome end_packet();
  bool complete(const Started& packet);
  bool send_signal(uint64_t signal, uint64_t value);
  /// Stops the queue with an error of a packet, by default the next one.
  Outcome error(QueueError code, std::string_view reason, std::optional<uint64_t> packet = {});

  uint64_t slot_va(uint64_t id) const { return config_.ring_va + (id & (slots_ - 1)) * aql::kPacketBytes; }
  void raise_limit(uint64_t limit) noexcept;
  /// The index after the last packet that doorbells have covered.
  uint64_t limit() const;
  /// gfx8: number of packets from next_id_ on that doorbells have covered.
  uint64_t rung_ahead() const;

  std::atomic<uint64_t> limit_{0};   // packets below this are covered by a doorbell
  std::atomic<uint32_t> rung32_{0};  // gfx8: the doorbell as stored
  std::atomic<bool> check_write_index_{false};

  uint64_t slots_;
  uint64_t queue_va_ = 0;  // 0 until find_queue()
  uint64_t read_id_ = 0;
  uint64_t next_id_ = 0;
  bool is_read_id_published_ = true;  // read_id_ is in memory

  std::deque<Started> started_;  // packets read_id_ … next_id_ - 1
  // State of packet next_id_, if it has begun:
  bool begun_ = false;
  uint32_t properties_ = 0;
  uint64_t start_ts_ = 0;
  uint32_t satisfied_ = 0;  // bit per dependency of a barrier-AND that was seen at 0
  bool in_pm4_ = false;
  uint64_t pm4_signal_ = 0;
  Pm4Interpreter pm4_;

  std::optional<QueueError> scratch_request_;  // scratch request without an answer
  bool reclaim_ = false;                       // scratch for a single dispatch is to be released
  std::optional<QueueError> error_;            // error that is not yet delivered
  bool error_reported_ = false;
};

}  // namespace rigel::vgpu
