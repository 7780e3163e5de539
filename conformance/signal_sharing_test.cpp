// Signals that another process attaches to.
#include "support/agents.hpp"
#include "support/queues.hpp"
#include "support/sharing_peer.hpp"
#include "support/signals.hpp"

namespace conformance {
namespace {

class IpcSignal : public AgentTest {
 protected:
  static hsa_signal_t create(hsa_signal_value_t value) {
    hsa_signal_t signal{};
    EXPECT_HSA(hsa_amd_signal_create(value, 0, nullptr, HSA_AMD_SIGNAL_IPC, &signal));
    return signal;
  }

  /// Has `peer` attach to the signal: it will store `stored` there as soon as it reads 1.
  static void attach(Peer& peer, hsa_signal_t signal, hsa_signal_value_t stored) {
    PeerMessage message;
    message.seed_after = static_cast<decltype(message.seed_after)>(stored);
    ASSERT_HSA(hsa_amd_ipc_signal_create(signal, &message.name));
    ASSERT_TRUE(peer.tell(message));
    ASSERT_TRUE(peer.hear(message));
    ASSERT_EQ(message.status, HSA_STATUS_SUCCESS);
  }

  void create_queue(ScopedQueue& queue) {
    queue.create(agent(), std::max(64u, agent_info<uint32_t>(agent(), HSA_AGENT_INFO_QUEUE_MIN_SIZE)));
    ASSERT_NE(queue.get(), nullptr);
  }
};

TEST_P(IpcSignal, IsSeenAndChangedByAnotherProcess) {
  const hsa_signal_t signal = create(0);
  Peer peer("attach-signal");
  ASSERT_NO_FATAL_FAILURE(attach(peer, signal, 77));
  hsa_signal_store_screlease(signal, 1);
  EXPECT_TRUE(wait_for(signal, HSA_SIGNAL_CONDITION_EQ, 77));
  EXPECT_EQ(peer.finish(), 0);
  EXPECT_HSA(hsa_signal_destroy(signal));
}

TEST_P(IpcSignal, OfAnotherProcessHoldsBackAQueue) {
  if (!dispatches_kernels(agent())) GTEST_SKIP() << "the agent takes no packets";
  const hsa_signal_t gate = create(0);
  Peer peer("attach-signal");
  ASSERT_NO_FATAL_FAILURE(attach(peer, gate, 0));
  ScopedQueue queue;
  ASSERT_NO_FATAL_FAILURE(create_queue(queue));
  const ScopedSignal done(1);
  hsa_signal_store_screlease(gate, 1);  // which lets the other process open the gate
  hsa_barrier_and_packet_t packet = barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, done);
  packet.dep_signal[0] = gate;
  submit(queue.get(), packet);
  EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
  EXPECT_EQ(peer.finish(), 0);
  EXPECT_HSA(hsa_signal_destroy(gate));
}

TEST_P(IpcSignal, IsCompletedByAQueueForAnotherProcess) {
  if (!dispatches_kernels(agent())) GTEST_SKIP() << "the agent takes no packets";
  const hsa_signal_t done = create(2);
  Peer peer("attach-signal");
  ASSERT_NO_FATAL_FAILURE(attach(peer, done, 5));
  ScopedQueue queue;
  ASSERT_NO_FATAL_FAILURE(create_queue(queue));
  submit(queue.get(), barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, done));
  EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 5));
  EXPECT_EQ(peer.finish(), 0);
  EXPECT_HSA(hsa_signal_destroy(done));
}

TEST_P(IpcSignal, RefusesNamesThatAreNone) {
  hsa_amd_ipc_signal_t name{};
  hsa_signal_t attached{};
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_ipc_signal_attach(&name, &attached));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_ipc_signal_attach(nullptr, &attached));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_ipc_signal_attach(&name, nullptr));
  const ScopedSignal plain(1);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_ipc_signal_create(plain, &name));
  const hsa_signal_t gone = create(1);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_ipc_signal_create(gone, nullptr));
  ASSERT_HSA(hsa_amd_ipc_signal_create(gone, &name));
  EXPECT_HSA(hsa_signal_destroy(gone));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_ipc_signal_attach(&name, &attached));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_SIGNAL, hsa_amd_ipc_signal_create(gone, &name));
}

INSTANTIATE_FOR_AGENTS(IpcSignal);

}  // namespace
}  // namespace conformance
