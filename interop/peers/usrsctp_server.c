/* usrsctp as echo server: each message goes back on its stream, as one message, ordered or not as it came.
 *   usrsctp_server --address A --port P --local-udp L --associations N [--rto-min MS ... --seconds S]
 * Serves N associations one after the other, then exits. Says "MARK ready" when it listens, and a SERVED line for
 * each association. UDP port 0: raw IP. Exit codes stand in workload.h. */
#include "usrsctp_common.h"

static int serve(struct socket *k, unsigned char *message)
{
	struct sctp_rcvinfo in = { 0 };
	int clean = 0;
	long messages = 0, bytes = 0;
	ssize_t n;
	while ((n = receive_message(k, message, &in, &clean)) > 0) {
		struct sctp_sndinfo out = { .snd_sid = in.rcv_sid, .snd_ppid = in.rcv_ppid,
					    .snd_flags = in.rcv_flags & SCTP_UNORDERED };
		if (usrsctp_sendv(k, message, n, NULL, 0, &out, sizeof out, SCTP_SENDV_SNDINFO, 0) != n) {
			perror("send");
			break;
		}
		messages++;
		bytes += n;
	}
	printf("SERVED echoes=%ld bytes=%ld shutdown=%s\n", messages, bytes, clean ? "clean" : "unclean");
	fflush(stdout);
	usrsctp_close(k);
	return clean;
}

int main(int argc, char **argv)
{
	struct options o = { .address = "127.0.0.1", .port = 7, .associations = 1, .rto_min = 1000,
			     .rto_initial = 1000, .rto_max = 60000, .seconds = 60 };
	if (parse_options(argc, argv, &o))
		return USAGE;
	alarm(o.seconds);
	struct socket *s = open_socket(&o);
	struct sockaddr_in at = address_of(o.address, o.port);
	if (!s || usrsctp_bind(s, (struct sockaddr *)&at, sizeof at) < 0 || usrsctp_listen(s, 8) < 0) {
		perror("bind or listen");
		return NETWORK;
	}
	puts("MARK ready");
	fflush(stdout);
	unsigned char *message = malloc(LARGEST);
	int all_clean = 1;
	for (int i = 0; i < o.associations; i++) {
		struct socket *k = usrsctp_accept(s, NULL, NULL);
		if (!k) {
			perror("accept");
			return NETWORK;
		}
		all_clean &= serve(k, message);
	}
	usrsctp_close(s);
	finish();
	return all_clean ? OK : UNCLEAN_SHUTDOWN;
}
