/*
 * os/heap: how the C library keeps memory that was freed.  Left to itself glibc gives every
 * thread an arena of its own and keeps there whatever the largest turn once needed; a daemon
 * that mostly waits should be small while it does.
 */
#ifndef OS_HEAP_H
#define OS_HEAP_H

/* Few arenas, and large blocks go back at once.  First thing in main. */
void heap_tune(void);

/* Give free pages back to the system (under glibc), and map no code that only the start or the
 * last turn needed.  Any thread; takes a few ms. */
void heap_trim(void);

#endif
