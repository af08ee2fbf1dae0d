/* Teams over several hosts, over a transport of one's own. (Over MPI: fermata/mpi.h.) */
#ifndef FERMATA_HOSTS_H
#define FERMATA_HOSTS_H

#include <fermata/fermata.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Teams over several hosts -----------------------------------------------------------------------------------
 * The members of a host share a segment, as those of any team. Each process has a port to the other hosts: signals that leave a host go
 * through it, all others are stored as ever. One plan, proved as a whole, says which are which. The port moves in every call of the
 * process that waits, in fermata_test and in fermata_progress. All collectives work over hosts, begun, persistent or blocking; shared
 * counters do not. Blocks between hosts go through rings as those between processes do. Teams that fermata_team_split makes of one, on
 * one host or several, use its port. */

/* A slot's new contents on the way to a member on another host. A port copies it and carries it there as it is. */
typedef struct fermata_line {
  uint64_t offset; /* of the slot in the window, the same on all hosts */
  uint64_t header; /* the greater one is the newer one, by difference */
  uint32_t to;     /* the receiver's rank */
  uint16_t words;  /* of payload that count, 0..7 */
  uint16_t from;   /* with sent_ns: the sender's host */
  uint32_t branch; /* not 0: of a team that was split from the port's; such lines go to land(), not straight into the window */
  uint32_t rank;   /* the receiver's there */
  int64_t sent_ns; /* by the sender's clock, where the team observes its links; else 0 */
  uint64_t payload[7];
} fermata_line;

/* Bytes that a line brings for another place in the window: there before its header, and written only if the line lands. */
#define FERMATA_MOST_BLOCK 16384
typedef struct fermata_block {
  uint64_t offset; /* of their place */
  uint64_t bytes;  /* at most FERMATA_MOST_BLOCK */
  const void* from;
} fermata_block;

/* Where the lines for a process's members go. */
typedef struct fermata_window {
  void* base; /* for transports that write there by themselves: block and payload before header, never a smaller header over a greater */
  size_t bytes;
  /* For all others; block: NULL if the line brings none. Called by one thread of the process at a time. */
  void (*land)(void* team, const fermata_line* line, const fermata_block* block);
  void* team;
} fermata_window;

/* A process's end of a transport, for one team. Any thread of the process may call any of these at any time.
 *   write     never waits and keeps a copy of what cannot go out at once; each line lands, with what it brings (block: NULL if nothing),
 *             or the receiver is gone. A line that lands twice, or behind a later one of its slot, does no harm.
 *   progress  all that moves anything, also what was written before. Called again and again by whoever waits.
 *   is_gone   not 0: nothing of that rank's process will come any more (it closed its port, died, or did not answer for too long), and
 *             what came before has landed.
 *   flush     waits until what was written needs nobody here any more, and will land before what is written from now on; at most so
 *             many ns.
 *   close     the same, and land is not called any more.
 * What the thread that writes knew is visible to who sees the header. */
typedef struct fermata_port {
  size_t size;                                           /* sizeof(fermata_port) */
  void* self;                                            /* handed to each of them */
  int (*open)(void* self, const fermata_window* window); /* lines may come from now on; FERMATA_OK or an error */
  void (*write)(void* self, const fermata_line* line, const fermata_block* block);
  void (*progress)(void* self);
  int (*is_gone)(void* self, uint32_t rank);
  void (*flush)(void* self, int64_t most_ns);
  void (*close)(void* self, int64_t most_ns);
} fermata_port;

/* The same number in processes that can share a segment (fermata_team_serve): those of one kernel, one host name and one network
 * namespace. No errors. */
FERMATA_API uint64_t fermata_host_id(void);

/* As fermata_team_create, for this host's part of a team of config->members: hosts[r] is the host of rank r, `host` this one. One process
 * of each host makes it, its others attach (fermata_team_serve). All hosts have to give the same plans, or none. Plans are for the hosts
 * alone: config->cpus is not looked at. Errors: ARGUMENT, MEMORY, SYSTEM, VERIFY. */
FERMATA_API int fermata_team_create_hosts(const fermata_team_config* config, const int* hosts, int host, fermata_team** out);
/* The plans for a team over hosts, to be sent to all of them so that all run the same ones: those of config->plans; else the
 * cache's; else the best by what an MPI job on these hosts has measured (fermata profile --mpi); else by estimates. names[h] is
 * host h's, cpus[r] the one CPU that rank r may use there, or -1; NULL: not known. Puts `*length` bytes into `plans`, or, if there
 * is too little room or `plans` is NULL, only says in *length how many there are. Errors: ARGUMENT, MEMORY, VERIFY. */
FERMATA_API int fermata_hosts_plan(const fermata_team_config* config, const int* hosts, const char* const* names, const int* cpus,
                                   void* plans, size_t* length);
/* As fermata_team_create_hosts, with what fermata_hosts_plan gave on any one of the hosts; config->plans are not looked at. Errors:
 * ARGUMENT (plans for another team, too), MEMORY, SYSTEM. */
FERMATA_API int fermata_team_create_planned(const fermata_team_config* config, const int* hosts, int host, const void* plans, size_t length,
                                            fermata_team** out);
/* This process's port, before its first member joins; closed with the team. Errors: ARGUMENT, BUSY, what open says. */
FERMATA_API int fermata_team_connect(fermata_team* team, const fermata_port* port);
/* How often the profile of a team with config.refresh_seconds was refreshed so far, and how often its members changed to other plans;
 * either may be NULL. Text, as fermata_team_report gives it, or NULL for both: how long they took, and then, of the process that has rank
 * 0, a line for each link that changed, and why plans did, or not. Errors: ARGUMENT. */
FERMATA_API int fermata_team_refreshes(const fermata_team* team, uint64_t* refreshes, uint64_t* changes, char* buffer, size_t* length);
/* Of the plans that a team was made with: the same on all hosts, or they must not go on. */
FERMATA_API int fermata_team_hash(const fermata_team* team, uint64_t* hash);

#ifdef __cplusplus
}
#endif
#endif
