/* Uses the barriers of a library opened with dlopen. Usage: opened PLUGIN. */
#include <dlfcn.h>

#include "workers.h"

int main(int argc, char** argv) {
  CHECK(argc == 2);
  for (int i = 0; i < 20; ++i) {
    void* library = dlopen(argv[1], (i % 2 ? RTLD_NOW : RTLD_LAZY) | (i % 3 ? RTLD_LOCAL : RTLD_GLOBAL));
    CHECK(library != NULL);
    int (*run)(int) = (int (*)(int))dlsym(library, "plugin_run");
    CHECK(run != NULL);
    CHECK(run(i % 4 != 0) == 50);
    CHECK(dlclose(library) == 0);
  }
  puts("dlopen: ok");
  return 0;
}
