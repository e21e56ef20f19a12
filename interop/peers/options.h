/* The words of command that every C peer understands; peers/pion/options.go has the same. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	int client;            /* connects and sends its own messages; else it listens and echoes */
	const char *addresses; /* own ones, "a,b"; empty: all that the machine has (client: see unbound) */
	const char *to;        /* the peer's address */
	const char *sizes;     /* "1,100": message i has the size at i modulo their number */
	const char *reliability; /* "full", "rtx:N" (retransmissions), "lifetime:MS" */
	const char *asconf;    /* "5:add:10.0.0.2,9:primary:10.0.0.2,12:delete:10.0.0.1": before message i; usrsctp
				* also knows "11:towards:10.0.0.3": send to this address of the server */
	const char *end;       /* who ends and how: "shutdown", "abort" (this side), "peer" */
	int end_after;         /* a server ends after this number of messages; 0: it never does */
	int port, local_port, local_udp, remote_udp;
	int count, streams, unordered, interleaving;
	int pace;              /* milliseconds from message to message; 0: the next when the last came back */
	int reset_before;      /* reset the outgoing streams before message i; 0: never */
	int ask_for_reset;     /* ask the server to reset its streams instead */
	int reset_association; /* reset all streams and TSNs instead */
	int add_before, add_streams; /* before message i add this number of streams in each direction, and use them; 0: never */
	int initial_streams;   /* streams that each side asks for at first */
	int associations;      /* a server ends after this number of them */
	int unbound;           /* a client leaves its address open */
	int rto_min, rto_initial, rto_max, heartbeat, path_retrans, seconds;
};

#define OPTIONS_DEFAULT \
	{ .addresses = "", .to = "127.0.0.1", .sizes = "100", .reliability = "full", .asconf = "", .end = "", \
	  .port = 7, .count = 1, .streams = 4, .initial_streams = 64, .associations = 1, .rto_min = 1000, .rto_initial = 1000, \
	  .rto_max = 60000, .heartbeat = 30000, .path_retrans = 5, .seconds = 60 }

/* "--name value" pairs; names are those of struct options, with - for _. */
static inline int parse_options(int count, char **words, struct options *out)
{
	struct { const char *name; int *number; const char **text; } known[] = {
		{ "--client", &out->client, 0 }, { "--addresses", 0, &out->addresses }, { "--to", 0, &out->to },
		{ "--sizes", 0, &out->sizes }, { "--reliability", 0, &out->reliability },
		{ "--asconf", 0, &out->asconf }, { "--end", 0, &out->end }, { "--end-after", &out->end_after, 0 },
		{ "--port", &out->port, 0 }, { "--local-port", &out->local_port, 0 },
		{ "--local-udp", &out->local_udp, 0 }, { "--remote-udp", &out->remote_udp, 0 },
		{ "--count", &out->count, 0 }, { "--streams", &out->streams, 0 },
		{ "--unordered", &out->unordered, 0 }, { "--interleaving", &out->interleaving, 0 },
		{ "--pace", &out->pace, 0 }, { "--reset-before", &out->reset_before, 0 },
		{ "--ask-for-reset", &out->ask_for_reset, 0 }, { "--add-before", &out->add_before, 0 },
		{ "--reset-association", &out->reset_association, 0 },
		{ "--add-streams", &out->add_streams, 0 }, { "--initial-streams", &out->initial_streams, 0 },
		{ "--associations", &out->associations, 0 }, { "--unbound", &out->unbound, 0 },
		{ "--rto-min", &out->rto_min, 0 }, { "--rto-initial", &out->rto_initial, 0 },
		{ "--rto-max", &out->rto_max, 0 }, { "--heartbeat", &out->heartbeat, 0 },
		{ "--path-retrans", &out->path_retrans, 0 }, { "--seconds", &out->seconds, 0 },
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

/* The number behind `name` and a colon in a reliability; -1 where it is another one. */
static inline long limit_of(const char *reliability, const char *name)
{
	size_t length = strlen(name);
	return strncmp(reliability, name, length) || reliability[length] != ':' ? -1 : atol(reliability + length + 1);
}

#endif
