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

#include "model_file.h"

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

/* Texts at arrows cost dot ten times as long. From so many nodes on, shapes are in the tooltips. */
#define MANY_NODES 500

/* ---- the graph, as dot reads it */

/* Writes a text that is in quotes; a backslash would begin an escape of dot. */
static void put_string(FILE *file, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', file);
		fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
	}
}

/* Writes one colour, or equal shares of several; white when the node has no mark. */
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

static void put_node(FILE *file, const struct drawing *drawing, size_t index)
{
	const Onnx__NodeProto *node = drawing->graph->node[index];

	fprintf(file, "n%zu [shape=box,label=\"", index);
	put_string(file, node->op_type ? node->op_type : "");
	fputs("\\n", file);
	put_string(file, node_label(node));
	fputs("\",fillcolor=\"", file);
	put_colours(file, drawing->marks[index]);
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

/* Returns the index of the node that computes a value, or SIZE_MAX. */
static size_t find_maker(const Onnx__GraphProto *graph, const char *value)
{
	for (size_t i = 0; i < graph->n_node; i++)
		for (size_t k = 0; k < graph->node[i]->n_output; k++)
			if (!strcmp(graph->node[i]->output[k], value))
				return i;
	return SIZE_MAX;
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

static void put_edge(FILE *file, const struct drawing *drawing, const char *value, const char *to,
		     size_t index)
{
	bool labelled = drawing->graph->n_node < MANY_NODES;
	size_t maker = find_maker(drawing->graph, value);
	size_t input = maker == SIZE_MAX ? find_input(drawing->graph, value) : SIZE_MAX;

	/* Weights, and values from the graph around this one, are not drawn. */
	if (maker == SIZE_MAX && input == SIZE_MAX)
		return;
	fprintf(file, "%s%zu -> %s%zu [label=\"", maker == SIZE_MAX ? "i" : "n",
		maker == SIZE_MAX ? input : maker, to, index);
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

/* Whether an earlier input of the node is the same tensor, which has an arrow already. */
static bool is_repeated(const Onnx__NodeProto *node, size_t input)
{
	for (size_t i = 0; i < input; i++)
		if (!strcmp(node->input[i], node->input[input]))
			return true;
	return false;
}

static void put_graph(FILE *file, const struct drawing *drawing)
{
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
	for (size_t i = 0; i < graph->n_node; i++)
		put_node(file, drawing, i);
	for (size_t i = 0; i < graph->n_output; i++) {
		fprintf(file, "o%zu [shape=ellipse,label=\"", i);
		put_string(file, graph->output[i]->name ? graph->output[i]->name : "");
		fputs("\"];\n", file);
	}
	for (size_t i = 0; i < graph->n_node; i++)
		for (size_t k = 0; k < graph->node[i]->n_input; k++)
			if (!is_weight(drawing, graph->node[i]->input[k]) &&
			    !is_repeated(graph->node[i], k))
				put_edge(file, drawing, graph->node[i]->input[k], "n", i);
	for (size_t i = 0; i < graph->n_output; i++)
		if (graph->output[i]->name)
			put_edge(file, drawing, graph->output[i]->name, "o", i);
	fputs("}\n", file);
}

/* ---- the program dot */

/* Runs dot from one file to another; both are at their start afterwards. */
static int run_dot(FILE *from, FILE *to)
{
	char *const words[] = { (char[]){ "dot" }, (char[]){ "-Tsvg" }, NULL };
	posix_spawn_file_actions_t actions;
	int error, status;
	pid_t child;

	if (posix_spawn_file_actions_init(&actions))
		return complain(BAD_DEVICE, "dot: memory is exhausted");
	posix_spawn_file_actions_adddup2(&actions, fileno(from), STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fileno(to), STDOUT_FILENO);
	error = posix_spawnp(&child, "dot", &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error == ENOENT)
		return complain(BAD_FILE, "the program dot, which draws the graph, is not there: "
					  "install the package graphviz");
	if (error)
		return complain(BAD_FILE, "the program dot does not start: %s", strerror(error));
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return complain(BAD_FILE, "dot: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return complain(BAD_FILE, "the program dot could not draw the graph");
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

int drawing_write(const struct drawing *drawing, const char *path, bool page)
{
	FILE *graph = tmpfile(), *svg = tmpfile();
	int ret = DONE;

	if (!graph || !svg)
		ret = complain(BAD_FILE, "a temporary file: %s", strerror(errno));
	if (!ret) {
		put_graph(graph, drawing);
		/* dot reads the file from its start. */
		if (fflush(graph) || fseek(graph, 0, SEEK_SET))
			ret = complain(BAD_FILE, "a temporary file: %s", strerror(errno));
	}
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
