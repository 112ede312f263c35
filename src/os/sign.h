/*
 * os/sign: keys, and JSON web signatures made with them (RFC 7515: ES256, RS256), by OpenSSL's
 * libcrypto.
 *
 * Threads  a key is used by one at a time.
 * Owns     a key is freed by sign_key_free(), for SCOPED.
 */
#ifndef OS_SIGN_H
#define OS_SIGN_H

#include "base/arena.h"
#include "base/err.h"

struct sign_key;

/* A private key in PEM without a passphrase: EC on P-256, or RSA of 2048 to 8192 bits.
 * E_INVAL; the sentence holds nothing of it. */
int sign_key_read(struct sign_key **out, str pem, struct err *e) MUSTUSE;

/* A new one on P-256, and its text in a. */
int sign_key_make(str *pem, struct arena *a, struct err *e) MUSTUSE;
void sign_key_free(struct sign_key **k);

const char *sign_alg(const struct sign_key *k); /* ES256, RS256 */

/* The public half as a JSON web key; E_INVAL for RSA. */
int sign_public(const struct sign_key *k, struct arena *a, str *jwk, struct err *e) MUSTUSE;

/* "header.payload.signature" of two JSON texts. */
int sign_jws(const struct sign_key *k, str header, str payload, struct arena *a, str *out,
	     struct err *e) MUSTUSE;

#endif
