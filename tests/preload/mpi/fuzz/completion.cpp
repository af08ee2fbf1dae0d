#include "completion.hpp"

#include <algorithm>

namespace fuzz {
namespace {

int class_of(int error) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(error, &error_class);
  return error_class;
}

void complete_alone(Call& c, Random& own) {
  int done = 0, error = MPI_SUCCESS;
  switch (own.below(5)) {
    case 0:
      while (done == 0 && error == MPI_SUCCESS) error = MPI_Test(&c.request, &done, MPI_STATUS_IGNORE);
      break;
    case 1:
      while (done == 0 && error == MPI_SUCCESS)
        error = MPI_Request_get_status(c.request, &done, MPI_STATUS_IGNORE);
      if (error == MPI_SUCCESS) error = MPI_Wait(&c.request, MPI_STATUS_IGNORE);
      break;
    default: error = MPI_Wait(&c.request, MPI_STATUS_IGNORE);
  }
  c.completed = class_of(error);
}

// Requests as MPI holds them, with inactive ones between them.
struct Array {
  std::vector<MPI_Request> requests;
  std::vector<int> indices;
  std::size_t left = 0;
};

void by_any(Array& a, bool test) {
  const int n = static_cast<int>(a.requests.size());
  while (a.left > 0) {
    int index = MPI_UNDEFINED, done = 1;
    const int error = test ? MPI_Testany(n, a.requests.data(), &index, &done, MPI_STATUS_IGNORE)
                           : MPI_Waitany(n, a.requests.data(), &index, MPI_STATUS_IGNORE);
    if (done == 0) continue;
    if (error != MPI_SUCCESS || index == MPI_UNDEFINED) return;
    --a.left;
  }
}

void by_some(Array& a, bool test) {
  const int n = static_cast<int>(a.requests.size());
  a.indices.resize(a.requests.size());
  while (a.left > 0) {
    int count = 0;
    const int error = test
                          ? MPI_Testsome(n, a.requests.data(), &count, a.indices.data(), MPI_STATUSES_IGNORE)
                          : MPI_Waitsome(n, a.requests.data(), &count, a.indices.data(), MPI_STATUSES_IGNORE);
    if (error != MPI_SUCCESS || count == MPI_UNDEFINED) return;
    a.left -= static_cast<std::size_t>(count);
  }
}

void by_all(Array& a, bool test) {
  const int n = static_cast<int>(a.requests.size());
  int done = test ? 0 : 1;
  if (!test) MPI_Waitall(n, a.requests.data(), MPI_STATUSES_IGNORE);
  while (done == 0)
    if (MPI_Testall(n, a.requests.data(), &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS) return;
  a.left = 0;
}

void complete_together(const std::vector<Call*>& calls, Random& own) {
  Array a;
  std::vector<std::size_t> places;
  for (Call* const c : calls) {
    if (own.chance(10)) a.requests.push_back(MPI_REQUEST_NULL);
    places.push_back(a.requests.size());
    a.requests.push_back(c->request);
  }
  a.left = calls.size();
  const bool test = own.chance(40);
  switch (own.below(3)) {
    case 0: by_any(a, test); break;
    case 1: by_some(a, test); break;
    default: by_all(a, test);
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i]->request = a.requests[places[i]];
    calls[i]->completed = a.left == 0 ? MPI_SUCCESS : -1;
  }
}

}  // namespace

void complete(std::vector<Call*> calls, const Off& off, Random& own) {
  for (std::size_t i = calls.size(); i > 1; --i)
    std::swap(calls[i - 1], calls[static_cast<std::size_t>(own.below(static_cast<int>(i)))]);
  std::vector<Call*> together;
  const std::size_t most = off("many-requests-at-a-time") ? 60 : 100000;
  const bool alone = own.chance(40);
  for (Call* const c : calls) {
    if (c->form == kBlocking || c->called != MPI_SUCCESS || c->request == MPI_REQUEST_NULL) continue;
    if (alone || c->wrong != kNothing || off("completed-together")) complete_alone(*c, own);
    else together.push_back(c);
    if (together.size() >= most) {
      complete_together(together, own);
      together.clear();
    }
  }
  if (!together.empty()) complete_together(together, own);
  for (Call* const c : calls)
    if (c->form == kPersistent && c->request != MPI_REQUEST_NULL) MPI_Request_free(&c->request);
}

}  // namespace fuzz
