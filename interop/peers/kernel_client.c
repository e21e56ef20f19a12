/* The kernel's SCTP as client (run inside the guest): the same workload and result line as usrsctp_client.
 *   kernel_client ADDRESS PORT SIZES COUNT RTO_MIN_MS RTO_MAX_MS SECONDS UDP_PORT ABORT
 * UDP_PORT is where the peer's encapsulation listens, 0 for raw IP; ABORT is 1 to end by an abort.
 * Uses plain sockets and the kernel's own header, so that it builds without a SCTP library. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sctp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "workload.h"

/* Receives up to `room` bytes of data; 0 at the end (*clean says which). *end is set where a message ends. */
static ssize_t receive(int s, unsigned char *into, size_t room, int *end, int *clean)
{
	for (;;) {
		struct iovec part = { into, room };
		struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
		ssize_t n = recvmsg(s, &m, 0);
		if (n <= 0)
			return n;
		if (m.msg_flags & MSG_NOTIFICATION) {
			const union sctp_notification *note = (const void *)into;
			if (note->sn_header.sn_type == SCTP_ASSOC_CHANGE &&
			    note->sn_assoc_change.sac_state == SCTP_SHUTDOWN_COMP)
				*clean = 1;
			continue;
		}
		*end = !!(m.msg_flags & MSG_EOR);
		return n;
	}
}

int main(int argc, char **argv)
{
	struct sizes sizes;
	if (argc != 10 || parse_sizes(argv[3], &sizes))
		return USAGE;
	long count = atol(argv[4]), bytes = 0, wrong = 0;
	alarm(atoi(argv[7]));
	int s = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP), on = 1, kept = 1, clean = 0, end = 0;
	struct sctp_rtoinfo rto = { .srto_initial = 1000, .srto_min = atoi(argv[5]), .srto_max = atoi(argv[6]) };
	struct sctp_udpencaps udp = { .sue_assoc_id = SCTP_FUTURE_ASSOC, .sue_port = htons(atoi(argv[8])) };
	struct linger at_once = { .l_onoff = 1 };
	struct sctp_event event = { .se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = SCTP_ASSOC_CHANGE, .se_on = 1 };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(atoi(argv[2])) };
	inet_pton(AF_INET, argv[1], &to.sin_addr);
	if (rto.srto_initial < rto.srto_min)
		rto.srto_initial = rto.srto_min;
	udp.sue_address.ss_family = AF_INET;
	if (s < 0 || setsockopt(s, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof on) ||
	    setsockopt(s, IPPROTO_SCTP, SCTP_RTOINFO, &rto, sizeof rto) ||
	    setsockopt(s, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &udp, sizeof udp) ||
	    setsockopt(s, IPPROTO_SCTP, SCTP_EVENT, &event, sizeof event)) {
		perror("socket");
		return NETWORK;
	}
	double started = now(), *rtt = calloc(count, sizeof *rtt);
	if (connect(s, (struct sockaddr *)&to, sizeof to)) {
		perror("connect");
		return NETWORK;
	}
	double connected = now() - started;
	unsigned char *sent = malloc(LARGEST), *back = malloc(LARGEST);
	for (long i = 0; i < count; i++) {
		long size = sizes.each[i % sizes.count], got = 0;
		double before = now();
		fill(sent, i, size);
		if (send(s, sent, size, 0) != size) {
			perror("send");
			return NETWORK;
		}
		while (got < size) {
			ssize_t n = receive(s, back + got, LARGEST - got, &end, &clean);
			if (n <= 0) {
				fprintf(stderr, "message %ld: %ld of %ld bytes came back: %s\n", i, got, size,
					n ? strerror(errno) : "end");
				return NETWORK;
			}
			got += n;
			if (end != (got == size))
				kept = 0;
		}
		rtt[i] = now() - before;
		wrong += got != size || memcmp(sent, back, size) != 0;
		bytes += size;
	}
	if (atoi(argv[9])) {                    /* closing without lingering is an abort */
		setsockopt(s, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
		close(s);
	} else {
		shutdown(s, SHUT_WR);
		while (receive(s, back, LARGEST, &end, &clean) > 0)
			wrong++;                /* nothing may come after the last echo */
	}
	print_result(rtt, count, bytes, wrong, kept, clean, connected);
	return wrong ? WRONG_BYTES : clean ? OK : UNCLEAN_SHUTDOWN;
}
