/* Which library's functions does this program get? For each way of naming them it prints the library's file
 * name. Usage: resolved [OLD]: the name of the older symbol version. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "workers.h"

static void say(const char* how, void* function) {
  Dl_info info;
  CHECK(function != NULL && dladdr(function, &info) != 0);
  const char* slash = strrchr(info.dli_fname, '/');
  printf("%s %s\n", how, slash != NULL ? slash + 1 : info.dli_fname);
}

int main(int argc, char** argv) {
  static const char* const names[] = {"pthread_barrier_init", "pthread_barrier_wait",
                                      "pthread_barrier_destroy"};
  void* const linked[] = {(void*)pthread_barrier_init, (void*)pthread_barrier_wait,
                          (void*)pthread_barrier_destroy};
  for (int i = 0; i < 3; ++i) {
    printf("%s:\n", names[i]);
    say("  linked", linked[i]);
    say("  dlsym", dlsym(RTLD_DEFAULT, names[i]));
    if (argc > 1) say("  dlvsym old", dlvsym(RTLD_DEFAULT, names[i], argv[1]));
    if (argc > 1) say("  dlvsym new", dlvsym(RTLD_DEFAULT, names[i], "GLIBC_2.34"));
  }
  pthread_barrier_t barrier;
  memset(&barrier, 0x77, sizeof barrier);
  CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
  unsigned char bytes[sizeof barrier];
  memcpy(bytes, &barrier, sizeof bytes);
  int own = 0, foreign = 0;
  static const unsigned char expected[20] = {0, 0, 0, 0, 0, 0, 0, 0, 2, 0};
  for (int i = 0; i < 20; ++i) own += bytes[i] == expected[i];
  for (int i = 20; i < 32; ++i) foreign += bytes[i] != 0x77;
  printf("the C library's bytes %s, the others %s\n", own == 20 ? "as ever" : "changed",
         foreign > 0 ? "tagged" : "left alone");
  CHECK(pthread_barrier_destroy(&barrier) == 0);
  return 0;
}
