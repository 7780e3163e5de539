// Signals that another process attaches to.
#include <random>

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

  /// Makes `peer` attach the signal. The peer stores `stored` as soon as the signal is 1.
  static void attach(Peer& peer, hsa_signal_t signal, hsa_signal_value_t stored) {
    PeerMessage message;
    message.seed_after = static_cast<decltype(message.seed_after)>(stored);
    ASSERT_HSA(hsa_amd_ipc_signal_create(signal, &message.name));
    ASSERT_TRUE(peer.send(message));
    ASSERT_TRUE(peer.receive(message));
    ASSERT_EQ(message.status, HSA_STATUS_SUCCESS);
  }

  void create_queue(ScopedQueue& queue) {
    queue.create(agent(), std::max(64u, agent_info<uint32_t>(agent(), HSA_AGENT_INFO_QUEUE_MIN_SIZE)));
    ASSERT_NE(queue.get(), nullptr);
  }
};

TEST_P(IpcSignal, OtherProcessReadsAndWritesValue) {
  const hsa_signal_t signal = create(0);
  Peer peer("attach-signal");
  ASSERT_NO_FATAL_FAILURE(attach(peer, signal, 77));
  hsa_signal_store_screlease(signal, 1);
  EXPECT_TRUE(wait_for(signal, HSA_SIGNAL_CONDITION_EQ, 77));
  EXPECT_EQ(peer.finish(), 0);
  EXPECT_HSA(hsa_signal_destroy(signal));
}

TEST_P(IpcSignal, SignalOfOtherProcessBlocksQueue) {
  if (!dispatches_kernels(agent())) GTEST_SKIP() << "the agent takes no packets";
  const hsa_signal_t gate = create(0);
  Peer peer("attach-signal");
  ASSERT_NO_FATAL_FAILURE(attach(peer, gate, 0));
  ScopedQueue queue;
  ASSERT_NO_FATAL_FAILURE(create_queue(queue));
  const ScopedSignal done(1);
  hsa_signal_store_screlease(gate, 1);  // lets the other process open the gate
  hsa_barrier_and_packet_t packet = barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, done);
  packet.dep_signal[0] = gate;
  submit(queue.get(), packet);
  EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
  EXPECT_EQ(peer.finish(), 0);
  EXPECT_HSA(hsa_signal_destroy(gate));
}

TEST_P(IpcSignal, QueueCompletesSignalForOtherProcess) {
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

TEST_P(IpcSignal, RejectsInvalidNames) {
  hsa_amd_ipc_signal_t name{};
  hsa_signal_t attached{};
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_ipc_signal_attach(&name, &attached));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_ipc_signal_attach(nullptr, &attached));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_ipc_signal_attach(&name, nullptr));
  const ScopedSignal plain(1);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_ipc_signal_create(plain, &name));
  const hsa_signal_t destroyed = create(1);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_ipc_signal_create(destroyed, nullptr));
  ASSERT_HSA(hsa_amd_ipc_signal_create(destroyed, &name));
  EXPECT_HSA(hsa_signal_destroy(destroyed));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_ipc_signal_attach(&name, &attached));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_SIGNAL, hsa_amd_ipc_signal_create(destroyed, &name));
}

TEST_P(IpcSignal, RejectsModifiedNames) {
  const hsa_signal_t signal = create(7);
  hsa_amd_ipc_signal_t name{};
  ASSERT_HSA(hsa_amd_ipc_signal_create(signal, &name));
  const auto attaches = [](const hsa_amd_ipc_signal_t& changed) {
    hsa_signal_t attached{};
    const hsa_status_t status = hsa_amd_ipc_signal_attach(&changed, &attached);
    EXPECT_STATUS_IN(status, HSA_STATUS_SUCCESS, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    if (status != HSA_STATUS_SUCCESS) return false;
    EXPECT_EQ(hsa_signal_load_scacquire(attached), 7) << "another signal";
    EXPECT_HSA(hsa_signal_destroy(attached));
    return true;
  };
  ASSERT_TRUE(attaches(name));
  int attached = 0;
  for (int bit = 0; bit < 256; ++bit) {
    hsa_amd_ipc_signal_t changed = name;
    changed.handle[bit / 32] ^= 1u << bit % 32;
    attached += attaches(changed);
  }
  EXPECT_LE(attached, 96) << "what means something are more bits than that";
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    // Every third name is random as a whole. The others keep the word that contains the kind of the name.
    hsa_amd_ipc_signal_t made_up = name;
    for (int word = i % 3 == 0 ? 0 : 1; word < 8; ++word) {
      if (i % 3 != 2 || random() % 2 == 0) made_up.handle[word] = static_cast<uint32_t>(random());
    }
    attaches(made_up);
  }
  EXPECT_TRUE(attaches(name)) << "the signal is as it was";
  EXPECT_HSA(hsa_signal_destroy(signal));
}

INSTANTIATE_FOR_AGENTS(IpcSignal);

}  // namespace
}  // namespace conformance
