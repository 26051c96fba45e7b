// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Messages: the arithmetic of the rings, and a firmware that sends random messages. */
#include "fake.h"

#define NUM_WAITS	8
#define TYPE(i)		(ONPU_MSG_HEARTBEAT + (i) % 3)

struct request {
	struct onpu_mbox_wait wait;
	union onpu_msg msg;
};

static int send(struct onpu_device *onpu, struct request *request, u32 type)
{
	memset(request, 0, sizeof(*request));
	request->msg.header.type = type;
	request->wait.msg = &request->msg;
	request->wait.type = type;
	init_completion(&request->wait.done);
	return send_request(onpu, &request->wait);
}

/* Writes a message as the firmware does, and raises its interrupt. */
static void respond(struct onpu_device *onpu, const union onpu_msg *msg)
{
	struct onpu_mbox *mbox = &onpu->mbox;
	u32 head = mbox->head;

	mbox->responses[head % ONPU_MBOX_SLOTS] = *msg;
	fake_set(onpu, ONPU_REG_RESPONSE_TAIL, head + 1);
	onpu_mbox_irq(onpu);
}

static void restart(struct onpu_device *onpu)
{
	onpu_mbox_fail(onpu, -EAGAIN);
	onpu_mbox_setup(onpu);
	onpu_mbox_start(onpu);
}

/* Requests and responses are at the index of their number, also after the number wraps. */
static void rings(struct kunit *test)
{
	struct onpu_device *onpu = test->priv;
	struct onpu_mbox *mbox = &onpu->mbox;
	struct request request;

	mbox->tail = U32_MAX - 100;
	mbox->head = U32_MAX - 50;
	for (unsigned int i = 0; i < 200; i++) {
		u32 number = mbox->tail, head = mbox->head;
		union onpu_msg answer = {};

		KUNIT_ASSERT_EQ(test, send(onpu, &request, TYPE(i)), 0);
		KUNIT_EXPECT_EQ(test, fake_get(onpu, ONPU_REG_REQUEST_TAIL), number + 1);
		KUNIT_EXPECT_FALSE(test, memcmp(&mbox->requests[number % ONPU_MBOX_SLOTS],
						&request.msg, ONPU_MSG_SIZE));
		answer.header.type = TYPE(i) | ONPU_MSG_RESPONSE;
		answer.header.id = request.msg.header.id;
		respond(onpu, &answer);
		KUNIT_ASSERT_TRUE(test, completion_done(&request.wait.done));
		KUNIT_EXPECT_EQ(test, fake_get(onpu, ONPU_REG_RESPONSE_HEAD), head + 1);
	}
	KUNIT_EXPECT_EQ(test, fake_reset_reason(onpu), ONPU_RESET_NONE);
}

/* The number of a request is never that of an event, and is not used again soon. */
static void numbers_of_requests(struct kunit *test)
{
	struct onpu_device *onpu = test->priv;
	u32 last[ONPU_MBOX_SLOTS] = {};

	onpu->mbox.generation = 0u - 4 * ONPU_MBOX_SLOTS;
	for (unsigned int i = 0; i < 20; i++) {
		struct request requests[3];

		for (unsigned int k = 0; k < 3; k++) {
			u32 id;

			KUNIT_ASSERT_EQ(test, send(onpu, &requests[k], ONPU_MSG_HEARTBEAT), 0);
			id = requests[k].wait.id;
			KUNIT_EXPECT_TRUE(test, id >= ONPU_MBOX_SLOTS);
			KUNIT_EXPECT_EQ(test, id, requests[k].msg.header.id);
			KUNIT_EXPECT_NE(test, id, last[id % ONPU_MBOX_SLOTS]);
			last[id % ONPU_MBOX_SLOTS] = id;
		}
		restart(onpu);
	}
}

static void an_index_that_cannot_be(struct kunit *test)
{
	struct onpu_device *onpu = test->priv;
	const u32 wrong[] = { ONPU_MBOX_SLOTS + 1, ONPU_MBOX_SLOTS * 2, BIT(31), U32_MAX };
	struct request request;

	for (unsigned int i = 0; i < ARRAY_SIZE(wrong); i++) {
		KUNIT_ASSERT_EQ(test, send(onpu, &request, ONPU_MSG_HEARTBEAT), 0);
		fake_set(onpu, ONPU_REG_RESPONSE_TAIL, onpu->mbox.head + wrong[i]);
		onpu_mbox_irq(onpu);
		KUNIT_EXPECT_TRUE(test, completion_done(&request.wait.done));
		KUNIT_EXPECT_EQ(test, request.wait.error, -EAGAIN);
		KUNIT_EXPECT_EQ(test, fake_reset_reason(onpu), ONPU_RESET_FW_PROTOCOL);
		/* No request is accepted until the reset. */
		KUNIT_EXPECT_EQ(test, send(onpu, &request, ONPU_MSG_HEARTBEAT), -EAGAIN);
		restart(onpu);
	}
}

/*
 * Returns a random message, whose type is often that of a response to one of the requests, and
 * whose id is often that request's.
 */
static union onpu_msg some_message(struct rnd_state *random, const struct request *requests)
{
	const struct request *one = &requests[prandom_u32_state(random) % NUM_WAITS];
	union onpu_msg msg;

	prandom_bytes_state(random, &msg, sizeof(msg));
	if (prandom_u32_state(random) % 4)
		msg.header.type = one->wait.type | ONPU_MSG_RESPONSE;
	else if (prandom_u32_state(random) % 2)
		msg.header.type = ONPU_MSG_EVENT_FAULT;
	if (prandom_u32_state(random) % 4)
		msg.header.id = one->wait.id;
	else if (prandom_u32_state(random) % 2)
		msg.header.id = one->wait.id ^ BIT(prandom_u32_state(random) % 32);
	return msg;
}

/* Returns the request that is still open and that the message answers, or NULL. */
static struct request *addressee(struct request *requests, const union onpu_msg *msg)
{
	for (unsigned int i = 0; i < NUM_WAITS; i++) {
		struct onpu_mbox_wait *wait = &requests[i].wait;

		if (wait->id == msg->header.id && !completion_done(&wait->done) &&
		    msg->header.type == (wait->type | ONPU_MSG_RESPONSE))
			return &requests[i];
	}
	return NULL;
}

static unsigned int count_done(const struct request *requests)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < NUM_WAITS; i++)
		count += completion_done((struct completion *)&requests[i].wait.done);
	return count;
}

/*
 * Tests that a message that answers a request ends this request alone, and any other message breaks
 * the protocol.
 */
static void hostile_messages(struct kunit *test)
{
	struct onpu_device *onpu = test->priv;
	unsigned int breaches = 0, answers = 0;
	struct request requests[NUM_WAITS];
	struct rnd_state random;

	prandom_seed_state(&random, FAKE_SEED);
	for (unsigned int round = 0; round < 300; round++) {
		for (unsigned int i = 0; i < NUM_WAITS; i++)
			KUNIT_ASSERT_EQ(test, send(onpu, &requests[i], TYPE(i)), 0);
		while (!onpu->mbox.error && count_done(requests) < NUM_WAITS) {
			union onpu_msg msg = some_message(&random, requests);
			struct request *right = addressee(requests, &msg);
			unsigned int done = count_done(requests);

			respond(onpu, &msg);
			if (right) {
				KUNIT_ASSERT_TRUE(test, completion_done(&right->wait.done));
				KUNIT_ASSERT_EQ(test, count_done(requests), done + 1);
				KUNIT_ASSERT_FALSE(test, memcmp(&right->msg, &msg, sizeof(msg)));
				answers++;
			} else if (msg.header.type == ONPU_MSG_EVENT_FAULT) {
				KUNIT_ASSERT_EQ(test, count_done(requests), done);
			} else {
				KUNIT_ASSERT_EQ(test, count_done(requests), NUM_WAITS);
				KUNIT_ASSERT_EQ(test, fake_reset_reason(onpu),
						ONPU_RESET_FW_PROTOCOL);
				breaches++;
			}
		}
		restart(onpu);
	}
	KUNIT_EXPECT_TRUE(test, answers > 100);
	KUNIT_EXPECT_TRUE(test, breaches > 100);
}

static void status_of_a_response(struct kunit *test)
{
	struct onpu_device *onpu = test->priv;

	KUNIT_EXPECT_EQ(test, status_to_errno(onpu, 1, ONPU_MSG_OK), 0);
	for (u32 status = 1; status <= ONPU_MSG_INTERNAL; status++) {
		int ret = status_to_errno(onpu, 1, status);

		KUNIT_EXPECT_TRUE(test, ret < 0 && ret != -EPROTO && ret >= -MAX_ERRNO);
		KUNIT_EXPECT_EQ(test, fake_reset_reason(onpu), ONPU_RESET_NONE);
	}
	KUNIT_EXPECT_EQ(test, status_to_errno(onpu, 1, ONPU_MSG_INTERNAL + 1), -EPROTO);
	KUNIT_EXPECT_EQ(test, fake_reset_reason(onpu), ONPU_RESET_FW_PROTOCOL);
	KUNIT_EXPECT_EQ(test, status_to_errno(onpu, 1, U32_MAX), -EPROTO);
}

static struct kunit_case mbox_cases[] = {
	KUNIT_CASE(rings),
	KUNIT_CASE(numbers_of_requests),
	KUNIT_CASE(an_index_that_cannot_be),
	KUNIT_CASE(hostile_messages),
	KUNIT_CASE(status_of_a_response),
	{}
};

struct kunit_suite onpu_mbox_suite = {
	.name = "onpu_mbox",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = mbox_cases,
};
