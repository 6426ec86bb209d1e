/** Bars with sizes. */

import type { JSX } from 'preact';
import { formatSize } from '../lib/format.ts';
import { axisOf } from '../lib/axis.ts';
import { Chart, tooltip } from './chart.tsx';

interface Bar {
  readonly label: string;
  readonly value: number;
  /** Text of the tooltip. */
  readonly note: string;
}

interface Props {
  readonly bars: readonly Bar[];
  readonly version: unknown;
  /** Whether the bars stand upright, as in a histogram. */
  readonly isOrdered: boolean;
  readonly format?: (value: number) => string;
}

export function Bars({ bars, version, isOrdered, format = formatSize }: Props): JSX.Element {
  return (
    <Chart
      version={version} className={isOrdered ? 'medium' : bars.length > 12 ? 'large' : 'medium'}
      option={(colours) => {
        const names = {
          type: 'category', data: bars.map((bar) => bar.label), inverse: !isOrdered,
          axisLabel: { color: colours.text, width: 140, overflow: 'truncate', ...(isOrdered && { rotate: 35 }) },
          axisLine: { lineStyle: { color: colours.line } },
        };
        const values = {
          type: 'value', ...axisOf(0, Math.max(0, ...bars.map((bar) => bar.value)), format === formatSize), axisLabel: { color: colours.dim, formatter: format, hideOverlap: true },
          splitLine: { lineStyle: { color: colours.line } },
        };
        return {
          tooltip: { trigger: 'item', ...tooltip(colours, (item) => {
            const bar = bars[(item as { dataIndex?: number }).dataIndex ?? -1];
            return bar === undefined ? '' : `${bar.label}\n${bar.note}`;
          }) },
          grid: { left: 8, right: 24, top: 16, bottom: 8, containLabel: true },
          xAxis: isOrdered ? names : values,
          yAxis: isOrdered ? values : names,
          series: [{ type: 'bar', data: bars.map((bar) => bar.value), itemStyle: { color: colours.accent }, barMaxWidth: 28 }],
        };
      }}
    />
  );
}
