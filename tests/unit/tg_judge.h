/*
 * What Telegram takes: a strict parser of its HTML, and what must hold for the pieces of any
 * text.  Both answer with what is wrong, NULL when nothing is.
 */
#ifndef TESTS_TG_JUDGE_H
#define TESTS_TG_JUDGE_H

#include "text/tghtml.h"

/* *text is what html shows. */
const char *tg_fault(struct arena *a, str html, str *text);

/* Renders markdown: each piece is valid and within the limits, and together they show what
 * the text has, in order and once. */
const char *tg_pieces_fault(struct arena *a, str markdown, size_t limit);

/* s without what nobody sees. */
str tg_solid(struct arena *a, str s);

#endif
