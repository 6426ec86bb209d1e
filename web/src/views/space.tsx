/** Where the space has gone: a treemap or sunburst of a directory, and the same as a list. */

import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { AnswerBar } from '../components/answer-bar.tsx';
import { Choice } from '../components/choice.tsx';
import { Crumbs } from '../components/crumbs.tsx';
import { PlaceField } from '../components/place-field.tsx';
import { ProblemBox } from '../components/problem.tsx';
import { SpaceChart } from '../components/space-chart.tsx';
import { useWorld } from '../hooks/context.ts';
import { useAnswer } from '../hooks/use-answer.ts';
import { type Entry, pathArguments, type Place } from '../lib/api-types.ts';
import { formatShare, formatSize } from '../lib/format.ts';
import { above, placesOf } from '../lib/places.ts';
import { link, navigate, placeParameters, type Route } from '../lib/router.ts';
import { type ColourBy, type Legend, legendOf, spaceTree, type Tile } from '../lib/space-tree.ts';

type Form = 'treemap' | 'sunburst';

/** Rows of du in one page; a directory with more is shown with fewer levels. */
const MAX_ROWS = 10_000;
const LISTED = 200;

export function SpaceView({ route }: { readonly route: Route }): JSX.Element {
  const { roots, now } = useWorld();
  const place = placesOf(route.query)[0] ?? (roots.length === 1 ? roots[0] : undefined);
  const form: Form = route.query.get('as') === 'sunburst' ? 'sunburst' : 'treemap';
  const by = (['owner', 'type'] as const).find((one) => one === route.query.get('colour')) ?? 'age';
  const to = (target: Place | undefined, change: { as?: string; colour?: string } = {}): string =>
    link('space', { ...placeParameters(target === undefined ? [] : [target]), as: form, colour: by, ...change });

  const tops = place === undefined ? roots : [place];
  const key = JSON.stringify(tops);
  const [depth, setDepth] = useState({ key, levels: 3 });
  const levels = depth.key === key ? depth.levels : 3;
  const values = tops.length === 0 ? undefined : pathArguments(tops);
  const usage = useAnswer('du', values && { ...values, max_depth: levels }, { limit: MAX_ROWS });
  const files = useAnswer<'top', Entry>('top', values && { ...values, subject: 'files' }, { limit: 1000 });

  // Too many directories for one page: fewer levels.
  useEffect(() => {
    if (usage.hasMore && levels > 1) setDepth({ key, levels: levels - 1 });
    else if (usage.hasMore && usage.rows.length < 20 * MAX_ROWS) usage.loadMore();
  }, [usage.version, usage.hasMore]);

  const minute = Math.floor(now / 60_000);
  const root = useMemo(
    () => (usage.isStale ? undefined : spaceTree(tops, usage.rows, files.isStale ? [] : files.rows, levels, now)),
    [usage.version, usage.isStale, files.version, files.isStale, key, minute],
  );
  const legend = root && legendOf(root, by);
  const isReady = root !== undefined && usage.page !== undefined && !usage.hasMore;

  return (
    <>
      <h1>Where has the space gone</h1>
      <div class="controls no-print">
        <PlaceField place={place} onChange={(next) => navigate(to(next))} />
        <Choice label="Shown as" value={form} options={[['treemap', 'Treemap'], ['sunburst', 'Sunburst']]} onChange={(as) => navigate(to(place, { as }))} />
        <Choice label="Coloured by" value={by} options={[['age', 'Age'], ['owner', 'Owner'], ['type', 'Type']]} onChange={(colour) => navigate(to(place, { colour }))} />
      </div>
      {place !== undefined && <Crumbs place={place} to={(step) => to(step)} />}
      <ProblemBox problem={usage.problem} />
      {isReady && legend ? (
        <SpaceBody root={root} legend={legend} form={form} by={by} to={to} up={place && above(place)} version={`${key}${form}${by}${usage.version}.${files.version}`} />
      ) : (
        usage.problem === undefined && <p class="hint" role="status">{values === undefined ? 'Nothing is indexed yet. Choose a directory.' : 'Loading …'}</p>
      )}
      {values && <AnswerBar asked={usage} question={{ name: 'du', values: { ...values, max_depth: levels } }} places={tops} />}
    </>
  );
}

interface BodyProps {
  readonly root: Tile;
  readonly legend: Legend;
  readonly form: Form;
  readonly by: ColourBy;
  readonly to: (place: Place) => string;
  readonly up: Place | undefined;
  readonly version: string;
}

function SpaceBody({ root, legend, form, by, to, up, version }: BodyProps): JSX.Element {
  const [active, setActive] = useState<string | undefined>(undefined);
  const addressOf = (tile: Tile): string | undefined =>
    tile.place && (tile.isDirectory ? to(tile.place) : link('file', placeParameters([tile.place])));
  const open = (tile: Tile): void => {
    const address = addressOf(tile);
    if (address !== undefined) navigate(address);
  };
  return (
    <>
      <p class="total"><strong>{formatSize(root.bytes)}</strong> on disk. Directories have the colour of most of their large files.</p>
      <ul class="legend" aria-label={`Colours by ${by}`}>
        {legend.entries.map(({ name, colour }) => <li key={name}><span class="swatch" style={{ backgroundColor: colour }} />{name}</li>)}
      </ul>
      <div class="space">
        <SpaceChart root={root} legend={legend} form={form} version={version} active={active} onActive={setActive} onOpen={open} onUp={() => up && navigate(to(up))} />
        <section class="space-list" aria-label="As a list">
          {root.children.length === 0 && <p class="hint">Nothing in it takes space.</p>}
          <ol>
            {root.children.slice(0, LISTED).map((tile) => {
              const address = addressOf(tile);
              const content = (
                <>
                  <span class="swatch" style={{ backgroundColor: legend.colourOf(tile) }} />
                  <bdi class="label">{tile.label}{tile.isDirectory && '/'}</bdi>
                  <span class="number">{formatSize(tile.bytes)}</span>
                  <span class="number share">{formatShare(tile.bytes, root.bytes)}</span>
                </>
              );
              const shared = { class: active === tile.key ? 'active' : '', onFocus: () => setActive(tile.key), onMouseEnter: () => setActive(tile.key) };
              return <li key={tile.key}>{address === undefined ? <span {...shared}>{content}</span> : <a href={address} {...shared}>{content}</a>}</li>;
            })}
          </ol>
        </section>
      </div>
    </>
  );
}
