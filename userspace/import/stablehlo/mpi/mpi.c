// SPDX-License-Identifier: MIT
/*
 * The transport between ranks over MPI: bytes between two ranks, and notes, each on a communicator
 * of its own.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../transport.h"

/* MPI counts bytes as int: longer values are sent as several messages. */
#define MOST_BYTES ((size_t)1 << 30)
#define NOTE	   1

/* A note that is being sent; one whose sending is complete is used again for the next. */
struct sent {
	struct sent *next;
	MPI_Request request;
	struct shlo_note note;
};

static struct {
	MPI_Comm values, notes;
	/* Requests of MPI, and for each transfer the number of requests up to its end. */
	MPI_Request *requests;
	size_t request_count, request_room;
	size_t *ends;
	size_t end_count, end_room;
	struct sent *sent;
	bool initialised;
	uint64_t tags; /* number of tags */
	char error[MPI_MAX_ERROR_STRING + 1];
} ranks;

static int check(int code)
{
	int length = 0;

	if (code == MPI_SUCCESS)
		return 0;
	MPI_Error_string(code, ranks.error, &length);
	ranks.error[length] = 0;
	return -1;
}

static int out_of_memory(void)
{
	strcpy(ranks.error, "memory is exhausted");
	return -1;
}

static int find_neighbours(int *local, int *local_count)
{
	MPI_Comm node;

	if (check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
				      &node)) ||
	    check(MPI_Comm_rank(node, local)) || check(MPI_Comm_size(node, local_count)))
		return -1;
	return check(MPI_Comm_free(&node));
}

static const char *join(struct shlo_seat *seat)
{
	int there, own, all, local, local_count, got, *most;

	if (check(MPI_Initialized(&there)))
		return ranks.error;
	/* An application that has initialised MPI also finalises it. */
	if (!there) {
		if (check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &got)))
			return ranks.error;
		ranks.initialised = true;
	}
	if (check(MPI_Comm_dup(MPI_COMM_WORLD, &ranks.values)) ||
	    check(MPI_Comm_dup(MPI_COMM_WORLD, &ranks.notes)) ||
	    check(MPI_Comm_set_errhandler(ranks.values, MPI_ERRORS_RETURN)) ||
	    check(MPI_Comm_set_errhandler(ranks.notes, MPI_ERRORS_RETURN)) ||
	    check(MPI_Comm_rank(ranks.values, &own)) || check(MPI_Comm_size(ranks.values, &all)) ||
	    find_neighbours(&local, &local_count))
		return ranks.error;
	if (check(MPI_Comm_get_attr(ranks.values, MPI_TAG_UB, &most, &there)))
		return ranks.error;
	/* Every MPI has at least the tags 0 to 32767. */
	ranks.tags = there ? (uint64_t)*most + 1 : 32768;
	*seat = (struct shlo_seat){ (uint32_t)own, (uint32_t)all, (uint32_t)local,
				    (uint32_t)local_count };
	return NULL;
}

static void *grown(void *items, size_t count, size_t *room, size_t size)
{
	if (count == *room) {
		void *more = realloc(items, (*room ? *room * 2 : 64) * size);

		if (!more)
			return NULL;
		*room = *room ? *room * 2 : 64;
		items = more;
	}
	return items;
}

static MPI_Request *new_request(void)
{
	MPI_Request *requests =
		grown(ranks.requests, ranks.request_count, &ranks.request_room, sizeof(*requests));

	if (!requests)
		return NULL;
	ranks.requests = requests;
	requests += ranks.request_count;
	*requests = MPI_REQUEST_NULL;
	ranks.request_count++;
	return requests;
}

static int end_transfer(void)
{
	size_t *ends = grown(ranks.ends, ranks.end_count, &ranks.end_room, sizeof(*ends));

	if (!ends)
		return out_of_memory();
	ranks.ends = ends;
	ends[ranks.end_count++] = ranks.request_count;
	return 0;
}

static int tag_of(uint64_t key)
{
	return (int)(key % ranks.tags);
}

static int begin_send(uint32_t to, uint64_t key, const void *data, size_t size)
{
	for (size_t at = 0; at < size; at += MOST_BYTES) {
		size_t part = size - at < MOST_BYTES ? size - at : MOST_BYTES;
		MPI_Request *request = new_request();

		if (!request)
			return out_of_memory();
		if (check(MPI_Isend((const char *)data + at, (int)part, MPI_BYTE, (int)to,
				    tag_of(key), ranks.values, request)))
			return -1;
	}
	return end_transfer();
}

static int begin_receive(uint32_t from, uint64_t key, void *data, size_t size)
{
	for (size_t at = 0; at < size; at += MOST_BYTES) {
		size_t part = size - at < MOST_BYTES ? size - at : MOST_BYTES;
		MPI_Request *request = new_request();

		if (!request)
			return out_of_memory();
		if (check(MPI_Irecv((char *)data + at, (int)part, MPI_BYTE, (int)from, tag_of(key),
				    ranks.values, request)))
			return -1;
	}
	return end_transfer();
}

static int test(size_t count)
{
	size_t end = count ? ranks.ends[count - 1] : 0;
	int done;

	if (check(MPI_Testall((int)end, ranks.requests, &done, MPI_STATUSES_IGNORE)))
		return -1;
	return done;
}

static size_t pending(void)
{
	for (size_t i = 0, at = 0; i < ranks.end_count; i++)
		for (; at < ranks.ends[i]; at++) {
			int done = 0;

			if (MPI_Request_get_status(ranks.requests[at], &done, MPI_STATUS_IGNORE) ||
			    !done)
				return i;
		}
	return ranks.end_count;
}

static void clear(void)
{
	ranks.request_count = 0;
	ranks.end_count = 0;
}

static int tell(uint32_t to, const struct shlo_note *note)
{
	struct sent *sent;
	int done = 0;

	for (sent = ranks.sent; sent && !done; sent = done ? sent : sent->next)
		if (check(MPI_Test(&sent->request, &done, MPI_STATUS_IGNORE)))
			return -1;
	if (!sent) {
		sent = malloc(sizeof(*sent));
		if (!sent)
			return out_of_memory();
		sent->next = ranks.sent;
		ranks.sent = sent;
	}
	sent->note = *note;
	return check(MPI_Isend(&sent->note, sizeof(sent->note), MPI_BYTE, (int)to, NOTE,
			       ranks.notes, &sent->request));
}

static int hear(struct shlo_note *note)
{
	MPI_Status status;
	int there;

	if (check(MPI_Iprobe(MPI_ANY_SOURCE, NOTE, ranks.notes, &there, &status)))
		return -1;
	if (!there)
		return 0;
	if (check(MPI_Recv(note, sizeof(*note), MPI_BYTE, status.MPI_SOURCE, NOTE, ranks.notes,
			   MPI_STATUS_IGNORE)))
		return -1;
	note->from = (uint32_t)status.MPI_SOURCE;
	return 1;
}

static const char *error(void)
{
	return ranks.error;
}

static void leave(void)
{
	while (ranks.sent) {
		struct sent *next = ranks.sent->next;

		MPI_Wait(&ranks.sent->request, MPI_STATUS_IGNORE);
		free(ranks.sent);
		ranks.sent = next;
	}
	free(ranks.requests);
	free(ranks.ends);
	MPI_Comm_free(&ranks.values);
	MPI_Comm_free(&ranks.notes);
	if (ranks.initialised)
		MPI_Finalize();
}

static void abort_all(void)
{
	MPI_Abort(MPI_COMM_WORLD, 1);
}

extern const struct shlo_transport shlo_transport;
__attribute__((visibility("default"))) const struct shlo_transport shlo_transport = {
	.version = SHLO_TRANSPORT_VERSION,
	.join = join,
	.send = begin_send,
	.receive = begin_receive,
	.test = test,
	.pending = pending,
	.clear = clear,
	.tell = tell,
	.hear = hear,
	.error = error,
	.leave = leave,
	.abort = abort_all,
};
