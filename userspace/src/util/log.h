/* SPDX-License-Identifier: MIT */
/* Passes log messages to the sink that the caller provides, never to a stream. */
#ifndef WNN_UTIL_LOG_H
#define WNN_UTIL_LOG_H

/* The levels of WNNLogLevel, with its numbers; NONE stands for Undefined. */
enum wnn_log_level {
	WNN_LOG_NONE,
	WNN_LOG_ERROR,
	WNN_LOG_WARNING,
	WNN_LOG_INFO,
	WNN_LOG_DEBUG,
};

struct wnn_log {
	/* the least severe level that is logged; NONE: there is no sink */
	enum wnn_log_level level;
	void (*write)(void *userdata, enum wnn_log_level level, const char *message);
	void *userdata;
};

/**
 * wnn_log_write - write one message, cut off after 1023 bytes
 * @log: may be NULL, then the message is dropped
 * @fmt: printf format of one line without a newline; control characters become escapes
 */
void wnn_log_write(const struct wnn_log *log, enum wnn_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Like wnn_log_write() for frequent messages: it calls nothing when the level is off. */
#define wnn_log_debug(log, ...)                                           \
	do {                                                              \
		if ((log)->level >= WNN_LOG_DEBUG)                        \
			wnn_log_write((log), WNN_LOG_DEBUG, __VA_ARGS__); \
	} while (0)

#endif
