/*
 * models.prices: a list of maps, each with the names of models and what their tokens cost.
 */
#include "config/load_internal.h"

static void amount(struct loader *l, const struct input *in, const struct yaml *m, int64_t *out)
{
	bool single = m->kind == YAML_SCALAR && !m->null;

	if (!single || !price_read(str_trim(m->text), out))
		config_refuse(l, in, m, arena_cstr(l->a, m->key),
			      "must be an amount per million tokens, such as 2.50");
}

static void take(struct loader *l, const struct input *in, const struct yaml *map,
		 struct price *p)
{
	p->input = p->cached = p->output = p->written = -1;
	for (const struct yaml *m = map->child; m; m = m->next) {
		if (str_eq(m->key, S("model")))
			p->model = m->kind == YAML_SCALAR && !m->null
					   ? arena_dup(l->keep, str_trim(m->text))
					   : S("");
		else if (str_eq(m->key, S("input")))
			amount(l, in, m, &p->input);
		else if (str_eq(m->key, S("cached_input")))
			amount(l, in, m, &p->cached);
		else if (str_eq(m->key, S("cache_write")))
			amount(l, in, m, &p->written);
		else if (str_eq(m->key, S("output")))
			amount(l, in, m, &p->output);
		else
			config_refuse(l, in, m, arena_cstr(l->a, m->key), "unknown key");
	}
	if (!p->model.n)
		config_refuse(l, in, map, "model",
			      "must be a model's name or a pattern with *");
	if (!yaml_get(map, S("input")))
		config_refuse(l, in, map, "input", "must be set");
	if (!yaml_get(map, S("output")))
		config_refuse(l, in, map, "output", "must be set");
	if (p->cached < 0) /* nothing is known to be cheaper, or dearer */
		p->cached = p->input;
	if (p->written < 0)
		p->written = p->input;
}

void config_take_prices(struct loader *l, const struct option *o, const struct input *in,
			const struct yaml *root)
{
	struct price_list *list = (struct price_list *)((char *)l->c + o->at);
	struct price *out = NEWN(l->keep, struct price, root->n + 1);
	size_t n = 0;

	for (const struct yaml *m = root->child; m; m = m->next) {
		if (m->kind == YAML_MAP)
			take(l, in, m, &out[n++]);
		else
			config_refuse(l, in, m, NULL, "must be a map of names and values");
	}
	*list = (struct price_list){ out, n };
}
