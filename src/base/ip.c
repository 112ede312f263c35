/*
 * The special-purpose address registries of IANA as two tables.  Of IPv6 only 2000::/3 is
 * handed out to the public, so everything else is refused without being listed.
 */
#include "base/ip.h"

#include <string.h>

struct range {
	uint8_t prefix[16];
	int bits;
	const char *what;
};

static const struct range v4[] = {
	{ { 0 }, 8, "this network" },
	{ { 10 }, 8, "a private network" },
	{ { 100, 64 }, 10, "a provider's inner network" },
	{ { 127 }, 8, "this machine" },
	{ { 169, 254 }, 16, "link-local" },
	{ { 172, 16 }, 12, "a private network" },
	{ { 192, 0, 0 }, 24, "reserved" },
	{ { 192, 0, 2 }, 24, "an example's address" },
	{ { 192, 88, 99 }, 24, "a 6to4 relay" },
	{ { 192, 168 }, 16, "a private network" },
	{ { 198, 18 }, 15, "a benchmark's network" },
	{ { 198, 51, 100 }, 24, "an example's address" },
	{ { 203, 0, 113 }, 24, "an example's address" },
	{ { 224 }, 4, "multicast" },
	{ { 240 }, 4, "reserved" },
};

static const struct range v6[] = {
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32, "an example's address" },
	{ { 0x20, 0x01, 0x00 }, 23, "a protocol's own address" }, /* Teredo is in it */
	{ { 0x3f, 0xff, 0x00 }, 20, "an example's address" },
};

/* Where an IPv4 address is inside an IPv6 one. */
static const struct {
	uint8_t prefix[16];
	int bits;
	size_t at;
} inner[] = {
	{ { 0 }, 96, 12 }, /* compatible; ::1 and :: too */
	{ { [10] = 0xff, [11] = 0xff }, 96, 12 }, /* mapped */
	{ { [8] = 0xff, [9] = 0xff }, 96, 12 }, /* translated */
	{ { 0x00, 0x64, 0xff, 0x9b },
	  96,
	  12 }, /* NAT64; its local form 64:ff9b:1:: is refused */
	{ { 0x20, 0x02 }, 16, 2 }, /* 6to4 */
};

static bool in(const uint8_t *addr, const uint8_t *prefix, int bits)
{
	size_t whole = (size_t)bits / 8;
	unsigned rest = (unsigned)bits % 8;

	if (memcmp(addr, prefix, whole) != 0)
		return false;
	return rest == 0 || addr[whole] >> (8 - rest) == prefix[whole] >> (8 - rest);
}

static const char *find(const struct range *v, size_t n, const uint8_t *addr)
{
	for (size_t i = 0; i < n; i++)
		if (in(addr, v[i].prefix, v[i].bits))
			return v[i].what;
	return NULL;
}

/* An interface identifier of ISATAP, in whatever network: 0000:5efe or 0200:5efe, then IPv4. */
static bool isatap(const uint8_t *a)
{
	return (a[8] & 0xfd) == 0 && a[9] == 0 && a[10] == 0x5e && a[11] == 0xfe;
}

const char *ip_refused(const uint8_t *addr, size_t n)
{
	const char *what;

	if (n == 4)
		return find(v4, COUNT(v4), addr);
	if (n != 16)
		return "no address";
	for (size_t i = 0; i < COUNT(inner); i++)
		if (in(addr, inner[i].prefix, inner[i].bits))
			return find(v4, COUNT(v4), addr + inner[i].at);
	if ((addr[0] & 0xe0) != 0x20)
		return "a local or reserved address";
	if ((what = find(v6, COUNT(v6), addr)))
		return what;
	return isatap(addr) ? find(v4, COUNT(v4), addr + 12) : NULL;
}
