// tests/lib/sanitizer.mjs - how the instrumented builds are run, and how their reports are recognised.

import { fileURLToPath } from 'node:url';

const SUPPRESSED = fileURLToPath(new URL('tsan.supp', import.meta.url));

/**
 * Environment for every instrumented program. Nothing of our own is suppressed. Of a call of malloc ten callers are kept: what is found is
 * the same.
 */
export const SANITIZER_ENV = {
  ASAN_OPTIONS: 'detect_leaks=1:strict_string_checks=1:malloc_context_size=10:exitcode=66',
  LSAN_OPTIONS: 'exitcode=66',
  UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1:exitcode=66',
  TSAN_OPTIONS: `halt_on_error=0:second_deadlock_stack=1:atexit_sleep_ms=50:exitcode=66:suppressions="${SUPPRESSED}"`,
};

const REPORT =
  /ERROR: (Address|Leak)Sanitizer|AddressSanitizer:DEADLYSIGNAL|runtime error:|(WARNING|ERROR|FATAL): ThreadSanitizer/;

/** The report inside a program's stderr, from its first line on, or null. */
export function sanitizerReport(text) {
  const found = REPORT.exec(text);
  if (!found) return null;
  const start = text.lastIndexOf('\n', found.index) + 1;
  return text.slice(start, start + 20000);
}

/** An assertion that failed or glibc refusing to go on: not a sanitizer's work, as deadly. */
export function crashReport(text) {
  const found =
    /^.*(Assertion .* failed|\*\*\* .* detected \*\*\*|free\(\): invalid|malloc\(\): |double free).*$/m.exec(text);
  return found ? found[0] : null;
}
