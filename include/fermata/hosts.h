/* Teams over several hosts, over a transport of the caller's own. fermata/mpi.h has teams over MPI. */
#ifndef FERMATA_HOSTS_H
#define FERMATA_HOSTS_H

#include <fermata/fermata.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Teams over several hosts -----------------------------------------------------------------------------
 * For programs that bring their own transport between hosts. fermata/mpi.h has a function for programs
 * that use MPI. The members on one host share a segment. Each process has a port, its end of the
 * transport. A signal to another host goes through the port. All other signals are stores to a cache line,
 * as in any team. One plan, proved as a whole, covers both. The port makes progress in each call in which
 * a member of its team waits or tests (fermata_test, unless its call is over at once, fermata_request_test),
 * and in fermata_progress. While requests of the team are outstanding, the progress thread drives it, too, if
 * it is on (fermata_progress_thread). A thread that waits in another team drives this port, too, while one of
 * its own members has requests of this team. All collectives work over hosts: blocking, nonblocking and
 * persistent. A plan in which members of several hosts use one shared counter does not work over hosts.
 * Blocks between hosts never go by single copy: they go through ring buffers, or as long messages. A member
 * gives such messages up if its call ends with an error other than TRUNCATED, TIMEOUT or INTERRUPTED, or if
 * it leaves before its call has ended. Mostly the port then does not use the call's buffers any more. If it
 * still may after 1 s, the buffers must stay as they are until the team that has the port is destroyed, and
 * over MPI until MPI_Finalize. A team that fermata_team_split makes uses its parent's port, even if the new
 * team is on one host, and drives it. */

/* -- give a team over hosts its transport --
 * For programs that bring their own transport between hosts: a fabric, sockets, a message library.
 * fermata/mpi.h has a transport over MPI. Write the functions of a fermata_port, and give it to the team in
 * each process, before its first member joins. Do not block in write, progress or is_gone: members call them
 * while they wait. */

/* A line: the new contents of a slot, on the way to a member on another host. A slot is a header of 8 bytes
 * and then the payload, in one cache line of the receiver's memory. Other slots may be in that cache line:
 * write only the header and the valid words. A port copies the line and delivers it unchanged. */
typedef struct fermata_line {
  uint64_t offset;  /* the slot's place in the window, the same on all hosts */
  uint64_t header;  /* A newer header is greater than an older one, by their signed difference. */
  uint32_t to;      /* the receiver's rank in the port's team */
  uint16_t words;   /* how many words of payload are valid, 0..7 */
  uint16_t from;    /* the sender's host; valid if sent_ns is not 0 */
  uint32_t subteam; /* not 0: the line is for a team that was split from the port's team. */
                    /* Pass such a line to land(). Do not write it into the window. */
  uint32_t rank;    /* the receiver's rank in the line's team; equal to `to` if subteam is 0 */
  int64_t sent_ns;  /* the sender's clock, if the team observes its links, else 0. */
                    /* Not 0: pass the line to land(), which observes the link. */
  uint64_t payload[7];
} fermata_line;

#define FERMATA_MOST_BLOCK 65280 /* bytes of a block at most */

/* A block: bytes that a line brings for another place in the window. A port writes them before the line's
 * header, and only if the line lands. */
typedef struct fermata_block {
  uint64_t offset;  /* the bytes' place in the window */
  uint64_t bytes;   /* at most FERMATA_MOST_BLOCK */
  const void* from; /* the bytes */
} fermata_block;

/* The memory in which lines for a process's members land. */
typedef struct fermata_window {
  void* base;   /* For transports that write to it themselves: block and payload go before the header. */
                /* An older header never replaces a newer one. Nothing wakes a sleeping member then: */
                /* it looks again within 1 ms, or by its hook's limit (fermata_member_set_idle_sleep). */
  size_t bytes; /* of the window */
  void (*land)(void* team, const fermata_line* line, const fermata_block* block);
  /* For other transports: writes a line that has come, with its block (NULL: none), */
  /* unless a newer one is there. It wakes a member that sleeps until the line comes. */
  /* A port calls it from one thread at a time. */
  void* team; /* the first argument of land */
} fermata_window;

/* A process's end of a transport, for one team. Any thread of the process may call any of these at any time
 * before close. Lines need no order, except at a flush. Where processes of two hosts share memory (in tests),
 * a thread that reads a line's header must also see there what the thread that wrote the line saw: locks and
 * system calls do that.
 * - write: never waits, and copies what it cannot send at once. Each line lands, with its block (NULL: none),
 *   unless the receiver is gone. A line may land twice, or after a later line of its slot: both are harmless.
 * - progress: moves data that waits, in both directions. Waiting members call it again and again.
 * - is_gone: returns whether the rank's process is gone: it has closed its port, has died, or has not
 *   answered for too long. Not 0: no more lines come from it. All that it sent has landed, unless the
 *   connection was lost.
 * - flush: waits until all earlier lines will land without a further call here, for at most most_ns ns. They
 *   land before later lines, also if the time runs out.
 * - close: does what flush does, and may also wait for the other processes' close, within most_ns. After it
 *   returns, the port never calls land again.
 *
 * The four functions after close move long messages from the sender's memory to the receiver's without
 * copies. All four are set, or all are NULL: then all data travel as blocks. All processes of a team must
 * agree in this. Long messages are not ordered with lines. These functions do not block, but for end_long.
 * - send_long: begins to send. The bytes stay as they are until end_long returns 1. *number is set so
 *   that the receiver can tell the message from the others between these two processes. Returns an id for
 *   is_over and end_long; 0: this message can't be sent in this way.
 * - receive_long: begins to receive the message that has that number and length. Returns an id; 0: no
 *   memory.
 * - is_over: returns whether this process's part is over: a receiver has all bytes, a sender's may change.
 * - end_long: gives the message up if it is not over, and waits for at most most_ns ns until the port does
 *   not use its memory. Returns 0 if the port still may, else 1: the id has ended. */
typedef struct fermata_port {
  size_t size; /* sizeof(fermata_port), or FERMATA_PORT_WITHOUT_LONG */
  void* self;  /* first argument of each function */
  int (*open)(void* self, const fermata_window* window); /* From this call on, lines may come. */
                                                         /* Returns FERMATA_OK or an error. */
  void (*write)(void* self, const fermata_line* line, const fermata_block* block);
  void (*progress)(void* self);
  int (*is_gone)(void* self, uint32_t rank);
  void (*flush)(void* self, int64_t most_ns);
  void (*close)(void* self, int64_t most_ns);
  uint64_t (*send_long)(void* self, uint32_t to, const void* from, uint64_t bytes, uint64_t* number);
  uint64_t (*receive_long)(void* self, uint32_t from, uint64_t number, void* to, uint64_t bytes);
  int (*is_over)(void* self, uint64_t id);
  int (*end_long)(void* self, uint64_t id, int64_t most_ns);
} fermata_port;

/* The size of a port that ends after close. */
#define FERMATA_PORT_WITHOUT_LONG offsetof(fermata_port, send_long)

/* Gives the team this process's port. Each process of a team over several hosts calls it, before its first
 * member joins. The team copies *port and opens the port. It closes the port when the team is freed; `self`
 * must be valid until then. Errors: ARGUMENT (a function of the port is NULL, or port->size is wrong, or the
 * team is not over hosts), BUSY (the team has a port), MEMORY, and the errors of open. */
FERMATA_API int fermata_team_connect(fermata_team* team, const fermata_port* port);

/* -- find the processes that can share a segment --
 * For the argument `hosts` of fermata_team_create_hosts: gather the numbers of all processes, and number
 * the different ones from 0. The number is not the host's name or address, and it changes with each boot. */

/* Returns a number that is the same in all processes that can share a segment (fermata_team_serve). Processes
 * of one user can share a segment, the memory of a team on one host, if they have the same kernel, host name
 * and network namespace. There are no errors. Without /proc, each process gets a number of its own. */
FERMATA_API uint64_t fermata_host_id(void);

/* -- make a team over several hosts --
 * One process of each host makes the team, with the same arguments except `host`. The other processes of the
 * host attach to it (fermata_team_attach). Then each process gives the team its port (fermata_team_connect)
 * and joins its ranks. Programs that use MPI call fermata_team_create_mpi instead. All hosts must run the
 * same plans (fermata_team_hash). */

/* Makes this host's part of a team of config->members members, as fermata_team_create does. hosts[r] is the
 * number of rank r's host, from 0 to members - 1. `host` is this host's number. One process of each host
 * makes this call, and the host's other processes attach (fermata_team_serve). If there are any,
 * config->engine must be FERMATA_PROCESSES. All hosts give the same config->plans, or none. With none, each
 * host plans by the same estimates, not by its cache. Another version of Fermata, or another
 * FERMATA_REPRODUCIBLE, may still give other plans: fermata_team_hash tells. Given plans must be for these
 * hosts, as `fermata plan` makes them from the profile of an MPI job on these hosts. A plan of
 * fermata_plan_make is for one host. config->cpus is ignored. Errors: ARGUMENT (or a plan is for another
 * number of members or for other hosts), MEMORY, SYSTEM, UNSUPPORTED (a plan cannot be compiled for these
 * hosts), VERIFY. */
FERMATA_API int fermata_team_create_hosts(const fermata_team_config* config, const int* hosts, int host,
                                          fermata_team** out);

/* -- make the plans of a team over several hosts once --
 * For teams whose hosts have different caches or profiles. One host makes the plans with
 * fermata_hosts_plan and sends them to all, and each host makes its part of the team with
 * fermata_team_create_planned. Do not change the bytes: each host checks them. */

/* Makes the plans for a team over hosts. The caller sends them to all hosts, so that all run the same ones.
 * For each collective it takes the plan of config->plans, or without one the cache's plan. Without both, it
 * chooses by the costs that an MPI job on these hosts has measured (fermata profile --mpi), else by
 * estimates. All config->plans must be for these hosts (fermata_team_create_hosts). names[h] is the name of
 * host h, as gethostname gives it, up to the largest h in `hosts`. cpus[r] is the CPU to which rank r is
 * pinned there, or -1 if it is not pinned to one. names and cpus may be NULL: not known. Without names, the
 * call finds neither cached plans nor measured costs. At the call, *length is the capacity of `plans` in
 * bytes. At the return, it is the number of bytes that the plans need. If the capacity is too small or
 * `plans` is NULL, the call succeeds and writes only *length. Errors: ARGUMENT (or a plan is for another
 * number of members or for other hosts), MEMORY, UNSUPPORTED (a plan cannot be compiled for these hosts),
 * VERIFY. */
FERMATA_API int fermata_hosts_plan(const fermata_team_config* config, const int* hosts,
                                   const char* const* names, const int* cpus, void* plans, size_t* length);
/* As fermata_team_create_hosts, with the plans that fermata_hosts_plan made on any one of the hosts.
 * config->plans and config->refresh_seconds are ignored: those of fermata_hosts_plan hold. Errors: ARGUMENT
 * (or the plans are damaged, or for another number of members, or config->tagged differs), MEMORY, SYSTEM,
 * VERIFY (the plans cannot run on these hosts). */
FERMATA_API int fermata_team_create_planned(const fermata_team_config* config, const int* hosts, int host,
                                            const void* plans, size_t length, fermata_team** out);

/* -- see how a team adapts to its links --
 * For logs of long runs with config.refresh_seconds or FERMATA_REFRESH. The text is for people: do not
 * parse it. */

/* Writes how often the team's profile was refreshed so far (config.refresh_seconds), and how often the team
 * changed to other plans. Both pointers may be NULL. The numbers are 0 if no member joined by this handle.
 * Also writes a text, unless length is NULL. The text says how long the refreshes took. If rank 0 joined by
 * this handle, it also says which links changed lately, and why plans changed or did not. Before the first
 * refresh it is empty. At the call, *length is the buffer's capacity in bytes. At the return, it is the
 * number of bytes that the text needs, with the final NUL. A text that does not fit is cut. buffer may be
 * NULL: the call then writes no text, only *length. */
FERMATA_API int fermata_team_refreshes(const fermata_team* team, uint64_t* refreshes, uint64_t* changes,
                                       char* buffer, size_t* length);

/* -- check that all hosts run the same plans --
 * For programs that make a team on each host by themselves: compare the hashes of all hosts, by the program's
 * own means, before the first member joins. */

/* Writes a hash of the number of members and the plans with which the team was made. It does not change when
 * the team changes its plans. The hash must be the same on all hosts. If it is not, do not use the team. */
FERMATA_API int fermata_team_hash(const fermata_team* team, uint64_t* hash);

#ifdef __cplusplus
}
#endif
#endif
