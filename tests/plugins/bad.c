/* bad.c - a plugin whose tools do what a plugin must be able to do without harm to anybody else. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <holdfast.h>

static void *volatile keep;
static volatile uintptr_t nowhere = 8;

/* Its name is to be found in the stack. */
HF_API __attribute__((noinline)) void bad_wild_pointer(void);
void
bad_wild_pointer(void)
{
	*(volatile int *)nowhere = 1;
}

static void
wild(void)
{
	bad_wild_pointer();
}

static void
loop(void)
{
	for (;;)
		__asm__ volatile("");
}

static void
leave(void)
{
	exit(0);
}

/* Until there is no more; then it says so. */
static void
eat(void)
{
	for (size_t mib = 0; mib < 65536; mib++) {
		char *p = malloc(1 << 20);
		if (!p)
			return;
		memset(p, 1, 1 << 20);
		keep = p;
	}
}

static void
fine(void)
{
}

/* As people do who look for a fault. */
static void
print(void)
{
	printf("{\"half a mess");
	fflush(stdout);
}

static const struct {
	const char *name;
	void (*act)(void);
} acts[] = {
    {"wild", wild}, {"give_up", abort}, {"leave", leave}, {"loop", loop},
    {"eat", eat},   {"fine", fine},     {"print", print},
};
#define ACTS (sizeof(acts) / sizeof(acts[0]))

static void *
make(void *arg)
{
	return arg;
}

static int
run(void *instance, struct hf_job *job)
{
	acts[(uintptr_t)instance - 1].act();
	hf_job_text(job, "done", 4);
	return 0;
}

HF_PLUGIN(hf)
{
	static const struct hf_tool tool = {.make = make, .run = run};
	char card[512];

	for (size_t i = 0; i < ACTS; i++) {
		snprintf(card, sizeof(card),
			 "{\"name\":\"%s\",\"description\":\"Behaves badly: %s.\","
			 "\"capability\":\"none\",\"reversibility\":\"pure\",\"input_schema\":{"
			 "\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}}",
			 acts[i].name, acts[i].name);
		int code = hf_register(hf, card, &tool, (void *)(uintptr_t)(i + 1));
		if (code < 0)
			return code;
	}
	return 0;
}
