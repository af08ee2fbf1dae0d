// memory: one process after the other has no memory, from its first, second, third ... allocation on, while
// all processes make a team. All must return, and with the same status.
#include <fermata/mpi.h>

#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

constexpr long kNever = -1;
constexpr long kEach = 60;  // so many of the first allocations fail one by one, later ones in growing steps
long left = kNever;         // how many allocations still succeed

}  // namespace

// The libraries take it, too.
void* operator new(std::size_t bytes) {
  if (left == 0) throw std::bad_alloc();
  if (left > 0) --left;
  void* const memory = std::malloc(bytes != 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

// Returns the status of all processes. `spared`: process `poor` had all the memory that it asked for.
int status_of_all(int rank, int poor, long n, bool& spared) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = 1;
  fermata_team* team = nullptr;
  int first = -1;
  if (rank == poor) left = n;
  const int status = fermata_team_create_mpi(MPI_COMM_WORLD, &config, &team, &first);
  int had = left != 0;
  left = kNever;
  MPI_Bcast(&had, 1, MPI_INT, poor, MPI_COMM_WORLD);
  spared = had != 0;
  int least = 0, most = 0;
  MPI_Allreduce(&status, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&status, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (least != most) {
    std::fprintf(stderr, "rank %d: status %d, where rank %d has memory for %ld allocations\n", rank, status,
                 poor, n);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  fermata_team_destroy(team);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bool right = true;
  for (int poor = 0; poor < size; ++poor) {
    long failures = 0;
    bool spared = false;
    for (long n = 0; !spared; n += n < kEach ? 1 : n / 4) {
      const int status = status_of_all(rank, poor, n, spared);
      right = right && (status == FERMATA_OK || (status == FERMATA_ERR_MEMORY && !spared));
      failures += status != FERMATA_OK;
    }
    right = right && failures > 0;
    if (rank == 0) std::printf("rank %d: %ld of the calls fail for want of its memory\n", poor, failures);
  }
  if (rank == 0 && right) std::puts("all right");
  MPI_Finalize();
  return right ? 0 : 1;
}
