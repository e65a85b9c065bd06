// What the pages about gateways share.
import type { Row } from '../../api';

export type Gateway = Row<'/api/admin/gateways'>;
export const PROVIDERS: [Gateway['provider'], string][] = [
  ['stripe', 'Stripe'],
  ['razorpay', 'Razorpay'],
  ['paypal', 'PayPal'],
  ['btcpay', 'BTCPay Server'],
  ['sandbox', 'Sandbox'],
];
