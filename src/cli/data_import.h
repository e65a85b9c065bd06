/* cli/data_import.h - `souk import KIND FILE`: rows of a CSV file into the store. */
#pragma once

#include "cli/command.h"

int import_products_command(const struct config *config, struct arena *a);
int import_variants_command(const struct config *config, struct arena *a);
int import_customers_command(const struct config *config, struct arena *a);
int import_licenses_command(const struct config *config, struct arena *a);
int import_serials_command(const struct config *config, struct arena *a);
int import_wallets_command(const struct config *config, struct arena *a);
