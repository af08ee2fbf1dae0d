// SegmentMemory: this process's mapping of a team's segment, and the record locks with which processes hold
// ranks.
//
// The memory is anonymous (a team of threads), a file of its own, or a place in another segment's file
// (exec/places.hpp). A process that closes any descriptor of a file loses its record locks on that file.
// Therefore in each process one SegmentMemory owns the file, and keeps all its descriptors until unmap().
#ifndef FERMATA_EXEC_SEGMENT_MEMORY_HPP
#define FERMATA_EXEC_SEGMENT_MEMORY_HPP

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "exec/places.hpp"
#include "os/os.hpp"

namespace fermata::exec {

// For functions that set up a team or join it: the static text says why they refuse.
inline Status refuse(Status status, const char* why, const char** detail) {
  *detail = why;
  return status;
}

// Copies describe the same mapping: unmap() one of them.
class SegmentMemory {
 public:
  // On error these four leave *out unmapped: do not unmap() it.
  // New memory: anonymous, or a file.
  static Status create(bool shared, std::size_t bytes, SegmentMemory* out);
  // Takes over the descriptor of another process's file. An error closes the descriptor.
  static Status map_file(std::int32_t fd, SegmentMemory* out);
  // A new place in that file. Its first `front` bytes are allocated at once.
  static Status take_place(const Places& places, std::size_t bytes, std::size_t front, SegmentMemory* out);
  // The place with that number. kArgument: Places::hold() refuses it.
  static Status map_place(const Places& places, std::uint64_t place, SegmentMemory* out);
  // The last user of a place frees it.
  void unmap();

  std::byte* base() const { return mapping_.base; }
  std::uint64_t bytes() const { return mapping_.bytes; }
  void shorten(std::uint64_t bytes) { os::shorten(&mapping_, bytes); }
  bool is_shared() const { return fd() >= 0; }  // between processes
  bool is_place() const { return places_.fd() >= 0; }
  std::uint64_t place() const { return place_; }
  std::int32_t fd() const { return is_place() ? places_.fd() : mapping_.fd; }  // -1: anonymous memory
  bool owns_file(const os::FileId& file) const { return file_ == file; }
  // Takes over a further descriptor of the file: unmap() closes it. Without memory for this it stays open.
  void keep(std::int32_t fd);
  bool is_in_child() const { return generation_ != os::fork_generation(); }  // of the process that mapped it

  // Between processes: locks the rank for this process until disclaim().
  Status claim(std::uint32_t rank, const char** detail);
  void disclaim(std::uint32_t rank);
  bool is_claimed_elsewhere(std::uint32_t rank) const { return os::byte_is_locked(fd(), lock_of(rank)); }

 private:
  Status map_part(std::uint64_t bytes);
  std::uint64_t lock_of(std::uint32_t rank) const { return offset_ + rank; }  // a byte of the file

  os::Segment mapping_;
  os::FileId file_;  // its own; {}: none
  Places places_;    // in which its place is
  std::uint64_t place_ = 0;
  std::uint64_t offset_ = 0;  // of the memory in the file
  std::uint32_t generation_ = os::fork_generation();
  std::int32_t* spare_ = nullptr;  // further descriptors of the file
  std::uint32_t spares_ = 0;
};

}  // namespace fermata::exec
#endif
