/* Links the run-time library alone, from C. */
#include <fermata/fermata.h>

int main(void) { return FERMATA_VERSION_MAJOR; }
