// A temporary home for one server, and what every check needs of it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const given = process.env.REVERIE_BIN;
if (!given) {
  console.error("REVERIE_BIN is not set; build with: go build -o reverie . and set REVERIE_BIN=../reverie");
  process.exit(2);
}

export const binary = resolve(given);

// newHome makes a home and removes it when the test is over.
export function newHome(t) {
  const dir = mkdtempSync(join(tmpdir(), "reverie-clients-"));
  t.after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  return dir;
}

// server says how to start one on a home.
export function server(home, ...args) {
  return {
    command: binary,
    args: ["serve", "--toolsets", "all", ...args],
    env: { ...process.env, REVERIE_HOME: home, REVERIE_USER: "tester" },
    stderr: "inherit",
  };
}

// until waits for a condition, as clients wait for a notification.
export async function until(what, condition, ms = 5000) {
  const end = Date.now() + ms;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`${what}: not within ${ms} ms`);
    await new Promise((r) => setTimeout(r, 10));
  }
}
