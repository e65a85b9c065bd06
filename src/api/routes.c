/* api/routes.c - all there is. */
#include "api/tables.h"

const struct route *const route_tables[] = {
    operations_routes,
    auth_routes,
    customer_tokens_routes,
    NULL,
};
