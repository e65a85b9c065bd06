// Two people change one thing.
import { ApiError } from '../api';

const CHANGED_MEANWHILE =
  'Somebody else changed this meanwhile. Reload the page to see their changes, then make yours again.';

/** 412 in words that help. */
export function explainConflict(e: unknown): never {
  throw e instanceof ApiError && e.status === 412 ? new Error(CHANGED_MEANWHILE) : e;
}
