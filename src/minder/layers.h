/* layers.h - what can be put on a child, layer by layer; the bits the minder reports. */

#ifndef MINDER_LAYERS_H
#define MINDER_LAYERS_H

enum confine_layer {
	LAYER_GROUP = 1 << 0,       /* a session and a process group of its own */
	LAYER_DEATH = 1 << 1,       /* it dies with its owner */
	LAYER_LIMITS = 1 << 2,      /* rlimits */
	LAYER_DESCRIPTORS = 1 << 3, /* 0, 1, 2 and no others */
	LAYER_PRIVILEGES = 1 << 4,  /* no_new_privs; of root's capabilities a few */
	LAYER_FILES = 1 << 5,       /* Landlock: files */
	LAYER_SIGNALS = 1 << 6,     /* Landlock: signals and abstract Unix sockets stay inside */
	LAYER_TCP = 1 << 7,         /* TCP to the ports that were asked for, or none */
	LAYER_SYSCALLS = 1 << 8,    /* seccomp */
	LAYER_ENVIRONMENT = 1 << 9, /* built, not inherited */
};

#endif
