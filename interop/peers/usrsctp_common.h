/* What the usrsctp client and server share: socket options, and receiving one message with its stream. */
#ifndef USRSCTP_COMMON_H
#define USRSCTP_COMMON_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <usrsctp.h>

#include "workload.h"

struct options {
	const char *address, *sizes;
	int port, local_udp, remote_udp, count, associations, rto_min, rto_initial, rto_max, seconds, unordered,
	    abort, unbound, local_port;
};

/* "--name value" pairs; names are those of struct options. */
static inline int parse_options(int count, char **words, struct options *out)
{
	struct { const char *name; int *number; const char **text; } known[] = {
		{ "--address", 0, &out->address }, { "--sizes", 0, &out->sizes }, { "--port", &out->port, 0 },
		{ "--local-udp", &out->local_udp, 0 }, { "--remote-udp", &out->remote_udp, 0 },
		{ "--count", &out->count, 0 }, { "--associations", &out->associations, 0 },
		{ "--rto-min", &out->rto_min, 0 }, { "--rto-initial", &out->rto_initial, 0 },
		{ "--rto-max", &out->rto_max, 0 }, { "--seconds", &out->seconds, 0 },
		{ "--unordered", &out->unordered, 0 }, { "--abort", &out->abort, 0 },
		{ "--unbound", &out->unbound, 0 }, { "--local-port", &out->local_port, 0 },
	};
	for (int i = 1; i < count; i += 2) {
		size_t k = 0;
		while (k < sizeof known / sizeof *known && strcmp(words[i], known[k].name))
			k++;
		if (k == sizeof known / sizeof *known || i + 1 == count) {
			fprintf(stderr, "unknown option or no value: %s\n", words[i]);
			return -1;
		}
		if (known[k].text)
			*known[k].text = words[i + 1];
		else
			*known[k].number = atoi(words[i + 1]);
	}
	return 0;
}

/* A socket that reports the end of associations and the stream of messages, with the RTO bounds asked for. */
static inline struct socket *open_socket(const struct options *o)
{
	usrsctp_init(o->local_udp, NULL, NULL);
	usrsctp_sysctl_set_sctp_blackhole(2);             /* several stacks share a machine: never answer strangers */
	usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
	usrsctp_sysctl_set_sctp_ecn_enable(0);
	struct socket *s = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	if (!s)
		return NULL;
	int on = 1, space = 4 << 20;
	struct sctp_event event = { .se_assoc_id = SCTP_ALL_ASSOC, .se_type = SCTP_ASSOC_CHANGE, .se_on = 1 };
	struct sctp_rtoinfo rto = { .srto_initial = o->rto_initial, .srto_max = o->rto_max, .srto_min = o->rto_min };
	usrsctp_setsockopt(s, SOL_SOCKET, SO_SNDBUF, &space, sizeof space);
	usrsctp_setsockopt(s, SOL_SOCKET, SO_RCVBUF, &space, sizeof space);
	if (usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof on) < 0 ||
	    usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on) < 0 ||
	    usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_EVENT, &event, sizeof event) < 0 ||
	    usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_RTOINFO, &rto, sizeof rto) < 0)
		return NULL;
	return s;
}

static inline struct sockaddr_in address_of(const char *text, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	inet_pton(AF_INET, text, &a.sin_addr);
	return a;
}

/* Binds to `port` (0: any) of the one address from which the system reaches `to`: unbound, the stack would tell the
 * peer all addresses of the machine, and the peer's heartbeats would leave the loopback or the namespace of the test. */
static inline int bind_towards(struct socket *s, const struct sockaddr_in *to, int port)
{
	struct sockaddr_in own;
	socklen_t size = sizeof own;
	int probe = socket(AF_INET, SOCK_DGRAM, 0);
	if (probe < 0 || connect(probe, (const struct sockaddr *)to, sizeof *to) < 0 ||
	    getsockname(probe, (struct sockaddr *)&own, &size) < 0)
		return -1;
	close(probe);
	own.sin_port = htons(port);
	return usrsctp_bind(s, (struct sockaddr *)&own, sizeof own);
}

/* Receives up to the end of one message. Its size; 0 at the end of the association (*clean says which end);
 * -1 on error. *pieces counts deliveries that were a part of a message only. */
static inline ssize_t receive_message(struct socket *s, unsigned char *into, struct sctp_rcvinfo *info, int *clean)
{
	for (size_t got = 0;;) {
		struct sockaddr_in from;
		socklen_t from_size = sizeof from, info_size = sizeof *info;
		unsigned int kind = 0;
		int flags = 0;
		ssize_t n = usrsctp_recvv(s, into + got, LARGEST - got, (struct sockaddr *)&from, &from_size, info,
					  &info_size, &kind, &flags);
		if (n <= 0)
			return n;
		if (flags & MSG_NOTIFICATION) {
			const union sctp_notification *note = (const void *)(into + got);
			if (note->sn_header.sn_type != SCTP_ASSOC_CHANGE)
				continue;
			if (note->sn_assoc_change.sac_state == SCTP_SHUTDOWN_COMP)
				*clean = 1;
			else if (note->sn_assoc_change.sac_state == SCTP_COMM_LOST)
				fprintf(stderr, "communication lost, error %u\n", note->sn_assoc_change.sac_error);
			continue;
		}
		got += n;
		if (flags & MSG_EOR)
			return got;
		if (got == LARGEST)
			return -1;
	}
}

/* Waits until the stack holds no association any more, two seconds at most. */
static inline void finish(void)
{
	for (int i = 0; i < 200 && usrsctp_finish(); i++)
		usleep(10000);
}

#endif
