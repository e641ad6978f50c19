/** Scores of evaluations as people read them: shares and correlations in percent with two decimals, one way everywhere. */
import { formatNumber, type Row } from "./table.ts";

const SCORE = /(?:^|_)(?:accuracy|f1|matthews|r2|pearson|spearman|exact)$/;

/** Whether a figure is a share or a correlation, from 0 (or −1) to 1. */
export const isScore = (name: string): boolean => SCORE.test(name);

/** 0.8257 → `82.57 %`. */
export const scoreText = (value: number): string => `${(100 * value).toFixed(2)} %`;

/** A figure of an evaluation by its name: scores in percent, everything else with at most `digits` decimals. */
export const figureText = (name: string, value: number, digits = 3): string =>
  isScore(name) ? scoreText(value) : formatNumber(value, digits);

/** A row with its scores in percent; the other cells stay as they are. */
export const withScores = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === "number" && isScore(name) ? scoreText(value) : value,
    ]),
  );
