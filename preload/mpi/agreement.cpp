#include "agreement.hpp"

#include "begun.hpp"
#include "real.hpp"

namespace fermata::preload {

bool all_have(const Council& council, bool mine) {
  std::int32_t have = mine ? 1 : 0, all = 0;
  if (council.team != nullptr) {
    const Entered entered(*council.team);
    fermata_allreduce(council.team->member, &have, &all, 1, FERMATA_INT32, FERMATA_MIN);
  } else {
    const Beside beside;
    real.Allreduce(&have, &all, 1, MPI_INT32_T, MPI_MIN, council.comm);
  }
  return all == 1;
}

void tell(const Council& council, void* data, std::size_t bytes) {
  if (council.team != nullptr) {
    const Entered entered(*council.team);
    fermata_broadcast(council.team->member, data, bytes, 0);
  } else {
    const Beside beside;
    real.Bcast(data, static_cast<int>(bytes), MPI_BYTE, 0, council.comm);
  }
}

}  // namespace fermata::preload
