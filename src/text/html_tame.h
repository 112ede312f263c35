/*
 * text/html_tame: what html.c and html_tame.c share.
 */
#ifndef TEXT_HTML_TAME_H
#define TEXT_HTML_TAME_H

#include "base/buf.h"

/* The page as a small and tame one: only the tags and attributes that matter, balanced and
 * not too deep, without scripts, comments and the like.  *cut: a limit was met. */
str html_tame(struct arena *a, str html, bool *cut);

#endif
