/* Lateness that a loaded machine cannot undo. */
#ifndef COME_LATE_H
#define COME_LATE_H
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Waits until the first thread of the process sleeps in its wait, for a second at most, and then for `us`
 * microseconds. */
static void come_later_than_first(useconds_t us) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
  for (int i = 0; i < 1000; ++i) {
    char line[512];
    FILE* const stat = fopen(path, "r");
    const size_t length = stat != NULL ? fread(line, 1, sizeof line - 1, stat) : 0;
    if (stat != NULL) fclose(stat);
    line[length] = '\0';
    const char* const name_ends = strrchr(line, ')');
    if (name_ends != NULL && strncmp(name_ends, ") S", 3) == 0) break;
    usleep(1000);
  }
  usleep(us);
}

#endif
