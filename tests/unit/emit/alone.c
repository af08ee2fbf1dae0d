// What an emitted header needs stands in it. Nothing comes before the header, and no macro asks the system
// for more than the language standard. On Windows, <windows.h> follows.
#include "made.h"
#ifdef _WIN32
#include <windows.h>
#endif

static struct made team;
static struct made two[2];

static void* misaligned(void) {
  unsigned char* const at = (unsigned char*)two;
  return at + 64;
}

int main(void) {
  struct made_member me;
  struct made* const wrong = (struct made*)misaligned();
  double value = 3;
  if (made_init(wrong, MADE_SPIN, 0) != -1) return 1;
  if (made_init(&team, (enum made_wait)3, 0) != -1) return 2;
  if (made_init(&team, MADE_PARK, 0) != 0 || made_join(&me, &team, 0) != 0) return 3;
  if (MADE_MEMBERS > 1) return 0;
  made_barrier(&me);
  return made_allreduce_sum_double(&me, &value, 1) == 0 && value == 3 ? 0 : 4;
}
