/* tests/unit/vault.h - a master key, and an arena that is emptied after each test. */
#pragma once

#include "base/arena.h"
#include "master_key.h"

static struct arena arena;

static int empty_arena(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}
