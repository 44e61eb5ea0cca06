// Gives the diagrams beside this file to Mermaid itself, to parse and to draw:
//
//   dir=$(mktemp -d) && npm install --prefix "$dir" mermaid@12.3.0 jsdom
//   NODE_MODULES="$dir/node_modules" node check-mermaid.mjs
//
// It prints a line for each diagram, and fails if one is not drawn. There is no
// browser that could say how large a text is, so each is taken to have one size.
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const require = createRequire(join(process.env.NODE_MODULES, 'here.js'));
const { JSDOM } = require('jsdom');
const { window } = new JSDOM('<body></body>', { pretendToBeVisual: true });
globalThis.window = window;
globalThis.document = window.document;
globalThis.CSSStyleSheet = window.CSSStyleSheet;
const size = { x: 0, y: 0, width: 200, height: 20 };
window.SVGElement.prototype.getBBox = () => size;
window.SVGElement.prototype.getComputedTextLength = () => size.width;
const load = async (file) => (await import(pathToFileURL(join(process.env.NODE_MODULES, file)).href)).default;
const mermaid = await load('mermaid/dist/mermaid.core.mjs');

const here = dirname(fileURLToPath(import.meta.url));
let bad = 0;
for (const name of readdirSync(here).filter((f) => f.endsWith('.mmd')).sort()) {
  try {
    const text = readFileSync(join(here, name), 'utf8');
    const { diagramType } = await mermaid.parse(text);
    const { svg } = await mermaid.render(name.replace(/\W/g, '-'), text);
    const arrows = text.match(/>>|[-]x/g)?.length ?? 0;
    const drawn = svg.match(/class="messageText"/g)?.length ?? 0;
    if (!svg.startsWith('<svg') || drawn !== arrows) throw new Error(`${drawn} of ${arrows} arrows were drawn`);
    console.log(`${name}: ${diagramType}, ${arrows} arrows`);
  } catch (e) {
    bad++;
    console.log(`${name}: ${e.message}`);
  }
}
process.exit(bad === 0 ? 0 : 1);
