// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Tests how the driver checks the firmware's image, with each byte damaged, and how it reads the
 * firmware's log, with invented indices.
 */
#include "fake.h"

#define PAYLOAD		64

struct image {
	struct onpu_fw_header header;
	u8 payload[PAYLOAD + 16];
};

static void make_image(struct image *image)
{
	*image = (struct image) {
		.header = {
			.magic = ONPU_FW_MAGIC,
			.header_size = ONPU_FW_HEADER_SIZE,
			.abi_major = ONPU_ABI_MAJOR,
			.abi_minor = ONPU_ABI_MINOR,
			.image_size = PAYLOAD,
			.memory_size = PAYLOAD,
			.hw_version = ONPU_VERSION__RESET,
		},
	};
	for (unsigned int i = 0; i < PAYLOAD; i++)
		image->payload[i] = i * 37 + 11;
	image->header.crc = ~crc32_le(~0, image->payload, PAYLOAD);
}

static bool takes(struct onpu_device *onpu, const struct image *image, size_t size)
{
	return !check_image(onpu, image, size);
}

static void sizes(struct kunit *test)
{
	const size_t right = sizeof(struct onpu_fw_header) + PAYLOAD;
	struct onpu_device *onpu = test->priv;
	struct image image;

	make_image(&image);
	for (size_t size = 0; size <= sizeof(image); size++)
		KUNIT_EXPECT_EQ(test, takes(onpu, &image, size), size == right);
	KUNIT_EXPECT_EQ(test, onpu->fw.info.crc, image.header.crc);
	/* The driver accepts an image of the length in its header, if that is whole words. */
	for (u32 payload = 0; payload <= PAYLOAD; payload++) {
		make_image(&image);
		image.header.image_size = payload;
		image.header.crc = ~crc32_le(~0, image.payload, payload);
		KUNIT_EXPECT_EQ(test, takes(onpu, &image, sizeof(image.header) + payload),
				payload && payload % 4 == 0);
	}
}

/*
 * Returns whether the driver must accept the header after a change of the byte at @offset. The
 * driver accepts any version, load address and entry: the boot ROM checks the addresses.
 */
static bool may_differ(size_t offset, const struct onpu_fw_header *h)
{
	const size_t word = round_down(offset, 4);

	if (word == offsetof(struct onpu_fw_header, version) ||
	    word == offsetof(struct onpu_fw_header, load_address) ||
	    word == offsetof(struct onpu_fw_header, entry))
		return true;
	if (word == offsetof(struct onpu_fw_header, memory_size))
		return h->memory_size >= PAYLOAD;
	if (word == offsetof(struct onpu_fw_header, abi_minor))
		return h->abi_major == ONPU_ABI_MAJOR && h->abi_minor >= ONPU_ABI_MINOR;
	if (word == offsetof(struct onpu_fw_header, hw_version))
		return !((h->hw_version ^ ONPU_VERSION__RESET) & ONPU_VERSION_MAJOR__MASK);
	return false;
}

static void each_byte(struct kunit *test)
{
	const size_t size = sizeof(struct onpu_fw_header) + PAYLOAD;
	struct image image;

	for (size_t at = 0; at < size; at++) {
		for (unsigned int bit = at % 3; bit < 8; bit += 3) {
			make_image(&image);
			((u8 *)&image)[at] ^= BIT(bit);
			KUNIT_EXPECT_EQ(test, takes(test->priv, &image, size),
					may_differ(at, &image.header));
		}
	}
}

static void hostile_headers(struct kunit *test)
{
	const u32 numbers[] = { 0, 1, 3, 4, PAYLOAD - 4, PAYLOAD, PAYLOAD + 4, BIT(31), U32_MAX - 3,
				U32_MAX };
	const size_t size = sizeof(struct onpu_fw_header) + PAYLOAD;
	struct rnd_state random;
	struct image image;

	prandom_seed_state(&random, FAKE_SEED);
	for (unsigned int i = 0; i < 200; i++) {
		u32 wanted, memory;

		make_image(&image);
		wanted = numbers[prandom_u32_state(&random) % ARRAY_SIZE(numbers)];
		memory = numbers[prandom_u32_state(&random) % ARRAY_SIZE(numbers)];
		image.header.image_size = wanted;
		image.header.memory_size = memory;
		KUNIT_EXPECT_EQ(test, takes(test->priv, &image, size),
				wanted == PAYLOAD && memory >= PAYLOAD);
	}
}

/*
 * The driver reads the log up to the index of the firmware, and passes no control characters to a
 * terminal.
 */
static void hostile_log(struct kunit *test)
{
	struct onpu_device *onpu = test->priv;
	struct onpu_fw *fw = &onpu->fw;
	const u32 steps[] = { 0, 1, 5, 127, 128, 129, ONPU_FW_LOG_BYTES - 1, ONPU_FW_LOG_BYTES,
			      ONPU_FW_LOG_BYTES + 1, BIT(30), 0u - 10, 0u - ONPU_FW_LOG_BYTES };
	char *copy = devm_kzalloc(onpu->drm.dev, ONPU_FW_LOG_BYTES, GFP_KERNEL);
	struct rnd_state random;

	fw->log = devm_kzalloc(onpu->drm.dev, ONPU_FW_LOG_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, fw->log && copy);
	prandom_seed_state(&random, FAKE_SEED);
	prandom_bytes_state(&random, fw->log, ONPU_FW_LOG_BYTES);
	fw->log_head = U32_MAX - 300;
	for (unsigned int i = 0; i < 100; i++) {
		u32 tail = fw->log_head + steps[prandom_u32_state(&random) % ARRAY_SIZE(steps)];

		fake_set(onpu, ONPU_REG_LOG_TAIL, tail);
		onpu_fw_log_drain(onpu);
		KUNIT_ASSERT_EQ(test, fw->log_head, tail);
		KUNIT_ASSERT_TRUE(test, strnlen(fw->line, sizeof(fw->line)) < sizeof(fw->line));
		for (const char *c = fw->line; *c; c++)
			KUNIT_ASSERT_TRUE(test, *c >= ' ' && *c <= '~');
	}
	fake_set(onpu, ONPU_REG_LOG_TAIL, 100);
	KUNIT_EXPECT_EQ(test, onpu_fw_log_copy(onpu, copy), 100);
	KUNIT_EXPECT_FALSE(test, memcmp(copy, fw->log, 100));
	fake_set(onpu, ONPU_REG_LOG_TAIL, ONPU_FW_LOG_BYTES + 7);
	KUNIT_EXPECT_EQ(test, onpu_fw_log_copy(onpu, copy), ONPU_FW_LOG_BYTES);
	KUNIT_EXPECT_FALSE(test, memcmp(copy, fw->log + 7, ONPU_FW_LOG_BYTES - 7));
	fake_set(onpu, ONPU_REG_LOG_TAIL, U32_MAX);
	KUNIT_EXPECT_EQ(test, onpu_fw_log_copy(onpu, copy), 0);
}

/* The driver cuts a line that is longer than its buffer, and loses none of its bytes. */
static void long_line(struct kunit *test)
{
	struct onpu_device *onpu = test->priv;
	struct onpu_fw *fw = &onpu->fw;
	const u32 most = sizeof(fw->line) - 1;

	fw->log = devm_kzalloc(onpu->drm.dev, ONPU_FW_LOG_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, fw->log);
	memset(fw->log, 'a', most);
	fw->log[most] = 'b';
	fw->log[most + 1] = 'c';
	fw->log_head = 0;
	fake_set(onpu, ONPU_REG_LOG_TAIL, most);
	onpu_fw_log_drain(onpu);
	KUNIT_EXPECT_EQ(test, strlen(fw->line), most);
	fw->log_head = 0;
	fake_set(onpu, ONPU_REG_LOG_TAIL, most + 2);
	onpu_fw_log_drain(onpu);
	KUNIT_EXPECT_EQ(test, 0, strcmp(fw->line, "bc"));
}

static struct kunit_case fw_cases[] = {
	KUNIT_CASE(sizes),
	KUNIT_CASE(each_byte),
	KUNIT_CASE(hostile_headers),
	KUNIT_CASE(hostile_log),
	KUNIT_CASE(long_line),
	{}
};

struct kunit_suite onpu_fw_suite = {
	.name = "onpu_fw",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = fw_cases,
};
