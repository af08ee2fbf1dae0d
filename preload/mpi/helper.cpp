// The thread beside a call that waits in the library.
#include <unistd.h>

#include "begun.hpp"

namespace fermata::preload {
namespace {

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t wakes = PTHREAD_COND_INITIALIZER;
pthread_cond_t rests = PTHREAD_COND_INITIALIZER;
bool exists = false;
int helped = 0;        // calls; under lock
bool helping = false;  // likewise: the helper is at work
std::atomic<bool> wanted{false};

void* help(void*) {
  is_helper = true;
  for (;;) {
    pthread_mutex_lock(&lock);
    helping = false;
    pthread_cond_broadcast(&rests);
    while (helped == 0) pthread_cond_wait(&wakes, &lock);
    helping = true;
    pthread_mutex_unlock(&lock);
    // order: relaxed: how long to go on; what is done is ordered by the lock
    for (unsigned rounds = 0; wanted.load(std::memory_order_relaxed); ++rounds) {
      advance_all(nullptr);
      rounds < 256 ? give_way() : static_cast<void>(usleep(rounds < 4096 ? 20 : 500));
    }
  }
  return nullptr;
}

}  // namespace

void Beside::begin_helping() {
  pthread_mutex_lock(&lock);
  if (!exists) {
    pthread_t thread;
    exists = pthread_create(&thread, nullptr, help, nullptr) == 0;
    if (exists) pthread_detach(thread);
  }
  if (helped++ == 0) {
    wanted.store(true, std::memory_order_relaxed);  // order: relaxed: see help()
    pthread_cond_signal(&wakes);
  }
  pthread_mutex_unlock(&lock);
}

void Beside::end_helping() {
  pthread_mutex_lock(&lock);
  if (--helped == 0) {
    wanted.store(false, std::memory_order_relaxed);  // order: relaxed: see help()
    while (helping) pthread_cond_wait(&rests, &lock);
  }
  pthread_mutex_unlock(&lock);
  complete_later();
  progress();
}

}  // namespace fermata::preload
