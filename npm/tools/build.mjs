// Makes the package's folder, as it is packed: bundles by Debian's esbuild, types by its tsc.
//
//   node build.mjs OUT WEIR_WASM

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const NPM = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const ROOT = dirname(NPM);
const [out, wasm] = process.argv.slice(2).map((path) => resolve(path));

// The parts of the script in the server's order: src/store/redis/script/CMakeLists.txt.
const SCRIPT_FOLDER = join(ROOT, "src/store/redis/script");

// One bundle for each condition of package.json's "exports".
const BUNDLES = [
  { file: "node.js", platform: "node", format: "esm" },
  { file: "node.cjs", platform: "node", format: "cjs" },
  { file: "inline.js", platform: "inline", format: "esm" },
  { file: "inline.cjs", platform: "inline", format: "cjs" },
  { file: "workerd.js", platform: "workerd", format: "esm" },
  { file: "edge.js", platform: "edge", format: "esm" },
];

function scriptModule() {
  const list = readFileSync(join(SCRIPT_FOLDER, "CMakeLists.txt"), "utf8");
  const parts = /foreach\(part ([^)]*)\)/.exec(list)[1].trim().split(/\s+/);
  const text = (part) => readFileSync(join(SCRIPT_FOLDER, `${part}.lua`), "utf8");
  const script = parts.map(text).join("");
  const sha = createHash("sha1").update(script).digest("hex");
  return `export const script = ${JSON.stringify(script)};\nexport const scriptSha = "${sha}";\n`;
}

function bundle({ file, platform, format }, script) {
  execFileSync("esbuild", [
    join(NPM, "src/index.ts"),
    "--bundle",
    `--format=${format}`,
    `--platform=${platform === "node" ? "node" : "neutral"}`,
    `--target=${platform === "node" ? "node18" : "es2022"}`,
    "--loader:.wasm=binary",
    "--external:./weir.wasm",
    "--external:./weir.wasm?module",
    `--alias:#platform=${join(NPM, `src/platform/${platform}.ts`)}`,
    `--alias:#script=${script}`,
    `--alias:weir.wasm=${wasm}`,
    ...(format === "cjs" ? ["--define:import.meta.url=__filename"] : []),
    `--outfile=${join(out, file)}`,
    "--log-level=warning",
  ], { stdio: "inherit" });
}

// To TypeScript, `require` of what a .d.ts describes is an import of a module, and refused.
function writeTypesForRequire(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) writeTypesForRequire(path);
    if (!entry.isFile() || !path.endsWith(".d.ts")) continue;
    const text = readFileSync(path, "utf8").replace(/(["']\.\.?\/[^"']*)\.js(["'])/g, "$1.cjs$2");
    writeFileSync(path.replace(/\.d\.ts$/, ".d.cts"), text);
  }
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const script = `${out}.script.js`;
writeFileSync(script, scriptModule());
for (const each of BUNDLES) bundle(each, script);
execFileSync("tsc", ["-p", NPM, "--outDir", join(out, "types")], { stdio: "inherit" });
writeTypesForRequire(join(out, "types"));
copyFileSync(wasm, join(out, "weir.wasm"));
copyFileSync(join(NPM, "package.json"), join(out, "package.json"));
copyFileSync(join(NPM, "README.md"), join(out, "README.md"));
copyFileSync(join(ROOT, "LICENSE"), join(out, "LICENSE"));
