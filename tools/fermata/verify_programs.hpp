#ifndef FERMATA_TOOLS_VERIFY_PROGRAMS_HPP
#define FERMATA_TOOLS_VERIFY_PROGRAMS_HPP

namespace fermata::tool {

// Compiles the algorithms for several numbers of members and prints how long each program's proof takes.
// Large schedules are left out. Throws CommandError if a program is not proved.
void time_program_proofs();

}  // namespace fermata::tool
#endif
