/*
 * The seam of build/test/gantry: time that a test can step, and what a test may say of the
 * sandbox.  Kernel calls that fail are in faults.c.
 *
 *   GANTRY_CLOCK=FILE     the file holds an int64 of this machine's byte order: milliseconds
 *                         added to the wall clock and to the monotonic one, read anew each
 *                         time.  No wait in the kernel lasts over 10 ms then, so a step
 *                         is noticed at once.  A second int64, when it is there, is added to
 *                         the wall clock alone: a clock that is set, a machine that slept.
 *   GANTRY_LANDLOCK=N     the kernel seems to have no higher ABI of Landlock; 0: none at all.
 *   GANTRY_UNCONFINED=1   the daemon does not confine itself.
 *   GANTRY_LISTEN=1       at its first wait the daemon tries to open ports and says on stderr
 *                         what came of it.
 *
 * A word that is not understood ends the program: a fault that never comes proves nothing.
 */
#include "seam/faults.h"

#include "base/str.h"
#include "os/seam.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_MS 10

/* Written before main() and only read after. */
static pid_t owner;
static const int64_t *clock_offset, *wall_offset;
static int landlock_max = INT_MAX;
static bool unconfined;
static atomic_bool shall_listen;

/* ---- what was asked for ------------------------------------------------------------------- */

static NORETURN void refuse(const char *what, const char *word)
{
	(void)fprintf(stderr, "seam: %s: %s\n", what, word);
	_exit(2);
}

static void map_clock(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size < (off_t)sizeof *clock_offset)
		refuse("GANTRY_CLOCK is no file of 8 bytes", path);
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (p == MAP_FAILED)
		refuse("GANTRY_CLOCK cannot be mapped", path);
	clock_offset = p;
	if (st.st_size >= (off_t)(2 * sizeof *clock_offset))
		wall_offset = clock_offset + 1;
}

__attribute__((constructor)) static void begin(void)
{
	const char *clock = getenv("GANTRY_CLOCK");
	const char *landlock = getenv("GANTRY_LANDLOCK");

	if (clock && *clock)
		map_clock(clock);
	if (landlock && *landlock) {
		int64_t n;
		if (!str_i64(str_of(landlock), &n) || n < 0 || n > 100)
			refuse("GANTRY_LANDLOCK is no number of an ABI", landlock);
		landlock_max = (int)n;
	}
	unconfined = getenv("GANTRY_UNCONFINED") != NULL;
	atomic_store(&shall_listen, getenv("GANTRY_LISTEN") != NULL);
	owner = getpid();
	faults_begin();
}

/* ---- the sandbox ---------------------------------------------------------------------------- */

int seam_landlock(int abi)
{
	return abi < landlock_max ? abi : landlock_max;
}

bool seam_confine(void)
{
	return !unconfined;
}

static void report(const char *what, long rc)
{
	(void)fprintf(stderr, "seam: %s: %s\n", what, rc < 0 ? strerrorname_np(errno) : "done");
}

/* What a library with a back door would do. */
static void try_ports(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char ring[256] = { 0 };

	report("bind", bind(tcp, (struct sockaddr *)&at, sizeof at));
	report("listen", listen(tcp, 1));
	int rc = accept4(tcp, NULL, NULL, SOCK_CLOEXEC);
	report("accept", rc < 0 && errno == EAGAIN ? 0 : rc);
	report("bind udp", bind(udp, (struct sockaddr *)&at, sizeof at));
	report("io_uring",
	       syscall(SYS_io_uring_setup, 1, ring) < 0 && errno == ENOSYS ? -1 : 0);
	(void)close(tcp);
	(void)close(udp);
}

/* ---- time ----------------------------------------------------------------------------------- */

int seam_clock(clockid_t id, struct timespec *out)
{
	int rc = clock_gettime(id, out);

	if (rc != 0 || !clock_offset)
		return rc;
	int64_t ms = __atomic_load_n(clock_offset, __ATOMIC_RELAXED);
	if (wall_offset && id == CLOCK_REALTIME)
		ms += __atomic_load_n(wall_offset, __ATOMIC_RELAXED);
	int64_t ns = out->tv_nsec + ms % 1000 * 1000000;
	out->tv_sec += ms / 1000 + (ns >= 1000000000) - (ns < 0);
	out->tv_nsec = ns >= 1000000000 ? ns - 1000000000 : ns < 0 ? ns + 1000000000 : ns;
	return 0;
}

int seam_slice(int ms)
{
	if (getpid() == owner && atomic_exchange(&shall_listen, false))
		try_ports();
	return clock_offset && (ms < 0 || ms > SLICE_MS) ? SLICE_MS : ms;
}
