/* A C99 program for the run-time library alone. One participant passes a barrier, over which nobody waits. */
#include <fermata/fermata.h>
#include <stdio.h>

int main(void) {
  fermata_anonymous* barrier = NULL;
  int status = fermata_anonymous_create(1, 0, &barrier);
  if (!status) status = fermata_anonymous_meet(barrier);
  fermata_anonymous_destroy(barrier);
  puts(status == FERMATA_LAST ? "the only one is the last one" : "failed");
  return status != FERMATA_LAST;
}
