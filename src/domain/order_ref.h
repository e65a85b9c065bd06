/* domain/order_ref.h - addresses of orders and payments that only their buyer knows.
 *
 * A ref is a keyed hash (128 bits) of what it names, and its number: whoever has it may see it, nobody can make one up.
 * Nothing is stored, so every order has one. */
#pragma once

#include "base/arena.h"
#include "base/id.h"
#include "base/str.h"

enum ref_kind { REF_ORDER, REF_PAYMENT };

Str ref_make(struct arena *a, enum ref_kind kind, Id id);
/* False: nobody was given this. */
bool ref_parse(Str ref, enum ref_kind *ret_kind, Id *ret);
