#include "rooms.hpp"

#include <iterator>

namespace fuzz {
namespace {

long handler_calls = 0;
MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
void handle(MPI_Comm*, int*, ...) { ++handler_calls; }

// Makes a communicator without one of the ranks, by create_group or create.
void create(MPI_Comm ground, bool by_group, int without, int size, MPI_Comm* comm) {
  MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
  MPI_Comm_group(ground, &all);
  MPI_Group_excl(all, size > 1 ? 1 : 0, &without, &some);
  int rank = 0;
  MPI_Group_rank(some, &rank);
  if (!by_group) MPI_Comm_create(ground, some, comm);
  else if (rank != MPI_UNDEFINED) MPI_Comm_create_group(ground, some, 77, comm);
  MPI_Group_free(&some);
  MPI_Group_free(&all);
}

void make_cart(MPI_Comm ground, int size, MPI_Comm* comm) {
  const int extents[1] = {size}, periods[1] = {1};
  MPI_Cart_create(ground, 1, extents, periods, 0, comm);
}

void duplicate_begun(MPI_Comm ground, MPI_Comm* comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup(ground, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

}  // namespace

Room make_room(MPI_Comm ground, const std::vector<Room>& others, const Off& off, Random& shared) {
  int rank = 0, size = 0;
  MPI_Comm_rank(ground, &rank);
  MPI_Comm_size(ground, &size);
  Room r;
  constexpr int kWays = 11, kOfAll[] = {0, 2, 6, 7, 9};
  const int way = shared.below(kWays + static_cast<int>(std::size(kOfAll))), draw = shared.below(size);
  const int how = way < kWays ? way : kOfAll[way - kWays];
  const std::size_t other =
      others.empty() ? 0 : static_cast<std::size_t>(shared.below(static_cast<int>(others.size())));
  const bool own_handler = shared.chance(50);
  static const char* const kWords[] = {"duplicate of all",
                                       "parity",
                                       "all reversed",
                                       "all without a rank (split)",
                                       "all without a rank (create)",
                                       "all without a rank (create_group)",
                                       "ring",
                                       "shared memory",
                                       "begun duplicate of all",
                                       "duplicate of another",
                                       "the world"};
  r.words = kWords[how];
  switch (how) {
    case 1: MPI_Comm_split(ground, rank % 2, rank, &r.comm); break;
    case 2: MPI_Comm_split(ground, 0, -rank, &r.comm); break;
    case 3:
      MPI_Comm_split(ground, rank == draw ? MPI_UNDEFINED : 3, (rank * 7 + draw) % size, &r.comm);
      break;
    case 4: create(ground, false, draw, size, &r.comm); break;
    case 5: create(ground, true, draw, size, &r.comm); break;
    case 6: make_cart(ground, size, &r.comm); break;
    case 7: MPI_Comm_split_type(ground, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &r.comm); break;
    case 8:
      if (!off("begun-duplicate")) duplicate_begun(ground, &r.comm);
      else MPI_Comm_dup(ground, &r.comm);
      break;
    case 10: r.comm = MPI_COMM_WORLD; break;
    case 9:
      if (!others.empty()) {
        r.words = "duplicate of " + others[other].words;
        if (others[other].comm != MPI_COMM_NULL) MPI_Comm_dup(others[other].comm, &r.comm);
        break;
      }
      [[fallthrough]];
    default: MPI_Comm_dup(ground, &r.comm);
  }
  if (r.comm == MPI_COMM_NULL) return r;
  MPI_Comm_rank(r.comm, &r.rank);
  MPI_Comm_size(r.comm, &r.size);
  if (handler == MPI_ERRHANDLER_NULL) MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(r.comm, own_handler ? handler : MPI_ERRORS_RETURN);
  return r;
}

void free_room(Room& room) {
  if (room.comm != MPI_COMM_NULL && room.comm != MPI_COMM_WORLD) MPI_Comm_free(&room.comm);
}

long handled() { return handler_calls; }

}  // namespace fuzz
