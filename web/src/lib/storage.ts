/** What the browser keeps between visits. Without storage the page works, and forgets. */

const PREFIX = 'trawl.';

/** Returns a stored value; undefined if there is none, or no storage. */
export function load(key: string): unknown {
  try {
    const text = localStorage.getItem(PREFIX + key);
    return text === null ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

/** Stores a value; undefined removes it. Returns whether that worked. */
export function save(key: string, value: unknown): boolean {
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + key);
    else localStorage.setItem(PREFIX + key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}
