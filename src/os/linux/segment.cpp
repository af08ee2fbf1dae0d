// Segments: private memory, sealed memfds, record locks.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/line.hpp"
#include "os/file_limit.hpp"
#include "os/os.hpp"

namespace fermata::os {

Status create_private(std::size_t bytes, Segment* out) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return Status::kMemory;
  *out = {static_cast<std::byte*>(p), bytes, -1};
  return Status::kOk;
}

Status create_shared(const char* name, std::size_t bytes, Segment* out) {
  if (!may_be_as_long(bytes)) return Status::kMemory;
  const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return Status::kSystem;
  // A member that shrank the file would kill the others with SIGBUS. A member that sealed it further would
  // stop its growth. So this seals the file against both before any other process has it.
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0 ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
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

std::uint64_t length_of(std::int32_t fd) {
  struct stat info;
  return fstat(fd, &info) == 0 && info.st_size > 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

Status map_shared(std::int32_t fd, Segment* out) {
  struct stat info;
  // Without this seal, the sender could shrink the file later. Files that are not memfds never have it.
  if (fstat(fd, &info) != 0 || info.st_size <= 0 || (fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK) == 0) {
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
  const std::size_t kept = round_up(bytes, kMaxPage);
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
  if (!may_be_as_long(bytes)) return Status::kMemory;
  struct stat info;
  // If another process was faster, the file is already longer. Then ftruncate fails because of the seal.
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0) return Status::kOk;
  return fstat(fd, &info) == 0 && static_cast<std::uint64_t>(info.st_size) >= bytes ? Status::kOk
                                                                                    : Status::kMemory;
}

Status take_memory(std::int32_t fd, std::uint64_t offset, std::uint64_t bytes) {
  int rc = 0;
  do rc = fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  while (rc != 0 && errno == EINTR);
  return rc == 0 || errno == EOPNOTSUPP ? Status::kOk : Status::kMemory;
}

void give_memory(std::int32_t fd, std::uint64_t offset, std::uint64_t bytes) {
  int rc = 0;
  do
    rc = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                   static_cast<off_t>(bytes));
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
struct flock one_byte(short type, std::uint64_t byte) {
  struct flock lock{};
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
