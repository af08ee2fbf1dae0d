// How a line and its block travel in an MPI message: only the fields that the line uses. The message is
// copied by its sender, the network and its receiver, so a short one costs less (bench/results/README.md).
//
//   Front | parts of 8 bytes each, in the order of Part | words of payload | block
#ifndef FERMATA_NET_MPI_WIRE_HPP
#define FERMATA_NET_MPI_WIRE_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "fermata/hosts.h"

namespace fermata::net {

// A decoded message.
struct Letter {
  fermata_line line{};
  std::uint64_t after = 0;  // how many messages must land before this one
  fermata_block block{};    // no bytes: there is none. It stays in the message
  bool is_last = false;     // not a line: line.header says how many messages its process has sent
};

class Wire {
 public:
  static constexpr std::size_t kMostHead = 24 + 5 * 8 + sizeof(fermata_line::payload);
  static constexpr std::size_t kMost = kMostHead + FERMATA_MOST_BLOCK;

  // Writes at most kMost bytes. Returns how many. block: null if there is none.
  static std::size_t encode(const fermata_line& line, std::uint64_t after, const fermata_block* block,
                            unsigned char* to) {
    unsigned char* at = to + sizeof(Front);
    Front front{line.header, line.offset, line.to, line.words, 0};
    const auto add = [&](Part part, std::uint64_t value) {
      front.parts = static_cast<std::uint16_t>(front.parts | part);
      put(at, &value, sizeof value);
    };
    if (line.subteam != 0 || line.rank != line.to)
      add(kSubteam, std::uint64_t{line.subteam} << 32 | line.rank);
    if (line.sent_ns != 0) {
      add(kFrom, line.from);
      add(kTime, static_cast<std::uint64_t>(line.sent_ns));
    }
    if (after != 0) add(kAfter, after);
    if (block != nullptr) add(kBlock, block->offset);
    put(at, line.payload, line.words * sizeof line.payload[0]);
    if (block != nullptr) put(at, block->from, block->bytes);
    std::memcpy(to, &front, sizeof front);
    return static_cast<std::size_t>(at - to);
  }
  // A process's last message. sent: how many messages it has sent before.
  static std::size_t encode_last(std::uint64_t sent, unsigned char* to) {
    const Front front{sent, 0, 0, 0, kLast};
    std::memcpy(to, &front, sizeof front);
    return sizeof front;
  }

  // False: the message is not one of this version of Fermata.
  static bool decode(const unsigned char* message, std::size_t bytes, Letter& letter) {
    if (bytes < sizeof(Front)) return false;
    Front front;
    std::memcpy(&front, message, sizeof front);
    const unsigned char *at = message + sizeof front, *const end = message + bytes;
    fermata_line& line = letter.line;
    std::uint64_t parts[5] = {};  // by their bits
    for (std::size_t i = 0; i < std::size(parts); ++i)
      if ((front.parts >> i & 1) != 0 && !take(at, end, &parts[i], sizeof parts[i])) return false;
    line.header = front.header;
    line.offset = front.offset;
    line.to = front.to;
    line.words = front.words;
    const bool has_rank = (front.parts & kSubteam) != 0;
    line.subteam = static_cast<std::uint32_t>(parts[0] >> 32);
    line.rank = has_rank ? static_cast<std::uint32_t>(parts[0]) : front.to;
    line.from = static_cast<std::uint16_t>(parts[1]);
    line.sent_ns = static_cast<std::int64_t>(parts[2]);
    letter.after = parts[3];
    letter.is_last = (front.parts & kLast) != 0;
    if (line.words > std::size(line.payload) ||
        !take(at, end, line.payload, line.words * sizeof line.payload[0]))
      return false;
    letter.block = {parts[4], static_cast<std::uint64_t>(end - at), at};
    return true;
  }

 private:
  struct Front {
    std::uint64_t header, offset;
    std::uint32_t to;
    std::uint16_t words, parts;
  };
  static_assert(sizeof(Front) == 24);
  enum Part : std::uint16_t { kSubteam = 1, kFrom = 2, kTime = 4, kAfter = 8, kBlock = 16, kLast = 32 };

  static void put(unsigned char*& at, const void* from, std::size_t bytes) {
    if (bytes != 0) std::memcpy(at, from, bytes);
    at += bytes;
  }
  static bool take(const unsigned char*& at, const unsigned char* end, void* to, std::size_t bytes) {
    if (static_cast<std::size_t>(end - at) < bytes) return false;
    std::memcpy(to, at, bytes);
    at += bytes;
    return true;
  }
};

}  // namespace fermata::net
#endif
