// SPDX-License-Identifier: MIT
/* Tests how onpu-smi reads fdinfo, and how it computes the load between two readings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"

static const char text[] = "pos:\t0\nflags:\t02100002\ndrm-driver:\tonpu\n"
			   "drm-client-id:\t7\ndrm-pdev:\t0000:01:00.0\n"
			   "drm-engine-npu:\t1500000000 ns\ndrm-engine-capacity-npu:\t1\n"
			   "drm-cycles-npu:\t1400000\ndrm-maxfreq-npu:\t1000000 KHz\n"
			   "drm-total-memory:\t12 MiB\ndrm-shared-memory:\t0\n"
			   "drm-resident-memory:\t4096 KiB\ndrm-active-memory:\t0\n";

static void fields_are_read(void **state)
{
	struct client client;

	(void)state;
	assert_true(client_parse(text, &client));
	assert_int_equal(client.id, 7);
	assert_string_equal(client.address, "0000:01:00.0");
	assert_int_equal(client.total, 12 << 20);
	assert_int_equal(client.resident, 4 << 20);
	assert_int_equal(client.engine_count, 1);
	assert_string_equal(client.engines[0].name, "npu");
	assert_int_equal(client.engines[0].busy_ns, 1500000000);
	assert_int_equal(client.engines[0].cycles, 1400000);
}

static void other_drivers_are_not_ours(void **state)
{
	struct client client;

	(void)state;
	assert_false(client_parse("drm-driver:\ti915\ndrm-client-id:\t7\n", &client));
	assert_false(client_parse("drm-driver:\tonpu2\n", &client));
	assert_false(client_parse("pos:\t0\nflags:\t0100000\n", &client));
	assert_false(client_parse("", &client));
}

/*
 * Tests that unknown entries do no harm: a newer driver may have more entries of each kind, and
 * longer lines.
 */
static void what_is_unknown_does_no_harm(void **state)
{
	char many[4000] = "drm-driver:\tonpu\n", line[80];
	struct client client;

	(void)state;
	for (int i = 0; i < 20; i++) {
		snprintf(line, sizeof(line), "drm-engine-e%d:\t%d ns\n", i, i + 1);
		strcat(many, line);
	}
	strcat(many, "drm-engine-a-name-that-is-too-long-for-it:\t5 ns\n");
	memset(many + strlen(many), 'x', 600);
	strcat(many, "\ndrm-client-id:\t9");
	assert_true(client_parse(many, &client));
	assert_int_equal(client.engine_count, CLIENT_ENGINES);
	assert_int_equal(client.engines[CLIENT_ENGINES - 1].busy_ns, CLIENT_ENGINES);
	assert_int_equal(client.id, 9);
}

static struct client make(int pid, uint64_t id, uint64_t busy_ns)
{
	return (struct client){
		.pid = pid,
		.id = id,
		.address = "0000:01:00.0",
		.resident = 1000,
		.engines = { { "npu", busy_ns, busy_ns / 2 } },
		.engine_count = 1,
	};
}

static void load_is_the_difference(void **state)
{
	struct client old[] = { make(10, 1, 5000000000), make(20, 2, 1000000000) };
	struct client new[] = { make(10, 1, 5500000000), make(20, 2, 2000000000),
				make(20, 3, 250000000) };
	const struct clients before = { old, 2, 0 }, now = { new, 3, 0 };
	struct processes processes = processes_compare(&before, &now, 2);

	(void)state;
	assert_int_equal(processes.count, 2);
	/* The process with most load comes first; its second file is new. */
	assert_int_equal(processes.list[0].pid, 20);
	assert_int_equal(processes.list[0].files, 2);
	assert_int_equal(processes.list[0].resident, 2000);
	assert_int_equal(processes.list[0].busy_ns, 2250000000);
	assert_int_equal(processes.list[0].cycles, 1125000000);
	assert_float_equal(processes.list[0].load, 0.625, 1e-9);
	assert_int_equal(processes.list[1].pid, 10);
	assert_float_equal(processes.list[1].load, 0.25, 1e-9);
	processes_free(&processes);
}

/*
 * Tests that a file whose busy time has become shorter, because its client number was given anew,
 * has no load, and that a file with this number on another device counts as new.
 */
static void load_is_never_negative(void **state)
{
	struct client old[] = { make(10, 1, 5000000000) };
	struct client new[] = { make(10, 1, 4000000000), make(10, 1, 1000000000) };
	const struct clients before = { old, 1, 0 }, now = { new, 2, 0 };
	struct processes processes;

	(void)state;
	strcpy(new[1].address, "0000:02:00.0");
	processes = processes_compare(&before, &now, 1);
	assert_int_equal(processes.count, 2);
	assert_string_equal(processes.list[0].address, "0000:02:00.0");
	assert_float_equal(processes.list[0].load, 1, 1e-9);
	assert_float_equal(processes.list[1].load, 0, 0);
	processes_free(&processes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_read),
		cmocka_unit_test(other_drivers_are_not_ours),
		cmocka_unit_test(what_is_unknown_does_no_harm),
		cmocka_unit_test(load_is_the_difference),
		cmocka_unit_test(load_is_never_negative),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
