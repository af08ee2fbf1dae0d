// Blocks of more than 2^32 bytes and elements. Four windows of a buffer have memory of their own: the
// beginning, around 2^31, around 2^32, and the end. The rest maps one small piece of memory again and again.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "team.hpp"

namespace fermata::test {
namespace {

constexpr std::size_t kAlias = std::size_t{4} << 20;
constexpr std::size_t kWindow = std::size_t{1} << 20;
constexpr std::size_t kMiddle = std::size_t{1} << 31, kFar = 2 * kMiddle;
constexpr std::size_t kMapped = kFar + 2 * kAlias;
constexpr std::size_t kBytes = kMapped - 4093;  // the part in use
constexpr std::size_t kWindows[][2] = {{0, kWindow},
                                       {kMiddle - kWindow, kMiddle + kWindow},
                                       {kFar - kWindow, kFar + kWindow},
                                       {kMapped - kWindow, kMapped}};

class Buffer {
 public:
  Buffer() {
    void* const place = mmap(nullptr, kMapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const int file = memfd_create("huge", MFD_CLOEXEC);
    if (place == MAP_FAILED || file < 0 || ftruncate(file, kAlias) != 0) return;
    at_ = static_cast<unsigned char*>(place);
    for (std::size_t i = 0; i < kMapped; i += kAlias) map(i, i + kAlias, MAP_SHARED, file);
    for (const auto& [begin, end] : kWindows) map(begin, end, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    close(file);
  }
  ~Buffer() {
    if (at_ != nullptr) munmap(at_, kMapped);
  }
  Buffer(const Buffer&) = delete;
  unsigned char* at() const { return ok_ ? at_ : nullptr; }

  static bool is_own(std::size_t i) {
    for (const auto& [begin, end] : kWindows)
      if (i >= begin && i < end) return true;
    return false;
  }
  static unsigned char value(std::size_t i) {
    const std::uint64_t h = (is_own(i) ? i + kMapped : i % kAlias) * 0x9e3779b97f4a7c15u;
    return static_cast<unsigned char>(h >> 40);
  }
  void fill() const {
    for (const auto& [begin, end] : kWindows) fill(begin, end);
    fill(kAlias, 2 * kAlias);  // one piece, mapped as all the rest
  }
  // Returns the first place where a byte isn't `times` its value, or SIZE_MAX.
  std::size_t first_wrong(unsigned times) const {
    for (const auto& [begin, end] : kWindows)
      for (std::size_t i = begin; i < end && i < kBytes; ++i)
        if (at_[i] != static_cast<unsigned char>(times * value(i))) return i;
    for (std::size_t i = kAlias; i < 2 * kAlias; ++i)
      if (at_[i] != static_cast<unsigned char>(times * value(i))) return i;
    for (std::size_t i = kBytes; i < kMapped; ++i)
      if (at_[i] != 0) return i;
    return SIZE_MAX;
  }

 private:
  void map(std::size_t begin, std::size_t end, int flags, int file) {
    ok_ = mmap(at_ + begin, end - begin, PROT_READ | PROT_WRITE, flags | MAP_FIXED, file, 0) != MAP_FAILED &&
          ok_;
  }
  void fill(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end && i < kBytes; ++i) at_[i] = value(i);
  }
  unsigned char* at_ = nullptr;
  bool ok_ = true;
};

bool holds(Seat& seat, const Buffer& buffer, unsigned times, const char* what) {
  const std::size_t wrong = buffer.first_wrong(times);
  seat.count_one();
  return seat.holds(wrong == SIZE_MAX ? "" : std::string(what) + ": wrong at byte " + std::to_string(wrong));
}

void broadcast(Seat& seat) {
  const Buffer buffer;
  if (!seat.holds(buffer.at() != nullptr ? "" : "no memory")) return;
  if (seat.rank == 1) buffer.fill();
  if (seat.holds(fermata_broadcast(seat.member, buffer.at(), kBytes, 1), "broadcast"))
    holds(seat, buffer, 1, "broadcast");
}

void allreduce(Seat& seat) {
  const Buffer in, out;
  if (!seat.holds(in.at() != nullptr && out.at() != nullptr ? "" : "no memory")) return;
  in.fill();
  const int status = fermata_allreduce(seat.member, in.at(), out.at(), kBytes, FERMATA_UINT8, FERMATA_SUM);
  if (seat.holds(status, "allreduce")) holds(seat, out, 2, "allreduce");
}

// One block is longer than 2^31, and the other one starts beyond 2^31.
void gatherv(Seat& seat) {
  const Buffer in, out;
  if (!seat.holds(in.at() != nullptr && out.at() != nullptr ? "" : "no memory")) return;
  in.fill();
  const std::size_t counts[] = {kMiddle + 5, kBytes - kMiddle - 5};
  const std::size_t displacements[] = {0, kMiddle + 5};
  const auto r = static_cast<std::size_t>(seat.rank);
  const int status = fermata_gatherv(seat.member, in.at() + displacements[r], counts[r], out.at(), counts,
                                     displacements, FERMATA_UINT8, 1);
  if (seat.holds(status, "gatherv") && seat.rank == 1) holds(seat, out, 1, "gatherv");
}

void expect(int engine, const char* single_copy, void (*body)(Seat&), long expected) {
  if (FERMATA_TEST_SCALE > 1) GTEST_SKIP() << "too slow";
  setenv("FERMATA_CMA", single_copy, 1);
  long ran = 0;
  EXPECT_EQ(run_team({2, engine, FERMATA_WAIT_AUTO}, body, &ran), "");
  EXPECT_EQ(ran, expected);
  unsetenv("FERMATA_CMA");
}

TEST(Huge, ByAddress) { expect(FERMATA_THREADS, "1", broadcast, 2); }
TEST(Huge, ThroughRings) { expect(FERMATA_PROCESSES, "0", broadcast, 2); }
TEST(Huge, FoldedBetweenProcesses) { expect(FERMATA_PROCESSES, "1", allreduce, 2); }
TEST(Huge, InBlocksThatDiffer) { expect(FERMATA_THREADS, "1", gatherv, 1); }

}  // namespace
}  // namespace fermata::test
