// Hands file descriptors of this process to other processes that have a ticket: how memory and signals cross
// when the driver has no name for them. Descriptors travel over a Unix socket; its address is a random number
// in the abstract namespace, so nothing is left behind in a file system, and processes must share a network
// namespace.
//
// Who has the ticket gets the descriptor: its key is 64 random bits, and is nowhere but in the name that the
// program passes on.
//
// One thread of the server's own, started by the first offer and joined when the server ends, answers one
// request at a time, and gives up on a client that does not get on with it. `offer` and `withdraw` may be
// called from any thread, `fetch` too (with no lock held that the other side could wait for). The server owns
// the descriptors it was given, until they are withdrawn or it ends. In a forked child nobody answers: the
// parent's offers stay the parent's.
#pragma once

#include <array>
#include <cstdint>
#include <thread>
#include <unordered_map>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"
#include "core/sharing/ipc_name.hpp"

namespace rigel {

class DescriptorServer {
 public:
  /// What is told of a descriptor to who fetches it: means nothing here.
  using Facts = std::array<uint64_t, 4>;

  DescriptorServer() = default;
  ~DescriptorServer();
  DescriptorServer(const DescriptorServer&) = delete;
  DescriptorServer& operator=(const DescriptorServer&) = delete;

  /// From here on who has the ticket gets a duplicate of `descriptor`, which is the server's from here on,
  /// also on failure. OUT_OF_RESOURCES: no socket, thread or memory.
  Result<Ticket> offer(int descriptor, const Facts& facts);
  /// Whether the ticket is for something that is offered here.
  bool offers(const Ticket& ticket) noexcept;
  /// Ends an offer. False if there is none.
  bool withdraw(const Ticket& ticket) noexcept;

  struct Parcel {
    int descriptor = -1;  ///< the caller's to close
    Facts facts{};
  };
  /// Gets what another process (or this one) offers. INVALID_ARGUMENT: nobody offers it, or no longer;
  /// OUT_OF_RESOURCES: no socket, or no answer in time.
  static Result<Parcel> fetch(const Ticket& ticket);

  // Around a fork, by the thread that forks, so that the child has the books whole.

  void before_fork() noexcept RIGEL_ACQUIRE(mutex_) { mutex_.lock(); }
  void after_fork() noexcept RIGEL_RELEASE(mutex_) { mutex_.unlock(); }
  /// Between the two, in the child. Its copies of the descriptors would keep what they are of when the parent has given
  /// it back, and that of the socket the address, where who asks would wait for an answer.
  void reset_after_fork() noexcept RIGEL_REQUIRES(mutex_);

 private:
  struct Offer {
    int descriptor;
    Facts facts;
  };

  Status start() RIGEL_REQUIRES(mutex_);
  void work(int listener, int stop) noexcept;
  void answer(int client) noexcept;

  Mutex mutex_;
  std::unordered_map<uint64_t, Offer> offers_ RIGEL_GUARDED_BY(mutex_);
  uint64_t number_ RIGEL_GUARDED_BY(mutex_) = 0;
  int listener_ RIGEL_GUARDED_BY(mutex_) = -1;
  int stop_ RIGEL_GUARDED_BY(mutex_) = -1;  // an event: the thread ends
  int process_ RIGEL_GUARDED_BY(mutex_) = 0;
  std::thread thread_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel
