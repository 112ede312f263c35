/*
 * text/sha256: SHA-256 (FIPS 180-4), to tell texts apart that somebody may have chosen.  Pure.
 */
#ifndef TEXT_SHA256_H
#define TEXT_SHA256_H

#include "base/arena.h"

#define SHA256_BYTES 32
void sha256(unsigned char out[SHA256_BYTES], str text);

/* 64 hex digits, in a. */
str sha256_hex(struct arena *a, str text);

#endif
