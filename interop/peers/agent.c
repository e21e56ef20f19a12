/* A peer for the exercises of docs/interop.md, on the stack that it is linked with: as client it sends messages and
 * checks what comes back byte by byte, as server it sends back what comes. Options stand in options.h, exit codes in
 * workload.h. A client prints one RESULT line; a server says "MARK ready" when it listens, and a SERVED line for each
 * association. */
#include <errno.h>
#include <unistd.h>

#include "stack.h"

static unsigned char sent[LARGEST], back[LARGEST];

/* What a side saw of an association. */
struct seen {
	long messages, bytes, wrong, resets, resets_done, added, refused;
	int kept, ended; /* message boundaries were kept; CLOSED or BROKEN once it is over */
};

static const char *how_ended(const struct seen *seen)
{
	return seen->ended == CLOSED ? "clean" : "unclean";
}

/* Receives, and counts what is no message. */
static enum found next(struct connection *c, unsigned char *into, struct message *m, int milliseconds, struct seen *seen)
{
	enum found found = stack_receive(c, into, m, milliseconds);
	seen->resets += found == PEER_RESET || found == ALL_RESET;
	seen->resets_done += found == RESET_DONE;
	seen->added += found == STREAMS_ADDED;
	seen->refused += found == REFUSED;
	if (found == CLOSED || found == BROKEN)
		seen->ended = found;
	return found;
}

static long stream_of(const struct options *o, long i)
{
	return i % (o->streams + (o->add_before && i >= o->add_before ? o->add_streams : 0));
}

static int send_message(struct connection *c, const struct options *o, const struct sizes *sizes, long i, int last)
{
	long size = sizes->each[i % sizes->count];
	const char *reliability = last ? "full" : o->reliability;
	fill(sent, i, size);
	return stack_send(c, sent, size, stream_of(o, i), o->unordered, htonl(51), reliability);
}

/* Carries out the part of "5:add:10.0.0.2,..." that is due before message `i`. */
static int reconfigure_addresses(struct connection *c, const char *text, long i)
{
	for (; *text; text += strcspn(text, ","), text += *text == ',') {
		long at;
		char operation[16], address[32];
		if (sscanf(text, "%ld:%15[a-z]:%31[0-9.]", &at, operation, address) != 3)
			return -1;
		if (at == i && stack_asconf(c, operation, address))
			return -1;
	}
	return 0;
}

/* Waits until `*counter` is more than none. */
static int wait_for(struct connection *c, const long *counter, const char *what, struct seen *seen)
{
	struct message m;
	while (!*counter) {
		enum found found = next(c, back, &m, -1, seen);
		if (found == MESSAGE || seen->refused || seen->ended) {
			fprintf(stderr, "%s: not done, but %d\n", what, found);
			return -1;
		}
	}
	return 0;
}

/* Asks for what is due before message `i`, and waits for it where nothing else is under way. */
static int reconfigure(struct connection *c, const struct options *o, long i, struct seen *seen)
{
	int wait = !o->pace, reset = o->reset_before && i == o->reset_before;
	int asked = o->ask_for_reset || o->reset_association;
	if (reset && o->ask_for_reset && stack_ask_for_reset(c, o->streams))
		return -1;
	if (reset && o->reset_association && stack_reset_association(c))
		return -1;
	if (reset && !asked && stack_reset_streams(c, o->streams))
		return -1;
	if (reset && wait && wait_for(c, asked ? &seen->resets : &seen->resets_done, "reset", seen))
		return -1;
	if (o->add_before && i == o->add_before &&
	    (stack_add_streams(c, o->add_streams) || (wait && wait_for(c, &seen->added, "streams", seen))))
		return -1;
	return reconfigure_addresses(c, o->asconf, i);
}

/* Sends one message after the other, each when the one before came back. */
static int converse(struct connection *c, const struct options *o, const struct sizes *sizes, double *rtt,
		    struct seen *seen)
{
	for (long i = 0; i < o->count; i++) {
		struct message m;
		long size = sizes->each[i % sizes->count], got = 0;
		double before = now();
		if (reconfigure(c, o, i, seen) || send_message(c, o, sizes, i, 0))
			return -1;
		while (got < size) {
			enum found found = next(c, back + got, &m, -1, seen);
			if (found == CLOSED || found == BROKEN) {
				fprintf(stderr, "message %ld: %ld of %ld bytes came back\n", i, got, size);
				return -1;
			}
			if (found != MESSAGE)
				continue;
			got += m.size;
			seen->kept &= m.whole == (got == size);
		}
		rtt[seen->messages++] = now() - before;
		seen->bytes += size;
		seen->wrong += got != size || memcmp(sent, back, size) != 0;
	}
	return 0;
}

/* Whether everything came back that must: of messages that may be abandoned, the last one. */
static int has_all(const struct options *o, const struct seen *seen, long expected)
{
	return strcmp(o->reliability, "full") ? expected == o->count : seen->messages >= o->count;
}

/* Sends at a steady pace, the last message reliably whatever the others are, until all came back. */
static int stream(struct connection *c, const struct options *o, const struct sizes *sizes, double *rtt,
		  struct seen *seen)
{
	unsigned char came[256] = { 0 };
	double started = now();
	long next_index = 0, expected = 0, reconfigured = 0;
	while (!has_all(o, seen, expected)) {
		double due = started + next_index * o->pace / 1e3, left = due - now();
		if (next_index < o->count && left <= 0) {
			if (reconfigured == next_index && reconfigure(c, o, reconfigured++, seen))
				return -1;
			int refused = send_message(c, o, sizes, next_index, next_index == o->count - 1);
			if (refused < 0)
				return -1;
			next_index += !refused;
		}
		int wait = next_index < o->count && left < 1 ? left > 0 ? (int)(left * 1e3) : 0 : 1000;
		struct message m;
		enum found found = next(c, back, &m, wait, seen);
		if (found == CLOSED || found == BROKEN)
			return -1;
		if (found != MESSAGE)
			continue;
		long index = index_of(back[0]), size = sizes->each[index % sizes->count];
		fill(sent, index, size);
		if ((index < expected && !o->unordered) || index >= o->count || came[index]++ || !m.whole ||
		    m.size != size || memcmp(sent, back, size))
			seen->wrong++;
		if (seen->messages < o->count)
			rtt[seen->messages++] = now() - started - index * o->pace / 1e3;
		seen->bytes += m.size;
		expected = index + 1;
	}
	return 0;
}

static int run_client(const struct options *o)
{
	struct sizes sizes;
	struct seen seen = { .kept = 1 };
	if (parse_sizes(o->sizes, &sizes) || o->count < 1 || (o->pace && o->count > 250))
		return USAGE;
	double started = now(), *rtt = calloc(o->count, sizeof *rtt);
	struct connection *c = stack_connect(o);
	if (!c)
		return NETWORK;
	double connected = now() - started;
	if ((o->pace ? stream : converse)(c, o, &sizes, rtt, &seen)) {
		fprintf(stderr, "failed after %ld messages: %s\n", seen.messages, strerror(errno));
		return NETWORK;
	}
	if (!strcmp(o->end, "abort")) {
		stack_abort(c);
	} else {
		if (strcmp(o->end, "peer"))
			stack_shutdown(c);
		while (!seen.ended) {
			struct message m;
			seen.wrong += next(c, back, &m, -1, &seen) == MESSAGE;
		}
	}
	print_result(rtt, seen.messages, seen.bytes, seen.wrong, seen.kept, how_ended(&seen), seen.resets, connected);
	stack_close(c);
	stack_finish();
	return seen.wrong ? WRONG_BYTES : seen.ended == CLOSED ? OK : UNCLEAN_SHUTDOWN;
}

/* Messages that have still to go back: a stream that is just being reset takes none. */
struct waiting {
	struct waiting *next;
	struct message message;
	unsigned char bytes[];
};

struct queue {
	struct waiting *first, **end;
};

static void put(struct queue *queue, const struct message *m, const unsigned char *bytes)
{
	struct waiting *new = malloc(sizeof *new + m->size);
	new->next = NULL;
	new->message = *m;
	memcpy(new->bytes, bytes, m->size);
	*queue->end = new;
	queue->end = &new->next;
}

/* Sends back, as they came, what waits and can go. A message in pieces goes back in pieces. */
static void echo(struct connection *c, struct queue *queue, struct seen *seen)
{
	struct waiting *w;
	while ((w = queue->first)) {
		const struct message *m = &w->message;
		int refused = stack_send(c, w->bytes, m->size, m->stream, m->unordered, m->ppid, "full");
		if (refused > 0)
			return;
		if (refused < 0)
			fprintf(stderr, "no echo: %s\n", strerror(errno));
		seen->messages += m->whole;
		seen->bytes += m->size;
		queue->first = w->next;
		if (!queue->first)
			queue->end = &queue->first;
		free(w);
	}
}

/* Ends the association if that is this side's part and all went back. */
static void end_after(struct connection *c, const struct options *o, struct seen *seen)
{
	if (!o->end_after || seen->messages != o->end_after)
		return;
	if (!strcmp(o->end, "shutdown"))
		stack_shutdown(c);
	if (!strcmp(o->end, "abort")) {
		stack_abort(c);
		seen->ended = BROKEN;
	}
}

static int serve(struct connection *c, const struct options *o)
{
	struct seen seen = { .kept = 1 };
	struct queue queue = { .first = NULL, .end = &queue.first };
	struct message m;
	while (!seen.ended) {
		enum found found = next(c, back, &m, queue.first ? 1 : -1, &seen);
		/* As WebRTC does: the answer to a reset is a reset. */
		if (found == PEER_RESET && !o->ask_for_reset && stack_reset_streams(c, o->streams))
			perror("reset");
		if (found == MESSAGE)
			put(&queue, &m, back);
		if (queue.first) {
			echo(c, &queue, &seen);
			end_after(c, o, &seen);
		}
	}
	printf("SERVED echoes=%ld bytes=%ld shutdown=%s resets=%ld\n", seen.messages, seen.bytes, how_ended(&seen),
	       o->ask_for_reset ? seen.resets_done : seen.resets);
	fflush(stdout);
	stack_close(c);
	return seen.ended == CLOSED;
}

static int run_server(const struct options *o)
{
	int all_clean = 1;
	if (stack_listen(o))
		return NETWORK;
	puts("MARK ready");
	fflush(stdout);
	for (int i = 0; i < o->associations; i++) {
		struct connection *c = stack_accept(o);
		if (!c)
			return NETWORK;
		all_clean &= serve(c, o);
	}
	stack_finish();
	return all_clean ? OK : UNCLEAN_SHUTDOWN;
}

int main(int argc, char **argv)
{
	struct options o = OPTIONS_DEFAULT;
	if (parse_options(argc, argv, &o) || o.streams < 1)
		return USAGE;
	alarm(o.seconds);
	return o.client ? run_client(&o) : run_server(&o);
}
