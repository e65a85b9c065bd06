/* tests/unit/master_key.h - a master key, for the setup of a group of tests. */
#pragma once

#include "domain/vault.h"

static int open_vault(void **state)
{
    (void)state;
    char why[256] = "";
    return vault_open(NULL, "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", false, why,
                      sizeof why) != OK;
}
