/* A C99 program for the run-time library alone. One participant passes two barriers and waits for nobody. */
#include <fermata/fermata.h>
#include <stdio.h>

int main(void) {
  fermata_anonymous* barrier = NULL;
  fermata_ranked* ranked = NULL;
  int status = fermata_anonymous_create(1, 0, &barrier);
  if (!status) status = fermata_anonymous_meet(barrier);
  fermata_anonymous_destroy(barrier);
  if (status == FERMATA_LAST) status = fermata_ranked_create(1, &ranked);
  if (!status) status = fermata_ranked_meet(ranked, 0);
  fermata_ranked_destroy(ranked);
  puts(status ? "failed" : "the only one is the last one");
  return status;
}
