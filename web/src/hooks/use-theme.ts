/** Dark or light: as the system says, unless the user chooses. */

import { useEffect, useState } from 'preact/hooks';
import { load, save } from '../lib/storage.ts';

export type Theme = 'auto' | 'light' | 'dark';

const KEY = 'theme';

/** Returns the theme and a function that changes it. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => {
    const stored = load(KEY);
    return stored === 'light' || stored === 'dark' ? stored : 'auto';
  });
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
    save(KEY, theme === 'auto' ? undefined : theme);
    window.dispatchEvent(new Event('trawl:theme'));
  }, [theme]);
  return [theme, setTheme];
}
