// Gives the diagrams beside this file to Mermaid itself:
//
//   dir=$(mktemp -d) && npm install --prefix "$dir" mermaid@12.3.0 jsdom
//   NODE_MODULES="$dir/node_modules" node check-mermaid.mjs
//
// It prints a line for each diagram, and fails if one does not parse.
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const require = createRequire(join(process.env.NODE_MODULES, 'here.js'));
const { JSDOM } = require('jsdom');
const { window } = new JSDOM('');
globalThis.window = window;
globalThis.document = window.document;
const load = async (file) => (await import(pathToFileURL(join(process.env.NODE_MODULES, file)).href)).default;
const mermaid = await load('mermaid/dist/mermaid.core.mjs');

const here = dirname(fileURLToPath(import.meta.url));
let bad = 0;
for (const name of readdirSync(here).filter((f) => f.endsWith('.mmd')).sort()) {
  try {
    const { diagramType } = await mermaid.parse(readFileSync(join(here, name), 'utf8'));
    console.log(`${name}: ${diagramType}`);
  } catch (e) {
    bad++;
    console.log(`${name}: ${e.message}`);
  }
}
process.exit(bad === 0 ? 0 : 1);
