// Comfort only: every page works without this.
// Keys and codes get a button that copies them.
for (const code of document.querySelectorAll('code[data-copy]')) {
  if (!navigator.clipboard) break;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = code.dataset.copy;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = code.dataset.copied;
  });
  code.after(' ', button);
}
// A form is sent once, however often its button is pressed.
for (const form of document.querySelectorAll('form[method="post"]')) {
  let sent = false;
  form.addEventListener('submit', (event) => {
    if (sent) event.preventDefault();
    sent = true;
    addEventListener('pageshow', () => { sent = false; });
  });
}
// A page out of the browser's memory may be older than the session.
addEventListener('pageshow', (event) => { if (event.persisted) location.reload(); });
// A receipt prints itself on request.
for (const button of document.querySelectorAll('[data-print]')) {
  button.hidden = false;
  button.addEventListener('click', () => print());
}
