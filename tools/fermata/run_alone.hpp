// Programs that fermata run leaves as they are, whatever preloads are asked for.
#ifndef FERMATA_TOOLS_RUN_ALONE_HPP
#define FERMATA_TOOLS_RUN_ALONE_HPP

#include <string>

namespace fermata::tool {

// Why nothing may be preloaded into this program; empty: there is no reason.
//  - FERMATA_DISABLE is set: it runs as it would without this tool.
//  - It is built with a sanitizer. AddressSanitizer refuses to start where another library is loaded before
//  it, and ThreadSanitizer reports
//    races of what a library orders that it has not instrumented.
std::string why_alone(const std::string& program);

// Why its OpenMP run-time library is to be left alone; empty: there is no reason. An OMPT tool would miss the
// events of barriers that are not the run-time library's.
std::string why_openmp_alone(const std::string& program);

}  // namespace fermata::tool
#endif
