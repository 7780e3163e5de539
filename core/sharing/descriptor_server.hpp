// Passes file descriptors of this process to other processes that have a ticket, to share memory and signals
// if the driver has no names for them. Descriptors travel over a Unix socket. Its address is a random number
// in the abstract namespace, so it leaves nothing in a file system, and processes must share a network
// namespace.
//
// *Security:* any process that presents the ticket receives the descriptor. Its key is 64 random bits, which
// only the name that the program passes on contains.
// *Threads:* a dedicated thread, started by the first offer and joined when the server ends, answers one
// request at a time, and disconnects slow clients. Any thread may call `offer`, `withdraw` and `fetch` (which
// requires that the caller holds no lock of the other side).
// *Lifetime:* the server owns offered descriptors until they are withdrawn or it ends.
// *Fork:* a child has no server thread; the parent's offers remain with the parent.
#pragma once

#include <array>
#include <cstdint>
#include <thread>
#include <unordered_map>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"
#include "core/sharing/ipc_name.hpp"

namespace rigel {

class DescriptorServer {
 public:
  /// Data for the receiver of a descriptor, not interpreted here.
  using Facts = std::array<uint64_t, 4>;

  DescriptorServer() = default;
  ~DescriptorServer();
  DescriptorServer(const DescriptorServer&) = delete;
  DescriptorServer& operator=(const DescriptorServer&) = delete;

  /// Offers duplicates of `descriptor` to holders of the ticket. The server takes ownership, also on failure.
  /// Fails with OUT_OF_RESOURCES without a socket, thread or memory.
  Result<Ticket> offer(int descriptor, const Facts& facts);
  /// Whether the server has an offer for the ticket.
  bool offers(const Ticket& ticket) noexcept;
  /// Ends an offer. Returns false if there is none.
  bool withdraw(const Ticket& ticket) noexcept;

  struct Parcel {
    int descriptor = -1;  ///< owned by the caller
    Facts facts{};
  };
  /// Fetches the offer of another process (or this one). Fails with INVALID_ARGUMENT if there is no such
  /// offer, and OUT_OF_RESOURCES without a socket or an answer in time.
  static Result<Parcel> fetch(const Ticket& ticket);

  // Called around a fork by the forking thread, so that the child has a consistent table.

  void before_fork() noexcept RIGEL_ACQUIRE(mutex_) { mutex_.lock(); }
  void after_fork() noexcept RIGEL_RELEASE(mutex_) { mutex_.unlock(); }
  /// Called in the child between before_fork and after_fork. Its copies of the descriptors would keep memory
  /// that the parent has freed, and that of the socket would keep the address, where clients would wait for
  /// an answer.
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
  int stop_ RIGEL_GUARDED_BY(mutex_) = -1;  // an eventfd that ends the thread
  int process_ RIGEL_GUARDED_BY(mutex_) = 0;
  std::thread thread_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel
