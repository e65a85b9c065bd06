// tests/model/lib/ops.mjs - every call that the model knows.
import { accounts } from '../rules/accounts.mjs';
import { cartOps } from '../rules/cart.mjs';
import { catalog } from '../rules/catalog.mjs';
import { customers } from '../rules/customers.mjs';
import { licenses } from '../rules/licenses.mjs';
import { office } from '../rules/office.mjs';
import { orders } from '../rules/orders.mjs';
import { payments } from '../rules/payments.mjs';
import { tickets } from '../rules/tickets.mjs';
import { walletOps } from '../rules/wallet.mjs';

/**
 * {name: {route, weight, make, play}}: make(world, random) chooses a call's arguments, names and plain values; play(world, arguments) gives
 * {as, params, query, body, answer}, or null where the call cannot be made. `answer` changes the world and gives what must be answered:
 * one answer, or several of which any will do.
 */
export const OPS = {
  ...customers,
  ...walletOps,
  ...catalog,
  ...cartOps,
  ...orders,
  ...licenses,
  ...payments,
  ...tickets,
  ...accounts,
  ...office,
};
