// Makes the Worker: worker.js and weir.wasm in OUT, for these rules; and bundles for node, for the
// tests of it and of its parts.
//
//   node build.mjs OUT PACKAGE RULES_JSON [--types]      --types checks them, which takes seconds
//
// PACKAGE is the npm package's folder, RULES_JSON what `weir export` has printed.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const WORKER = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const [out, limiter, rules] = process.argv.slice(2, 5).map((path) => resolve(path));
const more = process.argv.slice(5);

function bundle(source, file, packageEntry) {
  execFileSync("esbuild", [
    join(WORKER, "src", source),
    "--bundle",
    "--format=esm",
    "--platform=neutral",
    "--target=es2022",
    "--external:./weir.wasm",
    "--external:node:module",
    `--alias:@weir/limiter=${join(limiter, packageEntry)}`,
    `--alias:#rules=${rules}`,
    `--outfile=${join(out, file)}`,
    "--log-level=warning",
  ], { stdio: "inherit" });
}

mkdirSync(out, { recursive: true });
bundle("worker.ts", "worker.js", "workerd.js");
bundle("matching.ts", "matching.js", "node.js");
bundle("worker.ts", "worker_in_node.js", "node.js");
copyFileSync(join(limiter, "weir.wasm"), join(out, "weir.wasm"));

function checkTypes() {
  const compilerOptions = {
    target: "ES2022", module: "ES2022", moduleResolution: "node", types: [], strict: true,
    lib: ["ES2022", "DOM", "DOM.Iterable"], noUncheckedIndexedAccess: true, noEmit: true,
    noUnusedLocals: true, noUnusedParameters: true, baseUrl: ".",
    paths: { "@weir/limiter": [join(limiter, "types/index")] },
  };
  const project = join(out, "tsconfig.json");
  writeFileSync(project, JSON.stringify({ compilerOptions, include: [join(WORKER, "src")] }));
  execFileSync("tsc", ["-p", project], { stdio: "inherit" });
}

if (more.includes("--types")) checkTypes();

// A zone, say, that this JavaScript does not have yet: here, and not in front of the origin.
await import(pathToFileURL(join(out, "matching.js")));
