/* usrsctp, FreeBSD's SCTP in userspace, for agent.c. */
#include <errno.h>
#include <unistd.h>
#include <usrsctp.h>

#include "stack.h"

#ifndef SCTP_INTERLEAVING_SUPPORTED
#define SCTP_INTERLEAVING_SUPPORTED 0x00001206 /* newer than Debian's header; older libraries refuse it */
#endif

struct connection {
	struct socket *socket;
};

static struct socket *listening;

static int set(struct socket *s, int option, const void *value, socklen_t size)
{
	return usrsctp_setsockopt(s, IPPROTO_SCTP, option, value, size);
}

#include "reconfigure.h"

static int supports(struct socket *s, int option, int value)
{
	struct sctp_assoc_value wanted = { .assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = value };
	return set(s, option, &wanted, sizeof wanted);
}

static int subscribe(struct socket *s, int type)
{
	struct sctp_event event = { .se_assoc_id = SCTP_ALL_ASSOC, .se_type = type, .se_on = 1 };
	return set(s, SCTP_EVENT, &event, sizeof event);
}

static int switch_extensions(struct socket *s, const struct options *o)
{
	int level = 2;
	struct sctp_assoc_value requests = { .assoc_id = SCTP_ALL_ASSOC };
	requests.assoc_value = SCTP_ENABLE_RESET_STREAM_REQ | SCTP_ENABLE_RESET_ASSOC_REQ |
				       SCTP_ENABLE_CHANGE_ASSOC_REQ;
	if (set(s, SCTP_ENABLE_STREAM_RESET, &requests, sizeof requests) < 0)
		return -1;
	if (o->interleaving && (set(s, SCTP_FRAGMENT_INTERLEAVE, &level, sizeof level) < 0 ||
				supports(s, SCTP_INTERLEAVING_SUPPORTED, 1) < 0))
		return -1;
	return 0;
}

/* A socket that reports ends and resets, with the timers and streams asked for. */
static struct socket *open_socket(const struct options *o)
{
	usrsctp_init(o->local_udp, NULL, NULL);
	usrsctp_sysctl_set_sctp_blackhole(2);             /* several stacks share a machine: never answer strangers */
	usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
	usrsctp_sysctl_set_sctp_ecn_enable(0);
	if (!*o->asconf)
		usrsctp_sysctl_set_sctp_auto_asconf(0);
	struct socket *s = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	if (!s)
		return NULL;
	int on = 1, space = 4 << 20;
	struct sctp_rtoinfo rto = { .srto_initial = o->rto_initial, .srto_max = o->rto_max, .srto_min = o->rto_min };
	struct sctp_initmsg init = { .sinit_num_ostreams = o->initial_streams, .sinit_max_instreams = 64 };
	struct sctp_paddrparams path = { .spp_hbinterval = o->heartbeat, .spp_pathmaxrxt = o->path_retrans,
					 .spp_flags = SPP_HB_ENABLE };
	path.spp_address.ss_family = AF_INET;
	usrsctp_setsockopt(s, SOL_SOCKET, SO_SNDBUF, &space, sizeof space);
	usrsctp_setsockopt(s, SOL_SOCKET, SO_RCVBUF, &space, sizeof space);
	if (set(s, SCTP_NODELAY, &on, sizeof on) < 0 || set(s, SCTP_RECVRCVINFO, &on, sizeof on) < 0 ||
	    set(s, SCTP_RTOINFO, &rto, sizeof rto) < 0 || set(s, SCTP_INITMSG, &init, sizeof init) < 0 ||
	    set(s, SCTP_PEER_ADDR_PARAMS, &path, sizeof path) < 0 || subscribe(s, SCTP_ASSOC_CHANGE) < 0 ||
	    subscribe(s, SCTP_STREAM_RESET_EVENT) < 0 || subscribe(s, SCTP_STREAM_CHANGE_EVENT) < 0 ||
	    subscribe(s, SCTP_ASSOC_RESET_EVENT) < 0 || switch_extensions(s, o) < 0)
		return NULL;
	return s;
}

/* Binds to `port` (0: any) of the one address from which the system reaches `to`: unbound, the stack would tell the
 * peer all addresses of the machine, and the peer's heartbeats would leave the loopback or the namespace of the test. */
static int bind_towards(struct socket *s, const struct sockaddr_in *to, int port)
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

static int bind_addresses(struct socket *s, const struct options *o, int port)
{
	struct sockaddr_in own[8] = { { .sin_family = AF_INET, .sin_port = htons(port) } };
	int count = addresses_of(o->addresses, port, own, 8);
	if (count < 0 || usrsctp_bind(s, (struct sockaddr *)own, sizeof *own) < 0)
		return -1;
	for (int i = 1; i < count; i++)
		if (usrsctp_bindx(s, (struct sockaddr *)&own[i], 1, SCTP_BINDX_ADD_ADDR) < 0)
			return -1;
	return 0;
}

static struct connection *connection_of(struct socket *s)
{
	struct connection *c = calloc(1, sizeof *c);
	c->socket = s;
	return c;
}

struct connection *stack_connect(const struct options *o)
{
	struct sockaddr_in to;
	struct socket *s = open_socket(o);
	if (!s || addresses_of(o->to, o->port, &to, 1) != 1) {
		perror("socket");
		return NULL;
	}
	if (o->remote_udp) {
		struct sctp_udpencaps e = { .sue_address.ss_family = AF_INET, .sue_port = htons(o->remote_udp) };
		set(s, SCTP_REMOTE_UDP_ENCAPS_PORT, &e, sizeof e);
	}
	if (*o->addresses ? bind_addresses(s, o, o->local_port) : !o->unbound && bind_towards(s, &to, o->local_port)) {
		perror("bind");
		return NULL;
	}
	if (usrsctp_connect(s, (struct sockaddr *)&to, sizeof to) < 0) {
		perror("connect");
		return NULL;
	}
	return connection_of(s);
}

int stack_listen(const struct options *o)
{
	listening = open_socket(o);
	if (!listening || bind_addresses(listening, o, o->port) || usrsctp_listen(listening, 8) < 0) {
		perror("bind or listen");
		return -1;
	}
	return 0;
}

struct connection *stack_accept(const struct options *o)
{
	(void)o;
	struct socket *s = usrsctp_accept(listening, NULL, NULL);
	if (!s)
		perror("accept");
	return s ? connection_of(s) : NULL;
}

int stack_send(struct connection *c, const unsigned char *bytes, long size, int stream, int unordered, unsigned ppid,
	       const char *reliability)
{
	long rtx = limit_of(reliability, "rtx"), lifetime = limit_of(reliability, "lifetime");
	struct sctp_sendv_spa how = { .sendv_flags = SCTP_SEND_SNDINFO_VALID,
				      .sendv_sndinfo = { .snd_sid = stream, .snd_ppid = ppid,
							 .snd_flags = unordered ? SCTP_UNORDERED : 0 } };
	if (rtx >= 0 || lifetime >= 0) {
		how.sendv_flags |= SCTP_SEND_PRINFO_VALID;
		how.sendv_prinfo.pr_policy = rtx >= 0 ? SCTP_PR_SCTP_RTX : SCTP_PR_SCTP_TTL;
		how.sendv_prinfo.pr_value = rtx >= 0 ? rtx : lifetime;
	}
	ssize_t n = usrsctp_sendv(c->socket, bytes, size, NULL, 0, &how, sizeof how, SCTP_SENDV_SPA, 0);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 1;
	if (n != size)
		perror("send");
	return n == size ? 0 : -1;
}

/* Receives up to the end of one message; a stack that does not wait is asked again and again, as it has no poll. */
enum found stack_receive(struct connection *c, unsigned char *into, struct message *m, int milliseconds)
{
	double until = now() + milliseconds / 1e3;
	usrsctp_set_non_blocking(c->socket, milliseconds >= 0);
	for (size_t got = 0;;) {
		struct sockaddr_in from;
		struct sctp_rcvinfo info = { 0 };
		socklen_t from_size = sizeof from, info_size = sizeof info;
		unsigned kind = 0;
		int flags = 0;
		ssize_t n = usrsctp_recvv(c->socket, into + got, LARGEST - got, (struct sockaddr *)&from, &from_size,
					  &info, &info_size, &kind, &flags);
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) && milliseconds >= 0) {
			if (!got && now() >= until)
				return NOTHING;
			usleep(200);
			continue;
		}
		if (n <= 0)
			return n == 0 ? CLOSED : BROKEN;
		if (flags & MSG_NOTIFICATION) {
			enum found found = found_in((const void *)(into + got));
			if (found != NOTHING)
				return found;
			continue;
		}
		got += n;
		if (flags & MSG_EOR) {
			*m = (struct message){ .size = got, .stream = info.rcv_sid, .ppid = info.rcv_ppid, .whole = 1,
					       .unordered = !!(info.rcv_flags & SCTP_UNORDERED) };
			return MESSAGE;
		}
		if (got == LARGEST)
			return BROKEN;
	}
}

int stack_asconf(struct connection *c, const char *operation, const char *address)
{
	struct sockaddr_in one;
	int result = -1;
	if (addresses_of(address, 0, &one, 1) != 1)
		return -1;
	if (!strcmp(operation, "towards")) {
		struct sctp_setprim towards = { .ssp_assoc_id = 0 };
		memcpy(&towards.ssp_addr, &one, sizeof one);
		/* Refused as long as the address has not answered a heartbeat. */
		for (int i = 0; result && i < 1000; i++) {
			result = set(c->socket, SCTP_PRIMARY_ADDR, &towards, sizeof towards);
			usleep(result ? 10000 : 0);
		}
	} else if (!strcmp(operation, "primary")) {
		struct sctp_setpeerprim primary = { .sspp_assoc_id = 0 };
		memcpy(&primary.sspp_addr, &one, sizeof one);
		result = set(c->socket, SCTP_SET_PEER_PRIMARY_ADDR, &primary, sizeof primary);
	} else {
		int flags = !strcmp(operation, "add") ? SCTP_BINDX_ADD_ADDR : SCTP_BINDX_REM_ADDR;
		result = usrsctp_bindx(c->socket, (struct sockaddr *)&one, 1, flags);
	}
	if (result < 0)
		perror(operation);
	return result;
}

void stack_shutdown(struct connection *c)
{
	usrsctp_shutdown(c->socket, SHUT_WR);
}

void stack_abort(struct connection *c)
{
	struct linger none = { .l_onoff = 1 };  /* closing without lingering is an abort */
	usrsctp_setsockopt(c->socket, SOL_SOCKET, SO_LINGER, &none, sizeof none);
	usrsctp_close(c->socket);
	c->socket = NULL;
}

void stack_close(struct connection *c)
{
	if (c->socket)
		usrsctp_close(c->socket);
	free(c);
}

/* Waits until the stack holds no association any more: what it sent last may be lost, and is sent again. */
void stack_finish(void)
{
	if (listening)
		usrsctp_close(listening);
	for (int i = 0; i < 2000 && usrsctp_finish(); i++)
		usleep(10000);
}
