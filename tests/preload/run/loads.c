/* loads LIBRARY: opens a library whose constructor meets a thread. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** arguments) {
  void* library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : 0;
  puts(library ? "loaded" : "not loaded");
  return library ? 0 : 1;
}
