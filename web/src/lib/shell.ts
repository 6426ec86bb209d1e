/**
 * Words of a shell command line: quoting, and splitting as sh and bash do for words without
 * expansions. Bytes that are not UTF-8 are kept in hexadecimal beside the text.
 */

/** A word of a command line. */
export interface Word {
  readonly text: string;
  /** All bytes in hexadecimal, if they are not UTF-8; then `text` has `\xNN` for them. */
  readonly raw?: string;
}

/** A command line that cannot be split. */
export class ShellError extends Error {}

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;
const NEEDS_ESCAPES = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

const encoder = new TextEncoder();

/** Returns a word as it is written on a command line. */
export function quote(word: Word | string): string {
  const { text, raw } = typeof word === 'string' ? { text: word, raw: undefined } : word;
  if (raw !== undefined) return ansiQuote(fromHex(raw));
  if (PLAIN.test(text)) return text;
  if (NEEDS_ESCAPES.test(text)) return ansiQuote(encoder.encode(text));
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns bytes in the form `$'…'`, in printable ASCII. */
function ansiQuote(bytes: Uint8Array): string {
  let quoted = "$'";
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    if (character === "'" || character === '\\') quoted += `\\${character}`;
    else if (byte >= 0x20 && byte < 0x7f) quoted += character;
    else quoted += `\\x${byte.toString(16).padStart(2, '0')}`;
  }
  return `${quoted}'`;
}

/** Joins words to a command line. */
export function join(words: readonly (Word | string)[]): string {
  return words.map(quote).join(' ');
}

export function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Returns bytes as a word, with escapes as Trawl prints them where they are not UTF-8. */
export function wordOf(bytes: Uint8Array): Word {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { text: escaped(bytes), raw: toHex(bytes) };
  }
}

function escaped(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const length = validLength(bytes, at);
    const part = bytes.subarray(at, at + Math.max(length, 1));
    if (length === 0) text += `\\x${toHex(part)}`;
    else text += new TextDecoder('utf-8', { ignoreBOM: true }).decode(part).replace('\\', '\\\\');
    at += part.length;
  }
  return text;
}

/** Returns the length of the UTF-8 character at an offset; 0 if there is none. */
function validLength(bytes: Uint8Array, at: number): number {
  for (let length = 1; length <= 4 && at + length <= bytes.length; length += 1) {
    try {
      new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(at, at + length));
      return length;
    } catch {
      // A longer sequence may be valid.
    }
  }
  return 0;
}

const ANSI: Readonly<Record<string, number>> = {
  a: 7, b: 8, e: 27, E: 27, f: 12, n: 10, r: 13, t: 9, v: 11, '\\': 92, "'": 39, '"': 34, '?': 63,
};

/** Reads a line from left to right. */
class Reader {
  at = 0;
  constructor(readonly line: string) {}

  get next(): string {
    return this.line.charAt(this.at);
  }

  take(): string {
    const code = this.line.codePointAt(this.at);
    if (code === undefined) return '';
    const character = String.fromCodePoint(code);
    this.at += character.length;
    return character;
  }

  /** Takes up to `most` digits of a base; undefined if there is none. */
  number(digits: RegExp, most: number, base: number): number | undefined {
    let text = '';
    while (text.length < most && digits.test(this.next)) text += this.take();
    return text === '' ? undefined : Number.parseInt(text, base);
  }
}

/**
 * Splits a command line into words.
 *
 * @throws ShellError for an open quote, and for characters that a shell would act on
 */
export function split(line: string): Word[] {
  const reader = new Reader(line);
  const words: Word[] = [];
  let bytes: number[] | undefined;
  const add = (text: string): void => {
    (bytes ??= []).push(...encoder.encode(text));
  };
  while (reader.at < line.length) {
    const character = reader.take();
    if (/\s/.test(character)) {
      if (bytes !== undefined) words.push(wordOf(Uint8Array.from(bytes)));
      bytes = undefined;
    } else if (character === "'") add(until(reader, "'"));
    else if (character === '"') add(doubleQuoted(reader));
    else if (character === '$' && reader.next === "'") (bytes ??= []).push(...ansiQuoted(reader));
    else if (character === '\\') {
      if (reader.at >= line.length) throw new ShellError('the line ends with a backslash');
      add(reader.take());
    } else if (';&|<>`$()'.includes(character)) {
      throw new ShellError(`‘${character}’ has a meaning in a shell: put it in quotes, or a backslash before it`);
    } else add(character);
  }
  if (bytes !== undefined) words.push(wordOf(Uint8Array.from(bytes)));
  return words;
}

function until(reader: Reader, end: string): string {
  const close = reader.line.indexOf(end, reader.at);
  if (close < 0) throw new ShellError(`a quote (${end}) is not closed`);
  const text = reader.line.slice(reader.at, close);
  reader.at = close + 1;
  return text;
}

function doubleQuoted(reader: Reader): string {
  let text = '';
  for (;;) {
    const character = reader.take();
    if (character === '') throw new ShellError('a quote (") is not closed');
    if (character === '"') return text;
    if (character === '\\' && '"\\$`'.includes(reader.next) && reader.next !== '') text += reader.take();
    else if (character === '$' || character === '`') {
      throw new ShellError(`‘${character}’ has a meaning in double quotes: use single quotes`);
    } else text += character;
  }
}

function ansiQuoted(reader: Reader): number[] {
  reader.take();
  const bytes: number[] = [];
  for (;;) {
    const character = reader.take();
    if (character === '') throw new ShellError("a quote ($') is not closed");
    if (character === "'") return bytes;
    if (character !== '\\') bytes.push(...encoder.encode(character));
    else bytes.push(...ansiEscape(reader));
  }
}

function ansiEscape(reader: Reader): Iterable<number> {
  const octal = reader.number(/[0-7]/, 3, 8);
  if (octal !== undefined) return [octal & 0xff];
  const kind = reader.take();
  const hex = /[0-9a-fA-F]/;
  if (kind === 'x') {
    const byte = reader.number(hex, 2, 16);
    if (byte !== undefined) return [byte];
  }
  if (kind === 'u' || kind === 'U') {
    const code = reader.number(hex, kind === 'u' ? 4 : 8, 16);
    if (code !== undefined && code <= 0x10ffff) return encoder.encode(String.fromCodePoint(code));
  }
  const known = ANSI[kind];
  return known !== undefined ? [known] : encoder.encode(`\\${kind}`);
}
