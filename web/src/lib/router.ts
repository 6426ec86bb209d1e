/**
 * The address is the state: each view reads its parameters from it and changes it, so every state is
 * a link and the browser's Back works.
 */

import { useEffect, useState } from 'preact/hooks';
import type { Place } from './api-types.ts';

/** Where the page is. */
export interface Route {
  readonly view: string;
  readonly query: URLSearchParams;
}

/** Parameters of a link; undefined and empty ones are left out. */
export type Parameters = Readonly<Record<string, string | readonly string[] | undefined>>;

const CHANGED = 'trawl:address';

function routeOf(url: URL | Location): Route {
  return { view: url.pathname.replace(/^\/+|\/+$/g, ''), query: new URLSearchParams(url.search) };
}

/** Returns the address of a view. */
export function link(view: string, values: Parameters = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of typeof value === 'string' ? [value] : value ?? []) {
      if (one !== '') query.append(name, one);
    }
  }
  const text = query.toString();
  return `/${view}${text === '' ? '' : `?${text}`}`;
}

/**
 * Goes to an address of this page. `replace` adds no step for Back. The route changes at once, even
 * where the browser refuses to change its address again so soon, as some do while somebody types.
 */
export function navigate(address: string, how: 'push' | 'replace' = 'push'): void {
  const to = new URL(address, location.origin);
  try {
    if (how === 'replace') history.replaceState(null, '', to);
    else if (to.href !== location.href) history.pushState(null, '', to);
  } catch (error) {
    if (!(error instanceof DOMException && error.name === 'SecurityError')) throw error;
  }
  window.dispatchEvent(new CustomEvent(CHANGED, { detail: to }));
}

/** Returns the route, and renders again when it changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => routeOf(location));
  useEffect(() => {
    const onStep = (): void => setRoute(routeOf(location));
    const onChange = (event: Event): void => {
      if (event instanceof CustomEvent && event.detail instanceof URL) setRoute(routeOf(event.detail));
    };
    window.addEventListener('popstate', onStep);
    window.addEventListener(CHANGED, onChange);
    return () => {
      window.removeEventListener('popstate', onStep);
      window.removeEventListener(CHANGED, onChange);
    };
  }, []);
  return route;
}

/** Follows links to this page without loading it again. Returns a function that stops it. */
export function interceptLinks(): () => void {
  const follow = (event: MouseEvent): void => {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const anchor = event.target instanceof Element ? event.target.closest('a') : null;
    if (!anchor || anchor.target !== '' || anchor.hasAttribute('download') || anchor.protocol === 'blob:' || anchor.origin !== location.origin) return;
    if (anchor.pathname.startsWith('/api/') || anchor.getAttribute('href')?.startsWith('#') === true) return;
    event.preventDefault();
    navigate(anchor.pathname + anchor.search);
    window.scrollTo(0, 0);
  };
  document.addEventListener('click', follow);
  return () => document.removeEventListener('click', follow);
}

/** Returns places as parameters: `path` for text, `raw` for bytes in hexadecimal. */
export function placeParameters(places: readonly Place[]): Parameters {
  return {
    path: places.filter((place) => place.raw === undefined).map((place) => place.path),
    raw: places.flatMap((place) => place.raw ?? []),
  };
}
