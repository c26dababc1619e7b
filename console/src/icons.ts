// The icons, each a file, drawn in the colour of the text next to them.

import alert from "../icons/alert.svg";
import arrow from "../icons/arrow.svg";
import block from "../icons/block.svg";
import burst from "../icons/burst.svg";
import check from "../icons/check.svg";
import cross from "../icons/cross.svg";
import edit from "../icons/edit.svg";
import explain from "../icons/explain.svg";
import fleet from "../icons/fleet.svg";
import key from "../icons/key.svg";
import live from "../icons/live.svg";
import moon from "../icons/moon.svg";
import play from "../icons/play.svg";
import plus from "../icons/plus.svg";
import rules from "../icons/rules.svg";
import spam from "../icons/spam.svg";
import stop from "../icons/stop.svg";
import sun from "../icons/sun.svg";

export const ICONS = {
  alert, arrow, block, burst, check, cross, edit, explain, fleet, key, live, moon, play, plus,
  rules, spam, stop, sun,
} as const;

export type IconName = keyof typeof ICONS;
