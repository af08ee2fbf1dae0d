/* closed LIBRARY: a thread closes a library with regions while another one, which has run them, goes on. The
 * program itself has no OpenMP, so the run-time library may be unloaded. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static void* library;
static pthread_barrier_t met;

static long run(void) {
  long sum = 0;
  long (*plugin_run)(void);
  *(void**)&plugin_run = dlsym(library, "plugin_run");
  for (int i = 0; i < 30; ++i) sum += plugin_run();
  return sum;
}

static void* runs(void* unused) {
  printf("%ld\n", run());
  pthread_barrier_wait(&met);
  pthread_barrier_wait(&met);
  return unused;
}

static void* closes(void* unused) {
  dlclose(library);
  return unused;
}

int main(int argc, char** argv) {
  pthread_t thread;
  if (argc < 2) return 2;
  pthread_barrier_init(&met, NULL, 2);
  for (int i = 0; i < 2; ++i) {
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return printf("%s\n", dlerror()), 1;
    pthread_create(&thread, NULL, i == 0 ? runs : closes, NULL);
    if (i == 0) {
      pthread_barrier_wait(&met);
      dlclose(library);
      pthread_barrier_wait(&met);
    }
    pthread_join(thread, NULL);
    printf("ended\n");
    if (i == 0) {
      library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
      printf("%ld\n", run());
    }
  }
  return 0;
}
