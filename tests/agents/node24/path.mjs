// A Node for the agents that need a newer one than the tests themselves do.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const NEEDED = 22;
const INSTALLED = fileURLToPath(new URL(`node_modules/node-${process.platform}-${process.arch}/bin/node`, import.meta.url));

/** The path of a Node that is new enough: the one that runs this if it is, else the one installed here. */
export function newerNode() {
  if (Number(process.versions.node.split(".")[0]) >= NEEDED) return process.execPath;
  if (existsSync(INSTALLED)) return INSTALLED;
  throw new Error(`Node ${NEEDED} or newer is needed, this is ${process.version} and ${INSTALLED} is not there`);
}
