/** A button that saves a whole answer as a file. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { download, type Format, Problem } from '../lib/api.ts';
import type { Arguments } from '../lib/api-types.ts';
import { visible } from '../lib/text.ts';

interface Props {
  readonly name: string;
  readonly values: Arguments;
  readonly format: Format;
  readonly label: string;
}

/** Time after which the browser has taken the file over, in milliseconds. */
const TAKEN_MS = 60_000;

export function DownloadButton({ name, values, format, label }: Props): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState('');
  // Set once a whole answer was not to be had: then the button gives what there is.
  const [takesPart, setTakesPart] = useState(false);
  const start = (): void => {
    setBusy(true);
    setFault('');
    download(name, takesPart ? { ...values, partial: true } : values, format)
      .then(
        (file) => {
          const address = URL.createObjectURL(file);
          const anchor = document.createElement('a');
          anchor.href = address;
          anchor.download = `trawl-${name}.${format}`;
          anchor.click();
          setTimeout(() => URL.revokeObjectURL(address), TAKEN_MS);
        },
        (error: unknown) => {
          setTakesPart(error instanceof Problem && error.isBrokenOff);
          // Without a session the page asks for it.
          if (error instanceof Problem && error.needsLogin) return;
          setFault(error instanceof Problem ? visible(error.message) : 'The download failed');
        },
      )
      .finally(() => setBusy(false));
  };
  return (
    <>
      <button type="button" class="button" onClick={start} disabled={isBusy}>{isBusy ? 'Downloading …' : takesPart ? `${label}: the part that can be read` : label}</button>
      {fault !== '' && <span class="fault" role="alert">{fault}</span>}
    </>
  );
}
