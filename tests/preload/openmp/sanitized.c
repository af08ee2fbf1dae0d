/* Built with a sanitizer: see check-alone. */
#include <stdio.h>

int main(void) { return puts("sanitized") < 0; }
