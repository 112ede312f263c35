/*
 * The profiles, written as rules for the kernel.  The paths of the system are what
 * distributions have; what is not there costs nothing.
 */
#include "config/confine.h"

#include <string.h>

#include "base/buf.h"
#include "config/options.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/path.h"

#define RX (SANDBOX_READ | SANDBOX_EXEC)
#define RWX (RX | SANDBOX_WRITE)
#define OWNERS (RWX | SANDBOX_SURE)
#define NODE (SANDBOX_READ | SANDBOX_WRITE | SANDBOX_DEVICE)
#define HIDDEN (SANDBOX_HIDE | SANDBOX_SURE)

#define STRICT                                                                                 \
	(SANDBOX_ESCAPES | SANDBOX_FILES | SANDBOX_SCOPE | SANDBOX_NO_SOCKETS |                \
	 SANDBOX_NO_OWNER | SANDBOX_NO_POWER | SANDBOX_MODES)
#define COMPAT (SANDBOX_ESCAPES | SANDBOX_FILES | SANDBOX_LIST_WAYS)

static const struct sandbox_rule system_rules[] = {
	{ "/usr", RX },
	{ "/bin", RX },
	{ "/sbin", RX },
	{ "/lib", RX },
	{ "/lib32", RX },
	{ "/lib64", RX },
	{ "/libx32", RX },
	{ "/opt", RX },
	{ "/nix", RX },
	{ "/gnu", RX },
	{ "/snap", RX },
	{ "/run/current-system", RX },
	{ "/etc", RX },
	{ "/proc", SANDBOX_READ },
	{ "/sys", SANDBOX_READ },
	{ "/var/lib/dpkg", SANDBOX_READ },
	{ "/var/lib/ca-certificates", SANDBOX_READ },
	/* What /etc/resolv.conf may lead to. */
	{ "/run/systemd/resolve", SANDBOX_READ },
	{ "/run/resolvconf", SANDBOX_READ },
	{ "/run/NetworkManager/resolv.conf", SANDBOX_READ },
	{ "/dev/null", NODE },
	{ "/dev/zero", NODE },
	{ "/dev/full", NODE },
	{ "/dev/random", NODE },
	{ "/dev/urandom", NODE },
	{ "/dev/tty", NODE },
};

/* What the owner can give by name; a path without a slash in front is below the home. */
static const struct grant {
	const char *name, *path;
	unsigned access;
	bool made; /* a cache: made when it is not there */
} grants[] = {
	{ "profile", ".profile", SANDBOX_READ, false },
	{ "profile", ".bash_profile", SANDBOX_READ, false },
	{ "profile", ".bash_login", SANDBOX_READ, false },
	{ "profile", ".bashrc", SANDBOX_READ, false },
	{ "bin", ".local/bin", RX, false },
	{ "bin", ".local/lib", RX, false },
	{ "bin", ".local/share/pipx", RX, false },
	{ "bin", "bin", RX, false },
	{ "cache", ".cache", RWX, true },
	{ "git", ".gitconfig", SANDBOX_READ, false },
	{ "git", ".config/git", SANDBOX_READ, false },
	{ "git-credentials", ".git-credentials", SANDBOX_READ, false },
	{ "git-credentials", ".netrc", SANDBOX_READ, false },
	{ "ssh", ".ssh", SANDBOX_READ, false },
	{ "gpg", ".gnupg", RWX, false },
	{ "gh", ".config/gh", SANDBOX_READ, false },
	{ "npm", ".npm", RWX, true },
	{ "npm", ".npmrc", SANDBOX_READ, false },
	{ "npm", ".nvm", RX, false },
	{ "python", ".cache/pip", RWX, true },
	{ "python", ".cache/uv", RWX, true },
	{ "python", ".local/bin", RX, false },
	{ "python", ".local/lib", RX, false },
	{ "python", ".local/share/uv", RX, false },
	{ "python", ".pyenv", RX, false },
	{ "cargo", ".cargo", RWX, true },
	{ "cargo", ".rustup", RX, false },
	{ "go", "go", RWX, true },
	{ "go", ".cache/go-build", RWX, true },
	{ "docker", ".docker", SANDBOX_READ, false },
	{ "shm", "/dev/shm", SANDBOX_READ | SANDBOX_WRITE, false },
};

/* Those that come with sockets: an agent, a daemon. */
static const char *const with_sockets[] = { "sockets", "ssh", "gpg", "docker" };

struct making {
	struct arena *a;
	struct sandbox_rule *v;
	size_t n;
	str home;
};

static void add(struct making *m, str path, unsigned access)
{
	if (path.n && path.p[0] == '/' && m->n < SANDBOX_RULES)
		m->v[m->n++] = (struct sandbox_rule){ arena_cstr(m->a, path), access };
}

static void add_list(struct making *m, const struct str_list *list, unsigned access)
{
	for (size_t i = 0; i < list->n; i++)
		add(m, list->v[i], access);
}

bool config_sandbox_granted(const struct sandbox_cfg *s, str name)
{
	for (size_t i = 0; i < s->grants.n; i++)
		if (str_eq(s->grants.v[i], name))
			return true;
	return false;
}

static str path_of(const struct config *c, const char *key)
{
	size_t row = option_find(str_of(key));

	return row == SIZE_MAX ? S("") : c->settings[row].text;
}

/* What is never a child's business, wherever it lies. */
static void hide_ours(struct making *m, const struct config *c)
{
	static const char *const beside[] = { "", "-wal", "-shm", "-journal", ".lock" };
	static const char *const files[] = { "openai.api_key_file",
					     "channels.telegram.token_file", "mcp.manifest",
					     "log.file" };

	add(m, c->store.data_dir, HIDDEN);
	for (size_t i = 0; i < COUNT(beside) && c->store.dsn.n; i++)
		add(m, arena_fmt(m->a, "%.*s%s", STRF(c->store.dsn), beside[i]), HIDDEN);
	add(m, c->path, HIDDEN);
	for (size_t i = 0; i < COUNT(files); i++)
		add(m, path_of(c, files[i]), HIDDEN);
	add_list(m, &c->secret_files, HIDDEN);
}

static void add_grants(struct making *m, const struct sandbox_cfg *s)
{
	for (size_t i = 0; i < COUNT(grants); i++) {
		const struct grant *g = &grants[i];
		str path = str_of(g->path);

		if (!config_sandbox_granted(s, str_of(g->name)))
			continue;
		if (g->path[0] != '/')
			path = m->home.n ? arena_fmt(m->a, "%.*s/%s", STRF(m->home), g->path)
					 : S("");
		/* What cannot be made cannot be used: the program will say so. */
		if (path.n && g->made)
			(void)!dir_make(arena_cstr(m->a, path), 0700, NULL);
		add(m, path, g->access | SANDBOX_SURE);
	}
}

static void strict(struct making *m, const struct config *c, const struct sandbox_cfg *s)
{
	for (size_t i = 0; i < COUNT(system_rules); i++)
		m->v[m->n++] = system_rules[i];
	if (m->home.n > 1)
		add(m, m->home, SANDBOX_HIDE);
	add(m, c->http.ca_file, SANDBOX_READ | SANDBOX_SURE);
	add(m, c->agent.workspace, OWNERS);
	add(m, c->exec.cwd, OWNERS);
	if (c->fs.enabled)
		add_list(m, &c->fs.roots, OWNERS);
	add_grants(m, s);
}

/* Where private directories can be made. */
static const char *tmp_base(struct arena *a, const struct config *c, const struct env *env)
{
	str places[] = { env_get(env, "TMPDIR"), S("/tmp"), S("/var/tmp"), c->store.data_dir };

	for (size_t i = 0; i < COUNT(places); i++)
		if (places[i].n && places[i].p[0] == '/' &&
		    dir_writable(arena_cstr(a, places[i])))
			return arena_cstr(a, places[i]);
	return NULL;
}

static unsigned socket_flags(const struct sandbox_cfg *s, unsigned flags)
{
	for (size_t i = 0; i < COUNT(with_sockets); i++)
		if (config_sandbox_granted(s, str_of(with_sockets[i])))
			flags &= ~(unsigned)SANDBOX_NO_SOCKETS;
	return str_eq(s->network, S("deny")) ? flags | SANDBOX_NO_NETWORK : flags;
}

const struct sandbox *config_sandbox(struct arena *a, const struct config *c,
				     const struct env *env, const struct sandbox_cfg *s,
				     str program)
{
	bool is_strict = str_eq(s->profile, S("strict"));
	struct making m = { .a = a, .home = env_get(env, "HOME") };
	struct sandbox *box;

	if (!is_strict && !str_eq(s->profile, S("compat")))
		return NULL;
	box = NEW(a, struct sandbox);
	m.v = NEWN(a, struct sandbox_rule, SANDBOX_RULES);
	hide_ours(&m, c);
	if (is_strict)
		strict(&m, c, s);
	else
		add(&m, S("/"), RWX | SANDBOX_DEVICE);
	add(&m, c->agent.workspace, OWNERS);
	add_list(&m, &s->read, RX | SANDBOX_SURE);
	add_list(&m, &s->write, OWNERS);
	add(&m, program, RX | SANDBOX_SURE);
	*box = (struct sandbox){
		.flags = socket_flags(s, is_strict ? STRICT : COMPAT),
		.rules = m.v,
		.rules_n = m.n,
	};
	if (is_strict) {
		box->tmp = tmp_base(a, c, env);
		box->max_procs = s->max_procs;
		box->max_file_bytes = s->max_file_bytes;
		box->max_memory_bytes = s->max_memory_bytes;
	}
	return box;
}

static bool executable(const struct sandbox *box, str dir)
{
	for (size_t i = 0; i < box->rules_n; i++) {
		str path = str_of(box->rules[i].path);

		if ((box->rules[i].access & SANDBOX_EXEC) && str_starts(dir, path) &&
		    (dir.n == path.n || dir.p[path.n] == '/'))
			return true;
	}
	return false;
}

/* PATH without what cannot be read: a shell would stop at a program there. */
static const char *path_within(struct arena *a, const struct sandbox *box, str path)
{
	struct buf b = buf_in(a, path.n + 8);

	buf_add(&b, S("PATH="));
	while (path.n) {
		str dir = str_cut(&path, ':');

		if (executable(box, dir))
			buf_fmt(&b, "%s%.*s", b.n > 5 ? ":" : "", STRF(dir));
	}
	return b.n > 5 ? buf_str(&b).p : "PATH=/usr/local/bin:/usr/bin:/bin";
}

const struct sandbox *config_sandbox_child(struct arena *a, const struct sandbox *box,
					   const char *const **env)
{
	struct sandbox *one;
	struct sandbox_rule *rules;
	const char **vars;
	char id[ID_LONG_LEN + 1];
	size_t n = 0, kept = 0;

	if (!box || !box->tmp)
		return box;
	one = NEW(a, struct sandbox);
	rules = NEWN(a, struct sandbox_rule, box->rules_n + 1);
	while ((*env)[n])
		n++;
	vars = NEWN(a, const char *, n + 2);
	id_long(id);
	*one = *box;
	one->tmp = arena_fmt(a, "%s/gantry-%s", box->tmp, id).p;
	memcpy(rules, box->rules, box->rules_n * sizeof *rules);
	rules[box->rules_n] = (struct sandbox_rule){ one->tmp, OWNERS };
	one->rules = rules;
	one->rules_n = box->rules_n + 1;
	for (size_t i = 0; i < n; i++) {
		str var = str_of((*env)[i]);

		if (str_starts(var, S("PATH=")))
			vars[kept++] = path_within(a, one, str_sub(var, 5, var.n));
		else if (!str_starts(var, S("TMPDIR=")))
			vars[kept++] = (*env)[i];
	}
	vars[kept] = arena_fmt(a, "TMPDIR=%s", one->tmp).p;
	*env = vars;
	return one;
}

str config_sandbox_text(struct arena *a, const struct sandbox_cfg *s, const struct sandbox *box)
{
	struct sandbox_kernel k = sandbox_kernel();
	str missing = box ? sandbox_missing(a, box, k) : S("");

	if (!box)
		return S("off");
	return arena_fmt(a, "%.*s, network %s; Landlock ABI %d, seccomp %s; missing: %.*s%s",
			 STRF(s->profile),
			 box->flags & SANDBOX_NO_NETWORK ? "denied" : "allowed", k.landlock,
			 k.seccomp ? "filters" : "none",
			 STRF(missing.n ? missing : S("nothing")),
			 missing.n && s->require ? " (required: nothing runs)" : "");
}
