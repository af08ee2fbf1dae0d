// Relacy without its macros: it renames new, assert, errno and std's memory orders for code that is written for it. Ours is
// not, so the standard headers come first and the macros go.
#ifndef FERMATA_TESTS_MODEL_CHECKER_HPP
#define FERMATA_TESTS_MODEL_CHECKER_HPP

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <relacy/relacy.hpp>

#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno
#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst
#undef $

#endif
