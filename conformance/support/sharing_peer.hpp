// The other process of the tests on sharing: conformance_peer, a program beside the tests' own, with the same
// library. What it is to do is its first argument; the two talk through its standard input and output, in
// structs of fixed size.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <string>

namespace conformance {

/// What a peer is asked, and answers.
struct PeerMessage {
  hsa_amd_ipc_memory_t name{};  ///< or a signal's
  uint64_t bytes = 0;
  uint64_t seed = 0;                         ///< of the pattern that the memory has
  uint64_t seed_after = 0;                   ///< of the pattern that the peer leaves
  hsa_status_t status = HSA_STATUS_SUCCESS;  ///< answer: of the peer's first call that failed
  uint64_t wrong_words = 0;                  ///< answer: words that are not as the pattern says
};

/// The pattern's word `index`.
constexpr uint32_t pattern(uint64_t seed, uint64_t index) {
  return static_cast<uint32_t>((seed * 0x9e3779b97f4a7c15u + index) * 0xbf58476d1ce4e5b9u >> 32);
}

/// A running peer; ended and waited for with the object.
class Peer {
 public:
  explicit Peer(const std::string& task);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// False if it is not there to hear it.
  bool tell(const PeerMessage& message);
  /// False if it has ended without an answer.
  bool hear(PeerMessage& message);
  /// Closes its input and returns its exit status; -1 if a signal has ended it.
  int finish();

 private:
  int pid_ = -1;
  int to_ = -1;
  int from_ = -1;
};

}  // namespace conformance
