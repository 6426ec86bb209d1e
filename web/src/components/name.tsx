/** Names and paths, shown so that nothing in them is hidden. */

import type { JSX } from 'preact';
import { baseName, parentOf, pieces } from '../lib/text.ts';

interface NameProps {
  readonly text: string;
  /** Whether the name is not UTF-8, so that `\xNN` stands for a byte. */
  readonly isRaw?: boolean;
}

/** A name: plain text in its own direction, and escapes for what cannot be seen. */
export function Name({ text, isRaw = false }: NameProps): JSX.Element {
  const found = pieces(text, isRaw);
  return (
    <bdi class="name">
      {found.map((piece) =>
        piece.meaning === undefined ? (
          piece.text
        ) : (
          <span class="escape" title={piece.meaning}>{piece.text}</span>
        ),
      )}
    </bdi>
  );
}

/** A path in one line: the directory, dimmed, before the name. */
export function PathText({ text, isRaw = false }: NameProps): JSX.Element {
  const name = baseName(text);
  const directory = name === text ? '' : parentOf(text);
  return (
    <span class="path">
      {directory !== '' && (
        <span class="directory">
          <Name text={directory === '/' ? '/' : `${directory}/`} isRaw={isRaw} />
        </span>
      )}
      <Name text={name} isRaw={isRaw} />
    </span>
  );
}
