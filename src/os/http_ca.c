/*
 * Whom TLS trusts: the certificates of a bundle file, each read when a chain asks for it.
 *
 * libcurl would parse the whole bundle for a connection: 145 certificates, a megabyte and 15 ms,
 * of which one is needed.  OpenSSL asks a store's lookups for the certificates of a subject; ours
 * goes through the file, and only what bears that name becomes an object.  A store lives as long
 * as its connection.  Checking the chain is OpenSSL's, as ever.  A certificate that cannot be read
 * is left out and told once; there is nobody to return that to.
 */
#include "os/http_handle.h"

#include "base/memory.h"

#include "os/log.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A DER element: its bytes, and those inside. */
struct der {
	unsigned tag;
	str whole, inner;
};

/* Take the next element off *rest. */
static bool der_next(struct der *out, str *rest)
{
	const unsigned char *p = (const unsigned char *)rest->p;
	size_t head = 2, n;

	if (rest->n < 2)
		return false;
	n = p[1];
	if (n & 0x80) {
		size_t digits = n & 0x7f;
		if (digits == 0 || digits > 3 || rest->n < 2 + digits)
			return false;
		n = 0;
		for (size_t i = 0; i < digits; i++)
			n = n << 8 | p[2 + i];
		head += digits;
	}
	if (n > rest->n - head)
		return false;
	out->tag = p[0];
	out->whole = str_sub(*rest, 0, head + n);
	out->inner = str_sub(*rest, head, head + n);
	*rest = str_sub(*rest, head + n, rest->n);
	return true;
}

/* The subject of a certificate, as it stands there; "" when that is none. */
static str subject_of(str certificate)
{
	struct der at;
	str rest = certificate;

	if (!der_next(&at, &rest) || !(rest = at.inner, der_next(&at, &rest)))
		return S("");
	rest = at.inner; /* [version], serial, algorithm, issuer, validity; then the subject */
	for (int i = 0; i < 4; i++) {
		if (!der_next(&at, &rest))
			return S("");
		if (i == 0 && at.tag == 0xa0 && !der_next(&at, &rest))
			return S("");
	}
	return der_next(&at, &rest) ? at.whole : S("");
}

/* As OpenSSL compares: letter case, blanks and the kind of string do not count. */
static bool same_name(const X509_NAME *name, str der)
{
	const unsigned char *p = (const unsigned char *)der.p;
	X509_NAME *other = der.n ? d2i_X509_NAME(NULL, &p, (long)der.n) : NULL;
	bool same = other && X509_NAME_cmp(name, other) == 0;

	X509_NAME_free(other);
	return same;
}

struct search {
	X509_STORE *store;
	const X509_NAME *name;
	str der; /* of name */
	bool exact; /* names are the same bytes; else: the same to OpenSSL */
	X509 *found; /* the first one; the store's */
};

static bool is_certificate(const char *kind)
{
	return strcmp(kind, PEM_STRING_X509) == 0 || strcmp(kind, PEM_STRING_X509_OLD) == 0 ||
	       strcmp(kind, PEM_STRING_X509_TRUSTED) == 0;
}

struct pem {
	char *kind, *header;
	unsigned char *data;
	long n;
};

/* One certificate of the file.  False: it is the one, but cannot be read.  What is found belongs
 * to the store. */
static bool consider(struct search *s, const struct pem *p)
{
	const unsigned char *data = p->data;
	X509 *x;

	if (!is_certificate(p->kind))
		return true;
	str subject = subject_of((str){ (const char *)data, (size_t)p->n });
	if (!(s->exact ? str_eq(subject, s->der) : same_name(s->name, subject)))
		return true;
	x = strcmp(p->kind, PEM_STRING_X509_TRUSTED) == 0 ? d2i_X509_AUX(NULL, &data, p->n)
							  : d2i_X509(NULL, &data, p->n);
	if (x && X509_STORE_add_cert(s->store, x) && !s->found)
		s->found = x;
	X509_free(x); /* the store has its own hold */
	return x != NULL;
}

/* --- the file ------------------------------------------------------------------------------ */

#define CA_LINE_MAX 1024
#define BLOCK_MAX 65536 /* one certificate as text */

struct bundle {
	const char *file;
	BIO *in, *block; /* block: the text of one, from its first line to its last */
	char line[CA_LINE_MAX];
	bool ahead; /* line is the first one of the next block */
	size_t at; /* which block this is, 1 and up */
};

static bool bundle_open(struct bundle *b, const char *file)
{
	*b = (struct bundle){ .file = file,
			      .in = BIO_new_file(file, "re"),
			      .block = BIO_new(BIO_s_mem()) };
	return b->in && b->block;
}

static void bundle_close(struct bundle *b)
{
	BIO_free(b->in);
	BIO_free(b->block);
}

static bool line_begins(const struct bundle *b, const char *word)
{
	return strncmp(b->line, word, strlen(word)) == 0;
}

/* Take in the next block.  One that has no end ends where another begins: then a certificate of
 * which the last lines are missing does not take the one behind it along. */
static bool bundle_next(struct bundle *b)
{
	size_t n = 0;
	bool inside = b->ahead;

	(void)BIO_reset(b->block);
	while (b->ahead || BIO_gets(b->in, b->line, sizeof b->line) > 0) {
		bool begins = line_begins(b, "-----BEGIN ");
		if (begins && inside && !b->ahead) {
			b->ahead = true;
			break;
		}
		b->ahead = false;
		inside = inside || begins;
		if (!inside)
			continue;
		n += strlen(b->line);
		if (n <= BLOCK_MAX)
			(void)BIO_puts(b->block, b->line);
		if (line_begins(b, "-----END "))
			break;
	}
	b->at += inside;
	return inside;
}

static void pem_done(struct pem *p)
{
	OPENSSL_free(p->kind);
	OPENSSL_free(p->header);
	OPENSSL_free(p->data);
}

/* Decode the block.  False: it is no PEM, or a certificate without a subject. */
static bool bundle_read(struct bundle *b, struct pem *out)
{
	*out = (struct pem){ 0 };
	if (!PEM_read_bio(b->block, &out->kind, &out->header, &out->data, &out->n))
		return false;
	return !is_certificate(out->kind) ||
	       subject_of((str){ (const char *)out->data, (size_t)out->n }).n > 0;
}

/* Once for each place in the process: the file is read for every chain. */
static void tell_broken(const struct bundle *b)
{
	static atomic_size_t told;
	size_t before = atomic_load(&told);

	while (b->at > before)
		if (atomic_compare_exchange_weak(&told, &before, b->at)) {
			log_warn("http.ca",
				 "file=%s certificate=%zu err=\"cannot be read, and is "
				 "left out\"",
				 b->file, b->at);
			return;
		}
}

static void read_bundle(struct search *s, const char *file)
{
	struct bundle b;
	struct pem p;

	for (bool open = bundle_open(&b, file); open && bundle_next(&b); pem_done(&p))
		if (!bundle_read(&b, &p) || !consider(s, &p))
			tell_broken(&b);
	bundle_close(&b);
}

/* OpenSSL wants to know who is called name.  All of that name go into the store. */
static int by_subject(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, const X509_NAME *name,
		      X509_OBJECT *out)
{
	struct search s = { .store = X509_LOOKUP_get_store(lookup), .name = name };
	const unsigned char *der;
	size_t n;

	if (type != X509_LU_X509 || !X509_NAME_get0_der(name, &der, &n))
		return 0;
	s.der = (str){ (const char *)der, n };
	ERR_set_mark(); /* the end of the file is no error */
	for (int i = 0; i < 2 && !s.found; i++) {
		s.exact = i == 0;
		read_bundle(&s, X509_LOOKUP_get_method_data(lookup));
	}
	ERR_pop_to_mark();
	if (!s.found || !X509_OBJECT_set1_X509(out, s.found))
		return 0;
	X509_free(s.found); /* out borrows, as OpenSSL's own lookups do it */
	return 1;
}

static X509_LOOKUP_METHOD *method;

static void method_start(void)
{
	method = X509_LOOKUP_meth_new("bundle");
	if (!method || !X509_LOOKUP_meth_set_get_by_subject(method, by_subject))
		memory_out("certificates");
}

/* Is there a certificate in it that can be read?  Mostly the first lines tell. */
static bool holds_some(const char *file)
{
	struct bundle b;
	struct pem p;
	bool some = false;

	ERR_set_mark();
	for (bool open = bundle_open(&b, file); open && !some && bundle_next(&b); pem_done(&p))
		some = bundle_read(&b, &p) && is_certificate(p.kind);
	bundle_close(&b);
	ERR_pop_to_mark();
	return some;
}

CURLcode http_trust(CURL *easy, void *ssl_ctx, void *ca_file)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	X509_LOOKUP *lookup;

	(void)easy;
	if (!holds_some(ca_file))
		return CURLE_SSL_CACERT_BADFILE;
	if (pthread_once(&once, method_start) != 0 ||
	    !(lookup = X509_STORE_add_lookup(SSL_CTX_get_cert_store(ssl_ctx), method)) ||
	    !X509_LOOKUP_set_method_data(lookup, ca_file))
		return CURLE_OUT_OF_MEMORY;
	return CURLE_OK;
}
