// Segments: private memory, sealed memfds, descriptor passing, record locks.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "os/os.hpp"

namespace fermata::os {

Status create_private(std::size_t bytes, Segment* out) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return Status::kMemory;
  *out = {static_cast<std::byte*>(p), bytes, -1};
  return Status::kOk;
}

Status create_shared(const char* name, std::size_t bytes, Segment* out) {
  const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return Status::kSystem;
  // A member that shrank the file would kill the others with SIGBUS: seal it before anybody else has it.
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    close(fd);
    return Status::kSystem;
  }
  return map_shared(fd, out);
}

FileId identify(std::int32_t fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return {};
  return {static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino)};
}

Status map_shared(std::int32_t fd, Segment* out) {
  struct stat info;
  if (fstat(fd, &info) != 0 || info.st_size <= 0) {
    close(fd);
    return Status::kSystem;
  }
  void* p = mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) {
    close(fd);
    return Status::kMemory;
  }
  *out = {static_cast<std::byte*>(p), static_cast<std::size_t>(info.st_size), fd};
  return Status::kOk;
}

void shorten(Segment* segment, std::size_t bytes) {
  const std::size_t kept = (bytes + 4095) / 4096 * 4096;
  if (kept < segment->bytes) munmap(segment->base + kept, segment->bytes - kept);
  segment->bytes = bytes;
}

Status map_part(std::int32_t fd, std::uint64_t offset, std::size_t bytes, Segment* out) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (p == MAP_FAILED) return Status::kMemory;
  *out = {static_cast<std::byte*>(p), bytes, -1};
  return Status::kOk;
}

Status extend(std::int32_t fd, std::uint64_t bytes) {
  rlimit longest{};
  // Beyond it, to grow would be a signal.
  if (getrlimit(RLIMIT_FSIZE, &longest) == 0 && longest.rlim_cur != RLIM_INFINITY && bytes > longest.rlim_cur) return Status::kMemory;
  struct stat info;
  // Where another process was faster the file is longer already, and sealed against shrinking.
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0) return Status::kOk;
  return fstat(fd, &info) == 0 && static_cast<std::uint64_t>(info.st_size) >= bytes ? Status::kOk : Status::kMemory;
}

Status take_memory(std::int32_t fd, std::uint64_t offset, std::uint64_t bytes) {
  int rc = 0;
  do rc = fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  while (rc != 0 && errno == EINTR);
  return rc == 0 || errno == EOPNOTSUPP ? Status::kOk : Status::kMemory;
}

void give_memory(std::int32_t fd, std::uint64_t offset, std::uint64_t bytes) {
  int rc = 0;
  do rc = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  while (rc != 0 && errno == EINTR);
}

bool read_at(std::int32_t fd, std::uint64_t offset, void* out, std::size_t bytes) {
  return pread(fd, out, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

bool write_at(std::int32_t fd, std::uint64_t offset, const void* bytes, std::size_t length) {
  return pwrite(fd, bytes, length, static_cast<off_t>(offset)) == static_cast<ssize_t>(length);
}

void unmap(Segment* segment) {
  if (segment->base != nullptr) munmap(segment->base, segment->bytes);
  if (segment->fd >= 0) close(segment->fd);
  *segment = {};
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
  memcpy(out->un.sun_path + 1, "fermata.", 8);  // the leading NUL makes it abstract: nothing stays behind in a file system
  memcpy(out->un.sun_path + 9, name, n);
  out->length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 9 + n);
  return true;
}

bool same_user(int fd) {
  ucred peer;
  socklen_t length = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

// One byte, and room for one descriptor beside it.
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
  return sendmsg(to, &parcel.message, MSG_NOSIGNAL) == 1;
}

int take_fd(int from) {
  Parcel parcel;
  if (recvmsg(from, &parcel.message, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&parcel.message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int fd = -1;
  memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

bool wait_readable(int fd, std::int64_t deadline) {
  for (;;) {
    const std::int64_t left = deadline - now_ns();
    if (left <= 0) return false;
    pollfd p{fd, POLLIN, 0};
    const int n = poll(&p, 1, static_cast<int>(left / 1'000'000 + 1));
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return false;
  }
}

}  // namespace

Status serve_fd(const char* name, std::int32_t fd, std::int32_t count, std::int64_t timeout_ns) {
  Address address;
  if (!abstract_address(name, &address)) return Status::kArgument;
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return Status::kSystem;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address.un), address.length) != 0 || listen(listener, 64) != 0) {
    const Status status = errno == EADDRINUSE ? Status::kBusy : Status::kSystem;
    close(listener);
    return status;
  }
  const std::int64_t deadline = now_ns() + timeout_ns;
  Status status = Status::kOk;
  for (std::int32_t served = 0; served < count && status == Status::kOk;) {
    if (!wait_readable(listener, deadline)) {
      status = Status::kTimeout;
      break;
    }
    const int peer = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0) continue;
    if (same_user(peer) && send_fd(peer, fd)) ++served;
    close(peer);
  }
  close(listener);
  return status;
}

Status receive_fd(const char* name, std::int64_t timeout_ns, std::int32_t* fd) {
  Address address;
  if (!abstract_address(name, &address)) return Status::kArgument;
  const std::int64_t deadline = now_ns() + timeout_ns;
  // Who offers it is often about to do so.
  timespec nap{0, 20'000};
  do {
    const int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (peer < 0) return Status::kSystem;
    if (connect(peer, reinterpret_cast<sockaddr*>(&address.un), address.length) == 0 && same_user(peer) &&
        wait_readable(peer, deadline)) {
      *fd = take_fd(peer);
      close(peer);
      if (*fd >= 0) return Status::kOk;
    } else {
      close(peer);
    }
    nanosleep(&nap, nullptr);
    if (nap.tv_nsec < 2'000'000) nap.tv_nsec *= 2;
  } while (now_ns() < deadline);
  return Status::kTimeout;
}

namespace {
struct flock one_byte(short type, std::uint64_t byte) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(byte);
  lock.l_len = 1;
  return lock;
}
}  // namespace

Status lock_byte(std::int32_t fd, std::uint64_t byte) {
  struct flock lock = one_byte(F_WRLCK, byte);
  if (fcntl(fd, F_SETLK, &lock) == 0) return Status::kOk;
  return errno == EACCES || errno == EAGAIN ? Status::kBusy : Status::kSystem;
}

void unlock_byte(std::int32_t fd, std::uint64_t byte) {
  struct flock lock = one_byte(F_UNLCK, byte);
  fcntl(fd, F_SETLK, &lock);
}

bool byte_is_locked(std::int32_t fd, std::uint64_t byte) {
  struct flock lock = one_byte(F_WRLCK, byte);
  return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace fermata::os
