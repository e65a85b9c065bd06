/* domain/order_ref.h - addresses of orders and payments that only their buyer knows.
 *
 * A ref is a keyed hash (128 bits) of what it names, and its number: a person who has the ref may see the order, and
 * nobody can make one up. Nothing is stored, so every order has one. */
#pragma once

#include "base/arena.h"
#include "base/id.h"
#include "base/str.h"

enum ref_kind { REF_ORDER, REF_PAYMENT };

Str ref_make(struct arena *a, enum ref_kind kind, Id id);
/* False: not a ref of ours. */
bool ref_parse(Str ref, enum ref_kind *ret_kind, Id *ret);
