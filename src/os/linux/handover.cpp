// Passes descriptors from one process to another process of the same user. Makes random numbers, for names
// that no other process can guess.
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "os/os.hpp"

namespace fermata::os {
namespace {

constexpr long kFirstNapNs = 20'000, kLongestNapNs = 2'000'000;
constexpr std::int64_t kLongestThanksNs = 1'000'000'000;

std::uint64_t mixed(std::uint64_t x) {  // splitmix64's output function
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

}  // namespace

std::uint64_t random_number() {
  std::uint64_t number = 0;
  const ErrnoGuard guard;
  // The C library's getrandom() is a cancellation point.
  if (syscall(SYS_getrandom, &number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
  // A sandbox may forbid getrandom. This number differs between processes and calls, but others can guess it
  // with effort.
  static std::atomic<std::uint64_t> calls{0};
  const auto where = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&number));
  // order: relaxed: only the number matters
  const std::uint64_t call = calls.fetch_add(1, std::memory_order_relaxed);
  return mixed(mixed(mixed(static_cast<std::uint64_t>(now_ns())) ^ where) ^
               std::uint64_t{process_id()} << 32 ^ call);
}

namespace {

struct Address {
  sockaddr_un un;
  socklen_t length;
};

bool abstract_address(const char* name, Address* out) {
  const std::size_t n = strlen(name);
  if (n == 0 || n > sizeof out->un.sun_path - 9) return false;
  memset(&out->un, 0, sizeof out->un);
  out->un.sun_family = AF_UNIX;
  // The leading NUL makes the address abstract: no file remains in a file system.
  memcpy(out->un.sun_path + 1, "fermata.", 8);
  memcpy(out->un.sun_path + 9, name, n);
  out->length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 9 + n);
  return true;
}

// Returns true if the other end belongs to this user. For a client, the kernel names the user who called
// listen(). Both sides check.
bool same_user(int fd) {
  ucred peer;
  socklen_t length = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

// A message of one byte, with room for one descriptor.
struct Parcel {
  char byte = 'f';
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  Parcel() {
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  Parcel(const Parcel&) = delete;
};

bool send_fd(int to, int fd) {
  Parcel parcel;
  cmsghdr* header = CMSG_FIRSTHDR(&parcel.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &fd, sizeof fd);
  return sendmsg(to, &parcel.message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

int take_fd(int from, bool* full) {
  Parcel parcel;
  if (recvmsg(from, &parcel.message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1) return -1;
  *full = (parcel.message.msg_flags & MSG_CTRUNC) != 0;  // this process had no free descriptor
  const cmsghdr* header = CMSG_FIRSTHDR(&parcel.message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof(int)))
    return -1;
  int fd = -1;
  memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

bool wait_readable(int fd, std::int64_t deadline) {
  for (;;) {
    const std::int64_t left = deadline - now_ns();
    if (left <= 0) return false;
    pollfd p{fd, POLLIN, 0};
    const std::int64_t ms = left / 1'000'000 + 1;
    const int n = poll(&p, 1, ms < INT32_MAX ? static_cast<int>(ms) : INT32_MAX);
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return false;
  }
}

// What a client answers: it has the descriptor, or it has none free and will not ask again.
constexpr char kThanks = 't', kNoThanks = 'n';

// A client counts as served once it has acknowledged. A client that gave up meanwhile asks again. Both sides
// agree on whether the acknowledgement was in time: after shutdown() the client's sends fail, but the server
// can still read earlier bytes. A stopped client delays the others by a second at most.
bool hand_over(int to, int fd, std::int64_t deadline) {
  if (!send_fd(to, fd)) return false;
  char said = 0;
  wait_readable(to, std::min(deadline, now_ns() + kLongestThanksNs));
  shutdown(to, SHUT_RD);
  return recv(to, &said, 1, MSG_DONTWAIT) == 1 && said == kThanks;
}

bool answer(int to, char what) { return send(to, &what, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1; }

// Pauses between attempts, each twice as long as the one before, up to kLongestNapNs.
class Naps {
 public:
  void nap() {
    const timespec one{0, ns_};
    nanosleep(&one, nullptr);
    if (ns_ < kLongestNapNs) ns_ *= 2;
  }

 private:
  long ns_ = kFirstNapNs;
};

enum class Asked { kTaken, kNobody, kStranger, kSilent, kNoDescriptor };

// This process has no free descriptor, and another attempt would not help. It answers, so that the server
// does not wait.
Asked refused(int peer) {
  answer(peer, kNoThanks);
  return Asked::kNoDescriptor;
}

// The server no longer waits for this process.
Asked too_late(int fd) {
  close(fd);
  return Asked::kSilent;
}

// connect() never waits here: with a nonblocking socket, it fails if the listener's queue is full.
Asked ask(const Address& address, std::int64_t deadline, std::int32_t* fd) {
  const int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (peer < 0) return Asked::kNoDescriptor;
  Asked asked = Asked::kNobody;
  if (connect(peer, reinterpret_cast<const sockaddr*>(&address.un), address.length) == 0) {
    bool full = false;
    if (!same_user(peer)) asked = Asked::kStranger;
    else if (!wait_readable(peer, deadline)) asked = Asked::kSilent;
    else if ((*fd = take_fd(peer, &full)) >= 0 && answer(peer, kThanks)) asked = Asked::kTaken;
    else if (*fd >= 0) asked = too_late(*fd);
    else if (full) asked = refused(peer);
  } else if (errno == EAGAIN) {
    asked = Asked::kSilent;
  }
  close(peer);
  return asked;
}

}  // namespace

Status serve_fd(const char* name, std::int32_t fd, std::int32_t count, std::int64_t timeout_ns) {
  Address address;
  if (!abstract_address(name, &address)) return Status::kArgument;
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return Status::kSystem;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address.un), address.length) != 0 ||
      listen(listener, 64) != 0) {
    const Status status = errno == EADDRINUSE ? Status::kBusy : Status::kSystem;
    close(listener);
    return status;
  }
  const std::int64_t deadline = now_ns() + timeout_ns;
  Status status = Status::kOk;
  Naps naps;
  for (std::int32_t served = 0; served < count && status == Status::kOk;) {
    if (!wait_readable(listener, deadline)) {
      status = Status::kTimeout;
      break;
    }
    const int peer = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0) {
      // Without a free descriptor, clients stay in the queue and the listener stays readable: do not spin.
      if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) naps.nap();
      continue;
    }
    if (same_user(peer) && hand_over(peer, fd, deadline)) ++served;
    close(peer);
  }
  close(listener);
  return status;
}

Status receive_fd(const char* name, std::int64_t timeout_ns, std::int32_t* fd, const char** why) {
  Address address;
  *why = "the name is empty or too long";
  if (!abstract_address(name, &address)) return Status::kArgument;
  const std::int64_t deadline = now_ns() + timeout_ns;
  Naps naps;  // the server often starts a moment later
  bool strange = false;
  for (;;) {
    switch (ask(address, deadline, fd)) {
      case Asked::kTaken: return Status::kOk;
      case Asked::kNoDescriptor:
        *why = "this process cannot open another socket or descriptor (ulimit -n)";
        return Status::kSystem;
      case Asked::kNobody: *why = "no process offers it"; break;
      case Asked::kStranger: strange = true; break;
      case Asked::kSilent: *why = "the process that holds the name does not answer"; break;
    }
    if (strange) *why = "another user's process holds the name";
    if (now_ns() >= deadline) return Status::kTimeout;
    naps.nap();
  }
}

}  // namespace fermata::os
