// libomp's side: where a thread is comes from OMPT.
#ifndef FERMATA_PRELOAD_OPENMP_KMP_HPP
#define FERMATA_PRELOAD_OPENMP_KMP_HPP

#include "region.hpp"

namespace fermata::preload {

Place place_in_kmp();

}  // namespace fermata::preload
#endif
