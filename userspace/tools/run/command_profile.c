// SPDX-License-Identifier: MIT
/* webnn-run profile: reports how a dispatch spends its time, operator by operator. */
#include <stdio.h>

#include "report.h"
#include "trace.h"

enum { KEY_TRACE = 0x100, KEY_HTML };

struct profiling {
	struct options options;
	const char *trace, *html;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Results:", 4 },
	{ "trace", KEY_TRACE, "FILE", 0,
	  "Every instruction as a trace for Perfetto or chrome://tracing", 4 },
	{ "html", KEY_HTML, "FILE", 0, "A page with tables, timelines, memory and roofline", 4 },
	JSON_OPTION,
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct profiling *profiling = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = &profiling->options;
		return 0;
	case KEY_TRACE:
		profiling->trace = arg;
		return 0;
	case KEY_HTML:
		profiling->html = arg;
		return 0;
	case JSON_KEY:
		profiling->options.json = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int write_results(const struct profiling *profiling, const struct report *report)
{
	int ret = DONE;

	if (text_wanted(&profiling->options))
		report_print(report);
	if (profiling->trace)
		ret = trace_write(report, profiling->trace);
	if (!ret && profiling->html)
		ret = report_write_html(report, profiling->html);
	if (!ret && profiling->options.json)
		ret = write_json(&profiling->options, report_json(report));
	return ret;
}

int command_profile(int argc, char **argv)
{
	static const struct argp_child children[] = { { &model_argp, 0, NULL, 0 },
						      { &input_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = {
		options,
		parse,
		"MODEL.onnx",
		"Tells where the time of a dispatch went, the second one. Inputs that are not given "
		"are random, with seed 1.",
		children,
		NULL,
		NULL
	};
	struct profiling profiling = { .options.profile = true };
	struct subject subject = { 0 };
	struct target target = { 0 };
	struct report report = { 0 };
	const uint64_t seed = 1;
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &profiling);
	ret = subject_open(&subject, &profiling.options);
	if (!ret)
		ret = values_read(&subject, &seed);
	if (!ret)
		ret = target_open_for(&target, &subject, profiling.options.device);
	if (!ret)
		ret = target_run(&target, &subject);
	if (!ret && !target.graph)
		ret = complain(BAD_MODEL, "%s: no output has elements: there is nothing to tell",
			       profiling.options.model);
	if (!ret)
		ret = target_dispatch(&target);
	if (!ret)
		ret = report_init(&report, &profiling.options, &target);
	if (!ret)
		ret = write_results(&profiling, &report);
	report_exit(&report);
	target_close(&target);
	subject_close(&subject);
	options_free(&profiling.options);
	return ret;
}
