/*
 * Addresses that a page from the public Internet must not send us to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "base/ip.h"

static const char *const refused[] = {
	"127.0.0.1",
	"127.255.255.255",
	"0.0.0.0",
	"0.1.2.3",
	"10.0.0.1",
	"10.255.255.255",
	"172.16.0.5",
	"172.31.255.255",
	"192.168.1.1",
	"169.254.169.254",
	"100.64.0.1",
	"100.127.255.255",
	"192.0.0.1",
	"192.0.2.7",
	"198.18.0.1",
	"198.19.255.255",
	"198.51.100.1",
	"203.0.113.9",
	"224.0.0.1",
	"239.255.255.250",
	"240.0.0.1",
	"255.255.255.255",
	/* IPv6 */
	"::",
	"::1",
	"fe80::1",
	"febf::1",
	"fec0::1",
	"fc00::1",
	"fd12:3456::1",
	"ff02::1",
	"100::1",
	"2001:db8::1",
	"3fff:0abc::1",
	"5f00::1",
	"4000::1",
	"2001:2::1",
	"2001:10::1",
	/* an IPv4 address inside */
	"::ffff:127.0.0.1",
	"::ffff:10.1.2.3",
	"::127.0.0.1",
	"::192.168.0.1",
	"::ffff:0:169.254.169.254",
	"64:ff9b::10.0.0.5",
	"64:ff9b::7f00:1",
	"2002:7f00:1::",
	"2002:a9fe:a9fe::1",
	"2002:c0a8:101::c0a8:101",
	"2600::5efe:10.0.0.5",
	"2600::200:5efe:192.168.0.1",
	/* Teredo and the local form of NAT64 whole */
	"2001::1",
	"2001:0:4136:e378:8000:63bf:3fff:fdd2",
	"64:ff9b:1::808:808",
	"64:ff9b:1:fffe::1",
};

static const char *const public[] = {
	"8.8.8.8",
	"93.184.216.34",
	"1.1.1.1",
	"9.255.255.255",
	"11.0.0.0",
	"100.63.255.255",
	"100.128.0.0",
	"128.0.0.1",
	"169.253.0.1",
	"172.15.255.255",
	"172.32.0.0",
	"192.0.1.1",
	"192.167.255.255",
	"192.169.0.0",
	"198.17.255.255",
	"198.20.0.0",
	"223.255.255.255",
	"2606:2800:220:1::1",
	"2001:4860:4860::8888",
	"2a00:1450::1",
	"2001:200::1",
	"64:ff9b::808:808",
	"2002:808:808::",
	"::93.184.216.34",
	"::ffff:8.8.8.8",
	"2600::5efe:8.8.8.8",
};

static const char *judge(const char *text)
{
	uint8_t b[16];

	if (inet_pton(AF_INET, text, b) == 1)
		return ip_refused(b, 4);
	if (inet_pton(AF_INET6, text, b) != 1)
		fail_msg("%s is no address", text);
	return ip_refused(b, 16);
}

static void addresses_of_this_machine_and_its_networks_are_refused(void **state)
{
	for (size_t i = 0; i < COUNT(refused); i++)
		if (!judge(refused[i]))
			fail_msg("%s was let through", refused[i]);
}

static void public_addresses_are_not_refused(void **state)
{
	for (size_t i = 0; i < COUNT(public); i++)
		if (judge(public[i]))
			fail_msg("%s: %s", public[i], judge(public[i]));
}

static void what_is_no_address_is_refused(void **state)
{
	static const uint8_t b[16] = { 8, 8, 8, 8 };

	assert_non_null(ip_refused(b, 0));
	assert_non_null(ip_refused(b, 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_of_this_machine_and_its_networks_are_refused),
		cmocka_unit_test(public_addresses_are_not_refused),
		cmocka_unit_test(what_is_no_address_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
