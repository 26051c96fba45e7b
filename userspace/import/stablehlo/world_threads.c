// SPDX-License-Identifier: MIT
/*
 * Implements processes as threads of one program: those of interpreter.run_parallel, and those of a
 * program that runs on several devices.
 */
#include "world_threads.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define OTHER_FAILED "another process has failed"

/* One exchange of the members of a group. */
struct meeting {
	struct meeting *next;
	int64_t channel;
	/* members in all; that have arrived; that have copied their slices; that have gone on */
	size_t count, posted, left, gone;
	const size_t *members; /* list of the member that arrived first */
	/* by member: the slices that it sends; whether it has arrived */
	const struct shlo_shard **shards;
	bool *here;
};

/* A message. Its sender owns the values, and waits until a receiver has copied them. */
struct letter {
	struct letter *next;
	int64_t channel;
	size_t from;
	int64_t to; /* receiver; -1: any process */
	size_t count;
	struct shlo_tensor *const *values;
	bool claimed, taken; /* claimed: a receiver has begun to copy; taken: it has finished */
};

struct process {
	pthread_t thread;
	struct threads *threads;
	const struct shlo_thread *what;
	bool started, failed;
	/* The process waits for an exchange, a letter or, with @receives, a channel. */
	const struct meeting *meeting;
	const struct letter *letter;
	bool receives;
	int64_t channel, from;
};

struct threads {
	struct shlo_world world;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct process *processes;
	size_t count, running;
	bool failed, stuck;
	struct meeting *meetings;
	struct letter *letters;
	const struct shlo_attr *infeed;
	size_t infeed_at;
};

static struct threads *threads_of(const struct shlo_run *run)
{
	return (struct threads *)run->world;
}

static const struct letter *letter_for(const struct threads *t, const struct process *process)
{
	for (const struct letter *letter = t->letters; letter; letter = letter->next)
		if (letter->channel == process->channel && !letter->claimed &&
		    (letter->to < 0 || letter->to == process - t->processes) &&
		    (process->from < 0 || process->from == (int64_t)letter->from))
			return letter;
	return NULL;
}

/* Whether a process need not wait any more. */
static bool may_go_on(const struct threads *t, const struct process *process)
{
	if (process->meeting)
		return process->meeting->posted == process->meeting->count;
	if (process->letter)
		return process->letter->taken;
	return !process->receives || letter_for(t, process);
}

/* Whether all processes that still run wait for others. */
static bool is_stuck(const struct threads *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->processes[i].started && may_go_on(t, &t->processes[i]))
			return false;
	return true;
}

/* Waits until this process may go on. The caller holds the lock; an error releases it. */
static void wait_for(struct shlo_run *run)
{
	struct threads *t = threads_of(run);
	struct process *self = &t->processes[run->process];

	while (!t->failed && !may_go_on(t, self)) {
		if (t->running == t->count && is_stuck(t)) {
			t->failed = t->stuck = true;
			pthread_cond_broadcast(&t->changed);
			break;
		}
		pthread_cond_wait(&t->changed, &t->lock);
	}
	self->meeting = NULL;
	self->letter = NULL;
	self->receives = false;
	if (t->failed) {
		bool stuck = t->stuck;

		pthread_mutex_unlock(&t->lock);
		if (!stuck)
			shlo_run_error(run, OTHER_FAILED);
		shlo_run_error(run,
			       "all processes wait for each other, or for one that has ended: let "
			       "all members of a group run the same operations in the same order, "
			       "and each send have its recv");
	}
}

static struct meeting *find_meeting(struct threads *t, const struct shlo_group *group,
				    int64_t channel)
{
	for (struct meeting *m = t->meetings; m; m = m->next)
		if (m->channel == channel && m->count == group->count && !m->here[group->own] &&
		    !memcmp(m->members, group->members, group->count * sizeof(size_t)))
			return m;
	return NULL;
}

static struct meeting *new_meeting(struct shlo_run *run, const struct shlo_group *group,
				   int64_t channel)
{
	size_t list = group->count * sizeof(size_t);
	struct meeting *m =
		import_alloc(sizeof(*m) + list + group->count * (sizeof(*m->shards) + 1));
	struct threads *t = threads_of(run);
	size_t *members;

	if (!m) {
		pthread_mutex_unlock(&t->lock);
		shlo_run_lack(run, 0);
	}
	m->channel = channel;
	m->count = group->count;
	members = (size_t *)(m + 1);
	memcpy(members, group->members, list);
	m->members = members;
	m->shards = (const struct shlo_shard **)(members + group->count);
	m->here = (bool *)(m->shards + group->count);
	m->next = t->meetings;
	t->meetings = m;
	return m;
}

static void drop_meeting(struct threads *t, struct meeting *meeting)
{
	struct meeting **link = &t->meetings;

	while (*link != meeting)
		link = &(*link)->next;
	*link = meeting->next;
	import_free(meeting);
}

/* Copies the other members' slices to @in; false: a slice has another size than expected. */
static bool take_shards(const struct meeting *m, size_t own, const struct shlo_shard *in)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct shlo_shard *shard = &m->shards[i][own];

		if (i == own)
			continue;
		if (shard->size != in[i].size)
			return false;
		if (shard->size)
			memcpy(in[i].data, shard->data, shard->size);
	}
	return true;
}

static void swap_shards(struct shlo_run *run, const struct shlo_group *group, int64_t channel,
			const struct shlo_shard *out, const struct shlo_shard *in)
{
	struct threads *t = threads_of(run);
	struct meeting *m;
	bool fits, failed;

	pthread_mutex_lock(&t->lock);
	m = find_meeting(t, group, channel);
	if (!m)
		m = new_meeting(run, group, channel);
	m->here[group->own] = true;
	m->shards[group->own] = out;
	m->posted++;
	pthread_cond_broadcast(&t->changed);
	t->processes[run->process].meeting = m;
	wait_for(run);
	pthread_mutex_unlock(&t->lock);
	fits = take_shards(m, group->own, in);
	pthread_mutex_lock(&t->lock);
	t->failed = t->failed || !fits;
	m->left++;
	pthread_cond_broadcast(&t->changed);
	/* All members wait until all have copied, because the slices belong to the senders. */
	while (m->left < m->count && !t->failed)
		pthread_cond_wait(&t->changed, &t->lock);
	failed = t->failed;
	/* The last member removes the meeting, which nobody uses any more. */
	if (!failed && ++m->gone == m->count)
		drop_meeting(t, m);
	pthread_mutex_unlock(&t->lock);
	if (!fits)
		shlo_run_differ(run);
	if (failed)
		shlo_run_error(run, OTHER_FAILED);
}

static void send_values(struct shlo_run *run, int64_t channel, int64_t process, size_t count,
			struct shlo_tensor *const *values)
{
	struct threads *t = threads_of(run);
	struct letter *letter = import_alloc(sizeof(*letter)), **end;

	if (!letter)
		shlo_run_lack(run, 0);
	*letter = (struct letter){ .channel = channel,
				   .from = run->process,
				   .to = process,
				   .count = count,
				   .values = values };
	pthread_mutex_lock(&t->lock);
	for (end = &t->letters; *end; end = &(*end)->next)
		;
	*end = letter;
	pthread_cond_broadcast(&t->changed);
	t->processes[run->process].letter = letter;
	wait_for(run);
	pthread_mutex_unlock(&t->lock);
}

static void receive_values(struct shlo_run *run, int64_t channel, int64_t process, size_t count,
			   const struct shlo_type *const *types, struct shlo_tensor **values)
{
	struct threads *t = threads_of(run);
	struct process *self = &t->processes[run->process];
	struct letter *letter;

	/* The values carry their types with them. */
	(void)types;
	pthread_mutex_lock(&t->lock);
	self->receives = true;
	self->channel = channel;
	self->from = process;
	wait_for(run);
	letter = (struct letter *)letter_for(t, self);
	if (letter->count != count) {
		t->failed = true;
		pthread_cond_broadcast(&t->changed);
		pthread_mutex_unlock(&t->lock);
		shlo_run_error(run, "%zu values were sent, %zu are to be received", letter->count,
			       count);
	}
	letter->claimed = true;
	pthread_mutex_unlock(&t->lock);
	for (size_t i = 0; i < count; i++)
		values[i] = shlo_tensor_copy(run, letter->values[i]);
	pthread_mutex_lock(&t->lock);
	letter->taken = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

static const char *next_infeed(struct shlo_run *run)
{
	struct threads *t = threads_of(run);
	const char *name = NULL;

	pthread_mutex_lock(&t->lock);
	if (t->infeed && t->infeed_at < t->infeed->count)
		name = t->infeed->items[t->infeed_at++]->text;
	pthread_mutex_unlock(&t->lock);
	return name;
}

static void *run_process(void *argument)
{
	struct process *self = argument;
	struct threads *t = self->threads;

	if (!setjmp(self->what->run->guard.jump))
		self->what->body(self->what->data);
	else
		self->failed = true;
	pthread_mutex_lock(&t->lock);
	self->started = false;
	t->failed = t->failed || self->failed;
	if (!t->failed && t->running == t->count && is_stuck(t)) {
		/* Processes that still run wait for this one, which has ended: they fail. */
		for (size_t i = 0; i < t->count; i++)
			if (t->processes[i].started)
				t->failed = t->stuck = true;
	}
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static void threads_exit(struct threads *t)
{
	while (t->meetings) {
		struct meeting *next = t->meetings->next;

		import_free(t->meetings);
		t->meetings = next;
	}
	while (t->letters) {
		struct letter *next = t->letters->next;

		import_free(t->letters);
		t->letters = next;
	}
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	import_free(t->processes);
}

/* Starts all processes, and waits for their ends; false: there are not enough threads. */
static bool run_all(struct threads *t)
{
	size_t started = 0;

	pthread_mutex_lock(&t->lock);
	for (; started < t->count; started++) {
		struct process *process = &t->processes[started];

		process->started = true;
		t->running++;
		if (pthread_create(&process->thread, NULL, run_process, process)) {
			process->started = false;
			t->failed = true;
			break;
		}
	}
	pthread_mutex_unlock(&t->lock);
	for (size_t i = 0; i < started; i++)
		pthread_join(t->processes[i].thread, NULL);
	return started == t->count;
}

/*
 * Returns the first process whose error is not a consequence of another's, else the first that
 * failed; NULL: none failed.
 */
static const struct process *find_failed(const struct threads *t)
{
	const struct process *found = NULL;

	for (size_t i = 0; i < t->count; i++) {
		const struct process *process = &t->processes[i];

		if (process->failed &&
		    (!found || (strstr(found->what->run->guard.message, OTHER_FAILED) &&
				!strstr(process->what->run->guard.message, OTHER_FAILED))))
			found = process;
	}
	return found;
}

bool shlo_threads_run(const struct shlo_threads *threads, struct shlo_guard *error)
{
	struct threads t = {
		.world = {
			.replicas = threads->replicas,
			.partitions = threads->partitions,
			.swap = swap_shards,
			.send = send_values,
			.receive = receive_values,
			.infeed = next_infeed,
		},
		.infeed = threads->infeed,
		.count = threads->replicas * threads->partitions,
	};
	const struct process *failed;

	error->status = WNNStatus_UnknownError;
	snprintf(error->message, sizeof(error->message), "memory is exhausted");
	t.processes = import_alloc(t.count * sizeof(*t.processes));
	if (!t.processes)
		return false;
	pthread_mutex_init(&t.lock, NULL);
	pthread_cond_init(&t.changed, NULL);
	for (size_t i = 0; i < t.count; i++) {
		t.processes[i].threads = &t;
		t.processes[i].what = &threads->processes[i];
		threads->processes[i].run->world = &t.world;
		threads->processes[i].run->process = i;
	}
	if (!run_all(&t)) {
		error->status = WNNStatus_OperationError;
		snprintf(error->message, sizeof(error->message),
			 "the system does not start a thread for each of the %zu processes of the "
			 "program: raise the limits of threads (ulimit -u) and of address space "
			 "(ulimit -v), or run fewer processes",
			 t.count);
		threads_exit(&t);
		return false;
	}
	failed = find_failed(&t);
	if (failed) {
		error->status = failed->what->run->guard.status;
		memcpy(error->message, failed->what->run->guard.message, sizeof(error->message));
	}
	threads_exit(&t);
	return !failed;
}

/* ---- interpreter.run_parallel */

struct parallel {
	struct shlo_arena arena;
	size_t count;
	struct shlo_thread *threads;
	struct task *tasks;
};

/* A function that runs as a process. */
struct task {
	struct shlo_run run;
	const struct shlo_function *function;
	/* the results belong to the run of this process */
	struct shlo_tensor **arguments, **results;
};

const struct shlo_function *shlo_parallel_function(struct shlo_call *call,
						   const struct shlo_attr *programs, size_t process)
{
	size_t columns = programs->items[0]->count;
	const char *name = programs->items[process / columns]->items[process % columns]->text;
	const struct shlo_function *function = name ? shlo_function_find(call->run->module, name) :
						      NULL;

	if (!function || !function->region)
		shlo_run_error(call->run, "there is no function @%s", name ? name : "");
	return function;
}

void shlo_parallel_check(struct shlo_call *call, const struct shlo_attr *programs)
{
	size_t count = programs->count * programs->items[0]->count;
	size_t arguments = 0, results = 0;

	for (size_t i = 0; i < count; i++) {
		const struct shlo_function *function = shlo_parallel_function(call, programs, i);

		arguments += function->type->item_count;
		results += function->type->result_count;
	}
	if (arguments != call->op->operand_count || results != call->op->result_count)
		shlo_run_error(call->run,
			       "its functions take %zu values and give %zu in all, but it has %zu "
			       "operands and %zu results: the numbers must be equal",
			       arguments, results, call->op->operand_count, call->op->result_count);
}

static void run_task(void *data)
{
	struct task *task = data;

	shlo_call_function(&task->run, task->function, task->arguments, task->results);
}

static void setup(struct shlo_call *call, struct parallel *p, const struct shlo_attr *programs)
{
	size_t argument = 0;

	shlo_parallel_check(call, programs);
	for (size_t i = 0; i < p->count; i++) {
		struct task *task = &p->tasks[i];
		const struct shlo_function *function = shlo_parallel_function(call, programs, i);

		task->function = function;
		task->arguments = (struct shlo_tensor **)call->in + argument;
		argument += function->type->item_count;
		task->results = shlo_arena_alloc(&p->arena, function->type->result_count,
						 sizeof(struct shlo_tensor *));
		task->run.module = call->run->module;
		task->run.device = call->run->device;
		task->run.loop_limit = call->run->loop_limit;
		p->threads[i] = (struct shlo_thread){ &task->run, run_task, task };
	}
}

/*
 * Copies the arguments of a task into its own run, because only one thread may count the references
 * of a run.
 */
static void take_of(struct task *task, struct shlo_arena *arena)
{
	size_t count = task->function->type->item_count;
	struct shlo_tensor **copies = shlo_arena_alloc(arena, count, sizeof(struct shlo_tensor *));

	if (setjmp(task->run.guard.jump))
		shlo_throw(arena->guard, task->run.guard.status, "%s", task->run.guard.message);
	for (size_t k = 0; k < count; k++)
		copies[k] = shlo_tensor_copy(&task->run, task->arguments[k]);
	task->arguments = copies;
}

static void give_results(struct shlo_call *call, struct parallel *p)
{
	size_t at = 0;

	for (size_t i = 0; i < p->count; i++) {
		call->run->reference_ops += p->tasks[i].run.reference_ops;
		call->run->device_ops += p->tasks[i].run.device_ops;
		for (size_t k = 0; k < p->tasks[i].function->type->result_count; k++)
			call->out[at++] = shlo_tensor_copy(call->run, p->tasks[i].results[k]);
	}
}

static void check_programs(struct shlo_call *call, const struct shlo_attr *programs)
{
	if (!programs || programs->kind != SHLO_ATTR_ARRAY || !programs->count)
		shlo_run_error(call->run, "attribute programs is missing");
	for (size_t i = 0; i < programs->count; i++)
		if (programs->items[i]->kind != SHLO_ATTR_ARRAY || !programs->items[i]->count ||
		    programs->items[i]->count != programs->items[0]->count)
			shlo_run_error(
				call->run,
				"its programs must be a table, with one row for each replica");
	if (programs->count * programs->items[0]->count > SHLO_MAX_PROCESSES)
		shlo_run_error(call->run, "it has more than %d processes", SHLO_MAX_PROCESSES);
}

static void run_tasks(struct shlo_call *call, struct parallel *p, const struct shlo_attr *programs)
{
	struct shlo_threads threads = {
		.replicas = programs->count,
		.partitions = programs->items[0]->count,
		.infeed = shlo_attr_find(&call->op->attrs, "infeed"),
	};
	struct shlo_guard error;

	p->count = threads.replicas * threads.partitions;
	p->threads = shlo_arena_alloc(&p->arena, p->count, sizeof(*p->threads));
	p->tasks = shlo_arena_alloc(&p->arena, p->count, sizeof(*p->tasks));
	threads.processes = p->threads;
	setup(call, p, programs);
	for (size_t i = 0; i < p->count; i++)
		take_of(&p->tasks[i], &p->arena);
	if (!shlo_threads_run(&threads, &error))
		shlo_throw(&call->run->guard, WNNStatus_OperationError, "%s", error.message);
	give_results(call, p);
}

void shlo_eval_run_parallel(struct shlo_call *call)
{
	const struct shlo_attr *programs = shlo_attr_find(&call->op->attrs, "programs");
	struct parallel parallel = { .arena = { .guard = &call->run->guard } };
	jmp_buf outer;
	volatile bool done = false;

	check_programs(call, programs);
	if (call->run->world && call->run->world->run_parallel) {
		call->run->world->run_parallel(call, programs);
		return;
	}
	/* An error must not leave the processes' values behind: it is caught here first. */
	memcpy(outer, call->run->guard.jump, sizeof(outer));
	if (!setjmp(call->run->guard.jump)) {
		run_tasks(call, &parallel, programs);
		done = true;
	}
	memcpy(call->run->guard.jump, outer, sizeof(outer));
	for (size_t i = 0; parallel.tasks && i < parallel.count; i++)
		shlo_run_exit(&parallel.tasks[i].run);
	shlo_arena_exit(&parallel.arena);
	if (!done)
		longjmp(call->run->guard.jump, 1);
}
