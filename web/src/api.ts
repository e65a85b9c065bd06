// The one way to the server. Paths, parameters, bodies and answers are typed by the OpenAPI document.
import type { components, paths } from '../generated/openapi';
import { readJson, writeJson } from './amount';

export type Schemas = components['schemas'];
type Method = 'get' | 'post' | 'patch' | 'put' | 'delete';
type Json<C> = C extends { content: { 'application/json': infer J } } ? J : unknown;
type Operation<P extends keyof paths, M extends Method> = NonNullable<paths[P][M]>;
type Answers<O> = O extends { responses: infer R } ? R : never;
type Success<O> = Json<Answers<O>[keyof Answers<O> & (200 | 201)]>;
type Parameters<O> = O extends { parameters: infer A } ? A : never;
type PathOf<O> = Parameters<O> extends { path: infer V } ? { path: V } : { path?: never };
type QueryOf<O> = Parameters<O> extends { query?: infer Q } ? { query?: Q } : { query?: never };
type BodyOf<O> = O extends { requestBody: infer B }
  ? { body: Json<B> }
  : O extends { requestBody?: infer B }
    ? { body?: Json<NonNullable<B>> }
    : { body?: never };

/** The paths that have this method. */
export type PathsWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];
export type Options<P extends keyof paths, M extends Method> = PathOf<Operation<P, M>> &
  QueryOf<Operation<P, M>> &
  BodyOf<Operation<P, M>> & { ifMatch?: string; once?: string; signal?: AbortSignal };
export type Answer<P extends keyof paths, M extends Method> = Success<Operation<P, M>> & { etag: string };
type DataOf<S> = S extends { data: infer D } ? D : undefined;
/** The `data` of a call's success. */
export type Data<P extends PathsWith<M>, M extends Method = 'get'> = DataOf<Success<Operation<P, M>>>;
/** One row of a list. */
export type Row<P extends PathsWith<'get'>> = Data<P> extends (infer R)[] ? R : never;

export interface FieldError {
  field: string;
  code: string;
  message: string;
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly errors: FieldError[] = [],
    readonly requestId = '',
  ) {
    super(message);
  }
}

/** Whether there is a login, what to do when the session has ended, and how people prove again who they are. */
export const credentials = {
  isOpen: false,
  onRefused: () => {},
  prove: (refusal: ApiError): Promise<void> => Promise.reject(refusal),
};

/** Sent with the session's cookie on every call: other sites cannot send it. */
const PANEL = 'X-Souk-Panel';

export function urlOf(template: string, path?: object, query?: object): string {
  const values = path as Record<string, unknown> | undefined;
  const filled = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(values?.[name])));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
  }
  return search.size > 0 ? `${filled}?${search}` : filled;
}

function errorOf(status: number, text: string): ApiError {
  try {
    const body = readJson(text) as { code: string; message: string; errors?: FieldError[]; request_id?: string };
    return new ApiError(status, body.code, body.message, body.errors, body.request_id);
  } catch {
    return new ApiError(status, 'unreadable', `The server answered ${status} without saying why.`);
  }
}

const UNREACHABLE = 'The server cannot be reached. Check the connection and try again.';

function refused(error: ApiError): ApiError {
  if (error.status === 401 && credentials.isOpen && /^token_/.test(error.code)) credentials.onRefused();
  return error;
}

/** One call as it is; refusals become errors, and a proof that is asked for is given. */
export async function send(
  method: string,
  url: string,
  init: RequestInit & { headers: Record<string, string> },
): Promise<Response> {
  init.headers[PANEL] = '1';
  const response = await fetch(url, { method, ...init, credentials: 'same-origin', cache: 'no-store' }).catch(
    (e: unknown) => {
      if (e instanceof DOMException && e.name === 'AbortError') throw e;
      throw new ApiError(0, 'unreachable', UNREACHABLE);
    },
  );
  if (response.ok) return response;
  const error = refused(errorOf(response.status, await response.text()));
  if (error.code !== 'confirmation_required') throw error;
  await credentials.prove(error);
  return send(method, url, init);
}

async function call<P extends keyof paths, M extends Method>(
  method: M,
  template: P,
  options: Options<P, M>,
): Promise<Answer<P, M>> {
  const { path, query, body, ifMatch, once, signal } = options as {
    path?: object;
    query?: object;
    body?: unknown;
    ifMatch?: string;
    once?: string;
    signal?: AbortSignal;
  };
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (ifMatch) headers['If-Match'] = ifMatch;
  if (once) headers['Idempotency-Key'] = once;
  const init = { headers, signal, body: body === undefined ? undefined : writeJson(body) };
  const response = await send(method.toUpperCase(), urlOf(template, path, query), init);
  return { ...(readJson(await response.text()) as object), etag: response.headers.get('ETag') ?? '' } as Answer<P, M>;
}

/** Arguments: the options may be left out where nothing in them is required. */
type Given<P extends keyof paths, M extends Method> =
  {} extends Options<P, M> ? [options?: Options<P, M>] : [options: Options<P, M>];
const caller =
  <M extends Method>(method: M) =>
  <P extends PathsWith<M>>(template: P, ...[options]: Given<P, M>) =>
    call(method, template, options ?? ({} as Options<P, M>));

export const get = caller('get');
export const post = caller('post');
export const patch = caller('patch');
export const put = caller('put');
export const remove = caller('delete');

/** Asks with no bytes first: not every browser reads a refusal in the middle of a long upload. */
export async function proveFor(method: 'PUT', url: string): Promise<void> {
  await send(method, url, { headers: { Accept: 'application/json' } }).catch((e: unknown) => {
    if (!(e instanceof ApiError && e.code === 'validation_failed')) throw e;
  });
}

/** Raw bytes with progress (0 … 1), which fetch does not report. */
export function upload<T>(
  method: 'PUT' | 'POST',
  url: string,
  body: Blob | string,
  type: string,
  options: { ifMatch?: string; once?: string; onProgress?: (done: number) => void } = {},
): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    request.setRequestHeader(PANEL, '1');
    request.setRequestHeader('Content-Type', type);
    if (options.ifMatch) request.setRequestHeader('If-Match', options.ifMatch);
    if (options.once) request.setRequestHeader('Idempotency-Key', options.once);
    request.upload.onprogress = ({ lengthComputable, loaded, total: bytes }) =>
      options.onProgress?.(lengthComputable ? loaded / bytes : 0);
    request.onerror = () => reject(new ApiError(0, 'unreachable', UNREACHABLE));
    request.onload = () => {
      if (request.status < 300) resolve((readJson(request.responseText) as { data: T }).data);
      else reject(refused(errorOf(request.status, request.responseText)));
    };
    request.send(body);
  });
}

export type Export = 'orders' | 'customers' | 'ledger';

/** A whole CSV export; an export that does not fit into one answer continues at its Link. */
export async function download(what: Export): Promise<Blob> {
  const parts: string[] = [];
  let url: string | null = `/api/admin/exports/${what}`;
  while (url) {
    const response: Response = await send('GET', url, { headers: { Accept: 'text/csv' } });
    const text = await response.text();
    parts.push(parts.length === 0 ? text : text.slice(text.indexOf('\n') + 1));
    url = /<([^>]+)>;\s*rel="next"/.exec(response.headers.get('Link') ?? '')?.[1] ?? null;
  }
  return new Blob(parts, { type: 'text/csv' });
}

/** A fresh Idempotency-Key. (randomUUID exists on secure origins only.) */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
}
