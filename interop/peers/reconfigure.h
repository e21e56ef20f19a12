/* Notifications and re-configuration of streams (RFC 6525), which both stacks offer by the same socket options. A stack includes
   this below its `struct connection` and its `set`, which sets an option of a socket. */
#ifndef RECONFIGURE_H
#define RECONFIGURE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "stack.h"

static enum found found_in(const union sctp_notification *note)
{
	switch (note->sn_header.sn_type) {
	case SCTP_ASSOC_CHANGE:
		if (note->sn_assoc_change.sac_state == SCTP_SHUTDOWN_COMP)
			return CLOSED;
		if (note->sn_assoc_change.sac_state != SCTP_COMM_LOST)
			return NOTHING;
		fprintf(stderr, "communication lost, error %u\n", note->sn_assoc_change.sac_error);
		return BROKEN;
	case SCTP_STREAM_RESET_EVENT: {
		unsigned flags = note->sn_strreset_event.strreset_flags;
		if (flags & (SCTP_STREAM_RESET_DENIED | SCTP_STREAM_RESET_FAILED))
			return REFUSED;
		return flags & SCTP_STREAM_RESET_INCOMING_SSN ? PEER_RESET : RESET_DONE;
	}
	case SCTP_ASSOC_RESET_EVENT: {
		unsigned flags = note->sn_assocreset_event.assocreset_flags;
		return flags & (SCTP_ASSOC_RESET_DENIED | SCTP_ASSOC_RESET_FAILED) ? REFUSED : ALL_RESET;
	}
	case SCTP_STREAM_CHANGE_EVENT: {
		unsigned flags = note->sn_strchange_event.strchange_flags;
		return flags & (SCTP_STREAM_CHANGE_DENIED | SCTP_STREAM_CHANGE_FAILED) ? REFUSED : STREAMS_ADDED;
	}
	default:
		return NOTHING;
	}
}

static int reset(struct connection *c, int direction, int streams)
{
	size_t size = sizeof(struct sctp_reset_streams) + streams * sizeof(uint16_t);
	struct sctp_reset_streams *reset = calloc(1, size);
	reset->srs_flags = direction;
	reset->srs_number_streams = streams;
	for (int i = 0; i < streams; i++)
		reset->srs_stream_list[i] = i;
	int result = set(c->socket, SCTP_RESET_STREAMS, reset, size);
	/* Data that was just acknowledged may still be on its way out: the stack answers "try again". */
	for (int i = 0; result && errno == EAGAIN && i < 1000; i++) {
		usleep(10000);
		result = set(c->socket, SCTP_RESET_STREAMS, reset, size);
	}
	if (result)
		perror("SCTP_RESET_STREAMS");
	free(reset);
	return result;
}

int stack_reset_streams(struct connection *c, int streams)
{
	return reset(c, SCTP_STREAM_RESET_OUTGOING, streams);
}

int stack_ask_for_reset(struct connection *c, int streams)
{
	return reset(c, SCTP_STREAM_RESET_INCOMING, streams);
}

int stack_reset_association(struct connection *c)
{
	struct sctp_assoc_value all = { .assoc_id = 0 };
	int result = -1;
	for (int i = 0; result && i < 1000; i++) {      /* refused as long as something is not acknowledged */
		result = set(c->socket, SCTP_RESET_ASSOC, &all, sizeof all.assoc_id);
		usleep(result ? 10000 : 0);
	}
	if (result)
		perror("SCTP_RESET_ASSOC");
	return result;
}

int stack_add_streams(struct connection *c, int each)
{
	struct sctp_add_streams more = { .sas_instrms = each, .sas_outstrms = each };
	int result = set(c->socket, SCTP_ADD_STREAMS, &more, sizeof more);
	if (result)
		perror("SCTP_ADD_STREAMS");
	return result;
}

#endif
