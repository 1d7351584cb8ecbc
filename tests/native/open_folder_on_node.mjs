// What the page reads of export folders: one line of JSON for each.
// node open_folder_on_node.mjs FOLDER_OF_FOLDER_JS FOLDER [FOLDER ...]
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

// Node's own reads no files.
globalThis.fetch = async (url) => {
  const path = fileURLToPath(url);
  return existsSync(path) ? new Response(readFileSync(path)) : new Response(null, { status: 404 });
};
const [page, ...folders] = process.argv.slice(2);
const { openFolder } = await import(pathToFileURL(join(resolve(page), "folder.js")));
for (const folder of folders) {
  const { description, url, files, ...found } = await openFolder(pathToFileURL(resolve(folder)));
  console.log(JSON.stringify(found));
}
