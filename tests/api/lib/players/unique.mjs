import { randomBytes } from 'node:crypto';

/** A name that no other thing has. */
export const unique = () => randomBytes(8).toString('hex');
