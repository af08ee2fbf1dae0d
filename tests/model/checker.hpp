// Relacy without its macros: it renames new, assert, errno and std's memory orders for code that is written for it. Ours is
// not, so the standard headers come first and the macros go.
//
// What its findings are worth. A read sees any value that the orders allow, but lags at most one write of the object behind in
// a full or bounded search, two in a random one. It orders seq_cst fences among each other more strongly than C++ does (each
// acquires what all earlier ones released), so a fence could hide a race on plain data: that data is in order is shown by the
// scenarios that never park, which have no fences; those that park show that wake-ups are not lost.
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

#endif
