// SPDX-License-Identifier: MIT
/*
 * The log: lines of text in a ring of bytes, each beginning with the device clock. The DMA moves
 * words, so blanks before the newline fill a line up to whole words.
 */
#include "firmware.h"

#define LINE 96u

void log_start(struct firmware *fw)
{
	struct fw_log *log = &fw->log;

	log->base = hw_read64(ONPU_REG_CORE_LOG_BASE_LO);
	log->size = hw_read(ONPU_REG_CORE_LOG_SIZE);
	log->level = ONPU_LOG_INFO;
	if (!log->size)
		return;
	if (log->size < ONPU_MIN_LOG_SIZE || log->size & (log->size - 1) ||
	    log->base % ONPU_RING_ALIGN || log->base > UINT64_MAX - log->size)
		fw_fail(fw, ONPU_FW_DETAIL_RING_SETUP);
}

static void write_ring(struct firmware *fw, char *text, uint32_t size)
{
	struct fw_log *log = &fw->log;
	uint32_t at = log->tail & (log->size - 1);
	uint32_t first = size < log->size - at ? size : log->size - at;

	if (!hw_dma(ONPU_DMA_WRITE, log->base + at, text, first) ||
	    (size > first && !hw_dma(ONPU_DMA_WRITE, log->base, text + first, size - first))) {
		fw_fail(fw, ONPU_FW_DETAIL_RING_ACCESS);
		return;
	}
	log->tail += size;
	hw_write(ONPU_REG_CORE_LOG_TAIL, log->tail);
	if (log->interrupt)
		hw_write(ONPU_REG_CORE_INT_RAISE, ONPU_INT_STATUS_LOG__MASK);
}

/*
 * Writes a text, cut off where a line would have no room for a number and its end. Returns the next
 * position in the line.
 */
static uint32_t put_text(char *line, uint32_t at, const char *text)
{
	while (*text && at < LINE - 16)
		line[at++] = *text++;
	return at;
}

/*
 * Writes the hexadecimal digits of a word, without leading zeros unless @all is set, as it is for
 * the lower word of a long number. Returns the next position in the line.
 */
static uint32_t put_digits(char *line, uint32_t at, uint32_t value, bool all)
{
	for (int shift = 28; shift >= 0; shift -= 4) {
		uint32_t digit = value >> shift & 15;

		all = all || digit || !shift;
		if (all)
			line[at++] = "0123456789abcdef"[digit];
	}
	return at;
}

static uint32_t put_hex(char *line, uint32_t at, uint32_t value)
{
	return put_digits(line, put_text(line, at, " 0x"), value, false);
}

/*
 * Begins a line with the current time, so that a trace can order it among events of other sources.
 * Returns the next position in the line.
 */
static uint32_t put_time(char *line)
{
	uint64_t now = hw_cycle();
	uint32_t high = (uint32_t)(now >> 32), at = put_text(line, 0, "[0x");

	if (high)
		at = put_digits(line, at, high, false);
	at = put_digits(line, at, (uint32_t)now, high);
	return put_text(line, at, "] ");
}

static void finish(struct firmware *fw, char *line, uint32_t at)
{
	while (at % 4 != 3)
		line[at++] = ' ';
	line[at++] = '\n';
	write_ring(fw, line, at);
}

static bool wanted(const struct firmware *fw, enum onpu_log_level level)
{
	return fw->log.size && !fw->failed && level <= fw->log.level;
}

void log_value(struct firmware *fw, enum onpu_log_level level, const char *text, uint32_t value)
{
	char line[LINE] __attribute__((aligned(4)));

	if (wanted(fw, level))
		finish(fw, line, put_hex(line, put_text(line, put_time(line), text), value));
}
