// SPDX-License-Identifier: MIT
/*
 * webnn-run generate --server: takes requests by HTTP, with libmicrohttpd, whose thread calls
 * handle(), read_stream() and completed(). The threads of jobs.c compute the answers.
 */
#include "server.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "jobs.h"

#define MAX_BODY (1 << 20)
/* If a body has more bytes, the connection is closed without a reply. */
#define MAX_RECEIVED (16 * MAX_BODY)
/*
 * Seconds after which a connection is closed if nothing came or went. A connection whose request is
 * computed or waits is suspended, and stays.
 */
#define PATIENCE 30
/* Connections beside those of requests that are computed or wait. */
#define MORE_CONNECTIONS 64

struct server {
	struct language *language;
	const struct server_options *options;
	struct jobs jobs;
	const char *model; /* its name for clients */
	int64_t started;
	uint64_t requests;
};

/* ---- replies */

/* Sends a job's reply. @allow: NULL, or the path's methods if the request has another method. */
static enum MHD_Result send_bytes(const struct job *job, const char *allow)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		job->out.size, job->out.data, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result ret;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", "application/json");
	if (allow)
		MHD_add_response_header(response, "Allow", allow);
	if (job->status == 503)
		MHD_add_response_header(response, "Retry-After", "1");
	ret = MHD_queue_response(job->connection, job->status, response);
	MHD_destroy_response(response);
	return ret;
}

static enum MHD_Result send_refusal(struct job *job, const struct refusal *refusal)
{
	/* The reply is no stream, even if one was asked for. */
	job->request.stream = false;
	job_refuse(job, refusal);
	return send_bytes(job, NULL);
}

static enum MHD_Result send_json(struct job *job, json_t *root)
{
	job->status = 200;
	return job_add(job, root) ? MHD_NO : send_bytes(job, NULL);
}

static enum MHD_Result send_health(struct server *s, struct job *job)
{
	size_t busy, waiting;

	pthread_mutex_lock(&s->jobs.lock);
	busy = s->jobs.busy;
	waiting = s->jobs.waiting;
	pthread_mutex_unlock(&s->jobs.lock);
	return send_json(job,
			 json_pack("{s:s, s:I, s:I, s:I, s:I}", "status", "ok", "slots",
				   (json_int_t)s->options->slots, "busy", (json_int_t)busy, "queue",
				   (json_int_t)s->options->queue, "waiting", (json_int_t)waiting));
}

static enum MHD_Result send_models(struct server *s, struct job *job)
{
	json_t *name = json_text(WNN_STR(s->model));

	return send_json(job, json_pack("{s:s, s:[{s:o, s:s, s:I, s:s, s:I}]}", "object", "list",
					"data", "id", name, "object", "model", "created",
					(json_int_t)s->started, "owned_by", "local",
					"context_length", (json_int_t)s->options->context));
}

/*
 * Gives libmicrohttpd the next bytes of a stream and returns their number. Suspends the connection
 * and returns 0 when there are none yet; returns a constant of libmicrohttpd at the end of the
 * stream, or when the connection is gone.
 */
static ssize_t read_stream(void *data, uint64_t position, char *buffer, size_t room)
{
	struct job *job = data;
	ssize_t ret = 0;
	size_t left;

	(void)position;
	pthread_mutex_lock(&job->jobs->lock);
	left = job->out.size - job->sent;
	if (left) {
		ret = (ssize_t)(left < room ? left : room);
		memcpy(buffer, job->out.data + job->sent, (size_t)ret);
		job->sent += (size_t)ret;
		if (job->sent == job->out.size)
			job->sent = job->out.size = 0;
	} else if (job->gone) {
		ret = MHD_CONTENT_READER_END_WITH_ERROR;
	} else if (job->state == JOB_DONE) {
		ret = MHD_CONTENT_READER_END_OF_STREAM;
	} else {
		job_suspend(job);
	}
	pthread_mutex_unlock(&job->jobs->lock);
	return ret;
}

static enum MHD_Result send_stream(struct job *job)
{
	struct MHD_Response *response =
		MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_stream, job, NULL);
	enum MHD_Result ret;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", "text/event-stream");
	MHD_add_response_header(response, "Cache-Control", "no-cache");
	ret = MHD_queue_response(job->connection, 200, response);
	MHD_destroy_response(response);
	return ret;
}

/* ---- requests to generate */

/*
 * Writes the tokens of a prompt that is a text, or of a conversation, into the answer. Returns 0;
 * otherwise fills @refusal.
 */
static int encode(struct server *s, struct job *job, struct refusal *refusal)
{
	struct request *r = &job->request;
	const struct language *l = s->language;
	struct gguf_text text = r->prompt;
	struct gguf_error error;
	char *chat = NULL;
	int ret = 0;

	if (r->chat) {
		chat = gguf_chat(&l->gguf, r->messages, r->message_count, &text.size, &error);
		if (!chat)
			return refuse(refusal, 400, "messages",
				      "the model: %s: use /v1/completions", error.text);
		text.data = chat;
	}
	if (gguf_encode(&l->vocabulary, text, true, true, &job->answer.tokens, &error))
		ret = refuse(refusal, 400, r->chat ? "messages" : "prompt", "the prompt: %s",
			     error.text);
	gguf_free(chat);
	return ret;
}

/*
 * Copies the tokens of a prompt that is an array of their numbers into the answer. Returns 0;
 * otherwise fills @refusal, for example when the model has no token of a number.
 */
static int take_tokens(struct server *s, struct job *job, struct refusal *refusal)
{
	const struct request *r = &job->request;
	struct gguf_error error;

	for (size_t i = 0; i < r->token_count; i++) {
		if (r->tokens[i] >= s->language->rows)
			return refuse(refusal, 400, "prompt",
				      "field \"prompt\" has the token %u; the model has 0 to %u",
				      r->tokens[i], s->language->rows - 1);
		if (gguf_tokens_add(&job->answer.tokens, r->tokens[i], &error))
			return refuse(refusal, 500, NULL, "%s", error.text);
	}
	return 0;
}

/* Sets how tokens are drawn, and how many. */
static void choose(const struct server *s, struct job *job)
{
	const struct request *r = &job->request;
	struct gguf_sampler *sampler = &job->answer.sampler;
	uint64_t room = s->options->context - job->answer.tokens.count;

	*sampler = s->language->sampler;
	gguf_sampler_set(sampler, &r->sampling);
	if (r->seed >= 0)
		sampler->state = (uint64_t)r->seed;
	else
		sampler->state = s->options->seeded ? s->options->seed : language_seed();
	job->answer.stops = &r->stops;
	job->answer.most = r->max_tokens ? r->max_tokens : s->options->max_tokens;
	if (job->answer.most > room)
		job->answer.most = room;
}

/* Reads the body of a request and sets up its answer. Returns 0, or -1 with a refusal. */
static int prepare(struct server *s, struct job *job, bool chat, struct refusal *refusal)
{
	const char *field = chat ? "messages" : "prompt";
	const char *type =
		MHD_lookup_connection_value(job->connection, MHD_HEADER_KIND, "Content-Type");

	if (job->received > MAX_BODY)
		return refuse(
			refusal, 413, NULL,
			"the body of the request has %zu bytes, but at most %d are allowed: send a "
			"shorter one",
			job->received, MAX_BODY);
	/* Pages in a browser cannot send this type to another site unless that site allows it. */
	if (!type || strncasecmp(type, "application/json", strlen("application/json")) != 0)
		return refuse(refusal, 415, NULL,
			      "the request's header Content-Type is %.60s, but it must be "
			      "application/json",
			      type ? type : "missing");
	if (request_read(&job->request, job->body.data, job->body.size, chat, refusal) ||
	    (job->request.tokens ? take_tokens(s, job, refusal) : encode(s, job, refusal)))
		return -1;
	if (!job->answer.tokens.count)
		return refuse(refusal, 400, field,
			      "the prompt is empty, and the model has no token to begin with");
	if (job->answer.tokens.count >= s->options->context)
		return refuse(refusal, 400, field,
			      "the prompt has %zu tokens, which leaves no room for an answer: at "
			      "most %" PRIu64 " are possible together; shorten it%s",
			      job->answer.tokens.count, s->options->context,
			      language_takes_more(s->language, s->options->context) ?
				      ", or start the server with a larger --context" :
				      ", as the model takes no more");
	choose(s, job);
	/* A body of 1 MiB is up to some 100 MiB of JSON, too much to keep while the job waits. */
	request_trim(&job->request);
	free(job->body.data);
	job->body = (struct bytes){ 0 };
	job->reply = (struct reply){ chat, s->model, ++s->requests, (int64_t)time(NULL) };
	return 0;
}

static enum MHD_Result generate(struct server *s, struct job *job, bool chat)
{
	struct refusal refusal;
	bool done;

	if (prepare(s, job, chat, &refusal) || job_submit(job, &refusal))
		return send_refusal(job, &refusal);
	if (job->request.stream)
		return send_stream(job);
	pthread_mutex_lock(&s->jobs.lock);
	done = job->state == JOB_DONE;
	if (!done)
		job_suspend(job);
	pthread_mutex_unlock(&s->jobs.lock);
	return done ? send_bytes(job, NULL) : MHD_YES;
}

static enum MHD_Result send_completion(struct server *s, struct job *job)
{
	return generate(s, job, false);
}

static enum MHD_Result send_chat(struct server *s, struct job *job)
{
	return generate(s, job, true);
}

/* ---- requests */

static const struct route {
	const char *path;
	bool post; /* takes POST; false: takes GET and HEAD */
	enum MHD_Result (*reply)(struct server *server, struct job *job);
} routes[] = {
	{ "/health", false, send_health },
	{ "/v1/models", false, send_models },
	{ "/v1/completions", true, send_completion },
	{ "/v1/chat/completions", true, send_chat },
};

static enum MHD_Result reply(struct server *s, struct job *job, const char *path,
			     const char *method)
{
	const struct route *route = NULL;
	const char *allow;
	struct refusal refusal;

	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (!strcmp(routes[i].path, path))
			route = &routes[i];
	if (!route) {
		refuse(&refusal, 404, NULL,
		       "there is nothing at \"%.100s\"; there are /v1/completions, "
		       "/v1/chat/completions, /v1/models and /health",
		       path);
		return send_refusal(job, &refusal);
	}
	if (route->post ? !strcmp(method, "POST") :
			  !strcmp(method, "GET") || !strcmp(method, "HEAD"))
		return route->reply(s, job);
	allow = route->post ? "POST" : "GET, HEAD";
	refuse(&refusal, 405, NULL, "the method of %s is %s, not %.20s", path, allow, method);
	job_refuse(job, &refusal);
	return send_bytes(job, allow);
}

/*
 * Adds a part of a body to job->body and returns MHD_YES. Bytes beyond MAX_BODY are counted, but
 * not kept. Returns MHD_NO beyond MAX_RECEIVED, or when memory is exhausted.
 */
static enum MHD_Result receive(struct job *job, const char *data, size_t size)
{
	job->received += size;
	if (job->received > MAX_RECEIVED)
		return MHD_NO;
	if (job->received <= MAX_BODY && bytes_add(&job->body, data, size))
		return MHD_NO;
	return MHD_YES;
}

static struct job *make_job(struct server *s, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct job *job = info ? calloc(1, sizeof(*job)) : NULL;

	if (!job)
		return NULL;
	job->jobs = &s->jobs;
	job->connection = connection;
	job->socket = info->connect_fd;
	return job;
}

/*
 * Handles a request. libmicrohttpd calls this function with the head of a request, with each part
 * of its body, without a part when the body is complete, and again when a connection that was
 * suspended goes on. MHD_NO ends the connection.
 */
static enum MHD_Result handle(void *data, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *body,
			      size_t *size, void **state)
{
	struct server *s = data;
	struct job *job = *state;
	enum job_state now;
	bool gone;

	(void)version;
	if (!job) {
		*state = make_job(s, connection);
		return *state ? MHD_YES : MHD_NO;
	}
	if (*size) {
		enum MHD_Result ret = receive(job, body, *size);

		*size = 0;
		return ret;
	}
	pthread_mutex_lock(&s->jobs.lock);
	now = job->state;
	gone = job->gone;
	pthread_mutex_unlock(&s->jobs.lock);
	if (gone)
		return MHD_NO;
	if (now == JOB_NEW)
		return reply(s, job, path, method);
	return now == JOB_DONE ? send_bytes(job, NULL) : MHD_YES;
}

static void completed(void *data, struct MHD_Connection *connection, void **state,
		      enum MHD_RequestTerminationCode how)
{
	(void)data;
	(void)connection;
	(void)how;
	if (*state)
		job_release(*state);
	*state = NULL;
}

/* ---- start and end */

static void ending_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
}

void server_block_signals(void)
{
	sigset_t set;

	ending_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Finds the address to listen on. Returns DONE or an exit code. */
static int find_address(const struct server_options *options, struct addrinfo **address)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
					.ai_socktype = SOCK_STREAM };
	const char *host = strcmp(options->host, "localhost") ? options->host : "127.0.0.1";
	char port[8];
	int error;

	snprintf(port, sizeof(port), "%u", options->port);
	error = getaddrinfo(host, port, &hints, address);
	if (!error)
		return DONE;
	if (error == EAI_MEMORY)
		return complain(
			BAD_DEVICE,
			"the server has too little free memory to start: end other programs, or "
			"raise the limit (ulimit -v)");
	return complain(
		BAD_DEVICE,
		"--host '%s' is not an address: give one such as 127.0.0.1 (reached from this "
		"machine alone) or 0.0.0.0 (reached from all networks)",
		options->host);
}

static bool is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

/* Returns what helps when a socket cannot listen, as the end of a message. */
static const char *way_out(int error)
{
	switch (error) {
	case EADDRINUSE:
		return "; give another --port, or end the program that has this port";
	case EACCES:
		return "; give a --port from 1024 on";
	case EADDRNOTAVAIL:
	case EAFNOSUPPORT:
		return "; give with --host an address of this machine";
	default:
		return "";
	}
}

/* Returns a socket that listens, and writes the address that it has; -1 with a message. */
static int listen_at(const struct server_options *options, const struct addrinfo *wanted,
		     struct sockaddr_storage *address)
{
	int fd = socket(wanted->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
	socklen_t size = sizeof(*address);

	/* SO_REUSEADDR: connections of a server that has just ended do not block the port. */
	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) &&
	    !bind(fd, wanted->ai_addr, wanted->ai_addrlen) && !listen(fd, SOMAXCONN) &&
	    !getsockname(fd, (struct sockaddr *)address, &size))
		return fd;
	complain(BAD_DEVICE, "the server cannot listen on %s, port %u: %s%s", options->host,
		 options->port, strerror(errno), way_out(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static void print_address(const struct server *s, const struct sockaddr *address)
{
	bool six = address->sa_family == AF_INET6;
	char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";

	getnameinfo(address, six ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in), host,
		    sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	printf("%s on %s: http://%s%s%s:%s/v1; %zu requests at once, each of up to %" PRIu64
	       " tokens, and %zu wait\n",
	       s->model, s->language->target.device_name, six ? "[" : "", host, six ? "]" : "",
	       port, s->options->slots, s->options->context, s->options->queue);
	fflush(stdout);
	if (!is_loopback(address))
		complain(DONE,
			 "warning: everybody who reaches the address %s can use the model, because "
			 "the server has no password; --host 127.0.0.1 serves this machine alone",
			 host);
}

/*
 * Serves at a socket, which is taken over in any case, until a signal comes. Returns DONE, or the
 * exit code after a message.
 */
static int serve(struct server *s, int socket, const struct sockaddr *address)
{
	size_t most = s->options->slots + s->options->queue + MORE_CONNECTIONS;
	struct MHD_Daemon *daemon = MHD_start_daemon(
		MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, s,
		MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_CONNECTION_LIMIT, (unsigned int)most,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)PATIENCE, MHD_OPTION_NOTIFY_COMPLETED,
		completed, s, MHD_OPTION_END);
	sigset_t set;
	int got;

	if (!daemon) {
		close(socket);
		return complain(
			BAD_DEVICE,
			"the server does not start, for a reason that libmicrohttpd does not tell: "
			"raise the limits of open files (ulimit -n), threads (ulimit -u) and memory "
			"(ulimit -v), or end other programs");
	}
	print_address(s, address);
	ending_signals(&set);
	sigwait(&set, &got);
	jobs_stop(&s->jobs);
	MHD_stop_daemon(daemon);
	return DONE;
}

int server_run(struct language *language, const struct server_options *options)
{
	const char *slash = strrchr(language->path, '/');
	struct server s = { .language = language,
			    .options = options,
			    .model = slash ? slash + 1 : language->path,
			    .started = (int64_t)time(NULL) };
	struct sockaddr_storage address;
	struct addrinfo *wanted;
	int socket, ret = find_address(options, &wanted);

	if (ret)
		return ret;
	socket = listen_at(options, wanted, &address);
	freeaddrinfo(wanted);
	if (socket < 0)
		return BAD_DEVICE;
	ret = jobs_init(&s.jobs, language, options->slots, options->queue);
	if (ret)
		close(socket);
	else
		ret = serve(&s, socket, (struct sockaddr *)&address);
	jobs_stop(&s.jobs);
	jobs_exit(&s.jobs);
	return ret;
}
