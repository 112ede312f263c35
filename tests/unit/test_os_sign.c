/*
 * Signatures of JSON web tokens: OpenSSL itself verifies what came out, keys are read or refused,
 * and the public half is that of RFC 7517.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

#include "os/sign.h"

static str pem_of(struct arena *a, EVP_PKEY *k)
{
	BIO *out = BIO_new(BIO_s_mem());
	char *text;
	long n;
	str pem;

	assert_int_equal(PEM_write_bio_PrivateKey(out, k, NULL, NULL, 0, NULL, NULL), 1);
	n = BIO_get_mem_data(out, &text);
	pem = arena_dup(a, (str){ text, (size_t)n });
	BIO_free(out);
	return pem;
}

static size_t unbase64url(str s, unsigned char *out)
{
	unsigned v = 0, bits = 0;
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		static const char digits[] =
			"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
		const char *at = strchr(digits, s.p[i]);

		assert_non_null(at);
		v = v << 6 | (unsigned)(at - digits);
		if ((bits += 6) >= 8)
			out[n++] = (unsigned char)(v >> (bits -= 8));
	}
	return n;
}

/* Does OpenSSL find the signature good? */
static bool verifies(EVP_PKEY *k, str jws, bool ec)
{
	unsigned char raw[1024], *der = NULL;
	size_t cut = jws.n;
	int der_n = 0;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool good;

	while (cut && jws.p[cut - 1] != '.')
		cut--;
	size_t n = unbase64url(str_sub(jws, cut, jws.n), raw);
	if (ec) {
		ECDSA_SIG *sig = ECDSA_SIG_new();

		assert_int_equal(n, 64);
		ECDSA_SIG_set0(sig, BN_bin2bn(raw, 32, NULL), BN_bin2bn(raw + 32, 32, NULL));
		der_n = i2d_ECDSA_SIG(sig, &der);
		ECDSA_SIG_free(sig);
	}
	assert_int_equal(EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, k), 1);
	good = EVP_DigestVerify(ctx, ec ? der : raw, ec ? (size_t)der_n : n,
				(const unsigned char *)jws.p, cut - 1) == 1;
	OPENSSL_free(der);
	EVP_MD_CTX_free(ctx);
	return good;
}

static void signs(EVP_PKEY *pkey, const char *alg, bool ec)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(sign_key_free) struct sign_key *k = NULL;
	struct err e = { 0 };
	str jws;

	assert_int_equal(sign_key_read(&k, pem_of(&a, pkey), &e), OK);
	assert_string_equal(sign_alg(k), alg);
	/* ECDSA is random: numbers with leading zeros have to come out whole as well. */
	for (int i = 0; i < 300; i++) {
		assert_int_equal(
			sign_jws(k, S("{\"alg\":\"x\"}"), S("{\"a\":1}"), &a, &jws, &e), OK);
		assert_true(str_starts(jws, S("eyJhbGciOiJ4In0.eyJhIjoxfQ.")));
		assert_true(verifies(pkey, jws, ec));
		if (!ec)
			break;
	}
	EVP_PKEY_free(pkey);
}

static void signatures_of_both_kinds_verify(void **state)
{
	signs(EVP_EC_gen("P-256"), "ES256", true);
	signs(EVP_RSA_gen(2048), "RS256", false);
}

static void keys_of_other_kinds_are_refused(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	EVP_PKEY *odd[] = { EVP_EC_gen("P-384"), EVP_RSA_gen(1024) };
	struct sign_key *k = NULL;
	struct err e = { 0 };

	for (size_t i = 0; i < COUNT(odd); i++) {
		assert_int_equal(sign_key_read(&k, pem_of(&a, odd[i]), &e), E_INVAL);
		EVP_PKEY_free(odd[i]);
	}
	assert_int_equal(sign_key_read(&k, S(""), &e), E_INVAL);
	assert_int_equal(sign_key_read(&k, S("-----BEGIN PRIVATE KEY-----\nSECRET\n"), &e),
			 E_INVAL);
	assert_null(strstr(e.msg, "SECRET"));
	assert_null(k);
	sign_key_free(&k);
}

static void new_key_has_a_public_half_and_differs_each_time(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(sign_key_free) struct sign_key *k = NULL;
	str one, two, jwk;

	assert_int_equal(sign_key_make(&one, &a, NULL), OK);
	assert_int_equal(sign_key_make(&two, &a, NULL), OK);
	assert_false(str_eq(one, two));
	assert_int_equal(sign_key_read(&k, one, NULL), OK);
	assert_int_equal(sign_public(k, &a, &jwk, NULL), OK);
	assert_true(str_starts(jwk, S("{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"")));
	assert_int_equal(jwk.n,
			 strlen("{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"\",\"y\":\"\"}") +
				 2 * 43);
	assert_null(strstr(jwk.p, "\"d\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signatures_of_both_kinds_verify),
		cmocka_unit_test(keys_of_other_kinds_are_refused),
		cmocka_unit_test(new_key_has_a_public_half_and_differs_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
