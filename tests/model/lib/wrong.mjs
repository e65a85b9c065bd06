// tests/model/lib/wrong.mjs - worlds with one wrong rule each. Programs must tell every one of them from the store.
import { World } from './world.mjs';

export const WRONG = {
  'a percentage is rounded down': class extends World {
    percentOff(amount, hundredths) {
      return Math.floor((amount * hundredths) / 10000);
    }
  },
  'codes stay in stock': class extends World {
    takeCodes() {}
  },
  'hardware is not bound': class extends World {
    verify(license, product, hardware) {
      const said = super.verify(license, product, hardware);
      if (license && said === null) license.hardware = null;
      return said === 'hardware_mismatch' ? null : said;
    }
  },
  'uses of coupons are not counted': class extends World {
    usesOf() {
      return [];
    }
  },
  'a withdrawal is not held': class extends World {
    hold() {}
  },
  'credit is not for orders': class extends World {
    spendable(customer) {
      return customer.balance;
    }
  },
  'a refund leaves the licences': class extends World {
    close(order) {
      order.status = 'refunded';
    }
  },
  'a coupon is for every product': class extends World {
    applies() {
      return true;
    }
  },
};
