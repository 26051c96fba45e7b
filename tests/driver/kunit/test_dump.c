// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Core dumps: long lists of files and contexts do not displace other sections. */
#include "fake.h"

#define CLIENTS		1000
#define CONTEXTS	3

struct dump_test {
	struct onpu_device *onpu;
	struct onpu_vm *vm;
	struct onpu_file file;
	struct onpu_ctx contexts[CONTEXTS];
	struct onpu_completion page;
	struct onpu_failure failure;
	struct drm_file clients[CLIENTS];
};

static void dump_exit(struct kunit *test)
{
	struct dump_test *t = test->priv;

	INIT_LIST_HEAD(&t->onpu->drm.filelist);
	xa_destroy(&t->file.ctxs);
	if (t->vm)
		fake_vm_put(t->vm);
	fake_exit_with(test);
}

static int make_contexts(struct dump_test *t)
{
	for (unsigned int i = 0; i < CONTEXTS; i++) {
		struct onpu_ctx *ctx = &t->contexts[i];

		spin_lock_init(&ctx->lock);
		ctx->vm = t->vm;
		ctx->id = 1 + i;
		ctx->client = CLIENTS;
		ctx->page.vaddr = &t->page;
		if (xa_err(xa_store(&t->file.ctxs, 1 + i, ctx, GFP_KERNEL)))
			return -ENOMEM;
	}
	return 0;
}

static int dump_init(struct kunit *test)
{
	struct dump_test *t;
	int ret = fake_init_with(test, sizeof(*t));

	if (ret)
		return ret;
	t = test->priv;
	xa_init(&t->file.ctxs);
	ret = fake_vm_create(t->onpu, &t->vm);
	t->file.vm = t->vm;
	if (!ret)
		ret = make_contexts(t);
	if (ret)
		dump_exit(test);
	return ret;
}

/* Opens @count files, each with the same contexts. */
static void open_files(struct dump_test *t, unsigned int count)
{
	INIT_LIST_HEAD(&t->onpu->drm.filelist);
	for (unsigned int i = 0; i < count; i++) {
		t->clients[i].client_id = 1 + i;
		t->clients[i].driver_priv = &t->file;
		rcu_assign_pointer(t->clients[i].pid, task_tgid(current));
		list_add_tail(&t->clients[i].lhead, &t->onpu->drm.filelist);
	}
}

static unsigned int count_lines(const char *text, const char *begin)
{
	unsigned int count = 0;

	while ((text = strstr(text, begin))) {
		count++;
		text++;
	}
	return count;
}

static char *dump_text(struct kunit *test)
{
	struct dump_test *t = test->priv;
	size_t bytes = 0;
	char *text;

	text = make_text(t->onpu, &t->failure, &bytes);
	KUNIT_EXPECT_TRUE(test, text);
	if (!text)
		return NULL;
	KUNIT_EXPECT_TRUE(test, bytes < DUMP_BYTES);
	text[min_t(size_t, bytes, DUMP_BYTES - 1)] = '\0';
	return text;
}

/*
 * Makes the dump of a failure of client CLIENTS while @files files are open, with a log of short
 * lines, and checks it.
 */
static void flooded(struct kunit *test, unsigned int files)
{
	struct dump_test *t = test->priv;
	char *text;

	t->failure.ctx = &t->contexts[1];
	t->failure.kind = "fault";
	t->failure.reason = "a job has faulted";
	t->failure.has_registers = true;
	t->failure.log_bytes = sizeof(t->failure.log);
	memset(t->failure.log, '\n', sizeof(t->failure.log));
	open_files(t, files);
	text = dump_text(test);
	if (!text)
		return;
	KUNIT_EXPECT_EQ(test, count_lines(text, "\n[registers]\n"), 1);
	KUNIT_EXPECT_EQ(test, count_lines(text, "\n| "), sizeof(t->failure.log));
	KUNIT_EXPECT_EQ(test, count_lines(text, "\n[end]\n"), 1);
	/* The context that failed and its client are listed once, and come first. */
	KUNIT_EXPECT_EQ(test, count_lines(text, "[contexts]\nclient=1000 context=2 "), 1);
	KUNIT_EXPECT_EQ(test, count_lines(text, "[clients]\nclient=1000 "), 1);
	KUNIT_EXPECT_EQ(test, count_lines(text, " context=2 "), 1);
	KUNIT_EXPECT_EQ(test, count_lines(text, "left_out="), files < CLIENTS ? 0 : 2);
	vfree(text);
}

static void few_files(struct kunit *test)
{
	flooded(test, 3);
}

static void a_thousand_files(struct kunit *test)
{
	flooded(test, CLIENTS);
}

/* The lines that are shown and the number left out add up to all contexts and clients. */
static void the_rest_is_counted(struct kunit *test)
{
	struct dump_test *t = test->priv;
	unsigned int contexts = 0, clients = 0;
	char *text, *at;

	t->failure.kind = "none";
	t->failure.reason = "";
	open_files(t, CLIENTS);
	text = dump_text(test);
	if (!text)
		return;
	at = strstr(text, "left_out=");
	KUNIT_EXPECT_TRUE(test, at && sscanf(at, "left_out=%u\n[clients]", &contexts) == 1);
	at = at ? strstr(at + 1, "left_out=") : NULL;
	KUNIT_EXPECT_TRUE(test, at && sscanf(at, "left_out=%u\n[mailbox]", &clients) == 1);
	KUNIT_EXPECT_EQ(test, contexts + count_lines(text, " context="), CLIENTS * CONTEXTS);
	KUNIT_EXPECT_EQ(test, clients + count_lines(text, " pid="), CLIENTS);
	vfree(text);
}

static struct kunit_case dump_cases[] = {
	KUNIT_CASE(few_files),
	KUNIT_CASE(a_thousand_files),
	KUNIT_CASE(the_rest_is_counted),
	{}
};

struct kunit_suite onpu_dump_suite = {
	.name = "onpu_dump",
	.init = dump_init,
	.exit = dump_exit,
	.test_cases = dump_cases,
};
