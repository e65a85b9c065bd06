// Reading from the server inside components: one thing, or a list page by page.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

export interface Loaded<T> {
  data: T | undefined;
  error: Error | undefined;
  busy: boolean;
  reload: () => void;
  set: (value: T) => void;
}

/** Runs `read` at once and whenever `deps` change; an answer that comes too late is dropped. */
export function useLoad<T>(read: () => Promise<T>, deps: unknown[]): Loaded<T> {
  const [state, setState] = useState<{ data?: T; error?: Error; busy: boolean }>({ busy: true });
  const run = useRef(0);
  const reload = useCallback(() => {
    const mine = ++run.current;
    setState((was) => ({ ...was, busy: true }));
    read().then(
      (data) => {
        if (mine === run.current) setState({ data, busy: false });
      },
      (error: Error) => {
        if (mine === run.current) setState((was) => ({ data: was.data, error, busy: false }));
      },
    );
  }, deps);
  useEffect(() => {
    reload();
    return () => {
      run.current += 1;
    };
  }, [reload]);
  return {
    data: state.data,
    error: state.error,
    busy: state.busy,
    reload,
    set: (data) => setState({ data, busy: false }),
  };
}

interface Page<T> {
  data: T[];
  meta: { has_more: boolean; next_cursor: string | null };
}

export interface Listed<T> {
  rows: T[] | undefined;
  error: Error | undefined;
  busy: boolean;
  more: (() => void) | undefined;
  reload: () => void;
  /** Replaces a row that has changed. */
  change: (row: T) => void;
}

export function useList<T extends { id: number }>(
  read: (cursor: string | undefined) => Promise<Page<T>>,
  deps: unknown[],
): Listed<T> {
  const [rows, setRows] = useState<T[]>();
  const [next, setNext] = useState<string | null>(null);
  const [error, setError] = useState<Error>();
  const [busy, setBusy] = useState(true);
  const run = useRef(0);

  const fetchPage = useCallback((cursor: string | undefined) => {
    const mine = ++run.current;
    setBusy(true);
    setError(undefined);
    read(cursor).then(
      (page) => {
        if (mine !== run.current) return;
        setRows((was) => (cursor && was ? [...was, ...page.data] : page.data));
        setNext(page.meta.has_more ? page.meta.next_cursor : null);
        setBusy(false);
      },
      (e: Error) => {
        if (mine !== run.current) return;
        setError(e);
        setBusy(false);
      },
    );
  }, deps);

  useEffect(() => {
    fetchPage(undefined);
    return () => {
      run.current += 1;
    };
  }, [fetchPage]);
  return {
    rows,
    error,
    busy,
    more: next === null ? undefined : () => fetchPage(next),
    reload: () => fetchPage(undefined),
    change: (row) => setRows((was) => was?.map((r) => (r.id === row.id ? row : r))),
  };
}

const PAGES_MAX = 100;

/** All rows of a list that is expected to be short. */
export async function readAll<T>(read: (cursor: string | undefined) => Promise<Page<T>>): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const answer = await read(cursor);
    all.push(...answer.data);
    if (!answer.meta.has_more) break;
    cursor = answer.meta.next_cursor ?? undefined;
  }
  return all;
}
