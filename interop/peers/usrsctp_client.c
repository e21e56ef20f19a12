/* usrsctp as client: sends messages one after the other, expects each back byte by byte, shuts down.
 *   usrsctp_client --address A --port P --local-udp L --remote-udp R --sizes 1,100 --count N
 *                  [--rto-min MS --rto-initial MS --rto-max MS --unordered 1 --abort 1 --unbound 1 --local-port P --seconds S]
 * UDP ports 0: raw IP. Prints one RESULT line; exit codes stand in workload.h. */
#include "usrsctp_common.h"

/* Sends message `index` and compares what comes back. Returns wrong messages (0 or 1), -1 on failure. */
static int echo(struct socket *s, const struct options *o, const struct sizes *sizes, long index, unsigned char *sent,
		unsigned char *back, int *kept, int *clean)
{
	long size = sizes->each[index % sizes->count], got = 0;
	struct sctp_sndinfo info = { .snd_sid = index % 4, .snd_flags = o->unordered ? SCTP_UNORDERED : 0,
				     .snd_ppid = htonl(51) };
	fill(sent, index, size);
	if (usrsctp_sendv(s, sent, size, NULL, 0, &info, sizeof info, SCTP_SENDV_SNDINFO, 0) != size) {
		perror("send");
		return -1;
	}
	while (got < size) {
		struct sctp_rcvinfo received = { 0 };
		ssize_t n = receive_message(s, back + got, &received, clean);
		if (n <= 0) {
			fprintf(stderr, "message %ld: %ld of %ld bytes came back\n", index, got, size);
			return -1;
		}
		if (n != size)
			*kept = 0;
		got += n;
	}
	return got != size || memcmp(sent, back, size) != 0;
}

int main(int argc, char **argv)
{
	struct options o = { .address = "127.0.0.1", .sizes = "100", .port = 7, .count = 1, .rto_min = 1000,
			     .rto_initial = 1000, .rto_max = 60000, .seconds = 60 };
	struct sizes sizes;
	if (parse_options(argc, argv, &o) || parse_sizes(o.sizes, &sizes))
		return USAGE;
	alarm(o.seconds);
	struct socket *s = open_socket(&o);
	if (!s) {
		perror("socket");
		return NETWORK;
	}
	if (o.remote_udp) {
		struct sctp_udpencaps e = { .sue_address.ss_family = AF_INET, .sue_port = htons(o.remote_udp) };
		usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &e, sizeof e);
	}
	struct sockaddr_in to = address_of(o.address, o.port);
	if (!o.unbound && bind_towards(s, &to, o.local_port) < 0) {
		perror("bind");
		return NETWORK;
	}
	double started = now();
	if (usrsctp_connect(s, (struct sockaddr *)&to, sizeof to) < 0) {
		perror("connect");
		return NETWORK;
	}
	double connected = now() - started, *rtt = calloc(o.count, sizeof *rtt);
	unsigned char *sent = malloc(LARGEST), *back = malloc(2 * LARGEST);
	struct sctp_rcvinfo info;
	int wrong = 0, kept = 1, clean = 0;
	long bytes = 0;
	for (long i = 0; i < o.count; i++) {
		double before = now();
		int bad = echo(s, &o, &sizes, i, sent, back, &kept, &clean);
		if (bad < 0)
			return NETWORK;
		rtt[i] = now() - before;
		wrong += bad;
		bytes += sizes.each[i % sizes.count];
	}
	if (o.abort) {                          /* which closing without lingering is */
		struct linger none = { .l_onoff = 1 };
		usrsctp_setsockopt(s, SOL_SOCKET, SO_LINGER, &none, sizeof none);
	} else {
		usrsctp_shutdown(s, SHUT_WR);
		while (receive_message(s, back, &info, &clean) > 0)
			wrong++;                /* nothing may come after the last echo */
	}
	print_result(rtt, o.count, bytes, wrong, kept, clean, connected);
	usrsctp_close(s);
	finish();
	return wrong ? WRONG_BYTES : clean ? OK : UNCLEAN_SHUTDOWN;
}
