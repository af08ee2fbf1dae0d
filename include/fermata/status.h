/* What the functions' int status means. fermata.h includes this header. The comments of all headers name
 * errors without their prefix, as in TIMEOUT. */
#ifndef FERMATA_STATUS_H
#define FERMATA_STATUS_H

#if defined(FERMATA_BUILDING) || defined(__GNUC__)
#define FERMATA_API __attribute__((visibility("default")))
#else
#define FERMATA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status -----------------------------------------------------------------------------------------------
 * What the functions' int status means. A function with such a status also returns ARGUMENT for a NULL
 * pointer that it needs, and MEMORY if it cannot get memory. */

/* -- what a status means, and the reason of an error --
 * Call fermata_error_detail right after a function has returned an error, to log or show the reason.
 * fermata_status_string gives a general text for a status from anywhere. Compare statuses, not texts: the
 * texts may change. */

enum fermata_status {
  FERMATA_OK = 0,
  FERMATA_PENDING = 1,           /* The operation has not finished yet. */
  FERMATA_LAST = 2,              /* This arrival filled the phase of an anonymous barrier. */
  FERMATA_ERR_ARGUMENT = -1,     /* An argument is out of its documented range. */
  FERMATA_ERR_MEMORY = -2,       /* Memory ran out. */
  FERMATA_ERR_SYSTEM = -3,       /* A call of the system or a library failed. */
  FERMATA_ERR_TIMEOUT = -4,      /* The time limit has passed. fermata_resume continues a collective. */
  FERMATA_ERR_MEMBER_LOST = -5,  /* A member has left, or its process has died. The detail names it. The */
                                 /* team is broken. A thread that ends without leaving is not noticed. */
  FERMATA_ERR_MISMATCH = -6,     /* Members disagree in tags, calls, plans or versions. */
  FERMATA_ERR_BROKEN = -7,       /* fermata_team_abort or a rarer error broke the team. Destroy it. */
  FERMATA_ERR_PARSE = -8,        /* A file or a name is malformed. The detail gives the reason. */
  FERMATA_ERR_UNSUPPORTED = -9,  /* The call is not available here. The detail says why. */
  FERMATA_ERR_FORKED = -10,      /* The handle belongs to the parent of this forked process. */
  FERMATA_ERR_BUSY = -11,        /* Something is outstanding, or a rank, a name or a port is taken. */
  FERMATA_ERR_INTERRUPTED = -12, /* The idle hook ended the wait. fermata_resume continues a collective. */
  FERMATA_ERR_VERIFY = -13,      /* A schedule or plan failed its proof. */
  FERMATA_ERR_NOT_FOUND = -14,   /* A file, profile or algorithm does not exist or cannot be opened. */
  FERMATA_ERR_TRUNCATED = -15    /* Lengths may differ (fermata_member_set_bounded), and more data */
                                 /* came than fits. Fermata dropped the rest. */
};

/* Returns a general text for the status: static storage, never NULL. */
FERMATA_API const char* fermata_status_string(int status);
/* Returns a sentence about this thread's last error, or "" if there was none. A successful call does not
 * clear the text. Errors of libfermata-rt (anonymous and ranked barriers), and some errors of mpi.h and
 * job.h, leave it as it was. The pointer is valid until this thread's next call of Fermata. */
FERMATA_API const char* fermata_error_detail(void);

/* ---- Version ----------------------------------------------------------------------------------------------
 */

/* -- the version of the library --
 * Tells which library the program runs with. FERMATA_VERSION_MAJOR, FERMATA_VERSION_MINOR and
 * FERMATA_VERSION_PATCH tell which header it was compiled with. */

FERMATA_API const char* fermata_version(void); /* Returns "MAJOR.MINOR.PATCH". */

#ifdef __cplusplus
}
#endif
#endif
