/** The frame of the page: navigation, who asks, and the view of the address. */

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Login } from './components/login.tsx';
import { ProblemBox } from './components/problem.tsx';
import { outerRoots, WorldContext } from './hooks/context.ts';
import { useAnswer } from './hooks/use-answer.ts';
import { useSession } from './hooks/use-session.ts';
import { useTheme } from './hooks/use-theme.ts';
import { asProblem, isAbort, type Problem, server } from './lib/api.ts';
import type { Me, Source } from './lib/api-types.ts';
import { endSession } from './lib/login.ts';
import { interceptLinks, link, navigate, type Route, useRoute } from './lib/router.ts';
import type { Session } from './lib/session.ts';
import { visible } from './lib/text.ts';
import { ChangesView } from './views/changes.tsx';
import { ColdView } from './views/cold.tsx';
import { DetailsView } from './views/details.tsx';
import { DuplicatesView } from './views/duplicates.tsx';
import { GrowthView } from './views/growth.tsx';
import { HomeView } from './views/home.tsx';
import { SearchView } from './views/search.tsx';
import { SpaceView } from './views/space.tsx';
import { SqlView } from './views/sql.tsx';
import { StatsView } from './views/stats.tsx';
import { TopView } from './views/top.tsx';

interface View {
  readonly name: string;
  readonly title: string;
  readonly render: (route: Route) => JSX.Element;
  /** Whether the navigation leads to it. */
  readonly isListed: boolean;
}

const VIEWS: readonly View[] = [
  { name: '', title: 'Start', isListed: false, render: () => <HomeView /> },
  { name: 'search', title: 'Search', isListed: true, render: (route) => <SearchView route={route} /> },
  { name: 'space', title: 'Space', isListed: true, render: (route) => <SpaceView route={route} /> },
  { name: 'top', title: 'Top', isListed: true, render: (route) => <TopView route={route} /> },
  { name: 'stats', title: 'Breakdown', isListed: true, render: (route) => <StatsView route={route} /> },
  { name: 'growth', title: 'Growth', isListed: true, render: (route) => <GrowthView route={route} /> },
  { name: 'changes', title: 'Changes', isListed: true, render: (route) => <ChangesView route={route} /> },
  { name: 'duplicates', title: 'Duplicates', isListed: true, render: (route) => <DuplicatesView route={route} /> },
  { name: 'cold', title: 'Cold data', isListed: true, render: (route) => <ColdView route={route} /> },
  { name: 'sql', title: 'SQL', isListed: true, render: (route) => <SqlView route={route} /> },
  { name: 'file', title: 'Details', isListed: false, render: (route) => <DetailsView route={route} /> },
];

function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

interface Who {
  /** Who asks, or asked last; undefined until that is known. */
  readonly me: Me | undefined;
  /** Whether `me` asks in the present session. */
  readonly isKnown: boolean;
  readonly problem: Problem | undefined;
}

/** Asks who the user is, in each session. For another user the page begins anew. */
function useWho({ begun, isRefused }: Session): Who {
  const [found, setFound] = useState<{ readonly begun: number; readonly me?: Me; readonly problem?: Problem }>({ begun: 0 });
  const last = useRef<Me | undefined>(undefined);
  useEffect(() => {
    const abort = new AbortController();
    server.me(abort.signal).then(
      (me) => {
        if (last.current !== undefined && last.current.uid !== me.uid) {
          location.reload();
          return;
        }
        last.current = me;
        setFound({ begun, me });
      },
      (error: unknown) => {
        if (!isAbort(error)) setFound((old) => ({ ...old, begun, problem: asProblem(error) }));
      },
    );
    return () => abort.abort();
  }, [begun]);
  const isAnswered = !isRefused && found.begun === begun;
  return { me: found.me, isKnown: isAnswered && found.problem === undefined, problem: isAnswered ? found.problem : undefined };
}

/** Lets `/` focus the search, as on many pages. */
function useSlash(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const target = event.target instanceof Element ? event.target : undefined;
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || target?.closest('input, textarea, select') != null) return;
      event.preventDefault();
      const field = document.getElementById('search');
      if (field) field.focus();
      else navigate(link('search'));
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

export function App(): JSX.Element {
  const route = useRoute();
  const now = useNow();
  const session = useSession();
  const { me, isKnown, problem } = useWho(session);
  const sources = useAnswer<'sources', Source>('sources', me === undefined ? undefined : {}, { limit: 1000 });
  const world = useMemo(
    () => ({ me, sources: sources.rows, roots: outerRoots(sources.rows), now }),
    [me, sources.version, now],
  );
  useEffect(interceptLinks, []);
  useSlash();
  const view = VIEWS.find(({ name }) => name === route.view);
  useEffect(() => {
    document.title = `${session.isRefused ? 'Log in' : view?.title ?? 'Not found'} – Trawl`;
  }, [view, session.isRefused]);
  const main = useRef<HTMLElement>(null);
  // After a login the focus goes where the form was.
  const wasRefused = useRef(false);
  useEffect(() => {
    if (isKnown && wasRefused.current) main.current?.focus({ preventScroll: true });
    wasRefused.current = session.isRefused || (wasRefused.current && !isKnown);
  }, [isKnown, session.isRefused]);
  const isReady = sources.page !== undefined || sources.problem !== undefined;
  return (
    <WorldContext.Provider value={world}>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>Skip to the content</a>
      <Header route={route} me={isKnown ? me : undefined} />
      <main id="main" ref={main} tabIndex={-1}>
        {session.isRefused ? <Login isReturning={me !== undefined} />
          : problem !== undefined ? <><h1>Trawl</h1><ProblemBox problem={problem} /></>
          : !(isKnown && isReady) && <p class="hint" role="status">Loading …</p>}
        {/* The view stays as it is while its user logs in again. */}
        {me !== undefined && isReady && (
          <div hidden={!isKnown}>
            {view === undefined ? <><h1>Not found</h1><p>There is no such page. <a href="/">Go to the start.</a></p></> : view.render(route)}
          </div>
        )}
      </main>
      <footer class="no-print">
        <span>Trawl {me?.version ?? ''}</span>
        <span>Nothing can be changed through this page.</span>
        {isKnown && session.secret !== undefined && <button type="button" class="link" onClick={() => void endSession().then(() => location.reload())}>End this session</button>}
        <a href="/assets/licences.txt" target="_blank" rel="noreferrer">Licences</a>
      </footer>
    </WorldContext.Provider>
  );
}

function Header({ route, me }: { readonly route: Route; readonly me: Me | undefined }): JSX.Element {
  const [theme, setTheme] = useTheme();
  const next = theme === 'auto' ? 'dark' : theme === 'dark' ? 'light' : 'auto';
  return (
    <header class="no-print">
      <a class="brand" href="/">Trawl</a>
      <nav aria-label="Views">
        <ul>
          {VIEWS.filter(({ isListed }) => isListed).map(({ name, title }) => (
            <li key={name}><a href={`/${name}`} {...(route.view === name && { 'aria-current': 'page' })}>{title}</a></li>
          ))}
        </ul>
      </nav>
      {me && <span class="me">{visible(me.user)} on {visible(me.host)}</span>}
      <button type="button" class="button theme" onClick={() => setTheme(next)}>Theme: {theme}</button>
    </header>
  );
}
