/* clock.h - the two clocks: monotonic for waiting, wall for telling. */

#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

uint64_t clock_mono_us(void);
int64_t clock_wall_us(void);
/* As of the kernel's last tick, at most 10 ms ago: a fifth of the price. */
uint64_t clock_mono_ms(void);
int64_t clock_wall_ms(void);

bool clock_is_date(unsigned year, unsigned month, unsigned day); /* of the calendar */

#define CLOCK_TEXT 28 /* 2026-05-08T12:00:00.000000Z and the NUL */
/* Years 0000 to 9999; what lies outside is told as the nearest that does not. */
void clock_text(int64_t wall_us, char out[static CLOCK_TEXT]);

#endif
