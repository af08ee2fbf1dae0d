#ifndef FERMATA_TOOLS_VERIFY_PROGRAMS_HPP
#define FERMATA_TOOLS_VERIFY_PROGRAMS_HPP

namespace fermata::tool {

// Compiles every algorithm for several numbers of members and prints how long each program's proof takes.
void time_program_proofs();

}  // namespace fermata::tool
#endif
