// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Tests memory of a process as a buffer (BO_WRAP): which pages are pinned and counted before the
 * buffer has a handle, and that all is given back when it gets none. before_gem.h lets each
 * creation of a handle fail.
 */
#include <linux/mman.h>

#include "fake.h"

/* More pages than the driver pins in one step. */
#define PAGES	(PIN_AT_A_TIME + 3)

struct wrap_test {
	struct onpu_device *onpu;
	struct onpu_vm *vm;
	struct drm_file client;
	struct onpu_file file;
	/* A shared mapping of PAGES pages, or 0; and its first page, with a reference. */
	unsigned long start;
	struct page *page;
	/* Locked pages of the user, and bytes charged to him, before the test. */
	long locked;
	s64 charged;
};

/* The state of buffer and user at the last call that should give the buffer a handle. */
static struct {
	unsigned int calls;
	unsigned long pinned;
	bool first_is_pinned;
	long locked;
} seen;

static int seen_publish(struct onpu_bo *bo, struct drm_file *drm_file, u32 *handle, u64 *va)
{
	seen.calls++;
	seen.pinned = bo->pinned;
	seen.first_is_pinned = folio_maybe_dma_pinned(page_folio(bo->pages[0]));
	seen.locked = atomic_long_read(&current_user()->locked_vm);
	return (onpu_bo_publish)(bo, drm_file, handle, va);
}

/* Maps anonymous memory of the process; returns its address or an errno. */
static unsigned long map_pages(unsigned long at, unsigned long count, unsigned long flags)
{
	return vm_mmap(NULL, at, count * PAGE_SIZE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS,
		       0);
}

static int call(struct wrap_test *t, u64 address, u64 size, u32 flags)
{
	struct drm_onpu_bo_wrap args = { .address = address, .size = size, .flags = flags };
	int ret;

	memset(&seen, 0, sizeof(seen));
	ret = onpu_bo_wrap_ioctl(&t->onpu->drm, &args, &t->client);
	return args.handle || args.va || args.size != size ? -EBADMSG : ret;
}

/* Returns whether nothing is pinned, counted or charged that was not before. */
static bool all_is_given_back(struct wrap_test *t)
{
	return !folio_maybe_dma_pinned(page_folio(t->page)) &&
	       atomic_long_read(&current_user()->locked_vm) == t->locked &&
	       atomic64_read(&t->vm->user->memory) == t->charged;
}

static void pins_come_before_the_handle(struct kunit *test)
{
	struct wrap_test *t = test->priv;

	for (u32 flags = 0; t->start && flags <= DRM_ONPU_BO_DEVICE_RO;
	     flags += DRM_ONPU_BO_DEVICE_RO) {
		KUNIT_EXPECT_EQ(test, call(t, t->start, PAGES * PAGE_SIZE - 1, flags), -EMFILE);
		KUNIT_EXPECT_EQ(test, seen.calls, 1);
		KUNIT_EXPECT_EQ(test, seen.pinned, PAGES);
		KUNIT_EXPECT_TRUE(test, seen.first_is_pinned);
		/* These tests run as root, who may lock any memory. */
		KUNIT_EXPECT_EQ(test, seen.locked, t->locked);
		KUNIT_EXPECT_TRUE(test, all_is_given_back(t));
	}
}

/* Pages count towards RLIMIT_MEMLOCK of a process without CAP_IPC_LOCK, until they are unpinned. */
static void pins_are_counted_before_the_handle(struct kunit *test)
{
	struct wrap_test *t = test->priv;
	const struct cred *before;
	struct cred *less;

	if (!t->start)
		return;
	less = prepare_creds();
	KUNIT_ASSERT_TRUE(test, less);
	cap_lower(less->cap_effective, CAP_IPC_LOCK);
	before = override_creds(less);
	KUNIT_EXPECT_EQ(test, call(t, t->start, PAGES * PAGE_SIZE, 0), -EMFILE);
	revert_creds(before);
	put_cred(less);
	KUNIT_EXPECT_EQ(test, seen.locked - t->locked, PAGES);
	KUNIT_EXPECT_TRUE(test, all_is_given_back(t));
}

/*
 * Tests that no page stays pinned after an error that comes when most pages are pinned already, or
 * before any is.
 */
static void pins_are_given_back_after_an_error(struct kunit *test)
{
	struct wrap_test *t = test->priv;
	unsigned long last = t->start + (PAGES - 1) * PAGE_SIZE;

	if (!t->start)
		return;
	KUNIT_ASSERT_EQ(test, map_pages(last, 1, MAP_FIXED | MAP_PRIVATE), last);
	KUNIT_EXPECT_EQ(test, call(t, t->start, PAGES * PAGE_SIZE, 0), -EOPNOTSUPP);
	KUNIT_EXPECT_TRUE(test, all_is_given_back(t));
	vm_munmap(last, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, call(t, t->start, PAGES * PAGE_SIZE, 0), -EFAULT);
	KUNIT_EXPECT_TRUE(test, all_is_given_back(t));
	KUNIT_EXPECT_EQ(test, call(t, t->start + 1, PAGE_SIZE, 0), -EINVAL);
	KUNIT_EXPECT_TRUE(test, all_is_given_back(t));
	KUNIT_EXPECT_EQ(test, seen.calls, 0);
}

/* Pages are counted up to the limit; a request beyond it leaves the count as it was. */
static void the_limit_of_locked_pages(struct kunit *test)
{
	struct user_struct *user = current_user();
	struct wrap_test *t = test->priv;
	struct lock_request request = { .user = user, .count = 2, .limit = t->locked + 3 };

	KUNIT_EXPECT_EQ(test, take_locked(t->vm->user, &request), 0);
	KUNIT_EXPECT_EQ(test, take_locked(t->vm->user, &request), -ENOSPC);
	request.count = 1;
	KUNIT_EXPECT_EQ(test, take_locked(t->vm->user, &request), 0);
	KUNIT_EXPECT_EQ(test, take_locked(t->vm->user, &request), -ENOSPC);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&user->locked_vm), t->locked + 3);
	atomic_long_sub(3, &user->locked_vm);
}

static void wrap_exit(struct kunit *test)
{
	struct wrap_test *t = test->priv;

	if (t->page)
		put_page(t->page);
	if (t->start)
		vm_munmap(t->start, PAGES * PAGE_SIZE);
	if (t->vm)
		fake_vm_put(t->vm);
	fake_exit_with(test);
}

/*
 * Maps shared memory and takes its first page; returns 0 or an errno. Does nothing and returns 0
 * when KUnit runs its tests in a thread of its own, which has no address space.
 */
static int make_mapping(struct wrap_test *t)
{
	unsigned long start;

	if (!current->mm)
		return 0;
	start = map_pages(0, PAGES, MAP_SHARED);
	if (IS_ERR_VALUE(start))
		return start;
	t->start = start;
	return get_user_pages_fast(start, 1, FOLL_WRITE, &t->page) == 1 ? 0 : -EFAULT;
}

static int wrap_init(struct kunit *test)
{
	struct wrap_test *t;
	int ret = fake_init_with(test, sizeof(*t));

	if (ret)
		return ret;
	t = test->priv;
	ret = fake_vm_create(t->onpu, &t->vm) ?: make_mapping(t);
	if (ret) {
		wrap_exit(test);
		return ret;
	}
	t->file.vm = t->vm;
	t->client.driver_priv = &t->file;
	t->locked = atomic_long_read(&current_user()->locked_vm);
	t->charged = atomic64_read(&t->vm->user->memory);
	return 0;
}

static struct kunit_case wrap_cases[] = {
	KUNIT_CASE(pins_come_before_the_handle),
	KUNIT_CASE(pins_are_counted_before_the_handle),
	KUNIT_CASE(pins_are_given_back_after_an_error),
	KUNIT_CASE(the_limit_of_locked_pages),
	{}
};

struct kunit_suite onpu_wrap_suite = {
	.name = "onpu_wrap",
	.init = wrap_init,
	.exit = wrap_exit,
	.test_cases = wrap_cases,
};
