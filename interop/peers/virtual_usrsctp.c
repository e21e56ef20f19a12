/* One end of an association of usrsctp in virtual time: without sockets and threads, its packets, its clock and its
 * random numbers through standard input and output (AF_CONN).
 *
 * virtual_usrsctp client|server default|tuned SEED
 *
 * A request is one byte, the time in microseconds (64 bits), a length (32 bits) and that many bytes, numbers in little
 * endian:
 *   c  connect                        s  send a message (the content)
 *   d  a packet arrived (the content) t  nothing but the time
 * The answer is a list of records, each one byte, a length (32 bits) and that many bytes:
 *   p  packet to send                 m  message that arrived
 *   e  the association is set up      x  the association is over, with the reason
 *   z  end of the answer
 * A request that makes no sense ends the program with status 2.
 *
 * The library has a thread that advances its timers each 10 ms; here the caller does, by t.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include <usrsctp.h>

enum { PORT = 5000, PACKET = 1472, TICK = 10000, LARGEST = 1 << 24 };

static uint64_t now;      /* in microseconds */
static uint64_t ticked;   /* until when the timers were advanced */
static uint64_t random_state;
static int random_file = -1;
static char wire;         /* its address is that of both ends */
static struct socket *listening, *association;
static int tuned;

/* The library asks these two for the time and for random bytes; the program's own definitions come first. */
int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	(void)zone;
	uint64_t since = now + 1000000; /* time 0 means "none" to the library */
	tv->tv_sec = since / 1000000;
	tv->tv_usec = since % 1000000;
	return 0;
}

int open(const char *path, int flags, ...)
{
	va_list rest;
	va_start(rest, flags);
	mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	int file = syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	if (!strcmp(path, "/dev/urandom"))
		random_file = file;
	return file;
}

ssize_t read(int file, void *into, size_t size)
{
	if (file < 0 || file != random_file)
		return syscall(SYS_read, file, into, size);
	for (size_t i = 0; i < size; i++) {
		random_state ^= random_state << 13;
		random_state ^= random_state >> 7;
		random_state ^= random_state << 17;
		((uint8_t *)into)[i] = random_state >> 32;
	}
	return size;
}

static void fail(const char *what)
{
	fprintf(stderr, "virtual_usrsctp: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void tell(char kind, const void *content, uint32_t length)
{
	putchar(kind);
	fwrite(&length, sizeof length, 1, stdout);
	fwrite(content, length, 1, stdout);
}

static void over(const char *why)
{
	tell('x', why, strlen(why));
}

static int packet_out(void *to, void *packet, size_t length, uint8_t tos, uint8_t set_df)
{
	(void)to, (void)tos, (void)set_df;
	tell('p', packet, length);
	return 0;
}

static void notified(const union sctp_notification *told)
{
	if (told->sn_header.sn_type != SCTP_ASSOC_CHANGE)
		return;
	switch (told->sn_assoc_change.sac_state) {
	case SCTP_COMM_UP:
		tell('e', "", 0);
		break;
	case SCTP_COMM_LOST:
		over("lost");
		break;
	case SCTP_CANT_STR_ASSOC:
		over("not set up");
		break;
	case SCTP_SHUTDOWN_COMP:
		over("closed");
		break;
	}
}

static int arrived(struct socket *s, union sctp_sockstore from, void *data, size_t length, struct sctp_rcvinfo about,
		   int flags, void *context)
{
	(void)s, (void)from, (void)about, (void)context;
	if (!data)
		return 1;
	if (flags & MSG_NOTIFICATION)
		notified(data);
	else
		tell('m', data, length);
	free(data);
	return 1;
}

static void set(struct socket *s, int option, const void *value, socklen_t size, const char *name)
{
	if (usrsctp_setsockopt(s, IPPROTO_SCTP, option, value, size) < 0)
		fail(name);
}

static struct sockaddr_conn address(void)
{
	struct sockaddr_conn here = { .sconn_family = AF_CONN, .sconn_port = htons(PORT), .sconn_addr = &wire };
	return here;
}

/* Small messages leave at once in both; what else `tuned` means is what the options say. */
static struct socket *open_socket(void)
{
	int on = 1, space = 4 << 20;
	struct sctp_event changes = { .se_assoc_id = SCTP_ALL_ASSOC, .se_type = SCTP_ASSOC_CHANGE, .se_on = 1 };
	struct sctp_paddrparams path = { .spp_pathmtu = PACKET, .spp_flags = SPP_PMTUD_DISABLE };
	struct sctp_rtoinfo rto = { .srto_initial = 200, .srto_max = 400, .srto_min = 10 };
	struct sctp_assocparams patient = { .sasoc_asocmaxrxt = 1000 };
	struct sctp_sack_info at_once = { .sack_delay = 1, .sack_freq = 1 };
	struct socket *s = usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, arrived, NULL, 0, NULL);
	struct sockaddr_conn here = address();
	if (!s || usrsctp_set_non_blocking(s, 1) < 0)
		fail("socket");
	usrsctp_setsockopt(s, SOL_SOCKET, SO_SNDBUF, &space, sizeof space);
	usrsctp_setsockopt(s, SOL_SOCKET, SO_RCVBUF, &space, sizeof space);
	path.spp_address.ss_family = AF_CONN;
	set(s, SCTP_NODELAY, &on, sizeof on, "SCTP_NODELAY");
	set(s, SCTP_EVENT, &changes, sizeof changes, "SCTP_EVENT");
	set(s, SCTP_PEER_ADDR_PARAMS, &path, sizeof path, "SCTP_PEER_ADDR_PARAMS");
	if (tuned) {
		set(s, SCTP_RTOINFO, &rto, sizeof rto, "SCTP_RTOINFO");
		set(s, SCTP_ASSOCINFO, &patient, sizeof patient, "SCTP_ASSOCINFO");
		set(s, SCTP_DELAYED_SACK, &at_once, sizeof at_once, "SCTP_DELAYED_SACK");
	}
	if (usrsctp_bind(s, (struct sockaddr *)&here, sizeof here) < 0)
		fail("bind");
	return s;
}

static void connect_end(void)
{
	struct sockaddr_conn there = address();
	if (usrsctp_connect(association, (struct sockaddr *)&there, sizeof there) < 0 && errno != EINPROGRESS)
		over(strerror(errno));
}

static void send_message(const void *message, size_t length)
{
	struct sctp_sendv_spa how = { .sendv_flags = SCTP_SEND_SNDINFO_VALID };
	how.sendv_sndinfo.snd_flags = SCTP_EOR | (tuned ? SCTP_SACK_IMMEDIATELY : 0); /* RFC 7053 */
	if (!association ||
	    usrsctp_sendv(association, message, length, NULL, 0, &how, sizeof how, SCTP_SENDV_SPA, 0) < 0)
		over(association ? strerror(errno) : "not connected");
}

static void packet_in(const void *packet, size_t length)
{
	usrsctp_conninput(&wire, packet, length, 0);
	if (listening && !association)
		association = usrsctp_accept(listening, NULL, NULL);
}

static void advance(uint64_t until)
{
	for (; ticked + TICK <= until; ticked += TICK) {
		now = ticked + TICK;
		usrsctp_handle_timers(TICK / 1000);
	}
	now = until;
}

int main(int count, char **words)
{
	static uint8_t content[LARGEST];
	uint8_t kind;
	uint64_t at;
	uint32_t length;
	if (count != 4) {
		fputs("usage: virtual_usrsctp client|server default|tuned SEED\n", stderr);
		return 2;
	}
	tuned = !strcmp(words[2], "tuned");
	random_state = strtoull(words[3], NULL, 10) | 1;
	usrsctp_init_nothreads(0, packet_out, NULL);
	usrsctp_sysctl_set_sctp_ecn_enable(0);
	usrsctp_register_address(&wire);
	if (!strcmp(words[1], "server")) {
		listening = open_socket();
		if (usrsctp_listen(listening, 1) < 0)
			fail("listen");
	} else {
		association = open_socket();
	}
	while (fread(&kind, 1, 1, stdin) == 1) {
		if (fread(&at, sizeof at, 1, stdin) != 1 || fread(&length, sizeof length, 1, stdin) != 1 ||
		    length > LARGEST || (length && fread(content, length, 1, stdin) != 1))
			return 2;
		/* Virtual time begins with the first request. */
		if (!ticked)
			ticked = at - at % TICK;
		advance(at);
		switch (kind) {
		case 'c': connect_end(); break;
		case 's': send_message(content, length); break;
		case 'd': packet_in(content, length); break;
		case 't': break;
		default: return 2;
		}
		tell('z', "", 0);
		fflush(stdout);
	}
	return 0;
}
