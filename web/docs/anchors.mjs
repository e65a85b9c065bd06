// web/docs/anchors.mjs - the names of headings in links.

/** As forges make them: the words of a heading, joined by hyphens. */
export function anchorOf(text) {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
