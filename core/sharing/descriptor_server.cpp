#include "core/sharing/descriptor_server.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "api/support/log.hpp"
#include "api/support/mutex.hpp"
#include "api/support/program_signals.hpp"

namespace rigel {
namespace {

constexpr timeval kPatienceWithServer{5, 0};
constexpr int kPauseMs = 50;  // pause if there is no descriptor or memory for a client
constexpr timeval kPatienceWithClient{0, 500'000};
constexpr int kBacklog = 128;

struct Reply {
  uint64_t found = 0;
  DescriptorServer::Facts facts{};
};

uint64_t random_number() {
  uint64_t number = 0;
  while (number == 0) {
    if (getrandom(&number, sizeof number, 0) != sizeof number && errno != EINTR) return 0;
  }
  return number;
}

struct Address {
  explicit Address(uint64_t server) {
    value.sun_family = AF_UNIX;
    // A name that starts with NUL is in the abstract namespace.
    const int length = std::snprintf(value.sun_path + 1, sizeof value.sun_path - 1, "hsa-rigel-%016llx",
                                     static_cast<unsigned long long>(server));
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length));
  }
  sockaddr_un value{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&value); }
};

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return fd_; }
  void be_patient(const timeval& time) const {
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
  }

 private:
  const int fd_;
};

int new_socket() {
  return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

/// Repeats calls that a signal interrupts.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

DescriptorServer::~DescriptorServer() {
  if (process_ == getpid() && thread_.joinable()) {
    const uint64_t one = 1;
    static_cast<void>(!write(stop_, &one, sizeof one));
    thread_.join();
  } else if (thread_.joinable()) {
    thread_.detach();  // the parent's thread
  }
  if (listener_ >= 0) close(listener_);
  if (stop_ >= 0) close(stop_);
  for (const auto& [key, offer] : offers_) close(offer.descriptor);
}

void DescriptorServer::reset_after_fork() noexcept {
  if (listener_ >= 0) close(std::exchange(listener_, -1));
  if (stop_ >= 0) close(std::exchange(stop_, -1));
  for (const auto& [key, offer] : offers_) close(offer.descriptor);
  offers_.clear();
  new (&thread_) std::thread;  // the parent's thread does not exist here
}

Status DescriptorServer::start() {
  if (listener_ >= 0) return HSA_STATUS_SUCCESS;
  const auto refuse = [](int fd, const char* what) {
    const int problem = errno;
    if (fd >= 0) close(fd);
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "descriptor server: {} failed: {}", what,
                std::strerror(problem));
  };
  number_ = random_number();
  const int listener = new_socket();
  if (listener < 0) return refuse(listener, "socket()");
  const Address address(number_);
  if (number_ == 0 || bind(listener, address.get(), address.size) != 0 || listen(listener, kBacklog) != 0) {
    return refuse(listener, "bind() or listen()");
  }
  const int stop = eventfd(0, EFD_CLOEXEC);
  if (stop < 0) return refuse(listener, "eventfd()");
  listener_ = listener;
  stop_ = stop;
  const ProgramSignalsBlocked blocked;
  try {
    thread_ = std::thread([this, listener, stop] { work(listener, stop); });
    pthread_setname_np(thread_.native_handle(), "hsa-share");
    process_ = getpid();
  } catch (const std::system_error& problem) {
    close(std::exchange(listener_, -1));
    close(std::exchange(stop_, -1));
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "descriptor server: its thread cannot be started: {}",
                problem.what());
  }
  return HSA_STATUS_SUCCESS;
}

Result<Ticket> DescriptorServer::offer(int descriptor, const Facts& facts) {
  const MutexLock lock(mutex_);
  uint64_t key = 0;
  Status status = start();
  if (status == HSA_STATUS_SUCCESS && (key = random_number()) == 0)
    status = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  try {
    if (status == HSA_STATUS_SUCCESS && offers_.emplace(key, Offer{descriptor, facts}).second) {
      return Ticket{number_, key};
    }
  } catch (const std::bad_alloc&) {
  }
  close(descriptor);
  return error(status == HSA_STATUS_SUCCESS ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : status);
}

bool DescriptorServer::offers(const Ticket& ticket) noexcept {
  const MutexLock lock(mutex_);
  return ticket.server == number_ && offers_.contains(ticket.key);
}

bool DescriptorServer::withdraw(const Ticket& ticket) noexcept {
  const MutexLock lock(mutex_);
  const auto found = offers_.find(ticket.key);
  if (found == offers_.end() || ticket.server != number_) return false;
  close(found->second.descriptor);
  offers_.erase(found);
  return true;
}

void DescriptorServer::work(int listener, int stop) noexcept {
  for (;;) {
    pollfd waited[] = {{listener, POLLIN, 0}, {stop, POLLIN, 0}};
    if (poll(waited, 2, -1) < 0 && errno != EINTR) return;
    if (waited[1].revents != 0) return;
    if ((waited[0].revents & POLLIN) == 0) continue;
    const Socket client(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (client.get() < 0) {
      // Without descriptors or memory the client stays in the backlog, which must not cost CPU time. A client
      // that has disconnected is removed from the backlog.
      if (errno != EINTR && errno != ECONNABORTED) poll(&waited[1], 1, kPauseMs);
      continue;
    }
    client.be_patient(kPatienceWithClient);
    answer(client.get());
  }
}

void DescriptorServer::answer(int client) noexcept {
  uint64_t key = 0;
  if (uninterrupted([&] { return recv(client, &key, sizeof key, 0); }) != sizeof key) return;
  Reply reply;
  iovec bytes{&reply, sizeof reply};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  // Under the lock, so that the descriptor is not closed and its number reused before it is sent. The reply
  // fits the socket's buffer, so sending does not block.
  const MutexLock lock(mutex_);
  if (const auto found = offers_.find(key); found != offers_.end()) {
    reply = {1, found->second.facts};
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &found->second.descriptor, sizeof(int));
  }
  if (uninterrupted([&] { return sendmsg(client, &message, MSG_NOSIGNAL | MSG_DONTWAIT); }) < 0) {
    log_message(LogLevel::kDebug, LogTopic::kMemory,
                "descriptor server: a client did not receive the reply: {}", std::strerror(errno));
  }
}

Result<DescriptorServer::Parcel> DescriptorServer::fetch(const Ticket& ticket) {
  const Socket socket(new_socket());
  if (socket.get() < 0) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "IPC handle: the socket cannot be created: {}",
                std::strerror(errno));
  }
  socket.be_patient(kPatienceWithServer);
  const Address address(ticket.server);
  if (uninterrupted([&] { return connect(socket.get(), address.get(), address.size); }) != 0) {
    return fail(errno == ECONNREFUSED ? HSA_STATUS_ERROR_INVALID_ARGUMENT : HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                "IPC handle: the exporting process cannot be reached: {}", std::strerror(errno));
  }
  Reply reply;
  iovec bytes{&reply, sizeof reply};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (send(socket.get(), &ticket.key, sizeof ticket.key, MSG_NOSIGNAL) != sizeof ticket.key) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                "IPC handle: the request to the exporting process failed: {}", std::strerror(errno));
  }
  const auto got = uninterrupted([&] { return recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC); });
  Parcel parcel;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); got >= 0 && header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    std::memcpy(&parcel.descriptor, CMSG_DATA(header), sizeof(int));
  }
  if (got == sizeof reply && reply.found == 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "IPC handle: the exporting process has withdrawn it");
  }
  if (got != sizeof reply || parcel.descriptor < 0) {
    if (parcel.descriptor >= 0) close(parcel.descriptor);
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "IPC handle: the exporting process did not reply: {}",
                got < 0 ? std::strerror(errno) : "the file descriptor is missing");
  }
  parcel.facts = reply.facts;
  return parcel;
}

}  // namespace rigel
