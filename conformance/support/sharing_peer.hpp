// The other process of the sharing tests: the program conformance_peer, which uses the same library. Its
// first argument is its task. Tests and peer exchange PeerMessage structs through its stdin and stdout.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <string>

namespace conformance {

/// A request to a peer, and its reply.
struct PeerMessage {
  hsa_amd_ipc_memory_t name{};  ///< of memory or a signal
  uint64_t bytes = 0;
  uint64_t seed = 0;                         ///< of the pattern that the peer reads
  uint64_t seed_after = 0;                   ///< of the pattern that the peer writes
  hsa_status_t status = HSA_STATUS_SUCCESS;  ///< reply: status of the peer's first failed call
  uint64_t wrong_words = 0;                  ///< reply: number of words that differ from the pattern
};

/// Word `index` of the pattern.
constexpr uint32_t pattern(uint64_t seed, uint64_t index) {
  return static_cast<uint32_t>((seed * 0x9e3779b97f4a7c15u + index) * 0xbf58476d1ce4e5b9u >> 32);
}

/// A running peer process. The destructor ends it and waits for it.
class Peer {
 public:
  explicit Peer(const std::string& task);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// Returns false if the peer has exited.
  bool send(const PeerMessage& message);
  /// Returns false if the peer has exited without a reply.
  bool receive(PeerMessage& message);
  /// Closes the peer's input and returns its exit status, or -1 if a signal ended it.
  int finish();

 private:
  int pid_ = -1;
  int request_pipe_ = -1;
  int reply_pipe_ = -1;
};

}  // namespace conformance
