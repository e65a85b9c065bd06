// Two people change the same thing.
import { ApiError } from '../api';

const CHANGED_MEANWHILE =
  'Somebody else has changed this in the meantime. Reload the page to see their changes, then make yours again.';

/** 412 in words that help. */
export function explainConflict(e: unknown): never {
  throw e instanceof ApiError && e.status === 412 ? new Error(CHANGED_MEANWHILE) : e;
}
