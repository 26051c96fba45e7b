// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Core dumps of the device, in the format of Documentation/coredump.rst.
 *
 * The code that finds a failure may neither wait nor allocate memory, since fences depend on it. It
 * copies the state that will not be there later, and a work item writes the dump. There is room for
 * one failure at a time, and each kind is kept once until the driver is bound anew, so that a
 * repeated failure fills no memory. The only contents of clients' buffers in a dump are the
 * instructions around the fault, or the first ones of a program that has not faulted.
 */
#include <linux/debugfs.h>
#include <linux/devcoredump.h>
#include <linux/sched.h>
#include <linux/seq_buf.h>
#include <linux/seq_file.h>
#include <linux/utsname.h>
#include <linux/vmalloc.h>

#include <drm/drm_debugfs.h>
#include <drm/drm_managed.h>

#include "onpu_compat.h"
#include "onpu_core.h"
#include "onpu_ctx.h"
#include "onpu_job.h"

#define DUMP_FORMAT	1
#define DUMP_BYTES	SZ_128K

/* Number of entries kept of a context's ring, beginning with the oldest whose job has not ended. */
#define RING_JOBS	8u

/* Number of messages kept of each message ring, the newest ones. */
#define MESSAGES	8u

/* The most bytes of a line of [contexts] or [clients], and of each of these two lists. */
#define LINE_BYTES	384
#define LIST_BYTES	SZ_32K

/* Number of instructions shown before the failed instruction, and as many after it. */
#define AROUND		8u

/* Kinds of failures that are kept: two of contexts, then one for each reset reason. */
#define KIND_FAULT	0
#define KIND_TIMEOUT	1
#define KIND_RESET(r)	(1 + (r))

/* Registers without side effects when read; in a dump, the states of the queues follow. */
static const u32 dumped_registers[] = {
	ONPU_REG_ID, ONPU_REG_VERSION, ONPU_REG_CAP_MACHINE, ONPU_REG_CAP_ISA,
	ONPU_REG_CAP_SRAM_BYTES, ONPU_REG_CAP_NUM_QUEUES, ONPU_REG_CAP_CLOCK_KHZ,
	ONPU_REG_CAP_FEATURES, ONPU_REG_RESET, ONPU_REG_STATUS, ONPU_REG_BOOT,
	ONPU_REG_FW_ABI, ONPU_REG_FW_VERSION,
	ONPU_REG_INT_STATUS, ONPU_REG_INT_ENABLE, ONPU_REG_INT_QUEUE_PENDING(0),
	ONPU_REG_INT_QUEUE_PENDING(1), ONPU_REG_INV_ASID, ONPU_REG_INV_PAGES,
	ONPU_REG_INV_VA_LO, ONPU_REG_INV_VA_HI, ONPU_REG_INV_REQ, ONPU_REG_INV_DONE,
	ONPU_REG_REQUEST_TAIL, ONPU_REG_REQUEST_HEAD, ONPU_REG_RESPONSE_TAIL,
	ONPU_REG_RESPONSE_HEAD, ONPU_REG_LOG_TAIL,
};

/* The copy of a failure, made when the failure is found. */
struct onpu_failure {
	u32 bit; /* bit of the failure's kind in &onpu_dump.seen */
	const char *kind, *reason;
	struct timespec64 when;
	/* The context that failed, with a reference, and its job; NULL when the device failed. */
	struct onpu_ctx *ctx;
	u32 tail, in_ring;
	int queue, error;
	struct onpu_fault_record fault;
	struct onpu_ring_job job, ring[RING_JOBS];
	/* Values of dumped_registers[], if @has_registers. */
	bool has_registers;
	u32 registers[ARRAY_SIZE(dumped_registers)];
	u32 states[ONPU_MAX_QUEUES];
	union onpu_msg requests[ONPU_MBOX_SLOTS], responses[ONPU_MBOX_SLOTS];
	u32 request_tail, response_head;
	size_t log_bytes;
	char log[ONPU_FW_LOG_BYTES];
};

struct onpu_dump {
	struct onpu_device *onpu;
	/* Writes the dump. It allocates memory, so no reclaim of memory may depend on it. */
	struct work_struct work;
	/* Protects the members below; @failure belongs to the caller that has set @busy. */
	spinlock_t lock;
	u32 seen; /* bits of the kinds of failures that were kept */
	bool busy;
	struct onpu_failure failure;
};

/* ---- when the failure is found */

static struct onpu_failure *begin_failure(struct onpu_device *onpu, unsigned int kind,
					  const char *name, const char *reason)
{
	struct onpu_dump *dump = onpu->dump;
	struct onpu_failure *failure = &dump->failure;

	scoped_guard(spinlock, &dump->lock) {
		if (dump->busy || dump->seen & BIT(kind))
			return NULL;
		dump->busy = true;
	}
	memset(failure, 0, sizeof(*failure));
	failure->bit = BIT(kind);
	failure->kind = name;
	failure->reason = reason;
	ktime_get_real_ts64(&failure->when);
	return failure;
}

static void copy_device(struct onpu_device *onpu, struct onpu_failure *failure)
{
	/* The next request may be written meanwhile. */
	data_race(memcpy(failure->requests, onpu->mbox.requests, sizeof(failure->requests)));
	memcpy(failure->responses, onpu->mbox.responses, sizeof(failure->responses));
	failure->request_tail = READ_ONCE(onpu->mbox.tail);
	failure->response_head = READ_ONCE(onpu->mbox.head);
	if (!failure->has_registers)
		return;
	for (unsigned int i = 0; i < ARRAY_SIZE(dumped_registers); i++)
		failure->registers[i] = onpu_read(onpu, dumped_registers[i]);
	for (unsigned int i = 0; i < onpu_cap(onpu, ONPU_REG_CAP_NUM_QUEUES); i++)
		failure->states[i] = onpu_read(onpu, ONPU_REG_QUEUE_STATE(i));
	failure->log_bytes = onpu_fw_log_copy(onpu, failure->log);
}

static const char *timeout_reason(struct onpu_ctx *ctx)
{
	return onpu_job_overdue(ctx) ? "a job has not ended in time for its fence" :
	       ctx->queue < 0 ? "a job has waited too long for a queue" :
	       "a job has made no progress";
}

void onpu_dump_ctx(struct onpu_ctx *ctx, u32 state, int error)
{
	const bool fault = state == DRM_ONPU_CTX_FAULT;
	struct onpu_failure *failure;

	lockdep_assert_held(&ctx->lock);
	failure = begin_failure(ctx->onpu, fault ? KIND_FAULT : KIND_TIMEOUT,
				fault ? "fault" : "timeout",
				fault ? "a job has faulted" : timeout_reason(ctx));
	if (!failure)
		return;
	failure->ctx = onpu_ctx_get(ctx);
	failure->queue = ctx->queue;
	failure->error = error;
	if (fault)
		failure->fault = ctx->fault;
	onpu_job_oldest(ctx, &failure->job);
	failure->tail = ctx->tail;
	failure->in_ring = ctx->in_ring;
	onpu_job_fed(ctx, failure->ring, RING_JOBS);
	schedule_work(&ctx->onpu->dump->work);
}

void onpu_dump_device(struct onpu_device *onpu, enum onpu_reset_reason reason, const char *text,
		      bool readable)
{
	struct onpu_failure *failure = begin_failure(onpu, KIND_RESET(reason), "reset", text);

	if (!failure)
		return;
	failure->has_registers = readable;
	copy_device(onpu, failure);
	schedule_work(&onpu->dump->work);
}

/* ---- the text */

static void show_failure(struct seq_buf *s, struct onpu_device *onpu,
			 const struct onpu_failure *failure)
{
	char firmware[ONPU_FW_TEXT];

	seq_buf_printf(s, "onpu core dump, format %u\n[failure]\n", DUMP_FORMAT);
	seq_buf_printf(s, "kind: %s\nreason: %s\n", failure->kind, failure->reason);
	seq_buf_printf(s, "time: %lld.%09ld\n", (long long)failure->when.tv_sec,
		       failure->when.tv_nsec);
	seq_buf_printf(s, "kernel: %s\ndevice: %s\n", init_utsname()->release,
		       dev_name(onpu->drm.dev));
	seq_buf_printf(s, "firmware: %s\nresets: %d\n", onpu_fw_describe(onpu, firmware),
		       atomic_read(&onpu->resets));
	if (failure->ctx)
		seq_buf_printf(s, "client: %llu\ncontext: %u\nerror: %d\n", failure->ctx->client,
			       READ_ONCE(failure->ctx->id), failure->error);
}

static void show_fault(struct seq_buf *s, const struct onpu_fault_record *fault)
{
	if (!fault->code)
		return;
	seq_buf_printf(s, "[fault]\ncode: %u\nqueue: %u\nseqno: %llu\npc: %llu\n", fault->code,
		       fault->queue, fault->seqno, fault->pc);
	seq_buf_printf(s, "insn: %#x %#x %#x %#x\nengine: %u\noperand: %u\n", fault->insn[0],
		       fault->insn[1], fault->insn[2], fault->insn[3], fault->engine,
		       fault->operand);
	seq_buf_printf(s, "address: %#llx\ncycle: %llu\n", fault->address, fault->cycle);
}

static void show_job(struct seq_buf *s, const struct onpu_failure *failure)
{
	const struct onpu_ring_job *job = &failure->job;

	if (!failure->ctx)
		return;
	seq_buf_printf(s, "[job]\nseqno: %llu\nprogram_va: %#llx\nnum_insns: %u\n", job->seqno,
		       job->program_va, job->num_insns);
	seq_buf_printf(s, "slots_va: %#llx\nnum_slots: %u\nprofile_va: %#llx\n", job->slots_va,
		       job->num_slots, job->profile_va);
	seq_buf_printf(s, "profile_size: %u\ncycle_limit: %llu\n", job->profile_size,
		       job->cycle_limit);
	seq_buf_printf(s, "[ring]\nqueue: %d\ntail: %u\nunfinished: %u\n", failure->queue,
		       failure->tail, failure->in_ring);
	for (u32 i = 0; i < min(failure->in_ring, RING_JOBS); i++) {
		job = &failure->ring[i];
		seq_buf_printf(s, "entry: seqno=%llu program_va=%#llx ", job->seqno,
			       job->program_va);
		seq_buf_printf(s, "num_insns=%u slots_va=%#llx\n", job->num_insns, job->slots_va);
	}
}

/*
 * Copies up to @size bytes at an address of a client, at most to the end of the buffer there.
 * Returns the number of bytes copied, 0 if there is no buffer.
 */
static size_t read_memory(struct onpu_vm *vm, u64 va, void *to, size_t size)
{
	struct drm_gem_object *obj = NULL;
	struct drm_mm_node *node;
	u64 offset = 0;

	scoped_guard(mutex, &vm->lock) {
		drm_mm_for_each_node_in_range(node, &vm->mm, va, va + 1) {
			const struct onpu_map *map = container_of(node, struct onpu_map, node);

			offset = va - node->start;
			if (va < node->start || offset >= map->size)
				break;
			size = min_t(u64, size, map->size - offset);
			obj = map->obj;
			drm_gem_object_get(obj);
			break;
		}
	}
	if (!obj)
		return 0;
	if (onpu_gem_read(obj, offset, to, size))
		size = 0;
	drm_gem_object_put(obj);
	return size;
}

static void show_program(struct seq_buf *s, const struct onpu_failure *failure)
{
	u32 words[2 * AROUND + 1][4];
	u64 pc = failure->fault.code ? failure->fault.pc : 0;
	u64 first = pc > AROUND ? pc - AROUND : 0, count;
	size_t bytes;

	/* The device wrote the record: @pc may have any value. */
	if (!failure->ctx || pc >= failure->job.num_insns)
		return;
	count = min_t(u64, ARRAY_SIZE(words), failure->job.num_insns - first);
	bytes = read_memory(failure->ctx->vm,
			    failure->job.program_va + first * sizeof(words[0]), words,
			    count * sizeof(words[0]));
	seq_buf_puts(s, "[program]\n");
	for (u64 i = 0; i < bytes / sizeof(words[0]); i++)
		seq_buf_printf(s, "%llu: %#010x %#010x %#010x %#010x\n", first + i, words[i][0],
			       words[i][1], words[i][2], words[i][3]);
}

static void show_registers(struct seq_buf *s, const struct onpu_device *onpu,
			   const struct onpu_failure *failure)
{
	seq_buf_puts(s, "[registers]\n");
	if (!failure->has_registers)
		return;
	for (unsigned int i = 0; i < ARRAY_SIZE(dumped_registers); i++)
		seq_buf_printf(s, "0x%04x: %#010x\n", dumped_registers[i], failure->registers[i]);
	for (unsigned int i = 0; i < onpu_cap(onpu, ONPU_REG_CAP_NUM_QUEUES); i++)
		seq_buf_printf(s, "0x%04x: %#010x\n", ONPU_REG_QUEUE_STATE(i), failure->states[i]);
}

static void show_messages(struct seq_buf *s, const char *name, const union onpu_msg *ring, u32 end)
{
	for (u32 i = min(end, MESSAGES); i; i--) {
		const struct onpu_msg_header *msg = &ring[(end - i) % ONPU_MBOX_SLOTS].header;

		seq_buf_printf(s, "%s=%u type=%#x id=%#x status=%u\n", name, end - i, msg->type,
			       msg->id, msg->status);
	}
}

/*
 * Shows the end of the firmware's log. Each line begins with a bar, so that it cannot look like a
 * heading. The firmware's bytes are not trusted: other than printable characters become '?'.
 */
static void show_log(struct seq_buf *s, const struct onpu_failure *failure)
{
	bool begins = true;

	seq_buf_puts(s, "[log]\n");
	for (size_t i = 0; i < failure->log_bytes; i++) {
		char c = failure->log[i];

		if (begins)
			seq_buf_puts(s, "| ");
		begins = c == '\n';
		seq_buf_putc(s, begins || (c >= ' ' && c <= '~') ? c : '?');
	}
	if (!begins)
		seq_buf_putc(s, '\n');
}

/*
 * Returns whether the list that began at @start has room for another line; if not, counts the line
 * in @left. Anybody may open files and create contexts, and later sections need room, too.
 */
static bool has_room(struct seq_buf *s, size_t start, unsigned int *left)
{
	if (seq_buf_used(s) + 2 * LINE_BYTES <= start + LIST_BYTES)
		return true;
	++*left;
	return false;
}

static void show_left(struct seq_buf *s, unsigned int left)
{
	if (left)
		seq_buf_printf(s, "left_out=%u\n", left);
}

static void show_ctx(struct seq_buf *s, u64 client, unsigned long id, struct onpu_ctx *ctx)
{
	const struct onpu_completion *page = ctx->page.vaddr;

	guard(spinlock)(&ctx->lock);
	seq_buf_printf(s, "client=%llu context=%lu queue=%d state=%u priority=%u submitted=%llu ",
		       client, id, ctx->queue, ctx->state, ctx->priority, ctx->submitted);
	seq_buf_printf(s, "fed=%llu completed=%llu tail=%u page_seqno=%llu page_error=%u dead=%d\n",
		       ctx->fed, ctx->completed, ctx->tail, READ_ONCE(page->seqno),
		       READ_ONCE(page->error), ctx->dead);
}

static void show_contexts(struct seq_buf *s, struct onpu_device *onpu, struct onpu_ctx *failed)
{
	struct drm_file *drm_file;
	unsigned int left = 0;
	size_t start;

	seq_buf_puts(s, "[contexts]\n");
	start = seq_buf_used(s);
	if (failed)
		show_ctx(s, failed->client, READ_ONCE(failed->id), failed);
	guard(mutex)(&onpu->drm.filelist_mutex);
	list_for_each_entry(drm_file, &onpu->drm.filelist, lhead) {
		struct onpu_file *file = to_onpu_file(drm_file);
		struct onpu_ctx *ctx;
		unsigned long id;

		xa_lock(&file->ctxs);
		xa_for_each(&file->ctxs, id, ctx)
			if (ctx != failed && has_room(s, start, &left))
				show_ctx(s, drm_file->client_id, id, ctx);
		xa_unlock(&file->ctxs);
	}
	show_left(s, left);
}

static void show_client(struct seq_buf *s, u64 client, int pid, const struct onpu_vm *vm,
			const char *name)
{
	seq_buf_printf(s, "client=%llu pid=%d uid=%u asid=%u slot=%d contexts=%lld name=%s\n",
		       client, pid, from_kuid_munged(&init_user_ns, vm->user->uid), vm->asid,
		       READ_ONCE(vm->slot), atomic64_read(&vm->ctx_memory), name);
}

/* Lists the clients; the one whose job failed comes first: its file may be closed by now. */
static void show_clients(struct seq_buf *s, struct onpu_device *onpu,
			 const struct onpu_failure *failure)
{
	const struct onpu_ctx *ctx = failure->ctx;
	struct task_struct *task;
	struct drm_file *file;
	unsigned int left = 0;
	size_t start;

	seq_buf_puts(s, "[clients]\n");
	start = seq_buf_used(s);
	if (ctx)
		show_client(s, ctx->client, ctx->creator.pid, ctx->vm, ctx->creator.comm);
	guard(mutex)(&onpu->drm.filelist_mutex);
	guard(rcu)();
	list_for_each_entry(file, &onpu->drm.filelist, lhead) {
		if ((ctx && file->client_id == ctx->client) || !has_room(s, start, &left))
			continue;
		task = pid_task(rcu_dereference(file->pid), PIDTYPE_TGID);
		show_client(s, file->client_id, pid_nr(rcu_dereference(file->pid)),
			    to_onpu_file(file)->vm, task ? task->comm : "");
	}
	show_left(s, left);
}

static void show(struct seq_buf *s, struct onpu_device *onpu, const struct onpu_failure *failure)
{
	show_failure(s, onpu, failure);
	show_fault(s, &failure->fault);
	show_job(s, failure);
	show_program(s, failure);
	show_contexts(s, onpu, failure->ctx);
	show_clients(s, onpu, failure);
	seq_buf_puts(s, "[mailbox]\n");
	show_messages(s, "request", failure->requests, failure->request_tail);
	show_messages(s, "response", failure->responses, failure->response_head);
	show_log(s, failure);
	show_registers(s, onpu, failure);
	seq_buf_puts(s, "[end]\n");
}

/* Copies the state of a device that works; copies nothing during a reset. */
static void copy_live_device(struct onpu_device *onpu, struct onpu_failure *failure)
{
	if (!down_read_trylock(&onpu->reset_lock))
		return;
	failure->has_registers = onpu_device_present(onpu);
	copy_device(onpu, failure);
	up_read(&onpu->reset_lock);
}

static char *make_text(struct onpu_device *onpu, const struct onpu_failure *failure, size_t *bytes)
{
	char *text = vmalloc(DUMP_BYTES);
	struct seq_buf s;

	if (!text)
		return NULL;
	seq_buf_init(&s, text, DUMP_BYTES);
	show(&s, onpu, failure);
	*bytes = seq_buf_used(&s);
	return text;
}

static void dump_work(struct work_struct *work)
{
	struct onpu_dump *dump = container_of(work, struct onpu_dump, work);
	struct onpu_failure *failure = &dump->failure;
	struct onpu_device *onpu = dump->onpu;
	struct kernfs_node *kept = sysfs_get_dirent(onpu->drm.dev->kobj.sd, "devcoredump");
	char *text = NULL;
	size_t bytes;

	/* After a failure of one context, the device goes on: it is read as it is now. */
	if (failure->ctx)
		copy_live_device(onpu, failure);
	/* The kernel keeps one dump for each device, and would drop the next one. */
	if (!kept)
		text = make_text(onpu, failure, &bytes);
	sysfs_put(kept);
	if (text)
		dev_coredumpv(onpu->drm.dev, text, bytes, GFP_KERNEL);
	onpu_ctx_put(failure->ctx);
	guard(spinlock)(&dump->lock);
	/* A failure that could not be kept does not count: the next of its kind is kept. */
	dump->seen |= text ? failure->bit : 0;
	dump->busy = false;
}

/* ---- debugfs */

static struct onpu_device *shown_device(struct seq_file *m)
{
	const struct drm_debugfs_entry *entry = m->private;

	return to_onpu(entry->dev);
}

/* Prints the present state of the device in the form of a core dump; returns 0 or an errno. */
static int state_show(struct seq_file *m, void *unused)
{
	char *text __free(kvfree) = NULL;
	struct onpu_failure *failure __free(kvfree) = kvzalloc(sizeof(*failure), GFP_KERNEL);
	struct onpu_device *onpu = shown_device(m);
	size_t bytes;

	CLASS(onpu_entered, entered)(&onpu->drm);
	if (entered < 0)
		return entered;
	if (!failure)
		return -ENOMEM;
	failure->kind = "none";
	failure->reason = "the state was asked for";
	ktime_get_real_ts64(&failure->when);
	copy_live_device(onpu, failure);
	text = make_text(onpu, failure, &bytes);
	if (!text)
		return -ENOMEM;
	seq_write(m, text, bytes);
	return 0;
}

/* Prints one line for each mapping in the address spaces of all clients; returns 0. */
static int buffers_show(struct seq_file *m, void *unused)
{
	struct onpu_device *onpu = shown_device(m);
	struct drm_file *file;

	guard(mutex)(&onpu->drm.filelist_mutex);
	list_for_each_entry(file, &onpu->drm.filelist, lhead) {
		struct onpu_vm *vm = to_onpu_file(file)->vm;
		const struct drm_mm_node *node;

		guard(mutex)(&vm->lock);
		drm_mm_for_each_node(node, &vm->mm) {
			const struct onpu_map *map = container_of(node, struct onpu_map, node);

			const struct onpu_bo *bo = to_onpu_bo(map->obj);

			seq_printf(m, "client=%llu va=%#llx size=%llu flags=%#x cached=%u\n",
				   file->client_id, node->start, map->size, bo->flags,
				   bo->shared ? onpu->snoops : !bo->base.map_wc);
		}
	}
	return 0;
}

/* All devices share these, as fault attributes have no place in a device's own structure. */
DECLARE_FAULT_ATTR(onpu_fail_requests);
DECLARE_FAULT_ATTR(onpu_lose_invalidations);

void onpu_debugfs_init(struct onpu_device *onpu)
{
	struct dentry *folder = onpu->drm.debugfs_root;

	drm_debugfs_add_file(&onpu->drm, "state", state_show, NULL);
	drm_debugfs_add_file(&onpu->drm, "buffers", buffers_show, NULL);
	debugfs_create_u32("fail_request", 0600, folder, &onpu->fail_request);
	debugfs_create_u32("lose_invalidations", 0600, folder, &onpu->lose_invalidations);
	fault_create_debugfs_attr("fail_requests", folder, &onpu_fail_requests);
	fault_create_debugfs_attr("lose_some_invalidations", folder, &onpu_lose_invalidations);
}

/* ---- start and end */

int onpu_dump_init(struct onpu_device *onpu)
{
	struct onpu_dump *dump = drmm_kzalloc(&onpu->drm, sizeof(*dump), GFP_KERNEL);

	if (!dump)
		return -ENOMEM;
	dump->onpu = onpu;
	spin_lock_init(&dump->lock);
	INIT_WORK(&dump->work, dump_work);
	onpu->dump = dump;
	return 0;
}

void onpu_dump_flush(struct onpu_device *onpu)
{
	flush_work(&onpu->dump->work);
}
