/* A receiver of thin streams, on the stack that it is linked with: sends each message, as it came, in a UDP datagram to
 * whom it was told, outside the network that is measured. Nothing goes back to the sender but acknowledgements.
 *
 *   thin_receiver ADDRESS SCTP_PORT UDP_PORT TELL_ADDRESS TELL_PORT
 *
 * UDP_PORT carries its SCTP (0: the machine decides). Says "MARK ready" when it listens, and serves one association
 * after another, all at the same time, until it is ended. */
#include <pthread.h>
#include <unistd.h>

#include "stack.h"

static int tell = -1;

static void *receive(void *connection)
{
	unsigned char *message = malloc(LARGEST);
	for (struct message m;;) {
		enum found found = message ? stack_receive(connection, message, &m, -1) : BROKEN;
		if (found == CLOSED || found == BROKEN)
			break;
		/* A datagram that is lost is missed by whom it is for. */
		if (found == MESSAGE && send(tell, message, m.size, 0) < 0)
			perror("tell");
	}
	free(message);
	stack_close(connection);
	return NULL;
}

int main(int argc, char **argv)
{
	struct options o = OPTIONS_DEFAULT;
	struct sockaddr_in to;
	if (argc != 6 || addresses_of(argv[4], atoi(argv[5]), &to, 1) != 1) {
		fprintf(stderr, "thin_receiver ADDRESS SCTP_PORT UDP_PORT TELL_ADDRESS TELL_PORT\n");
		return USAGE;
	}
	o.addresses = argv[1];
	o.port = atoi(argv[2]);
	o.local_udp = atoi(argv[3]);
	tell = socket(AF_INET, SOCK_DGRAM, 0);
	if (tell < 0 || connect(tell, (struct sockaddr *)&to, sizeof to) < 0) {
		perror("tell");
		return 1;
	}
	if (stack_listen(&o))
		return 1;
	printf("MARK ready\n");
	fflush(stdout);
	for (;;) {
		pthread_t thread;
		struct connection *c = stack_accept(&o);
		if (!c || pthread_create(&thread, NULL, receive, c))
			return 1;
		pthread_detach(thread);
	}
}
