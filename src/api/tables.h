/* api/tables.h - one line per file of routes. */
#pragma once

#include "serve/route.h"

/* All of them, api/routes.c; the last is NULL. */
extern const struct route *const route_tables[];

extern const struct route operations_routes[];
extern const struct route auth_routes[];
extern const struct route confirm_routes[];
extern const struct route sessions_routes[];
extern const struct route verify_email_routes[];
extern const struct route customer_tokens_routes[];
extern const struct route customer_wallet_routes[];
extern const struct route customer_tickets_routes[];
extern const struct route customer_notifications_routes[];
extern const struct route store_catalog_routes[];
extern const struct route store_cart_routes[];
extern const struct route setup_routes[];
extern const struct route admin_audit_routes[];
extern const struct route admin_customers_routes[];
extern const struct route admin_settings_routes[];
extern const struct route admin_staff_routes[];
extern const struct route admin_me_routes[];
extern const struct route v1_order_routes[];
extern const struct route v1_license_routes[];
extern const struct route customer_orders_routes[];
extern const struct route download_routes[];
extern const struct route admin_coupons_routes[];
extern const struct route admin_webhook_endpoints_routes[];
extern const struct route admin_webhook_deliveries_routes[];
extern const struct route admin_products_routes[];
extern const struct route admin_serials_routes[];
extern const struct route admin_tickets_routes[];
extern const struct route admin_ticket_help_routes[];
extern const struct route admin_departments_routes[];
extern const struct route admin_withdrawals_routes[];
extern const struct route admin_orders_routes[];
extern const struct route admin_licenses_routes[];
extern const struct route admin_stats_routes[];
extern const struct route admin_product_files_routes[];
extern const struct route admin_exports_routes[];
extern const struct route panel_routes[];
extern const struct route docs_routes[];
extern const struct route store_checkout_routes[];
extern const struct route customer_topup_routes[];
extern const struct route webhook_routes[];
extern const struct route sandbox_page_routes[];
extern const struct route admin_gateways_routes[];
extern const struct route admin_webhook_events_routes[];
extern const struct route admin_outbox_routes[];
extern const struct route admin_reconciliations_routes[];
extern const struct route reset_routes[];
extern const struct route shop_assets_routes[];
extern const struct route admin_payments_routes[];
extern const struct route admin_reviews_routes[];
extern const struct route customer_order_pay_routes[];
extern const struct route shop_catalogue_routes[];
extern const struct route shop_cart_routes[];
extern const struct route shop_checkout_routes[];
extern const struct route shop_login_routes[];
extern const struct route shop_pages_routes[];
extern const struct route admin_mail_texts_routes[];
extern const struct route admin_pages_routes[];
extern const struct route admin_images_routes[];
extern const struct route shop_account_routes[];
extern const struct route shop_orders_routes[];
extern const struct route shop_tickets_routes[];
extern const struct route shop_wallet_routes[];
extern const struct route shop_settings_routes[];
extern const struct route shop_second_factor_routes[];
