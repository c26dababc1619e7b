// Runs the package's tests by node's own runner, against the package as it is packed.
//
//   node run_tests.mjs BUILD [FILE...]      BUILD/package is what build.mjs made

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const NPM = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const [build, ...wanted] = process.argv.slice(2);

// Next to the tests' copy is what `npm install` would leave.
const place = resolve(build, wanted.length === 1 ? `installed/${wanted[0]}` : "installed/all");
rmSync(place, { recursive: true, force: true });
mkdirSync(join(place, "node_modules/@weir"), { recursive: true });
symlinkSync(resolve(build, "package"), join(place, "node_modules/@weir/limiter"));
for (const folder of ["test", "tools"]) {
  cpSync(join(NPM, folder), join(place, folder), { recursive: true });
}

const all = readdirSync(join(place, "test")).filter((name) => name.endsWith(".test.mjs"));
const files = wanted.length > 0 ? wanted : all;
for (const file of files) {
  if (!existsSync(join(place, "test", file))) throw new Error(`there is no test ${file}`);
}
const paths = files.map((name) => join("test", name));
const env = { ...process.env, WEIR_ROOT: dirname(NPM) };
const { status } = spawnSync(process.execPath, ["--test", ...paths],
                             { cwd: place, stdio: "inherit", env });
process.exit(status ?? 1);
