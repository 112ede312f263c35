/*
 * Signatures.  ECDSA comes out of OpenSSL as DER and goes into a web signature as two numbers of 32
 * bytes.
 */
#include "os/sign.h"

#include "base/memory.h"
#include "text/base64.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>

#define HALF 32 /* bytes of a number on P-256 */
#define POINT (1 + 2 * HALF)
#define SIGNATURE_MAX 1024 /* RSA of 8192 bits */
#define PEM_MAX 65536

struct sign_key {
	EVP_PKEY *pkey;
	bool ec;
};

static EVP_PKEY *parse(str pem)
{
	BIO *in = pem.n <= PEM_MAX ? BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
	/* The empty passphrase: nobody is asked for one. */
	EVP_PKEY *k =
		in ? PEM_read_bio_PrivateKey(in, NULL, NULL, (void *)(uintptr_t) "") : NULL;

	BIO_free(in);
	ERR_clear_error();
	return k;
}

static bool on_p256(EVP_PKEY *k)
{
	char group[32] = "";

	return EVP_PKEY_get_utf8_string_param(k, OSSL_PKEY_PARAM_GROUP_NAME, group,
					      sizeof(group), NULL) == 1 &&
	       strcmp(group, "prime256v1") == 0;
}

int sign_key_read(struct sign_key **out, str pem, struct err *e)
{
	EVP_PKEY *k = parse(pem);
	int bits = k ? EVP_PKEY_get_bits(k) : 0;
	bool ec = k && EVP_PKEY_is_a(k, "EC") && on_p256(k);
	bool rsa = k && EVP_PKEY_is_a(k, "RSA") && bits >= 2048 && bits <= 8192;

	ERR_clear_error();
	if (!ec && !rsa) {
		EVP_PKEY_free(k);
		return err_set(e, E_INVAL,
			       "no private key in PEM without a passphrase, of EC on P-256 or "
			       "RSA from 2048 bits");
	}
	*out = memory_take(sizeof(**out));
	**out = (struct sign_key){ k, ec };
	return OK;
}

int sign_key_make(str *pem, struct arena *a, struct err *e)
{
	EVP_PKEY *k = EVP_EC_gen("P-256");
	BIO *out = BIO_new(BIO_s_mem());
	char *text = NULL;
	long n = 0;

	if (k && out && PEM_write_bio_PrivateKey(out, k, NULL, NULL, 0, NULL, NULL) == 1)
		n = BIO_get_mem_data(out, &text);
	if (n > 0)
		*pem = arena_dup(a, (str){ text, (size_t)n });
	BIO_free(out);
	EVP_PKEY_free(k);
	ERR_clear_error();
	return n > 0 ? OK : err_set(e, E_IO, "no key could be made");
}

void sign_key_free(struct sign_key **k)
{
	if (!*k)
		return;
	EVP_PKEY_free((*k)->pkey);
	free(*k);
	*k = NULL;
}

const char *sign_alg(const struct sign_key *k)
{
	return k->ec ? "ES256" : "RS256";
}

int sign_public(const struct sign_key *k, struct arena *a, str *jwk, struct err *e)
{
	unsigned char point[POINT];
	size_t n = 0;

	if (!k->ec ||
	    EVP_PKEY_get_octet_string_param(k->pkey, OSSL_PKEY_PARAM_PUB_KEY, point,
					    sizeof(point), &n) != 1 ||
	    n != POINT || point[0] != POINT_CONVERSION_UNCOMPRESSED) {
		ERR_clear_error();
		return err_set(e, E_INVAL, "no key on P-256");
	}
	str x = base64url_of(a, (str){ (const char *)point + 1, HALF });
	str y = base64url_of(a, (str){ (const char *)point + 1 + HALF, HALF });

	/* In this order its hash is the thumbprint of RFC 7638. */
	*jwk = arena_fmt(a, "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"%.*s\",\"y\":\"%.*s\"}",
			 STRF(x), STRF(y));
	return OK;
}

/* DER to two numbers. */
static bool halves(const unsigned char *der, size_t n, unsigned char out[2 * HALF])
{
	ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long)n);
	bool good = sig && BN_bn2binpad(ECDSA_SIG_get0_r(sig), out, HALF) == HALF &&
		    BN_bn2binpad(ECDSA_SIG_get0_s(sig), out + HALF, HALF) == HALF;

	ECDSA_SIG_free(sig);
	return good;
}

static bool sign(const struct sign_key *k, str text, unsigned char *out, size_t *n)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char der[SIGNATURE_MAX];
	size_t der_n = sizeof(der);
	bool good =
		ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, k->pkey) == 1 &&
		EVP_DigestSign(ctx, der, &der_n, (const unsigned char *)text.p, text.n) == 1;

	EVP_MD_CTX_free(ctx);
	if (good && k->ec) {
		*n = 2 * HALF;
		return halves(der, der_n, out);
	}
	if (good)
		memcpy(out, der, *n = der_n);
	return good;
}

int sign_jws(const struct sign_key *k, str header, str payload, struct arena *a, str *out,
	     struct err *e)
{
	str input = arena_fmt(a, "%.*s.%.*s", STRF(base64url_of(a, header)),
			      STRF(base64url_of(a, payload)));
	unsigned char bytes[SIGNATURE_MAX];
	size_t n = 0;
	bool good = sign(k, input, bytes, &n);

	ERR_clear_error();
	if (!good)
		return err_set(e, E_IO, "the key does not sign");
	*out = arena_fmt(a, "%.*s.%.*s", STRF(input),
			 STRF(base64url_of(a, (str){ (const char *)bytes, n })));
	return OK;
}
