// Builds src/ into dist/, which is committed and embedded into the operator, and writes dist.sha256: the
// hashes of sources and results, so that a test without npm sees whether they belong together.
//
//   node build.mjs [--out FOLDER]     another folder: for comparing; no hashes are written
import {build} from 'esbuild';
import {createHash} from 'node:crypto';
import {copyFile, mkdir, readFile, readdir, writeFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const flag = process.argv.indexOf('--out');
const out = flag < 0 ? join(here, 'dist') : process.argv[flag + 1];

await mkdir(out, {recursive: true});
await build({
  entryPoints: [join(here, 'src/app.tsx'), join(here, 'src/app.css')],
  outdir: out,
  bundle: true,
  minify: true,
  target: 'es2022',
  format: 'esm',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  charset: 'ascii',
  legalComments: 'none',
  absWorkingDir: here,
});
for (const name of ['index.html', 'icon.svg']) await copyFile(join(here, 'src', name), join(out, name));

if (flag < 0) {
  const files = ['build.mjs', 'package-lock.json', 'tsconfig.json'];
  for (const folder of ['dist', 'src']) for (const name of await readdir(join(here, folder))) files.push(`${folder}/${name}`);
  const lines = [];
  for (const file of files.sort()) {
    lines.push(`${createHash('sha256').update(await readFile(join(here, file))).digest('hex')}  ${file}\n`);
  }
  await writeFile(join(here, 'dist.sha256'), lines.join(''));
}
