/* Preloaded after Fermata: a forbidden call in a wait ends the program and prints its name. A program marks
 * the start and the end of a wait (trap_enter, trap_leave). Forbidden are allocators, the loader, locks, and
 * cancellation points. Linked directly, it does the same for the library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static __thread int waiting __attribute__((tls_model("initial-exec")));

void trap_enter(void) { waiting = 1; }
void trap_leave(void) { waiting = 0; }

static void forbid(const char* name) {
  static const char text[] = "trap: called in a wait: ";
  if (!waiting) return;
  syscall(SYS_write, 2, text, sizeof text - 1);
  syscall(SYS_write, 2, name, strlen(name));
  syscall(SYS_write, 2, "\n", 1);
  syscall(SYS_exit_group, 86);
}

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

void* malloc(size_t n) { return forbid("malloc"), __libc_malloc(n); }
void* calloc(size_t n, size_t each) { return forbid("calloc"), __libc_calloc(n, each); }
void* realloc(void* p, size_t n) { return forbid("realloc"), __libc_realloc(p, n); }
void* aligned_alloc(size_t to, size_t n) { return forbid("aligned_alloc"), __libc_memalign(to, n); }
void free(void* p) {
  if (p) forbid("free");
  __libc_free(p);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define PASS(type, name, parameters, arguments) \
  type name parameters {                        \
    static __typeof__(&name) next;              \
    forbid(#name);                              \
    if (!next) next = NEXT(name);               \
    return next arguments;                      \
  }
PASS(void*, dlopen, (const char* path, int flags), (path, flags))
PASS(int, dlclose, (void* handle), (handle))
PASS(int, dladdr, (const void* at, Dl_info* info), (at, info))
PASS(int, dladdr1, (const void* at, Dl_info* info, void** extra, int flags), (at, info, extra, flags))
struct dl_phdr_info;
int dl_iterate_phdr(int (*use)(struct dl_phdr_info*, size_t, void*), void* data);
PASS(int, dl_iterate_phdr, (int (*use)(struct dl_phdr_info*, size_t, void*), void* data), (use, data))
PASS(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex))
PASS(int, pthread_once, (pthread_once_t * once, void (*run)(void)), (once, run))
PASS(int, pthread_cond_wait, (pthread_cond_t * cond, pthread_mutex_t* mutex), (cond, mutex))
PASS(int, pthread_cond_timedwait,
     (pthread_cond_t * cond, pthread_mutex_t* mutex, const struct timespec* until), (cond, mutex, until))
PASS(int, sem_wait, (sem_t * semaphore), (semaphore))
PASS(int, usleep, (useconds_t us), (us))
PASS(int, pthread_join, (pthread_t thread, void** result), (thread, result))
PASS(ssize_t, read, (int fd, void* to, size_t n), (fd, to, n))
PASS(ssize_t, write, (int fd, const void* from, size_t n), (fd, from, n))
PASS(int, close, (int fd), (fd))
PASS(char*, getenv, (const char* name), (name))
PASS(char*, secure_getenv, (const char* name), (name))
struct timespec;
int nanosleep(const struct timespec* request, struct timespec* left);
PASS(int, nanosleep, (const struct timespec* request, struct timespec* left), (request, left))
struct pollfd;
int poll(struct pollfd* fds, unsigned long count, int timeout);
PASS(int, poll, (struct pollfd * fds, unsigned long count, int timeout), (fds, count, timeout))
struct _IO_FILE;
struct _IO_FILE* fopen(const char* path, const char* mode);
PASS(struct _IO_FILE*, fopen, (const char* path, const char* mode), (path, mode))
struct __dirstream;
struct __dirstream* opendir(const char* path);
PASS(struct __dirstream*, opendir, (const char* path), (path))
int open(const char* path, int flags, ...);
int open(const char* path, int flags, ...) {
  static __typeof__(&open) next;
  va_list list;
  va_start(list, flags);
  const mode_t mode = va_arg(list, mode_t);
  va_end(list);
  forbid("open");
  if (!next) next = NEXT(open);
  return next(path, flags, mode);
}
