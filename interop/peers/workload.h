/* What every peer program of this folder shares: the echo workload (sizes and contents of messages, checked
 * byte by byte) and the line of results that interop/src/report.rs reads. The contents are the ones of
 * EchoPlan::message in interop/src/plan.rs: change both together. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LARGEST (1 << 20)

/* Exit codes: what went wrong, told to the test. */
enum { OK = 0, WRONG_BYTES = 1, USAGE = 2, NETWORK = 3, UNCLEAN_SHUTDOWN = 4 };

static inline double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Byte `at` of message `index`: neither constant nor periodic in a power of two. */
static inline unsigned char byte_of(long index, long at)
{
	return (unsigned char)(index * 131 + at * 7 + (at >> 8) * 3);
}

/* The message, of those below 256, whose first byte this is: 43 is the inverse of 131 modulo 256. */
static inline long index_of(unsigned char first)
{
	return first * 43 & 255;
}

static inline void fill(unsigned char *message, long index, long size)
{
	for (long at = 0; at < size; at++)
		message[at] = byte_of(index, at);
}

struct sizes {
	long *each, count, largest;
};

/* "1,100,1000": message i has the size at i modulo their number. */
static inline int parse_sizes(const char *text, struct sizes *out)
{
	out->count = out->largest = 0;
	out->each = malloc((strlen(text) + 1) * sizeof(long));
	for (char *end; out->each; text = end + 1) {
		long size = strtol(text, &end, 10);
		if (end == text || size < 1 || size > LARGEST || (*end && *end != ','))
			return -1;
		out->each[out->count++] = size;
		if (size > out->largest)
			out->largest = size;
		if (!*end)
			return 0;
	}
	return -1;
}

static inline int ascending(const void *a, const void *b)
{
	double difference = *(const double *)a - *(const double *)b;
	return (difference > 0) - (difference < 0);
}

/* One line for the test: round trips in microseconds; `kept` says whether every message came back as one, `ended` how
 * the association ended, `resets` how often the peer reset its streams. */
static inline void print_result(double *rtt, long echoes, long bytes, long wrong, int kept, const char *ended,
				long resets, double connected)
{
	qsort(rtt, echoes, sizeof *rtt, ascending);
	printf("RESULT echoes=%ld bytes=%ld wrong=%ld boundaries=%s shutdown=%s resets=%ld connect_us=%.0f "
	       "rtt_us_min=%.0f rtt_us_p50=%.0f rtt_us_p99=%.0f rtt_us_max=%.0f\n",
	       echoes, bytes, wrong, kept ? "kept" : "lost", ended, resets, connected * 1e6,
	       echoes ? rtt[0] * 1e6 : 0, echoes ? rtt[echoes / 2] * 1e6 : 0,
	       echoes ? rtt[echoes * 99 / 100] * 1e6 : 0, echoes ? rtt[echoes - 1] * 1e6 : 0);
	fflush(stdout);
}

#endif
