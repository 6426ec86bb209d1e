/**
 * Shows names safely: characters that are invisible or change how text is laid out become visible
 * escapes, so that a name cannot pass for another one.
 *
 * Names are never HTML: a component renders the pieces as text nodes.
 */

/** A piece of a name: text as it is, or an escape that stands for a character. */
export interface Piece {
  readonly text: string;
  /** What the escape stands for, in words; undefined for plain text. */
  readonly meaning?: string;
}

/** Names of characters that are often used to deceive. */
const MEANINGS = new Map<number, string>([
  [0x09, 'tab'],
  [0x0a, 'line break'],
  [0x0d, 'carriage return'],
  [0x1b, 'escape character'],
  [0xa0, 'no-break space'],
  [0xad, 'soft hyphen'],
  [0x61c, 'Arabic letter mark'],
  [0x200b, 'zero-width space'],
  [0x200c, 'zero-width non-joiner'],
  [0x200d, 'zero-width joiner'],
  [0x200e, 'left-to-right mark'],
  [0x200f, 'right-to-left mark'],
  [0x2028, 'line separator'],
  [0x2029, 'paragraph separator'],
  [0x202a, 'left-to-right embedding'],
  [0x202b, 'right-to-left embedding'],
  [0x202c, 'end of direction change'],
  [0x202d, 'left-to-right override'],
  [0x202e, 'right-to-left override'],
  [0x2060, 'word joiner'],
  [0x2066, 'left-to-right isolate'],
  [0x2067, 'right-to-left isolate'],
  [0x2068, 'first-strong isolate'],
  [0x2069, 'end of isolate'],
  [0xfeff, 'byte order mark'],
]);

/** Other characters that leave no mark: fillers, variation selectors, and all format characters. */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]|(?! )\p{Zs}|\p{Variation_Selector}/u;

const ANY_HIDDEN = new RegExp(HIDDEN.source, 'u');

/** Bytes that are not UTF-8, and the doubled backslash beside them, as Trawl prints them. */
const RAW_ESCAPE = /\\x[0-9a-f]{2}|\\\\/y;

function escapeOf(code: number): string {
  const short = { 0x09: '\\t', 0x0a: '\\n', 0x0d: '\\r' }[code];
  if (short !== undefined) return short;
  const hex = code.toString(16);
  if (code < 0x100) return `\\x${hex.padStart(2, '0')}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}

function meaningOf(code: number): string {
  return MEANINGS.get(code) ?? (code < 0x20 || (code >= 0x7f && code < 0xa0) ? 'control character' : 'invisible character');
}

/**
 * Splits a name into plain text and escapes.
 *
 * @param isRaw whether the name is not UTF-8, so that `\xNN` in it stands for a byte
 */
export function pieces(name: string, isRaw = false): Piece[] {
  const found: Piece[] = [];
  let plain = '';
  const flush = (): void => {
    if (plain !== '') found.push({ text: plain });
    plain = '';
  };
  for (let at = 0; at < name.length; ) {
    if (isRaw) {
      RAW_ESCAPE.lastIndex = at;
      const escape = RAW_ESCAPE.exec(name)?.[0];
      if (escape !== undefined) {
        if (escape === '\\\\') plain += '\\';
        else {
          flush();
          found.push({ text: escape, meaning: 'byte that is not text' });
        }
        at += escape.length;
        continue;
      }
    }
    const code = name.codePointAt(at) ?? 0;
    const character = String.fromCodePoint(code);
    if (HIDDEN.test(character)) {
      flush();
      found.push({ text: escapeOf(code), meaning: meaningOf(code) });
    } else plain += character;
    at += character.length;
  }
  flush();
  return mark(found, name);
}

/** Makes spaces at both ends of a name visible. */
function mark(found: Piece[], name: string): Piece[] {
  if (!name.startsWith(' ') && !name.endsWith(' ')) return found;
  const space: Piece = { text: '␠', meaning: 'space' };
  return found.flatMap((piece, index) => {
    if (piece.meaning !== undefined) return [piece];
    const head = index === 0 ? /^ */.exec(piece.text)?.[0].length ?? 0 : 0;
    const rest = piece.text.slice(head);
    const tail = index === found.length - 1 ? / *$/.exec(rest)?.[0].length ?? 0 : 0;
    const middle = rest.slice(0, rest.length - tail);
    const spaces = (count: number): Piece[] => Array.from({ length: count }, () => space);
    return [...spaces(head), ...(middle === '' ? [] : [{ text: middle }]), ...spaces(tail)];
  });
}

/** Returns a name as one line of text in which everything is visible: for charts, titles and labels. */
export function visible(name: string, isRaw = false): string {
  return pieces(name, isRaw).map((piece) => piece.text).join('');
}

/** Returns whether a name has characters that are shown as escapes. */
export function isSuspicious(name: string): boolean {
  return ANY_HIDDEN.test(name);
}

/** Returns the last component of a path; `/` for the root. */
export function baseName(path: string): string {
  const at = path.lastIndexOf('/');
  return at < 0 || path === '/' ? path : path.slice(at + 1);
}

/** Returns the path of the directory that holds an entry; `/` for the root. */
export function parentOf(path: string): string {
  const at = path.lastIndexOf('/');
  return at <= 0 ? '/' : path.slice(0, at);
}
