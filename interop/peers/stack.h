/* What the exercises of agent.c need of a SCTP stack: usrsctp_stack.c and kernel_stack.c have it. */
#ifndef STACK_H
#define STACK_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "options.h"
#include "workload.h"

struct connection;

/* What stack_receive found. */
enum found { NOTHING, MESSAGE, PEER_RESET, RESET_DONE, ALL_RESET, STREAMS_ADDED, REFUSED, CLOSED, BROKEN };

struct message {
	long size;
	int stream, unordered, whole; /* whole: it came in one piece and is the end of a message */
	unsigned ppid;                /* as on the wire */
};

/* All return NULL or -1 after a line to stderr. */
struct connection *stack_connect(const struct options *);
int stack_listen(const struct options *);
struct connection *stack_accept(const struct options *);
/* 0: sent; 1: no room, try again. */
int stack_send(struct connection *, const unsigned char *bytes, long size, int stream, int unordered, unsigned ppid,
	       const char *reliability);
/* Waits up to `milliseconds`, for ever where negative. `into` has room for LARGEST bytes. */
enum found stack_receive(struct connection *, unsigned char *into, struct message *, int milliseconds);
int stack_reset_streams(struct connection *, int streams); /* this side's */
int stack_ask_for_reset(struct connection *, int streams); /* the peer's */
int stack_reset_association(struct connection *);          /* ALL_RESET follows */
int stack_add_streams(struct connection *, int each);      /* STREAMS_ADDED follows once or twice */
int stack_asconf(struct connection *, const char *operation, const char *address);
void stack_shutdown(struct connection *);
void stack_abort(struct connection *);
void stack_close(struct connection *);
void stack_finish(void);

/* The addresses in "a,b", at most `room`, in an array as bindx wants it. */
static inline int addresses_of(const char *text, int port, struct sockaddr_in *into, int room)
{
	int count = 0;
	for (; *text && count < room; text += strcspn(text, ","), text += *text == ',') {
		char one[32] = "";
		size_t length = strcspn(text, ",");
		memcpy(one, text, length < sizeof one ? length : sizeof one - 1);
		into[count] = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
		if (inet_pton(AF_INET, one, &into[count++].sin_addr) != 1)
			return -1;
	}
	return count;
}

#endif
