/* pages.h - memory the system has a copy of. */

#ifndef BASE_PAGES_H
#define BASE_PAGES_H

/*
 * Takes the pages of programs and libraries that were only read out of this process. They stay in
 * the system's cache and come back one by one when they are touched; what only the start needed
 * does not. Any thread, at any time; not while a debugger has put its breakpoints there.
 */
void pages_release(void);

#endif
