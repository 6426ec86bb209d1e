/**
 * A chart on a canvas. Texts in it come from file names, so tooltips are drawn on the canvas and no
 * HTML is made. Charts have no content for assistive technology: each has a table beside it.
 */

import { BarChart, LineChart, SunburstChart, TreemapChart } from 'echarts/charts';
import { GridComponent, LegendComponent, TooltipComponent } from 'echarts/components';
import { type EChartsType, init, use } from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';
import type { EChartsCoreOption } from 'echarts/core';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

use([BarChart, LineChart, SunburstChart, TreemapChart, GridComponent, LegendComponent, TooltipComponent, CanvasRenderer]);

/** Colours of the page's theme. */
export interface Colours {
  readonly text: string;
  readonly dim: string;
  readonly line: string;
  readonly surface: string;
  readonly raised: string;
  readonly accent: string;
  /** Text on the accent. */
  readonly onAccent: string;
}

function colours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string): string => style.getPropertyValue(name).trim();
  return { text: of('--text'), dim: of('--dim'), line: of('--line'), surface: of('--surface'), raised: of('--raised'), accent: of('--accent'), onAccent: of('--on-accent') };
}

interface Props {
  /** Makes the chart; called again when the theme changes. */
  readonly option: (colours: Colours) => EChartsCoreOption;
  /** Changes when the chart does. */
  readonly version: unknown;
  readonly className?: string;
  /** Called with the name of an item. */
  readonly onClick?: (name: string) => void;
  /** Name of the item to emphasise. */
  readonly highlight?: string | undefined;
}

const reduced = (): boolean => matchMedia('(prefers-reduced-motion: reduce)').matches;

export function Chart({ option, version, className = '', onClick, highlight }: Props): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType | undefined>(undefined);
  const latest = useRef({ option, onClick });
  latest.current = { option, onClick };

  const draw = (): void => {
    const found = colours();
    chart.current?.setOption(
      {
        animation: !reduced(),
        animationDuration: 200,
        animationDurationUpdate: 200,
        textStyle: { color: found.text, fontFamily: 'system-ui, sans-serif' },
        ...latest.current.option(found),
      },
      { notMerge: true },
    );
  };

  useEffect(() => {
    if (!element.current) return undefined;
    const made = init(element.current, null, { renderer: 'canvas' });
    chart.current = made;
    made.on('click', (event) => latest.current.onClick?.(event.name));
    const observer = new ResizeObserver(() => made.resize());
    observer.observe(element.current);
    const query = matchMedia('(prefers-color-scheme: dark)');
    query.addEventListener('change', draw);
    window.addEventListener('trawl:theme', draw);
    return () => {
      observer.disconnect();
      query.removeEventListener('change', draw);
      window.removeEventListener('trawl:theme', draw);
      made.dispose();
      chart.current = undefined;
    };
  }, []);

  useEffect(draw, [version]);

  useEffect(() => {
    chart.current?.dispatchAction({ type: 'downplay' });
    if (highlight !== undefined) chart.current?.dispatchAction({ type: 'highlight', name: highlight });
  }, [highlight, version]);

  return <div ref={element} class={`chart ${className}`} aria-hidden="true" />;
}

/** Options of a tooltip that is drawn as text. */
export function tooltip(found: Colours, formatter: (data: unknown) => string): Record<string, unknown> {
  return {
    renderMode: 'richText',
    confine: true,
    backgroundColor: found.surface,
    borderColor: found.line,
    textStyle: { color: found.text },
    formatter: (item: unknown) => plain(formatter(item)),
  };
}

/** Returns text without the braces that the chart would read as styles. */
export function plain(text: string): string {
  return text.replaceAll('{', '｛').replaceAll('}', '｝').replaceAll('|', '∣');
}
