// SPDX-License-Identifier: MIT
/*
 * webnn-run: draws a picture of a model by the program dot, with colours for the devices of its
 * nodes.
 */
#include "drawing.h"

#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "boxes.h"
#include "model_file.h"
#include "tensors.h"

extern char **environ;

static const struct {
	enum mark mark;
	const char *name, *colour;
} marks[] = {
	{ MARK_NPU, "npu", "#a9d9a0" },
	{ MARK_CPU, "cpu", "#f9cf92" },
	{ MARK_FOLDED, "folded", "#d9d9d9" },
	{ MARK_REFUSED, "refused", "#f28e8e" },
};

#define NUM_MARKS (sizeof(marks) / sizeof(marks[0]))

/*
 * Labels of arrows make dot ten times slower: in a graph with at least this many nodes, shapes are
 * in the tooltips instead.
 */
#define MANY_NODES 500

/* ---- the graph, as dot reads it */

/* A drawing, and indices of its graph that make the time linear. */
struct plan {
	const struct drawing *drawing;
	struct boxes boxes;
	struct tensors tensors;
	/* for each box, then for each input: 1 + the last box that has an arrow from it, or 0 */
	size_t *drawn;
};

/* Writes text that is in quotes; a backslash would begin an escape of dot. */
static void put_part(FILE *file, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '"' || text[i] == '\\')
			fputc('\\', file);
		fputc((unsigned char)text[i] < ' ' ? ' ' : text[i], file);
	}
}

static void put_string(FILE *file, const char *text)
{
	put_part(file, text, strlen(text));
}

/*
 * Writes the colours and the tooltip of a box with these marks: one colour, equal shares of
 * several, or white without a mark.
 */
static void put_colours(FILE *file, unsigned int of)
{
	unsigned int count = 0;

	for (size_t i = 0; i < NUM_MARKS; i++)
		if (of & marks[i].mark)
			fprintf(file, "%s%s", count++ ? ":" : "", marks[i].colour);
	fprintf(file, "%s\",style=\"%s\",tooltip=\"", count ? "" : "white",
		count > 1 ? "striped" : "filled");
	count = 0;
	for (size_t i = 0; i < NUM_MARKS; i++)
		if (of & marks[i].mark)
			fprintf(file, "%s%s", count++ ? ", " : "", marks[i].name);
	fputs(count ? "" : "not placed", file);
}

/* Writes operator and name of a box's only node, or the number of nodes and how names begin. */
static void put_box(FILE *file, const struct plan *plan, size_t box)
{
	const Onnx__GraphProto *graph = plan->drawing->graph;
	size_t begin = plan->boxes.first[box], end = plan->boxes.first[box + 1];
	unsigned int marks_of = 0;
	const char *name;
	size_t length = boxes_name(&plan->boxes, graph, box, &name);

	for (size_t i = begin; i < end; i++)
		marks_of |= plan->drawing->marks[i];
	fprintf(file, "n%zu [shape=box,label=\"", box);
	if (end - begin > 1)
		fprintf(file, "%zu nodes", end - begin);
	else
		put_string(file, graph->node[begin]->op_type ? graph->node[begin]->op_type : "");
	fputs("\\n", file);
	put_part(file, name, length);
	fputs(end - begin > 1 ? "…" : "", file);
	fputs("\",fillcolor=\"", file);
	put_colours(file, marks_of);
	fputs("\"];\n", file);
}

static void put_shape(FILE *file, const WNNOnnxValueInfo *value)
{
	if (!value || value->rank == WNN_ONNX_RANK_UNKNOWN)
		return;
	for (size_t i = 0; i < value->rank; i++) {
		const WNNOnnxDimension *dimension = &value->dimensions[i];
		char name[100];

		fputs(i ? "×" : "", file);
		snprintf(name, sizeof(name), "%.*s", (int)dimension->name.length,
			 dimension->name.data ? dimension->name.data : "");
		if (dimension->size >= 0)
			fprintf(file, "%" PRId64, dimension->size);
		else
			put_string(file, *name ? name : "?");
	}
}

static size_t find_input(const Onnx__GraphProto *graph, const char *value)
{
	for (size_t i = 0; i < graph->n_input; i++)
		if (graph->input[i]->name && !strcmp(graph->input[i]->name, value))
			return i;
	return SIZE_MAX;
}

static bool is_weight(const struct drawing *drawing, const char *name)
{
	const WNNOnnxValueInfo *value = shapes_find(drawing->shapes, name);

	return value && value->fixed;
}

/*
 * Draws the arrow of a value to a box, or to an output when @box is SIZE_MAX. In a large graph, a
 * box has at most one arrow from each other box and each input.
 */
static void put_edge(FILE *file, const struct plan *plan, const char *value, size_t box,
		     size_t output)
{
	const struct drawing *drawing = plan->drawing;
	bool labelled = drawing->graph->n_node < MANY_NODES;
	const struct tensor *tensor = tensors_find(&plan->tensors, value);
	bool made = tensor && tensor->node != NO_NODE;
	size_t from = made ? plan->boxes.of_node[tensor->node] : find_input(drawing->graph, value);
	size_t *drawn;

	/* Weights, inputs that are left out, and values within one box have no arrow. */
	if (from == SIZE_MAX || (made && from == box))
		return;
	drawn = &plan->drawn[made ? from : plan->boxes.count + from];
	if (box != SIZE_MAX && drawing->graph->n_node > BOXES_ALONE) {
		if (*drawn == box + 1)
			return;
		*drawn = box + 1;
	}
	fprintf(file, "%s%zu -> %s%zu [label=\"", made ? "n" : "i", from,
		box == SIZE_MAX ? "o" : "n", box == SIZE_MAX ? output : box);
	if (labelled)
		put_shape(file, shapes_find(drawing->shapes, value));
	fputs("\",tooltip=\"", file);
	put_string(file, value);
	if (!labelled) {
		fputs(" ", file);
		put_shape(file, shapes_find(drawing->shapes, value));
	}
	fputs("\"];\n", file);
}

/* Returns whether an earlier input of the node is the same tensor, which has an arrow already. */
static bool is_repeated(const Onnx__NodeProto *node, size_t input)
{
	for (size_t i = 0; i < input; i++)
		if (!strcmp(node->input[i], node->input[input]))
			return true;
	return false;
}

static void put_graph(FILE *file, const struct plan *plan)
{
	const struct drawing *drawing = plan->drawing;
	const Onnx__GraphProto *graph = drawing->graph;

	/* The limits keep dot from taking minutes for the layout of a large graph. */
	fputs("digraph {\nnslimit=2;nslimit1=2;ranksep=0.3;\n"
	      "node [fontname=\"sans-serif\",fontsize=11];\n"
	      "edge [fontname=\"sans-serif\",fontsize=9];\n",
	      file);
	for (size_t i = 0; i < graph->n_input; i++) {
		const char *name = graph->input[i]->name ? graph->input[i]->name : "";

		if (is_weight(drawing, name))
			continue;
		fprintf(file, "i%zu [shape=ellipse,label=\"", i);
		put_string(file, name);
		fputs("\"];\n", file);
	}
	for (size_t i = 0; i < plan->boxes.count; i++)
		put_box(file, plan, i);
	for (size_t i = 0; i < graph->n_output; i++) {
		fprintf(file, "o%zu [shape=ellipse,label=\"", i);
		put_string(file, graph->output[i]->name ? graph->output[i]->name : "");
		fputs("\"];\n", file);
	}
	for (size_t i = 0; i < graph->n_node; i++)
		for (size_t k = 0; k < graph->node[i]->n_input; k++)
			if (!is_weight(drawing, graph->node[i]->input[k]) &&
			    !is_repeated(graph->node[i], k))
				put_edge(file, plan, graph->node[i]->input[k],
					 plan->boxes.of_node[i], 0);
	for (size_t i = 0; i < graph->n_output; i++)
		if (graph->output[i]->name)
			put_edge(file, plan, graph->output[i]->name, SIZE_MAX, i);
	fputs("}\n", file);
}

static int write_graph(FILE *file, const struct drawing *drawing)
{
	struct plan plan = { .drawing = drawing };
	int ret = DONE;

	if (boxes_init(&plan.boxes, drawing->graph) ||
	    tensors_init(&plan.tensors, drawing->graph) ||
	    !(plan.drawn =
		      calloc(plan.boxes.count + drawing->graph->n_input + 1, sizeof(*plan.drawn))))
		ret = complain_memory(drawing->title);
	else
		put_graph(file, &plan);
	if (!ret && plan.boxes.count < drawing->graph->n_node)
		complain(
			DONE,
			"%s: the drawing shows %zu boxes of several nodes instead of %zu nodes; to "
			"see each node, draw a part that webnn-run extract has cut out",
			drawing->title, plan.boxes.count, drawing->graph->n_node);
	free(plan.drawn);
	tensors_exit(&plan.tensors);
	boxes_exit(&plan.boxes);
	return ret;
}

/* ---- the program dot */

/*
 * Runs dot on the text of @from, from where that file is now, and writes its drawing to @to.
 * Returns DONE, with @to at its start, or the exit code after a message.
 */
static int run_dot(FILE *from, FILE *to)
{
	char *const words[] = { (char[]){ "dot" }, (char[]){ "-Tsvg" }, NULL };
	posix_spawn_file_actions_t actions;
	int error, status;
	pid_t child;

	if (posix_spawn_file_actions_init(&actions))
		return complain(
			BAD_DEVICE,
			"too little memory is free to start the program dot, which draws the "
			"graph: end other programs");
	posix_spawn_file_actions_adddup2(&actions, fileno(from), STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fileno(to), STDOUT_FILENO);
	error = posix_spawnp(&child, "dot", &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error == ENOENT)
		return complain(BAD_FILE, "the program dot, which draws the graph, is not there: "
					  "install the package graphviz");
	if (error)
		return complain(BAD_FILE,
				"the program dot, which draws the graph, does not start: %s%s",
				strerror(error),
				error == EACCES || error == ENOEXEC ?
					"; install the package graphviz anew" :
					"");
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return complain(BAD_FILE, "dot: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return complain(
			BAD_FILE,
			"the program dot could not draw the graph, and gives the reason above unless "
			"it was killed; draw a smaller part, which webnn-run extract cuts out");
	rewind(to);
	return DONE;
}

static void put_head(FILE *file, const struct drawing *drawing)
{
	fputs("<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>"
	      "<meta name=viewport content=\"width=device-width\"><title>Model</title>\n<style>\n"
	      "body{font:14px system-ui,sans-serif;margin:2em;color:#222;background:#fff}\n"
	      "h1{overflow-wrap:anywhere}.key{padding:2px 8px;margin-right:8px}\n"
	      ".wide{overflow-x:auto}\n</style></head><body>\n<h1>",
	      file);
	for (const char *at = drawing->title; *at; at++)
		switch (*at) {
		case '<':
			fputs("&lt;", file);
			break;
		case '&':
			fputs("&amp;", file);
			break;
		default:
			fputc(*at, file);
		}
	fputs("</h1>\n<p>", file);
	for (size_t i = 0; i < NUM_MARKS; i++)
		fprintf(file, "<span class=key style=\"background:%s\">%s</span>", marks[i].colour,
			marks[i].name);
	fputs("</p>\n<div class=wide>\n", file);
}

/* Copies an SVG document; for a page, only its element <svg>. */
static void copy_svg(FILE *from, FILE *to, bool page)
{
	char line[4096];
	bool begun = !page;

	while (fgets(line, sizeof(line), from)) {
		begun |= !strncmp(line, "<svg", 4);
		if (begun)
			fputs(line, to);
	}
}

static int save(const struct drawing *drawing, FILE *svg, const char *path, bool page)
{
	FILE *file = fopen(path, "w");
	bool wrong;

	if (!file)
		return complain_unwritten(path, errno);
	if (page)
		put_head(file, drawing);
	copy_svg(svg, file, page);
	if (page)
		fputs("</div>\n</body></html>\n", file);
	wrong = ferror(file) != 0;
	wrong |= fclose(file) != 0;
	return wrong ? complain_unwritten(path, errno) : DONE;
}

/* Complains about a temporary file, and returns BAD_FILE. */
static int complain_temporary(int error)
{
	const char *way_out = "";

	if (error == ENOSPC || error == EDQUOT)
		way_out = "; make room there";
	else if (error == EACCES || error == EPERM || error == EROFS || error == ENOENT)
		way_out = "; let there be this folder, in which this user may write";
	else if (error == EMFILE || error == ENFILE)
		way_out = "; raise the limit of open files (ulimit -n)";
	return complain(BAD_FILE, "a temporary file in %s cannot be written: %s%s", P_tmpdir,
			strerror(error), way_out);
}

/* Opens a temporary file. Returns DONE, or an exit code after a message. */
static int open_temporary(FILE **file)
{
	*file = tmpfile();
	return *file ? DONE : complain_temporary(errno);
}

int drawing_write(const struct drawing *drawing, const char *path, bool page)
{
	FILE *graph = NULL, *svg = NULL;
	int ret = open_temporary(&graph);

	if (!ret)
		ret = open_temporary(&svg);
	if (!ret)
		ret = write_graph(graph, drawing);
	/* dot reads the file from its start. */
	if (!ret && (fflush(graph) || fseek(graph, 0, SEEK_SET)))
		ret = complain_temporary(errno);
	if (!ret)
		ret = run_dot(graph, svg);
	if (!ret)
		ret = save(drawing, svg, path, page);
	if (graph)
		fclose(graph);
	if (svg)
		fclose(svg);
	return ret;
}
