// Dialogs: the browser's own <dialog>, which keeps the focus inside and gives it back.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Button, Problem } from './basic';

export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const dialog = element.current;
    if (dialog && !dialog.open) dialog.showModal();
    dialog?.querySelector<HTMLElement>('input, select, textarea')?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={element} aria-labelledby={id} onClose={onClose}>
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        <Button kind="quiet" icon="close" label="Close" onClick={() => element.current?.close()} />
      </div>
      {children}
    </dialog>
  );
}

interface Question {
  title: string;
  text: ComponentChildren;
  action: string;
  danger?: boolean;
  run: () => Promise<unknown>;
}
const question = signal<Question | null>(null);
const failure = signal<Error | null>(null);

/** Asks before `run`; the dialog stays open with the reason when it fails. */
export function ask(asked: Question): void {
  failure.value = null;
  question.value = asked;
}

export function Questions() {
  const q = question.value;
  if (!q) return null;
  const close = () => {
    question.value = null;
  };
  const run = async () => {
    failure.value = null;
    try {
      await q.run();
      close();
    } catch (e) {
      failure.value = e as Error;
    }
  };
  return (
    <Dialog title={q.title} onClose={close}>
      <div class="dialog-text">{q.text}</div>
      {failure.value && <Problem error={failure.value} />}
      <div class="form-actions">
        <Button kind={q.danger ? 'danger' : 'primary'} onClick={run}>
          {q.action}
        </Button>
        <Button onClick={close}>Cancel</Button>
      </div>
    </Dialog>
  );
}
