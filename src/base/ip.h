/*
 * base/ip: which addresses of the Internet Protocol belong to everybody, and which lead into
 * this machine or the networks around it.
 */
#ifndef BASE_IP_H
#define BASE_IP_H

#include "base/str.h"

#include <stdint.h>

/* What keeps the address (4 bytes of IPv4 or 16 of IPv6, in network order) from being one of
 * the public Internet: "loopback", "private network" and the like; NULL when it is public.
 * An IPv4 address inside an IPv6 one (mapped, compatible, translated, NAT64, 6to4, ISATAP) is
 * judged as itself.  Any other length is no address. */
const char *ip_refused(const uint8_t *addr, size_t n);

#endif
