// Types of imports that are no TypeScript: icons as texts, and the part of Chart.js that we use.

declare module "*.svg" {
  const text: string;
  export default text;
}

declare module "chart.js" {
  export interface Point {
    x: number;
    y: number | null;
  }
  export interface Dataset {
    label: string;
    data: Point[];
    [option: string]: unknown;
  }
  export class Chart {
    static register(...parts: unknown[]): void;
    constructor(canvas: HTMLCanvasElement, config: {
      type: string;
      data: { datasets: Dataset[] };
      options: Record<string, unknown>;
    });
    readonly data: { datasets: Dataset[] };
    options: Record<string, unknown>;
    readonly chartArea: { readonly left: number; readonly right: number };
    update(mode?: "none"): void;
  }
  export const LineController: unknown, LineElement: unknown, PointElement: unknown;
  export const LinearScale: unknown, Filler: unknown;
}
