// Makes the Worker: worker.js, weir.wasm and rules.wasm in OUT, for these rules; and bundles for
// node, for the tests of it and of its parts.
//
//   node build.mjs OUT BUILD RULES [--types]      --types checks them, which takes seconds
//
// BUILD is the build folder, with the npm package and the modules; RULES what `weir export` has
// printed.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const WORKER = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const [out, build, exported] = process.argv.slice(2, 5).map((path) => resolve(path));
const more = process.argv.slice(5);
const limiter = join(build, "npm/package");
const rules = join(out, "rules.bin");
const module = join(build, "wasm/rules.wasm");

function bundle(source, file, packageEntry, rulesModule) {
  execFileSync("esbuild", [
    join(WORKER, "src", source),
    "--bundle",
    "--format=esm",
    "--platform=neutral",
    "--target=es2022",
    "--external:./weir.wasm",
    "--external:./rules.wasm",
    "--loader:.wasm=binary",
    "--loader:.bin=binary",
    "--external:node:module",
    `--alias:@weir/limiter=${join(limiter, packageEntry)}`,
    `--alias:#rules=${rules}`,
    `--alias:#rules.wasm=${rulesModule}`,
    `--outfile=${join(out, file)}`,
    "--log-level=warning",
  ], { stdio: "inherit" });
}

mkdirSync(out, { recursive: true });
writeFileSync(rules, readFileSync(exported));
bundle("worker.ts", "worker.js", "workerd.js", "./rules.wasm");
bundle("matching.ts", "matching.js", "node.js", module);
bundle("worker.ts", "worker_in_node.js", "node.js", module);
copyFileSync(join(limiter, "weir.wasm"), join(out, "weir.wasm"));
copyFileSync(module, join(out, "rules.wasm"));

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
