/*
 * SHA-256, straight from the standard: the whole text at once, in blocks of 64 bytes.
 */
#include "text/sha256.h"

#include "base/buf.h"

#include <string.h>

#define BLOCK 64

static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t ror(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static void schedule(uint32_t w[64], const unsigned char *p)
{
	for (int i = 0; i < 16; i++, p += 4)
		w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];
		w[i] = w[i - 16] + (ror(a, 7) ^ ror(a, 18) ^ a >> 3) + w[i - 7] +
		       (ror(b, 17) ^ ror(b, 19) ^ b >> 10);
	}
}

static void block(uint32_t h[8], const unsigned char *p)
{
	uint32_t w[64], v[8];

	schedule(w, p);
	memcpy(v, h, sizeof v);
	for (int i = 0; i < 64; i++) {
		uint32_t e = v[4], a = v[0];
		uint32_t t1 = v[7] + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) +
			      ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
		uint32_t t2 = (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) +
			      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof *v);
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		h[i] += v[i];
}

void sha256(unsigned char out[SHA256_BYTES], str text)
{
	uint32_t h[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
			  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	unsigned char end[2 * BLOCK] = { 0 };
	size_t whole = text.n / BLOCK, left = text.n % BLOCK;
	size_t blocks = left + 9 > BLOCK ? 2 : 1;
	uint64_t bits = (uint64_t)text.n * 8;

	for (size_t i = 0; i < whole; i++)
		block(h, (const unsigned char *)text.p + i * BLOCK);
	if (left)
		memcpy(end, text.p + whole * BLOCK, left);
	end[left] = 0x80;
	for (size_t i = 0; i < 8; i++)
		end[blocks * BLOCK - 1 - i] = (unsigned char)(bits >> 8 * i);
	for (size_t i = 0; i < blocks; i++)
		block(h, end + i * BLOCK);
	for (size_t i = 0; i < SHA256_BYTES; i++)
		out[i] = (unsigned char)(h[i / 4] >> (24 - i % 4 * 8));
}

str sha256_hex(struct arena *a, str text)
{
	unsigned char digest[SHA256_BYTES];
	struct buf b = buf_in(a, 2 * SHA256_BYTES + 1);

	sha256(digest, text);
	for (size_t i = 0; i < SHA256_BYTES; i++)
		buf_fmt(&b, "%02x", digest[i]);
	return buf_str(&b);
}
