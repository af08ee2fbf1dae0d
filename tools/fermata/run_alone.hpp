// Programs, or parts of them, that `fermata run` leaves unchanged, whichever preloads the user asks for.
#ifndef FERMATA_TOOLS_RUN_ALONE_HPP
#define FERMATA_TOOLS_RUN_ALONE_HPP

#include <string>

namespace fermata::tool {

// Why nothing may be preloaded into this program; empty: there is no reason.
//  - FERMATA_DISABLE is on: it runs as it would without this tool.
//  - It, or a library that it loads, is built with a sanitizer. AddressSanitizer refuses to start if
//    another library is loaded first. ThreadSanitizer reports races where a library that it has not
//    instrumented orders the accesses.
std::string why_alone(const std::string& program);

// Why preloads must leave the program's OpenMP run-time alone; empty: there is no reason. An OMPT tool would
// miss the events of barriers that Fermata executes in place of the run-time.
std::string why_openmp_alone(const std::string& program);

}  // namespace fermata::tool
#endif
