/* api/routes.c - all there is. */
#include "api/tables.h"

const struct route *const route_tables[] = {
    operations_routes,
    auth_routes,
    customer_tokens_routes,
    customer_wallet_routes,
    customer_tickets_routes,
    customer_notifications_routes,
    store_catalog_routes,
    store_cart_routes,
    setup_routes,
    admin_audit_routes,
    admin_customers_routes,
    admin_settings_routes,
    admin_staff_routes,
    customer_orders_routes,
    v1_order_routes,
    v1_license_routes,
    download_routes,
    NULL,
};
