/* The Linux kernel's SCTP for agent.c, through plain sockets and the kernel's own header, so that it builds without
 * a SCTP library. */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <unistd.h>

#include "stack.h"

#include <linux/sctp.h> /* which leaves to others what it needs of sockets */

struct connection {
	int socket;
};

static int listening = -1;

static int set(int s, int option, const void *value, socklen_t size)
{
	return setsockopt(s, IPPROTO_SCTP, option, value, size);
}

#include "reconfigure.h"

static int supports(int s, int option, int value)
{
	struct sctp_assoc_value wanted = { .assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = value };
	return set(s, option, &wanted, sizeof wanted);
}

static int subscribe(int s, int type)
{
	struct sctp_event event = { .se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = type, .se_on = 1 };
	return set(s, SCTP_EVENT, &event, sizeof event);
}

/* Extensions are switched on only for the exercises that are about them: what is on is offered to the peer. */
static int switch_extensions(int s, const struct options *o)
{
	int level = 2, on = 1, requests = SCTP_ENABLE_RESET_STREAM_REQ | SCTP_ENABLE_RESET_ASSOC_REQ |
				       SCTP_ENABLE_CHANGE_ASSOC_REQ;
	if (supports(s, SCTP_RECONFIG_SUPPORTED, 1) || supports(s, SCTP_ENABLE_STREAM_RESET, requests))
		return -1;
	if (o->interleaving && (set(s, SCTP_FRAGMENT_INTERLEAVE, &level, sizeof level) ||
				supports(s, SCTP_INTERLEAVING_SUPPORTED, 1)))
		return -1;
	if (*o->asconf && (supports(s, SCTP_AUTH_SUPPORTED, 1) || supports(s, SCTP_ASCONF_SUPPORTED, 1)))
		return -1;
	return set(s, SCTP_RECVRCVINFO, &on, sizeof on);
}

static int open_socket(const struct options *o)
{
	int s = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP), on = 1, space = 4 << 20;
	struct sctp_rtoinfo rto = { .srto_initial = o->rto_initial, .srto_min = o->rto_min, .srto_max = o->rto_max };
	struct sctp_initmsg init = { .sinit_num_ostreams = o->initial_streams, .sinit_max_instreams = 64 };
	struct sctp_udpencaps udp = { .sue_assoc_id = SCTP_FUTURE_ASSOC, .sue_port = htons(o->remote_udp) };
	struct sctp_paddrparams path = { .spp_hbinterval = o->heartbeat, .spp_pathmaxrxt = o->path_retrans,
					 .spp_flags = SPP_HB_ENABLE };
	udp.sue_address.ss_family = path.spp_address.ss_family = AF_INET;
	setsockopt(s, SOL_SOCKET, SO_SNDBUFFORCE, &space, sizeof space);
	setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &space, sizeof space);
	if (s < 0 || set(s, SCTP_NODELAY, &on, sizeof on) || set(s, SCTP_RTOINFO, &rto, sizeof rto) ||
	    set(s, SCTP_INITMSG, &init, sizeof init) || set(s, SCTP_PEER_ADDR_PARAMS, &path, sizeof path) ||
	    set(s, SCTP_REMOTE_UDP_ENCAPS_PORT, &udp, sizeof udp) || subscribe(s, SCTP_ASSOC_CHANGE) ||
	    subscribe(s, SCTP_STREAM_RESET_EVENT) || subscribe(s, SCTP_STREAM_CHANGE_EVENT) ||
	    subscribe(s, SCTP_ASSOC_RESET_EVENT) || switch_extensions(s, o)) {
		perror("socket");
		return -1;
	}
	return s;
}

/* Binds to `port` (0: any) of the address from which the system reaches `to`: with addresses that cannot reach each
 * other the peer would have paths that lead nowhere. */
static int bind_towards(int s, const struct sockaddr_in *to, int port)
{
	struct sockaddr_in own;
	socklen_t size = sizeof own;
	int probe = socket(AF_INET, SOCK_DGRAM, 0);
	if (probe < 0 || connect(probe, (const struct sockaddr *)to, sizeof *to) ||
	    getsockname(probe, (struct sockaddr *)&own, &size))
		return -1;
	close(probe);
	own.sin_port = htons(port);
	return bind(s, (struct sockaddr *)&own, sizeof own);
}

static int bind_addresses(int s, const struct options *o, int port)
{
	struct sockaddr_in own[8] = { { .sin_family = AF_INET, .sin_port = htons(port) } };
	int count = addresses_of(o->addresses, port, own, 8), on = 1;
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (count < 0 || bind(s, (struct sockaddr *)own, sizeof *own))
		return -1;
	return count > 1 ? set(s, SCTP_SOCKOPT_BINDX_ADD, &own[1], (count - 1) * sizeof *own) : 0;
}

static struct connection *connection_of(int s)
{
	struct connection *c = calloc(1, sizeof *c);
	c->socket = s;
	return c;
}

struct connection *stack_connect(const struct options *o)
{
	struct sockaddr_in to;
	int s = open_socket(o);
	if (s < 0 || addresses_of(o->to, o->port, &to, 1) != 1)
		return NULL;
	if ((*o->addresses ? bind_addresses(s, o, o->local_port)
			   : !o->unbound && bind_towards(s, &to, o->local_port)) ||
	    connect(s, (struct sockaddr *)&to, sizeof to)) {
		perror("bind or connect");
		return NULL;
	}
	return connection_of(s);
}

int stack_listen(const struct options *o)
{
	listening = open_socket(o);
	if (listening < 0 || bind_addresses(listening, o, o->port) || listen(listening, 8)) {
		perror("bind or listen");
		return -1;
	}
	return 0;
}

struct connection *stack_accept(const struct options *o)
{
	(void)o;
	int s = accept(listening, NULL, NULL);
	if (s < 0)
		perror("accept");
	return s < 0 ? NULL : connection_of(s);
}

int stack_send(struct connection *c, const unsigned char *bytes, long size, int stream, int unordered, unsigned ppid,
	       const char *reliability)
{
	long rtx = limit_of(reliability, "rtx"), lifetime = limit_of(reliability, "lifetime");
	unsigned policy = rtx >= 0 ? SCTP_PR_SCTP_RTX : lifetime >= 0 ? SCTP_PR_SCTP_TTL : SCTP_PR_SCTP_NONE;
	union {
		char bytes[CMSG_SPACE(sizeof(struct sctp_sndinfo)) + CMSG_SPACE(sizeof(struct sctp_prinfo))];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	struct iovec part = { (void *)bytes, size };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof control };
	struct cmsghdr *head = CMSG_FIRSTHDR(&m);
	*head = (struct cmsghdr){ .cmsg_level = IPPROTO_SCTP, .cmsg_type = SCTP_SNDINFO,
				  .cmsg_len = CMSG_LEN(sizeof(struct sctp_sndinfo)) };
	struct sctp_sndinfo info = { .snd_sid = stream, .snd_flags = unordered ? SCTP_UNORDERED : 0, .snd_ppid = ppid };
	memcpy(CMSG_DATA(head), &info, sizeof info);
	head = CMSG_NXTHDR(&m, head);
	*head = (struct cmsghdr){ .cmsg_level = IPPROTO_SCTP, .cmsg_type = SCTP_PRINFO,
				  .cmsg_len = CMSG_LEN(sizeof(struct sctp_prinfo)) };
	struct sctp_prinfo limit = { .pr_policy = policy, .pr_value = rtx >= 0 ? rtx : lifetime >= 0 ? lifetime : 0 };
	memcpy(CMSG_DATA(head), &limit, sizeof limit);
	ssize_t n = sendmsg(c->socket, &m, MSG_NOSIGNAL);
	if (n < 0 && errno == EAGAIN)
		return 1;
	if (n != size)
		perror("send");
	return n == size ? 0 : -1;
}

/* The stream and kind of a message, from its SCTP_RCVINFO. */
static void describe(struct msghdr *from, struct message *m)
{
	for (struct cmsghdr *head = CMSG_FIRSTHDR(from); head; head = CMSG_NXTHDR(from, head)) {
		if (head->cmsg_level != IPPROTO_SCTP || head->cmsg_type != SCTP_RCVINFO)
			continue;
		struct sctp_rcvinfo info;
		memcpy(&info, CMSG_DATA(head), sizeof info);
		m->stream = info.rcv_sid;
		m->ppid = info.rcv_ppid;
		m->unordered = !!(info.rcv_flags & SCTP_UNORDERED);
	}
}

/* Receives up to the end of one message. (Level 2 of interleaving might mix pieces of several; no exercise sends a
 * second message before the first came back.) */
enum found stack_receive(struct connection *c, unsigned char *into, struct message *m, int milliseconds)
{
	for (size_t got = 0;;) {
		struct pollfd readable = { .fd = c->socket, .events = POLLIN };
		if (milliseconds >= 0 && !got && poll(&readable, 1, milliseconds) == 0)
			return NOTHING;
		union {
			char bytes[256];
			struct cmsghdr align;
		} control;
		struct iovec part = { into + got, LARGEST - got };
		struct msghdr from = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
				       .msg_controllen = sizeof control };
		ssize_t n = recvmsg(c->socket, &from, 0);
		if (n <= 0) {
			if (n < 0)
				perror("receive");
			return n == 0 ? CLOSED : BROKEN;
		}
		if (from.msg_flags & MSG_NOTIFICATION) {
			enum found found = found_in((const void *)(into + got));
			if (found != NOTHING)
				return found;
			continue;
		}
		got += n;
		if (from.msg_flags & MSG_EOR) {
			*m = (struct message){ .size = got, .whole = 1 };
			describe(&from, m);
			return MESSAGE;
		}
		if (got == LARGEST)
			return BROKEN;
	}
}

int stack_asconf(struct connection *c, const char *operation, const char *address)
{
	struct sockaddr_in one;
	struct sockaddr_in own;
	socklen_t size = sizeof own;
	if (getsockname(c->socket, (struct sockaddr *)&own, &size) ||
	    addresses_of(address, ntohs(own.sin_port), &one, 1) != 1)
		return -1;
	int result;
	if (!strcmp(operation, "primary")) {
		struct sctp_setpeerprim primary = { .sspp_assoc_id = 0 };
		memcpy(&primary.sspp_addr, &one, sizeof one);
		result = set(c->socket, SCTP_SET_PEER_PRIMARY_ADDR, &primary, sizeof primary);
	} else {
		int option = !strcmp(operation, "add") ? SCTP_SOCKOPT_BINDX_ADD : SCTP_SOCKOPT_BINDX_REM;
		result = set(c->socket, option, &one, sizeof one);
	}
	if (result)
		perror(operation);
	return result;
}

void stack_shutdown(struct connection *c)
{
	shutdown(c->socket, SHUT_WR);
}

void stack_abort(struct connection *c)
{
	struct linger at_once = { .l_onoff = 1 };       /* closing without lingering is an abort */
	setsockopt(c->socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	close(c->socket);
	c->socket = -1;
}

void stack_close(struct connection *c)
{
	if (c->socket >= 0)
		close(c->socket);
	free(c);
}

void stack_finish(void)
{
	close(listening);
}
