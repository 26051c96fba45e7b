// SPDX-License-Identifier: MIT
/*
 * A test program that computes: CRC-32 by table, quicksort, division of 64-bit numbers that are
 * kept in two words, eight queens by recursion. It reads numbers from the device and writes results
 * to it; the host computes the same results by other means.
 */
#include "compute.h"
#include "device.h"

typedef unsigned int u32;
typedef unsigned char u8;

struct u64_parts {
	u32 high, low;
};

static u32 crc_table[256];
static u8 bytes[COMPUTE_BYTES];
static int words[COMPUTE_WORDS];

int main(void);

static u32 input(void)
{
	return DEVICE_REG(DEVICE_IN);
}

static void output(u32 value)
{
	DEVICE_REG(DEVICE_OUT) = value;
}

static void make_crc_table(void)
{
	u32 i, bit, crc;

	for (i = 0; i < 256; i++) {
		crc = i;
		for (bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
		crc_table[i] = crc;
	}
}

static u32 crc32(const u8 *p, u32 size)
{
	u32 crc = 0xffffffff;

	while (size--)
		crc = crc >> 8 ^ crc_table[(crc ^ *p++) & 0xff];
	return ~crc;
}

static void sort(int *first, int *last)
{
	int *left = first, *right = last;
	int pivot, t;

	if (first >= last)
		return;
	pivot = first[(last - first) / 2];
	while (left <= right) {
		while (*left < pivot)
			left++;
		while (*right > pivot)
			right--;
		if (left <= right) {
			t = *left;
			*left++ = *right;
			*right-- = t;
		}
	}
	sort(first, right);
	sort(left, last);
}

/* Divides by shift and subtract, one bit at a time; returns the remainder. */
static u32 divide(struct u64_parts *n, u32 divisor)
{
	u32 remainder = 0, carry, i;

	for (i = 0; i < 64; i++) {
		carry = remainder >> 31;
		remainder = remainder << 1 | n->high >> 31;
		n->high = n->high << 1 | n->low >> 31;
		n->low <<= 1;
		if (carry || remainder >= divisor) {
			remainder -= divisor;
			n->low |= 1;
		}
	}
	return remainder;
}

static u32 queens(u32 columns, u32 left, u32 right)
{
	u32 free = ~(columns | left | right) & 0xff, count = 0, bit;

	if (columns == 0xff)
		return 1;
	while (free) {
		bit = free & -free;
		free ^= bit;
		count += queens(columns | bit, (left | bit) << 1, (right | bit) >> 1);
	}
	return count;
}

static void arithmetic(void)
{
	u32 a = input(), b = input();
	struct u64_parts n = { a, b };
	unsigned long long product = (unsigned long long)a * b;
	long long signed_product = (long long)(int)a * (int)b;
	u32 divisor = input() >> (a & 31) | 1;

	output((u32)(product >> 32));
	output((u32)product);
	output((u32)(signed_product >> 32));
	output(divide(&n, divisor));
	output(n.high);
	output(n.low);
	output(a / divisor);
	output(a % divisor);
	output((u32)((int)a / (int)divisor));
	output((u32)((int)a % (int)divisor));
}

int main(void)
{
	u32 i;

	make_crc_table();
	for (i = 0; i < COMPUTE_BYTES; i++)
		bytes[i] = (u8)input();
	output(crc32(bytes, COMPUTE_BYTES));
	for (i = 0; i < COMPUTE_WORDS; i++)
		words[i] = (int)input();
	sort(words, words + COMPUTE_WORDS - 1);
	for (i = 0; i < COMPUTE_WORDS; i++)
		output((u32)words[i]);
	for (i = 0; i < COMPUTE_DIVISIONS; i++)
		arithmetic();
	output(queens(0, 0, 0));
	return 0;
}
