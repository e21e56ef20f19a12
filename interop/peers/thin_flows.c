/* Many thin flows over the loopback of this machine, one clock for both ends: how long each message takes, as the two
 * applications see it. For the kernel in User-Mode Linux, whose loopback has a delay and losses (interop/src/uml/thin_flows.rs).
 *
 *   thin_flows sctp|tcp FLOWS SIZE INTERVAL_US SECONDS PORT
 *
 * All flows are set up first. Then each sends a message of SIZE bytes each INTERVAL_US, for SECONDS, with a phase of its
 * own. Prints a line for each message, "M flow index sent_us latency_us", then "END sent received", and waits for what is
 * missing for two minutes at most. */
#define _GNU_SOURCE /* accept4 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/sctp.h>

enum { HEADER = 16, LARGEST_MESSAGE = 1400, PATIENCE_S = 120 };

/* What a message begins with. */
struct header {
	uint64_t sent_ns;
	uint32_t flow, index;
};

struct sender {
	int socket;
	uint32_t sent;
};

struct receiver {
	int socket;
	size_t filled;
	unsigned char bytes[1 << 13];
};

struct plan {
	int sctp, port;
	uint32_t flows, size;
	uint64_t interval_ns, span_ns;
};

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void fail(const char *what)
{
	printf("ERROR %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_socket(const struct plan *p)
{
	int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, p->sctp ? IPPROTO_SCTP : IPPROTO_TCP), on = 1;
	if (s < 0 || setsockopt(s, p->sctp ? IPPROTO_SCTP : IPPROTO_TCP, p->sctp ? SCTP_NODELAY : TCP_NODELAY, &on,
				sizeof on))
		fail("socket");
	return s;
}

static int listen_at(const struct plan *p)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(p->port) };
	int s = open_socket(p), on = 1;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(s, (struct sockaddr *)&at, sizeof at) || listen(s, 4096))
		fail("listen");
	return s;
}

/* With its own end bound to loopback alone: else SCTP would offer all addresses of the machine as paths. */
static int connect_to(const struct plan *p)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	int s = open_socket(p);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(s, (struct sockaddr *)&to, sizeof to))
		fail("bind");
	to.sin_port = htons(p->port);
	if (connect(s, (struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS)
		fail("connect");
	return s;
}

/* Opens all flows and waits until each is established on both sides. The handshakes may lose packets, too. */
static void set_up(const struct plan *p, struct sender *senders, struct receiver *receivers)
{
	int listener = listen_at(p);
	struct pollfd *waiting = calloc(p->flows + 1, sizeof *waiting);
	for (uint32_t i = 0; i < p->flows; i++) {
		senders[i].socket = connect_to(p);
		waiting[i] = (struct pollfd){ .fd = senders[i].socket, .events = POLLOUT };
		usleep(2000);
	}
	waiting[p->flows] = (struct pollfd){ .fd = listener, .events = POLLIN };
	for (uint32_t accepted = 0, connected = 0; accepted < p->flows || connected < p->flows;) {
		if (poll(waiting, p->flows + 1, PATIENCE_S * 1000) <= 0)
			fail("set-up");
		for (uint32_t i = 0; i < p->flows; i++) {
			int error = 0;
			socklen_t size = sizeof error;
			if (!waiting[i].revents)
				continue;
			getsockopt(waiting[i].fd, SOL_SOCKET, SO_ERROR, &error, &size);
			errno = error;
			if (error)
				fail("connection");
			waiting[i].fd = -1;
			connected++;
		}
		if (waiting[p->flows].revents) {
			int s = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
			if (s >= 0 && accepted < p->flows)
				receivers[accepted++].socket = s;
		}
	}
	free(waiting);
}

static void send_message(const struct plan *p, struct sender *sender, uint32_t flow)
{
	unsigned char message[LARGEST_MESSAGE] = { 0 };
	struct header head = { .sent_ns = now_ns(), .flow = flow, .index = sender->sent };
	memcpy(message, &head, sizeof head);
	if (send(sender->socket, message, p->size, MSG_NOSIGNAL) != (ssize_t)p->size)
		fail("send");
	sender->sent++;
}

/* Takes whole messages from what arrived; how many. What one call leaves, the next one finds: calls are dear where a
 * kernel runs as a process. */
static uint32_t receive(const struct plan *p, struct receiver *r, uint64_t start)
{
	uint32_t messages = 0;
	ssize_t n = recv(r->socket, r->bytes + r->filled, sizeof r->bytes - r->filled, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		fail("receive");
	uint64_t now = now_ns();
	size_t at = 0;
	for (r->filled += n; r->filled - at >= p->size; at += p->size, messages++) {
		struct header head;
		memcpy(&head, r->bytes + at, sizeof head);
		printf("M %u %u %lld %lld\n", head.flow, head.index, (long long)(head.sent_ns - start) / 1000,
		       (long long)(now - head.sent_ns) / 1000);
	}
	memmove(r->bytes, r->bytes + at, r->filled - at);
	r->filled -= at;
	return messages;
}

/* When message `index` of a flow is due after the start. */
static uint64_t due_ns(const struct plan *p, uint32_t flow, uint32_t index)
{
	return p->interval_ns * index + p->interval_ns * flow / p->flows;
}

static void run(const struct plan *p, struct sender *senders, struct receiver *receivers)
{
	int all = epoll_create1(0);
	struct epoll_event found[64];
	for (uint32_t i = 0; i < p->flows; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };
		epoll_ctl(all, EPOLL_CTL_ADD, receivers[i].socket, &event);
	}
	uint64_t now = now_ns(), start = now + 10000000, end = start + p->span_ns + PATIENCE_S * 1000000000ull;
	uint64_t sent = 0, received = 0;
	/* Phases are in order of the flows, so the next one due is always the next flow. */
	for (uint32_t flow = 0, index = 0; now < end; now = now_ns()) {
		uint64_t due = due_ns(p, flow, index);
		for (; due < p->span_ns && start + due <= now; due = due_ns(p, flow, index), sent++) {
			send_message(p, &senders[flow], flow);
			flow = (flow + 1) % p->flows;
			index += !flow;
		}
		if (due >= p->span_ns && sent == received)
			break;
		uint64_t wait = due >= p->span_ns ? 1000000000 : start + due - now;
		struct timespec timeout = { wait / 1000000000, wait % 1000000000 };
		int count = epoll_pwait2(all, found, 64, &timeout, NULL);
		for (int i = 0; i < count; i++)
			received += receive(p, &receivers[found[i].data.u32], start);
	}
	printf("END %llu %llu\n", (unsigned long long)sent, (unsigned long long)received);
}

int main(int argc, char **argv)
{
	if (argc != 7)
		return 2;
	struct plan p = { .sctp = !strcmp(argv[1], "sctp"), .flows = atoi(argv[2]), .size = atoi(argv[3]),
			  .interval_ns = atoll(argv[4]) * 1000, .span_ns = atoll(argv[5]) * 1000000000,
			  .port = atoi(argv[6]) };
	if (!p.flows || p.size < HEADER || p.size > LARGEST_MESSAGE || !p.interval_ns || !p.port)
		return 2;
	struct rlimit files = { 65536, 65536 };
	setrlimit(RLIMIT_NOFILE, &files);
	struct sender *senders = calloc(p.flows, sizeof *senders);
	struct receiver *receivers = calloc(p.flows, sizeof *receivers);
	set_up(&p, senders, receivers);
	run(&p, senders, receivers);
	return 0;
}
