/** A button that saves a whole answer as a file. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Format } from '../../../clients/typescript/src/index.ts';
import { download, type Downloadable, isBrokenOff, Problem } from '../lib/api.ts';
import { visible } from '../lib/text.ts';

interface Props {
  readonly question: Downloadable;
  readonly format: Format<Downloadable['name']>;
  readonly label: string;
}

/** Time after which the browser has taken the file over, in milliseconds. */
const TAKEN_MS = 60_000;

export function DownloadButton({ question, format, label }: Props): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState('');
  // Set once a whole answer was not to be had: then the button gives what there is.
  const [takesPart, setTakesPart] = useState(false);
  const start = (): void => {
    setBusy(true);
    setFault('');
    download(question, format, takesPart)
      .then(
        (file) => {
          const address = URL.createObjectURL(file);
          const anchor = document.createElement('a');
          anchor.href = address;
          anchor.download = `trawl-${question.name}.${format}`;
          anchor.click();
          setTimeout(() => URL.revokeObjectURL(address), TAKEN_MS);
        },
        (error: unknown) => {
          setTakesPart(isBrokenOff(error));
          // Without a session the page asks for it.
          if (error instanceof Problem && error.status === 401) return;
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
