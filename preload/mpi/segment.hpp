// The segment of this host, in which the teams lie whose ranks are all on this host. Its owner (`ground`) is
// a team that nobody joins, made in MPI_Init, where a thread of the host's first rank hands out the segment's
// descriptor. So a new team takes memory and agreement, and opens no file.
#ifndef FERMATA_PRELOAD_MPI_SEGMENT_HPP
#define FERMATA_PRELOAD_MPI_SEGMENT_HPP

#include <fermata/fermata.h>

#include <cstdint>

#include "agreement.hpp"

namespace fermata::preload {

// A number that no other process can guess, unless getrandom() gives none; not 0.
std::uint64_t new_id();
// Can this process open what it takes to hand a team out: its memory, a socket or two, and one to spare?
bool can_open_few();

// Collective over the ranks of this host. If it fails, then at all of them, and there is no segment.
void share_segment(const Council& host, int size, int rank);
bool has_segment();
void drop_segment();

// Makes a team in the segment. Returns its place; 0: there is no team. cpus may be null.
// attach_in_segment() attaches to it; null: it failed.
std::uint64_t make_in_segment(int size, const int* cpus, fermata_team** team);
fermata_team* attach_in_segment(std::uint64_t place, int size);

}  // namespace fermata::preload
#endif
