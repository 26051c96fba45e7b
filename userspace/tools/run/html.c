// SPDX-License-Identifier: MIT
/*
 * webnn-run: writes a profile as one HTML page, with drawings as inline SVG, and without scripts or
 * references to other files.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../placement.h"
#include "../size_text.h"
#include "quantity.h"
#include "report.h"

static void put_text(FILE *file, WNNStringView view)
{
	for (size_t i = 0; i < view.length; i++) {
		unsigned char c = (unsigned char)view.data[i];

		switch (c) {
		case '<':
			fputs("&lt;", file);
			break;
		case '>':
			fputs("&gt;", file);
			break;
		case '&':
			fputs("&amp;", file);
			break;
		case '"':
			fputs("&quot;", file);
			break;
		default:
			/*
			 * Names come from files: control characters, which a page may not contain,
			 * become blanks.
			 */
			fputc(c < ' ' || c == 127 ? ' ' : c, file);
		}
	}
}

static void put_cell(FILE *file, WNNStringView view)
{
	fputs("<td>", file);
	put_text(file, view);
	fputs("</td>", file);
}

/* Writes a short form of a number for people; the exact number is its title. */
static void put_number(FILE *file, uint64_t number)
{
	char text[QUANTITY_TEXT];

	fprintf(file, "<td class=n title=\"%" PRIu64 "\">%s</td>", number,
		quantity_count(text, number));
}

static void put_bytes(FILE *file, uint64_t bytes)
{
	char text[SIZE_TEXT];

	fprintf(file, "<td class=n title=\"%" PRIu64 "\">%s</td>", bytes, size_text(text, bytes));
}

static void put_ms(FILE *file, double ms)
{
	fprintf(file, "<td class=n>%.4f</td>", ms);
}

/* Writes a share as a bar, which ends at 100%, and in percent. */
static void put_share(FILE *file, double share)
{
	fprintf(file,
		"<td class=n><svg width=40 height=9><rect width=%.1f height=9 class=bar></rect></svg> "
		"%.1f%%</td>",
		40 * fmin(share, 1), 100 * share);
}

/* Writes a colour; steps of the golden angle make the colours of neighbours very different. */
static void put_colour(FILE *file, size_t node)
{
	fprintf(file, "fill=\"hsl(%zu 60%% 62%%)\"", node * 137 % 360);
}

static WNNStringView node_name(const WNNProfileNode *node)
{
	return node->label.length ? node->label : node->operatorName;
}

/* ---- the tables */

static void put_row(FILE *file, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void put_row(FILE *file, const char *name, const char *format, ...)
{
	va_list ap;

	fprintf(file, "<tr><th>%s</th><td class=n>", name);
	va_start(ap, format);
	vfprintf(file, format, ap);
	va_end(ap);
	fputs("</td></tr>\n", file);
}

static void put_npu_rows(FILE *file, const struct report *report)
{
	const WNNGraphStatistics *statistics = &report->statistics;
	const WNNGraphProfile *profile = &report->profile;
	char text[SIZE_TEXT];

	put_row(file, "cycles of the NPU", "%" PRIu64, profile->cycles);
	put_row(file, "time of these", "%.4f ms at %.0f MHz",
		1e3 * (double)profile->cycles / (double)report->clock_hz,
		(double)report->clock_hz / 1e6);
	put_row(file, "of them at the end of jobs", "%" PRIu64, profile->endCycles);
	put_row(file, "multiply-accumulates", "%" PRIu64, statistics->macs);
	put_row(file, "share of peak", "%.1f%%", 100 * report->share_of_peak);
	put_row(file, "busiest engine", "%s", report->bound);
	put_row(file, "share of its bound", "%.1f%%", 100 * report->share_of_bound);
	put_row(file, "on-chip memory in use, at most", "%" PRIu64 " of %" PRIu64 " bytes",
		report->sram_most, report->sram_bytes);
	put_row(file, "bytes read", "%" PRIu64 " (%s)", statistics->bytesRead,
		size_text(text, statistics->bytesRead));
	put_row(file, "bytes written", "%" PRIu64 " (%s)", statistics->bytesWritten,
		size_text(text, statistics->bytesWritten));
}

static void put_summary(FILE *file, const struct report *report)
{
	const WNNGraphProfile *profile = &report->profile;

	fputs("<div class=wide><table id=summary>\n<tr><th>model</th>", file);
	put_cell(file, WNN_VALUE(WNNStringView, { report->model, strlen(report->model) }));
	fputs("</tr>\n<tr><th>device</th>", file);
	put_cell(file, report->device);
	fputs("</tr>\n", file);
	put_row(file, "time on the host", "%.4f ms", (double)profile->hostNanoseconds / 1e6);
	put_row(file, "operators on NPU, on CPU, folded", "%zu, %zu, %zu",
		report->placement.npuCount, report->placement.cpuCount,
		report->placement.foldedCount);
	if (profile->cycles)
		put_npu_rows(file, report);
	fputs("</table></div>\n", file);
}

/*
 * Writes the cells about the NPU in the row of an operator; the table has them if any operator ran
 * there.
 */
static void put_npu_cells(FILE *file, const WNNProfileNode *node, const struct report_node *of)
{
	put_number(file, node->cycles);
	put_share(file, of->share);
	put_number(file, node->loadCycles);
	put_number(file, node->storeCycles);
	put_number(file, node->matrixCycles);
	put_number(file, node->vectorCycles);
	put_number(file, node->stallCycles);
	put_number(file, node->macs);
	put_bytes(file, node->bytesRead);
	put_bytes(file, node->bytesWritten);
	put_share(file, of->share_of_peak);
	fprintf(file, "<td>%s</td>", of->bound);
	put_share(file, of->share_of_bound);
}

static void put_nodes_head(FILE *file, bool npu, bool cpu)
{
	fputs("<h2>Operators of the graph</h2>\n", file);
	if (npu)
		fputs("<p>Every cycle belongs to the operator whose instruction ends next. Engines "
		      "work beside each other, so that their cycles may be more than those of the "
		      "operator, and a share more than 100%. The bound is the engine that is busy "
		      "most; latency, when that is less than half of the time.</p>\n",
		      file);
	fputs("<div class=wide><table id=nodes>\n<tr><th>operator<th>label<th>device<th>kernel<th>ms"
	      "<th>share of time",
	      file);
	if (npu)
		fputs("<th>cycles<th>share<th>load<th>store<th>matrix<th>vector<th>stall<th>macs"
		      "<th>bytes read<th>bytes written<th>share of peak<th>bound<th>share of bound",
		      file);
	fputs(cpu ? "<th>CPU ns<th>share of CPU</tr>\n" : "</tr>\n", file);
}

static void put_nodes(FILE *file, const struct report *report)
{
	bool npu = report->profile.cycles != 0, cpu = report->cpu_nanoseconds != 0;

	put_nodes_head(file, npu, cpu);
	for (size_t i = 0; i < report->profile.nodeCount; i++) {
		const WNNProfileNode *node = &report->profile.nodes[report->order[i]];
		const struct report_node *of = &report->nodes[report->order[i]];

		fputs("<tr>", file);
		put_cell(file, node->operatorName);
		put_cell(file, node->label);
		fprintf(file, "<td>%s</td>", placement_device(node->device));
		put_cell(file, node->kernel);
		put_ms(file, of->ms);
		put_share(file, of->share_of_time);
		if (npu)
			put_npu_cells(file, node, of);
		if (cpu) {
			put_number(file, node->cpuNanoseconds);
			put_share(file, of->share_of_cpu);
		}
		fputs("</tr>\n", file);
	}
	fputs("</table></div>\n", file);
}

static void put_sums(FILE *file, const struct report *report, const struct report_sums *sums,
		     const char *title, const char *id)
{
	bool npu = report->profile.cycles != 0;

	fprintf(file,
		"<h2>%s</h2>\n<div class=wide><table id=%s>\n<tr><th>name<th>parts<th>ms"
		"<th>share of time%s</tr>\n",
		title, id, npu ? "<th>cycles<th>macs<th>bytes read<th>bytes written" : "");
	for (size_t i = 0; i < sums->count; i++) {
		const struct report_sum *sum = &sums->list[i];

		fputs("<tr>", file);
		put_cell(file, sum->name);
		put_number(file, sum->nodes);
		put_ms(file, sum->ms);
		put_share(file, sum->share_of_time);
		if (npu) {
			put_number(file, sum->cycles);
			put_number(file, sum->macs);
			put_bytes(file, sum->bytes_read);
			put_bytes(file, sum->bytes_written);
		}
		fputs("</tr>\n", file);
	}
	fputs("</table></div>\n", file);
}

static void put_engines(FILE *file, const struct report *report)
{
	double cycles = (double)report->profile.cycles;

	fputs("<h2>Engines</h2>\n<div class=wide><table id=engines>\n<tr><th>engine<th>instructions<th>busy<th>share"
	      "<th>waiting for others</tr>\n",
	      file);
	for (size_t i = 1; i < REPORT_ENGINES; i++) {
		const struct report_engine *engine = &report->engines[i];

		fprintf(file, "<tr><td>%s</td>", engine->name);
		put_number(file, engine->instructions);
		put_number(file, engine->busy);
		put_share(file, cycles > 0 ? (double)engine->busy / cycles : 0);
		put_number(file, engine->waiting);
		fputs("</tr>\n", file);
	}
	fputs("</table></div>\n", file);
}

static void put_placement(FILE *file, const struct report *report)
{
	fputs("<h2>Placement</h2>\n<div class=wide><table id=placement>\n<tr><th>operator<th>label<th>device<th>kernel"
	      "<th>why</tr>\n",
	      file);
	for (size_t i = 0; i < report->placement.nodeCount; i++) {
		const WNNNodePlacement *node = &report->placement.nodes[i];

		fputs("<tr>", file);
		put_cell(file, node->operatorName);
		put_cell(file, node->label);
		fprintf(file, "<td class=%s>%s</td>", placement_device(node->device),
			placement_device(node->device));
		put_cell(file, node->kernel);
		put_cell(file, node->reasonText);
		fputs("</tr>\n", file);
	}
	fputs("</table></div>\n", file);
}

/* ---- the timeline */

enum { LEFT = 70, LANE = 24, WIDTH = 1000 };

static void put_lane(FILE *file, int lane, const char *name)
{
	fprintf(file, "<text x=0 y=%d>%s</text><line x1=%d y1=%d x2=%d y2=%d class=axis></line>\n",
		lane * LANE + 16, name, LEFT, lane * LANE + LANE, LEFT + WIDTH, lane * LANE + LANE);
}

/* Draws a bar from @start to @end of @whole; unit: "cycles" or "ns". */
static void put_bar(FILE *file, const struct report *report, int lane, uint32_t node,
		    const char *what, double start, double end, double whole, const char *unit)
{
	fprintf(file, "<rect x=%.2f y=%d width=%.2f height=%d ", LEFT + WIDTH * start / whole,
		lane * LANE + 2, fmax(WIDTH * (end - start) / whole, 0.2), LANE - 4);
	put_colour(file, node == WNN_NODE_NONE ? 0 : node + 1);
	fputs("><title>", file);
	if (node == WNN_NODE_NONE)
		fputs(what, file);
	else
		put_text(file, node_name(&report->profile.nodes[node]));
	fprintf(file, ", %.0f to %.0f %s</title></rect>\n", start, end, unit);
}

/* Draws an engine; instructions of one node without a visible gap between them are one bar. */
static void put_engine(FILE *file, const struct report *report, size_t engine)
{
	const WNNGraphProfile *profile = &report->profile;
	double whole = (double)profile->cycles, start = 0, end = -1;
	uint32_t node = WNN_NODE_NONE;

	for (size_t i = 0; i < profile->eventCount; i++) {
		const WNNProfileEvent *event = &profile->events[i];

		if ((size_t)event->engine != engine || event->startCycle == event->endCycle)
			continue;
		if (end >= 0 && event->node == node &&
		    (double)event->startCycle - end < whole / WIDTH) {
			end = (double)event->endCycle;
			continue;
		}
		if (end >= 0)
			put_bar(file, report, (int)engine - 1, node, "end of the job", start, end,
				whole, "cycles");
		node = event->node;
		start = (double)event->startCycle;
		end = (double)event->endCycle;
	}
	if (end >= 0)
		put_bar(file, report, (int)engine - 1, node, "end of the job", start, end, whole,
			"cycles");
}

static void put_timeline(FILE *file, const struct report *report)
{
	const WNNGraphProfile *profile = &report->profile;

	if (profile->eventCount && profile->cycles) {
		fprintf(file,
			"<h2>Timeline of the NPU</h2>\n<p>%" PRIu64
			" cycles from left to right; a colour for each operator.</p>\n"
			"<svg id=timeline viewBox=\"0 0 %d %d\">\n",
			profile->cycles, LEFT + WIDTH, (REPORT_ENGINES - 1) * LANE);
		for (size_t i = 1; i < REPORT_ENGINES; i++) {
			put_lane(file, (int)i - 1, report->engines[i].name);
			put_engine(file, report, i);
		}
		fputs("</svg>\n", file);
	}
	if (!profile->spanCount || !profile->hostNanoseconds)
		return;
	fprintf(file,
		"<h2>Timeline of the dispatch</h2>\n<p>%" PRIu64
		" ns on the host from left to right.</p>\n<svg id=host viewBox=\"0 0 %d %d\">\n",
		profile->hostNanoseconds, LEFT + WIDTH, 2 * LANE);
	put_lane(file, 0, "NPU");
	put_lane(file, 1, "CPU");
	for (size_t i = 0; i < profile->spanCount; i++) {
		const WNNProfileSpan *span = &profile->spans[i];

		put_bar(file, report, span->device == WNNNodeDevice_CPU, span->node, "job",
			(double)span->startNanoseconds, (double)span->endNanoseconds,
			(double)profile->hostNanoseconds, "ns");
	}
	fputs("</svg>\n", file);
}

/* ---- memory over time */

enum { PANEL = 120, GAP = 34 };

/*
 * Draws the area below a value of each interval: 0: bytes moved, 1: bytes read, 2: on-chip memory
 * in use, as @number says. @most is at the top of the panel.
 */
static void put_area(FILE *file, const struct report *report, size_t number, int top, double most,
		     const char *class)
{
	fprintf(file, "<polygon class=%s points=\"%d,%d", class, LEFT, top + PANEL);
	for (size_t i = 0; i < REPORT_PARTS; i++) {
		const struct report_part *part = &report->parts[i];
		const uint64_t numbers[] = { part->bytes_read + part->bytes_written,
					     part->bytes_read, part->sram_bytes };
		double y = top + PANEL * (1 - fmin((double)numbers[number] / most, 1));

		fprintf(file, " %.1f,%.1f %.1f,%.1f", LEFT + WIDTH * (double)i / REPORT_PARTS, y,
			LEFT + WIDTH * (double)(i + 1) / REPORT_PARTS, y);
	}
	fprintf(file, " %d,%d\"></polygon>\n", LEFT + WIDTH, top + PANEL);
}

static void put_panel(FILE *file, int top, const char *what, const char *scale)
{
	fprintf(file,
		"<text x=%d y=%d>%s</text><text x=%d y=%d class=end>%s</text>"
		"<text x=%d y=%d class=end>0</text>\n"
		"<line x1=%d y1=%d x2=%d y2=%d class=axis></line>"
		"<line x1=%d y1=%d x2=%d y2=%d class=axis></line>\n",
		LEFT, top - 6, what, LEFT - 6, top + 10, scale, LEFT - 6, top + PANEL, LEFT, top,
		LEFT + WIDTH, top, LEFT, top + PANEL, LEFT + WIDTH, top + PANEL);
}

/*
 * Returns the size at the top of the drawing of the on-chip memory: the least power of two, from
 * 1024 on, that the use does not exceed, but no more than the memory has.
 */
static uint64_t sram_scale(const struct report *report)
{
	uint64_t scale = 1024;

	while (scale < report->sram_most)
		scale *= 2;
	return scale < report->sram_bytes ? scale : report->sram_bytes;
}

static void put_memory(FILE *file, const struct report *report)
{
	const WNNGraphProfile *profile = &report->profile;
	double bytes = report->bytes_per_cycle * (double)profile->cycles / REPORT_PARTS;
	char scale[32];

	if (!profile->cycles || !profile->eventCount)
		return;
	fprintf(file,
		"<h2>Memory over time</h2>\n<p>The cycles of the NPU from left to right, in %d parts. "
		"Above: bytes that the NPU <span class=key-read>read from</span> and "
		"<span class=key-written>wrote to</span> memory in each cycle; both DMA engines "
		"together move up to %g. Below: bytes that are in use of the %" PRIu64
		" bytes of on-chip memory.</p>\n"
		"<svg id=memory viewBox=\"0 0 %d %d\">\n",
		REPORT_PARTS, report->bytes_per_cycle, report->sram_bytes, LEFT + WIDTH,
		2 * (PANEL + GAP));
	snprintf(scale, sizeof(scale), "%g", report->bytes_per_cycle);
	put_area(file, report, 0, GAP, bytes, "written");
	put_area(file, report, 1, GAP, bytes, "read");
	put_panel(file, GAP, "bytes of memory in a cycle", scale);
	snprintf(scale, sizeof(scale), "%" PRIu64 " KiB", sram_scale(report) / 1024);
	put_area(file, report, 2, PANEL + 2 * GAP, (double)sram_scale(report), "sram");
	put_panel(file, PANEL + 2 * GAP, "on-chip memory in use", scale);
	fputs("</svg>\n", file);
}

/* ---- the roofline */

struct axes {
	double least_x, most_x, least_y, most_y; /* logarithms to base 10 */
};

enum { ROOF_WIDTH = 900, ROOF_HEIGHT = 420, MARGIN = 60 };

static double place_x(const struct axes *axes, double intensity)
{
	return MARGIN + (ROOF_WIDTH - 2 * MARGIN) * (log10(intensity) - axes->least_x) /
				(axes->most_x - axes->least_x);
}

static double place_y(const struct axes *axes, double macs)
{
	return ROOF_HEIGHT - MARGIN -
	       (ROOF_HEIGHT - 2 * MARGIN) * (log10(macs) - axes->least_y) /
		       (axes->most_y - axes->least_y);
}

static bool has_point(const struct report_node *node)
{
	return node->intensity > 0 && node->macs_per_cycle > 0;
}

/*
 * Fits the axes to powers of ten around the roof's edge and all points. Returns the number of
 * points.
 */
static size_t fit_axes(const struct report *report, struct axes *axes)
{
	double ridge = report->peak_macs_per_cycle / report->bytes_per_cycle;
	double x[2] = { ridge / 8, ridge * 8 };
	double y[2] = { report->peak_macs_per_cycle / 8, report->peak_macs_per_cycle };
	size_t points = 0;

	for (size_t i = 0; i < report->profile.nodeCount; i++) {
		const struct report_node *node = &report->nodes[i];

		if (!has_point(node))
			continue;
		points++;
		x[0] = fmin(x[0], node->intensity);
		x[1] = fmax(x[1], node->intensity);
		y[0] = fmin(y[0], node->macs_per_cycle);
		y[1] = fmax(y[1], node->macs_per_cycle);
	}
	*axes = (struct axes){ floor(log10(x[0])), ceil(log10(x[1])), floor(log10(y[0])),
			       ceil(log10(y[1])) };
	return points;
}

static void put_axes(FILE *file, const struct axes *axes)
{
	for (double e = axes->least_x; e <= axes->most_x; e++) {
		double x = place_x(axes, pow(10, e));

		fprintf(file,
			"<line x1=%.1f y1=%d x2=%.1f y2=%d class=grid></line>"
			"<text x=%.1f y=%d class=mid>%g</text>\n",
			x, MARGIN, x, ROOF_HEIGHT - MARGIN, x, ROOF_HEIGHT - MARGIN + 18,
			pow(10, e));
	}
	for (double e = axes->least_y; e <= axes->most_y; e++) {
		double y = place_y(axes, pow(10, e));

		fprintf(file,
			"<line x1=%d y1=%.1f x2=%d y2=%.1f class=grid></line>"
			"<text x=%d y=%.1f class=end>%g</text>\n",
			MARGIN, y, ROOF_WIDTH - MARGIN, y, MARGIN - 6, y + 4, pow(10, e));
	}
	fprintf(file,
		"<text x=%d y=%d class=mid>multiply-accumulates for each byte</text>\n"
		"<text x=%d y=%d>multiply-accumulates in a cycle</text>\n",
		ROOF_WIDTH / 2, ROOF_HEIGHT - 14, MARGIN, MARGIN - 20);
}

static void put_roofline(FILE *file, const struct report *report)
{
	double peak = report->peak_macs_per_cycle, ridge = peak / report->bytes_per_cycle;
	struct axes axes;
	size_t points;

	if (peak <= 0)
		return;
	points = fit_axes(report, &axes);
	fprintf(file,
		"<h2>Roofline</h2>\n<p>The roof: %g bytes in a cycle (both DMA engines), then %g "
		"multiply-accumulates. Operators without multiply-accumulates, and those whose "
		"operands all stay in the on-chip memory, are not shown: %zu of %zu. One whose work "
		"overlaps with that of others may lie above the roof.</p>\n"
		"<svg id=roofline viewBox=\"0 0 %d %d\" style=\"max-width:%dpx\">\n",
		report->bytes_per_cycle, peak, report->profile.nodeCount - points,
		report->profile.nodeCount, ROOF_WIDTH, ROOF_HEIGHT, ROOF_WIDTH);
	put_axes(file, &axes);
	fprintf(file, "<polyline points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\" class=roof></polyline>\n",
		place_x(&axes, fmax(pow(10, axes.least_x),
				    pow(10, axes.least_y) / report->bytes_per_cycle)),
		place_y(&axes, fmax(pow(10, axes.least_x) * report->bytes_per_cycle,
				    pow(10, axes.least_y))),
		place_x(&axes, ridge), place_y(&axes, peak), place_x(&axes, pow(10, axes.most_x)),
		place_y(&axes, peak));
	for (size_t i = 0; i < report->profile.nodeCount; i++) {
		const struct report_node *node = &report->nodes[i];

		if (!has_point(node))
			continue;
		/* The area of a point grows with its share of the cycles. */
		fprintf(file, "<circle cx=%.1f cy=%.1f r=%.1f ", place_x(&axes, node->intensity),
			place_y(&axes, node->macs_per_cycle), 3 + 20 * sqrt(node->share));
		put_colour(file, i + 1);
		fputs(" fill-opacity=0.7><title>", file);
		put_text(file, node_name(&report->profile.nodes[i]));
		fprintf(file,
			", %.6g multiply-accumulates for each byte, %.6g in a cycle</title></circle>\n",
			node->intensity, node->macs_per_cycle);
	}
	fputs("</svg>\n", file);
}

/* ---- the page */

static const char head[] =
	"<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>"
	"<meta name=viewport content=\"width=device-width\"><title>Profile</title>\n<style>\n"
	"body{font:14px system-ui,sans-serif;margin:2em;color:#222;background:#fff}\n"
	"table{border-collapse:collapse}th,td{padding:2px 8px;text-align:left;"
	"border-bottom:1px solid #ddd;vertical-align:top}\n"
	"th{background:#f2f2f2}.n{text-align:right;white-space:nowrap}\n"
	".read{fill:#5b8bd9}.written{fill:#e0a040}.sram{fill:#79b473}\n"
	".key-read{color:#2b5ba9;font-weight:bold}.key-written{color:#a86a10;font-weight:bold}\n"
	".bar{fill:#5b8bd9}.cpu{background:#fde7c8}.npu{background:#dcefd8}\n"
	"p,#summary td{overflow-wrap:anywhere}\n"
	"svg text{font-size:12px}.axis{stroke:#bbb}.grid{stroke:#e4e4e4}\n"
	".wide{overflow-x:auto}.wide table{font-size:12px}.wide td,.wide th{padding:2px 5px}\n"
	".roof{fill:none;stroke:#c33;stroke-width:2}.mid{text-anchor:middle}.end{text-anchor:end}\n"
	"</style></head><body>\n<h1>Profile</h1>\n";

int report_write_html(const struct report *report, const char *path)
{
	FILE *file = fopen(path, "w");
	bool wrong;

	if (!file)
		return complain_unwritten(path, errno);
	fputs(head, file);
	put_summary(file, report);
	put_timeline(file, report);
	put_memory(file, report);
	put_sums(file, report, &report->by_operator, "Operators of the model", "by_operator");
	put_sums(file, report, &report->by_label, "Nodes of the model", "by_node");
	put_nodes(file, report);
	if (report->profile.cycles)
		put_engines(file, report);
	put_roofline(file, report);
	put_placement(file, report);
	fputs("</body></html>\n", file);
	wrong = ferror(file) != 0;
	wrong |= fclose(file) != 0;
	return wrong ? complain_unwritten(path, errno) : DONE;
}
