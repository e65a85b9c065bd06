/* tests/unit/vault.h - a master key, and an arena that is emptied after each test. */
#pragma once

#include "base/arena.h"
#include "domain/vault.h"

static struct arena arena;

static int open_vault(void **state)
{
    (void)state;
    char why[256] = "";
    return vault_open(NULL, "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", false, why,
                      sizeof why) != OK;
}

static int empty_arena(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}
