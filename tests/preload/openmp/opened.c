/* opened LIBRARY...: loads each library at run time and runs its regions. The program itself has no
 * OpenMP. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    void* library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return printf("%s\n", dlerror()), 1;
    long (*run)(void) = (long (*)(void))dlsym(library, "plugin_run");
    for (int k = 0; k < 3; ++k) printf("%ld\n", run());
  }
  return 0;
}
