/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Trace events, which Documentation/driver.rst lists. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM onpu

#if !defined(ONPU_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define ONPU_TRACE_H

#include <linux/tracepoint.h>

#include "onpu_ctx.h"

/* Assigns the fields that all events about jobs have. */
#define ONPU_JOB_ASSIGN(number)								\
do {											\
	__assign_str(dev);								\
	__entry->client = ctx->client;							\
	__entry->ctx = ctx->id;								\
	__entry->queue = ctx->queue;							\
	__entry->seqno = (number);							\
} while (0)
#define ONPU_JOB_FORMAT	"dev=%s client=%llu ctx=%u queue=%d seqno=%llu "

/* An event about @count jobs of a context, the last of which is @seqno. */
DECLARE_EVENT_CLASS(onpu_jobs,
		    TP_PROTO(const struct onpu_ctx *ctx, u64 seqno, u32 count, int error),
		    TP_ARGS(ctx, seqno, count, error),
		    TP_STRUCT__entry(__string(dev, dev_name(ctx->onpu->drm.dev))
				     __field(u64, client) __field(u32, ctx) __field(int, queue)
				     __field(u64, seqno) __field(u32, count) __field(int, error)),
		    TP_fast_assign(ONPU_JOB_ASSIGN(seqno);
				   __entry->count = count;
				   __entry->error = error;),
		    TP_printk(ONPU_JOB_FORMAT "count=%u error=%d", __get_str(dev),
			      __entry->client, __entry->ctx, __entry->queue, __entry->seqno,
			      __entry->count, __entry->error)
);

#define ONPU_JOBS_EVENT(name)								\
DEFINE_EVENT(onpu_jobs, name,								\
	TP_PROTO(const struct onpu_ctx *ctx, u64 seqno, u32 count, int error),		\
	TP_ARGS(ctx, seqno, count, error))

ONPU_JOBS_EVENT(onpu_submit);
ONPU_JOBS_EVENT(onpu_feed);
ONPU_JOBS_EVENT(onpu_complete);

TRACE_EVENT(onpu_fault,
	    TP_PROTO(const struct onpu_ctx *ctx, const struct onpu_fault_record *fault),
	    TP_ARGS(ctx, fault),
	    TP_STRUCT__entry(__string(dev, dev_name(ctx->onpu->drm.dev)) __field(u64, client)
			     __field(u32, ctx) __field(int, queue) __field(u64, seqno)
			     __field(u32, code) __field(u64, pc) __field(u64, address)),
	    TP_fast_assign(ONPU_JOB_ASSIGN(fault->seqno);
			   __entry->code = fault->code;
			   __entry->pc = fault->pc;
			   __entry->address = fault->address;),
	    TP_printk(ONPU_JOB_FORMAT "code=%u pc=%llu address=%#llx", __get_str(dev),
		      __entry->client, __entry->ctx, __entry->queue, __entry->seqno,
		      __entry->code, __entry->pc, __entry->address)
);

/*
 * Cycles that a job took on the device, the value of the device's clock when it ended (@end), and
 * the cycles in which each engine was busy.
 */
TRACE_EVENT(onpu_ran,
	    TP_PROTO(const struct onpu_ctx *ctx, u64 seqno, u64 cycles, u64 end, const u64 *busy),
	    TP_ARGS(ctx, seqno, cycles, end, busy),
	    TP_STRUCT__entry(__string(dev, dev_name(ctx->onpu->drm.dev)) __field(u64, client)
			     __field(u32, ctx) __field(int, queue) __field(u64, seqno)
			     __field(u64, cycles) __field(u64, end)
			     __array(u64, busy, ONPU_ENG_COUNT)),
	    TP_fast_assign(ONPU_JOB_ASSIGN(seqno);
			   __entry->cycles = cycles;
			   __entry->end = end;
			   memcpy(__entry->busy, busy, sizeof(__entry->busy));),
	    TP_printk(ONPU_JOB_FORMAT "cycles=%llu end=%llu busy=%s", __get_str(dev),
		      __entry->client, __entry->ctx, __entry->queue, __entry->seqno,
		      __entry->cycles, __entry->end,
		      __print_array(__entry->busy, ONPU_ENG_COUNT, sizeof(u64)))
);

/* An event of the device as a whole: @what happens, and the errno of its result. */
DECLARE_EVENT_CLASS(onpu_dev,
		    TP_PROTO(const struct onpu_device *onpu, const char *what, int error),
		    TP_ARGS(onpu, what, error),
		    TP_STRUCT__entry(__string(dev, dev_name(onpu->drm.dev))
				     __string(what, what)
				     __field(int, error)),
		    TP_fast_assign(__assign_str(dev);
				   __assign_str(what);
				   __entry->error = error;),
		    TP_printk("dev=%s what=\"%s\" error=%d", __get_str(dev), __get_str(what),
			      __entry->error)
);

#define ONPU_DEV_EVENT(name)								\
DEFINE_EVENT(onpu_dev, name,								\
	TP_PROTO(const struct onpu_device *onpu, const char *what, int error),		\
	TP_ARGS(onpu, what, error))

ONPU_DEV_EVENT(onpu_reset);
ONPU_DEV_EVENT(onpu_power);
ONPU_DEV_EVENT(onpu_firmware);

/* The current value of the device's clock. */
TRACE_EVENT(onpu_clock,
	    TP_PROTO(const struct onpu_device *onpu, u64 cycle),
	    TP_ARGS(onpu, cycle),
	    TP_STRUCT__entry(__string(dev, dev_name(onpu->drm.dev)) __field(u64, cycle)),
	    TP_fast_assign(__assign_str(dev); __entry->cycle = cycle;),
	    TP_printk("dev=%s cycle=%llu", __get_str(dev), __entry->cycle)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE onpu_trace
#include <trace/define_trace.h>
