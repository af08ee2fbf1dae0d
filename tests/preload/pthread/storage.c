/* Barriers on memory that holds garbage or the bytes of other barriers. They are initialized again without a
 * destroy, copied to another place, and more than any table has room for. */
#include <string.h>

#include "workers.h"

static pthread_barrier_t* barrier;
static int phases;

static void* work(void* argument) {
  (void)argument;
  for (int i = 0; i < phases; ++i) pthread_barrier_wait(barrier);
  return NULL;
}

static void use(pthread_barrier_t* place, int threads) {
  barrier = place;
  phases = 20;
  workers_run(threads, work);
}

static void garbage(void) {
  pthread_barrier_t other, place;
  CHECK(pthread_barrier_init(&other, NULL, 3) == 0);
  for (int kind = 0; kind < 4; ++kind) {
    if (kind == 0) memset(&place, 0, sizeof place);
    if (kind == 1) memset(&place, 0xFF, sizeof place);
    if (kind == 2) memcpy(&place, &other, sizeof place); /* a valid barrier's bytes, at the wrong address */
    if (kind == 3) {
      for (size_t i = 0; i < sizeof place; ++i) ((unsigned char*)&place)[i] = (unsigned char)(i * 37 + 11);
    }
    CHECK(pthread_barrier_init(&place, NULL, 2) == 0);
    use(&place, 2);
    use(&other, 3);
    if (kind != 1)
      CHECK(pthread_barrier_destroy(&place) == 0); /* the other kinds are overwritten without a destroy */
  }
  CHECK(pthread_barrier_destroy(&other) == 0);
  puts("garbage: ok");
}

static void again(void) {
  pthread_barrier_t place;
  for (int count = 1; count <= 5; ++count) { /* no destroy in between; sometimes even the bytes change */
    CHECK(pthread_barrier_init(&place, NULL, (unsigned)count) == 0);
    use(&place, count);
    if (count % 2 == 0) memset(&place, 0x5A, sizeof place);
  }
  CHECK(pthread_barrier_init(&place, NULL, 0) != 0); /* the previous barrier stays valid */
  use(&place, 5);
  CHECK(pthread_barrier_destroy(&place) == 0);
  CHECK(pthread_barrier_init(&place, NULL, 2) == 0);
  use(&place, 2);
  CHECK(pthread_barrier_destroy(&place) == 0);
  puts("again: ok");
}

static void moved(void) {
  pthread_barrier_t first, second;
  CHECK(pthread_barrier_init(&first, NULL, 2) == 0);
  use(&first, 2);
  memcpy(&second, &first,
         sizeof second); /* POSIX gives the copy no meaning, but programs that use realloc work with glibc */
  use(&second, 2);
  CHECK(pthread_barrier_destroy(&second) == 0);
  CHECK(pthread_barrier_destroy(&first) == 0);
  puts("moved: ok");
}

static void deep(int depth) { /* stack barriers in many frames, never destroyed */
  pthread_barrier_t place;
  CHECK(pthread_barrier_init(&place, NULL, 1) == 0);
  CHECK(pthread_barrier_wait(&place) == PTHREAD_BARRIER_SERIAL_THREAD);
  if (depth > 0) deep(depth - 1);
  CHECK(pthread_barrier_wait(&place) == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void many(void) {
  const int number = 70000;
  pthread_barrier_t* all = malloc((size_t)number * sizeof *all);
  for (int i = 0; i < number; ++i) CHECK(pthread_barrier_init(&all[i], NULL, (unsigned)(i % 2 + 1)) == 0);
  for (int i = 0; i < number; i += 2) CHECK(pthread_barrier_wait(&all[i]) == PTHREAD_BARRIER_SERIAL_THREAD);
  use(&all[1], 2);
  use(&all[number - 1], 2);
  for (int i = 0; i < number; ++i) CHECK(pthread_barrier_destroy(&all[i]) == 0);
  free(all);
  puts("many: ok");
}

int main(void) {
  garbage();
  again();
  moved();
  for (int i = 0; i < 20; ++i) deep(100);
  puts("deep: ok");
  many();
  return 0;
}
