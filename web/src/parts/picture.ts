// Pictures made smaller before they are sent: a photo out of a phone is far larger than any page needs.

/** At most `side` pixels wide and high; small ones, and what the browser cannot read, stay as they are. */
export async function shrunk(file: File, side: number): Promise<Blob> {
  const picture = await createImageBitmap(file).catch(() => null);
  if (!picture) return file;
  const scale = Math.min(1, side / Math.max(picture.width, picture.height));
  if (scale === 1 && file.size <= 300 * 1024) return file;
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  picture.close();
  const made = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/webp', 0.85));
  return made && made.size < file.size ? made : file;
}

export const PICTURES = 'image/png,image/jpeg,image/webp,image/avif';
