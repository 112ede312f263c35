/*
 * tools/dynamic: tools that are there and not shown until the model asks for their prefix
 * (tools.dynamic).  Pure.
 *
 * A key is a server's prefix ("google"), or for a server whose tools fall into several families
 * one of them ("google__calendar": the word before the first "_").  Tools without a prefix are
 * always on.
 */
#ifndef TOOLS_DYNAMIC_H
#define TOOLS_DYNAMIC_H

#include "tools/tools.h"

struct dynamic_key {
	str key;
	size_t tools;
};

/* All keys of a toolset, sorted. */
size_t dynamic_keys(const struct toolset *set, struct arena *a, struct dynamic_key **out);

/* The longest of the keys that matches: the name itself, or what it begins with before "__" (a
 * server) or "_" (a family).  "" none does. */
str dynamic_held(str name, const str *keys, size_t n);

/* In set->off, which tools are off when these keys are on. */
void dynamic_gate(struct toolset *set, const str *keys, size_t n, struct arena *a);

/* What tools_enable says of itself: the index. */
str dynamic_index(const struct toolset *set, struct arena *a);

#endif
