/*
 * base/attr: the few attributes and macros every file may use.
 */
#ifndef BASE_ATTR_H
#define BASE_ATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The result must be looked at; ignore it on purpose with (void). */
#define MUSTUSE __attribute__((warn_unused_result))
#define NORETURN __attribute__((noreturn))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Run drop(&variable) when the variable leaves its scope. */
#define SCOPED(drop) __attribute__((cleanup(drop)))

#define COUNT(array) (sizeof(array) / sizeof *(array))

#endif
